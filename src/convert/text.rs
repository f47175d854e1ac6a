//! Strings, and the limits of what leaves a heap.

use crate::value::{Budget, Code, ErrorClass, Fault, Text, block_pool};

pub fn text_to_v8<'s>(scope: &v8::PinScope<'s, '_, ()>, text: &Text) -> Result<v8::Local<'s, v8::String>, Fault> {
    new_string(scope, text, v8::NewStringType::Normal)
}

/// The same for the name of a property, which V8 would look up in its table of such strings at each use.
pub fn key_to_v8<'s>(scope: &v8::PinScope<'s, '_, ()>, text: &Text) -> Result<v8::Local<'s, v8::String>, Fault> {
    new_string(scope, text, v8::NewStringType::Internalized)
}

fn new_string<'s>(
    scope: &v8::PinScope<'s, '_, ()>,
    text: &Text,
    kind: v8::NewStringType,
) -> Result<v8::Local<'s, v8::String>, Fault> {
    let string = match text {
        Text::Latin1(bytes) => v8::String::new_from_one_byte(scope, bytes, kind),
        Text::Utf16(units) => v8::String::new_from_two_byte(scope, units, kind),
    };
    string.ok_or_else(|| Fault::beyond("Invalid string length"))
}

/// At most `limit` bytes: a string may be much longer than the space that it takes in a guest's heap.
pub fn text_from_v8(scope: &mut v8::Isolate, string: v8::Local<'_, v8::String>, limit: usize) -> Result<Text, Fault> {
    let length = string.length();
    if string.is_onebyte() {
        let mut bytes = block_room(length, limit)?;
        append_one_byte(scope, string, length, &mut bytes);
        Ok(Text::Latin1(bytes))
    } else {
        let mut units = block_room(length, limit)?;
        // Nothing here allocates in V8's heap, which would move the string.
        match v8::ValueView::new(scope, string).data() {
            v8::ValueViewData::TwoByte(all) => units.extend_from_slice(all),
            // It consisted of a string that V8 has replaced by an equal one.
            v8::ValueViewData::OneByte(all) => units.extend(all.iter().copied().map(u16::from)),
        }
        Ok(Text::from_utf16(units))
    }
}

/// Writes a string of `length` characters, each of one byte, at the end of `bytes`.
pub fn append_one_byte(scope: &v8::Isolate, string: v8::Local<'_, v8::String>, length: usize, bytes: &mut Vec<u8>) {
    bytes.reserve(length);
    string.write_one_byte_uninit_v2(scope, 0, &mut bytes.spare_capacity_mut()[..length], v8::WriteFlags::empty());
    // SAFETY: V8 has written `length` characters, for which there was room.
    unsafe { bytes.set_len(bytes.len() + length) };
}

/// As [`room`], perhaps with memory of an earlier value.
pub fn block_room<T: block_pool::Unit>(count: usize, limit: usize) -> Result<Vec<T>, Fault> {
    if count.saturating_mul(size_of::<T>()) <= limit
        && let Some(vector) = block_pool::take(count)
    {
        return Ok(vector);
    }
    room(count, limit)
}

/// An empty vector with room for `count` values, which may take at most `limit` bytes.
fn room<T>(count: usize, limit: usize) -> Result<Vec<T>, Fault> {
    let mut vector = Vec::new();
    if count.saturating_mul(size_of::<T>()) > limit || vector.try_reserve_exact(count).is_err() {
        return Err(too_large(limit));
    }
    Ok(vector)
}

pub fn too_large(limit: usize) -> Fault {
    let message = format!("The value is larger than the {limit} bytes that may be transferred");
    Fault::coded(ErrorClass::RangeError, &message, Code::Limit)
}

/// Charges `bytes` to a budget of the isolate, if necessary after a collection, because unreachable buffers are still charged.
pub fn take_or_collect(scope: &mut v8::Isolate, budget: &Budget, bytes: usize) -> bool {
    if budget.take(bytes) {
        return true;
    }
    scope.low_memory_notification();
    budget.take(bytes)
}

/// The beginning of a string, for display.
pub fn beginning(scope: &v8::Isolate, string: v8::Local<'_, v8::String>, most: usize) -> Text {
    let mut units = vec![0; string.length().min(most)];
    string.write_v2(scope, 0, &mut units, v8::WriteFlags::empty());
    Text::from_utf16(units)
}

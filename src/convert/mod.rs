//! Converts between V8 values and neutral values. Depends on V8, but not on isolates' lifecycle or a host.

mod bounds;
pub mod cap;
mod deserialize;
mod external;
mod fault;
mod serialize;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

pub use deserialize::payload_to_v8;
pub use external::external_text_to_v8;
pub use fault::{
    current_frames, exception_from_fault, fault_from_caught, fault_from_compilation, fault_from_exception,
};
pub use serialize::{clone_from_v8, move_from_v8};

use crate::value::{BigInt, Budget, Code, ErrorClass, Fault, Owner, SharedMemory, Text, TypeOf, Value};

/// The resolver that a callback of ours was given as `value`; `None` for values that are not promises.
///
/// Only for a value that came from a `PromiseResolver`: V8 ends the process when a promise is settled in two ways.
pub fn resolver_from<'s>(value: v8::Local<'s, v8::Value>) -> Option<v8::Local<'s, v8::PromiseResolver>> {
    if !value.is_promise() {
        return None;
    }
    // SAFETY: to V8, a resolver is the same object as its promise, and every promise is of the class that resolvers have
    // (`v8::Promise::Resolver::CheckCast`).
    Some(unsafe { v8::Local::<v8::PromiseResolver>::cast_unchecked(value) })
}

/// An isolate that uses memory of a host. If its thread does not stop, the host has to wait for it.
pub struct Borrowed {
    pub holder: Weak<dyn Owner>,
    count: Arc<AtomicUsize>,
}

impl Borrowed {
    /// `count` is the number of existing ones.
    pub fn new(holder: Weak<dyn Owner>, count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self { holder, count: Arc::clone(count) }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What the conversion needs from its caller: `ivm` objects, and the isolate's limits and budgets.
pub trait Exchange {
    /// A handle, function or promise as an object of this realm.
    fn adopt<'s>(&self, scope: &mut v8::PinScope<'s, '_>, value: Value) -> Result<v8::Local<'s, v8::Value>, Fault>;
    /// Whether `object` represents a handle. Must not run JavaScript, because V8's serializer asks in the middle of its work.
    fn is_handle(&self, scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>) -> bool;
    /// The handle that `object` represents, if it is one; a fault if the handle was released.
    fn identify(
        &self,
        scope: &mut v8::PinScope<'_, '_>,
        object: v8::Local<'_, v8::Object>,
    ) -> Result<Option<Value>, Fault>;
    /// Maximum size in bytes of one value that leaves this isolate.
    fn limit(&self) -> usize;
    /// The budget to which this isolate's buffers are charged.
    fn budget(&self) -> Arc<Budget>;
    /// The memory of a shared buffer; always the same object for the same memory. `None` for a buffer that can grow, because other isolates
    /// would not learn of its growth.
    fn shared(&self, buffer: v8::Local<'_, v8::SharedArrayBuffer>) -> Option<Arc<SharedMemory>>;
    /// Remembers incoming shared memory for [`Exchange::shared`]. False if it must not be used any more.
    fn remember(&self, memory: &Arc<SharedMemory>) -> bool;
    /// Memory of a host is about to be used, for as long as the result lives. `None` if the isolate is gone.
    fn borrow_memory(&self) -> Option<Borrowed>;
}

pub fn text_to_v8<'s>(scope: &v8::PinScope<'s, '_, ()>, text: &Text) -> Result<v8::Local<'s, v8::String>, Fault> {
    let string = match text {
        Text::Latin1(bytes) => v8::String::new_from_one_byte(scope, bytes, v8::NewStringType::Normal),
        Text::Utf16(units) => v8::String::new_from_two_byte(scope, units, v8::NewStringType::Normal),
    };
    string.ok_or_else(|| Fault::beyond("Invalid string length"))
}

/// At most `limit` bytes: a string may be much longer than the space that it takes in a guest's heap.
pub fn text_from_v8(scope: &v8::Isolate, string: v8::Local<'_, v8::String>, limit: usize) -> Result<Text, Fault> {
    let length = string.length();
    if string.is_onebyte() {
        let mut bytes = room(length, limit)?;
        string.write_one_byte_uninit_v2(scope, 0, &mut bytes.spare_capacity_mut()[..length], v8::WriteFlags::empty());
        // SAFETY: V8 has written `length` characters, for which there was room.
        unsafe { bytes.set_len(length) };
        Ok(Text::Latin1(bytes.into_boxed_slice()))
    } else {
        let mut units = room(length, limit)?;
        units.resize(length, 0);
        string.write_v2(scope, 0, &mut units, v8::WriteFlags::empty());
        Ok(Text::from_utf16(units))
    }
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
fn take_or_collect(scope: &mut v8::Isolate, budget: &Budget, bytes: usize) -> bool {
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

/// Any value that is not an object; otherwise `None`. A symbol has no neutral form.
pub fn primitive_from_v8(
    scope: &mut v8::PinScope<'_, '_>,
    value: v8::Local<'_, v8::Value>,
    limit: usize,
) -> Result<Option<Value>, Fault> {
    Ok(if value.is_undefined() {
        Some(Value::Undefined)
    } else if value.is_null() {
        Some(Value::Null)
    } else if value.is_boolean() {
        Some(Value::Boolean(value.is_true()))
    } else if let Ok(number) = v8::Local::<v8::Number>::try_from(value) {
        Some(Value::Number(number.value()))
    } else if let Ok(string) = v8::Local::<v8::String>::try_from(value) {
        Some(Value::String(text_from_v8(scope, string, limit)?))
    } else if let Ok(bigint) = v8::Local::<v8::BigInt>::try_from(value) {
        let mut words = vec![0; bigint.word_count()];
        let (negative, _) = bigint.to_words_array(&mut words);
        Some(Value::BigInt(Box::new(BigInt { negative, words: words.into_boxed_slice() })))
    } else {
        None
    })
}

/// Converts a value into the current realm. A payload is read in full.
pub fn to_v8<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    exchange: &dyn Exchange,
    value: Value,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    Ok(match value {
        Value::Undefined => v8::undefined(scope).into(),
        Value::Null => v8::null(scope).into(),
        Value::Boolean(boolean) => v8::Boolean::new(scope, boolean).into(),
        Value::Number(number) => v8::Number::new(scope, number).into(),
        Value::BigInt(bigint) => v8::BigInt::new_from_words(scope, bigint.negative, &bigint.words)
            .ok_or_else(|| Fault::beyond("Maximum BigInt size exceeded"))?
            .into(),
        Value::String(text) => text_to_v8(scope, &text)?.into(),
        Value::Payload(payload) => payload_to_v8(scope, exchange, *payload)?,
        value => exchange.adopt(scope, value)?,
    })
}

/// The value that `Reference.typeof` reports.
pub fn type_of(value: v8::Local<'_, v8::Value>) -> TypeOf {
    if value.is_null() {
        TypeOf::Null
    } else if value.is_undefined() {
        TypeOf::Undefined
    } else if value.is_number() {
        TypeOf::Number
    } else if value.is_string() {
        TypeOf::String
    } else if value.is_boolean() {
        TypeOf::Boolean
    } else if value.is_function() {
        TypeOf::Function
    } else {
        TypeOf::Object
    }
}

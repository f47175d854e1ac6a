//! Writes short lists of primitives, such as the path of a property. To make V8's serializer takes several times as long as to write such a list. The
//! bytes are those that it writes.

use std::sync::OnceLock;

use super::tagged::{self, View};
use crate::protocol::MAX_SHORT_LIST;
use crate::value::Payload;

/// Elements of the longest list.
const MAX_ELEMENTS: usize = MAX_SHORT_LIST as usize;

/// Characters of the longest string: its length takes one byte.
const MAX_CHARACTERS: usize = 127;

/// Bytes of a list of a few short strings.
const USUAL_BYTES: usize = 64;

/// Two arrays of a realm that have elements without holes, and nothing else: one of any values, one of small integers. V8 describes the properties of an
/// array by its map, which all such arrays of a realm share.
#[derive(Default)]
pub struct PlainLists(OnceLock<[v8::Global<v8::Array>; 2]>);

impl PlainLists {
    /// Whether `value` is such an array. They are created in the current context.
    fn include(&self, scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>) -> bool {
        if self.0.get().is_none() {
            let [Some(any), Some(integers)] = ["[null]", "[0]"].map(|json| parse(scope, json)) else { return false };
            let _ = self.0.set([any, integers]);
        }
        // SAFETY: it is the contents of a handle.
        let map = unsafe { tagged::map_of(tagged::tagged(value)) };
        let mut is_alike = |list: &v8::Global<v8::Array>| {
            // SAFETY: the same. The lists were created in this isolate, and are only looked at here.
            unsafe { tagged::map_of(tagged::tagged_at(list.open(scope))) == map }
        };
        map.is_some() && self.0.get().is_some_and(|lists| lists.iter().any(&mut is_alike))
    }
}

/// Arrays that V8 makes with a length may have holes. Those of its parser do not, and it runs no code of the guest.
fn parse(scope: &mut v8::PinScope<'_, '_>, json: &str) -> Option<v8::Global<v8::Array>> {
    v8::tc_scope!(let scope, scope);
    let json = v8::String::new(scope, json)?;
    let list = v8::Local::<v8::Array>::try_from(v8::json::parse(scope, json)?).ok()?;
    Some(v8::Global::new(scope, list))
}

/// Writes `value` if it is a short list of primitives; `None` if it is anything else. No code of the guest runs.
pub fn payload(
    scope: &mut v8::PinScope<'_, '_>,
    plain: &PlainLists,
    value: v8::Local<'_, v8::Value>,
) -> Option<Payload> {
    let mut bytes = Vec::new();
    write_short_list(scope, plain, value, &mut bytes)?;
    Some(Payload { bytes: bytes.into(), ..Payload::default() })
}

/// The same, at the end of `bytes`, which has something unfinished there if the result is `None`.
pub fn write_short_list(
    scope: &mut v8::PinScope<'_, '_>,
    plain: &PlainLists,
    value: v8::Local<'_, v8::Value>,
    bytes: &mut Vec<u8>,
) -> Option<()> {
    if !plain.include(scope, value) {
        return None;
    }
    // SAFETY: it is an array.
    let list = unsafe { v8::Local::<v8::Array>::cast_unchecked(value) };
    let count = list.length() as usize;
    if count > MAX_ELEMENTS {
        return None;
    }
    let short_count = u8::try_from(count).ok()?;
    bytes.reserve(USUAL_BYTES);
    bytes.extend_from_slice(&Payload::VERSION);
    bytes.extend_from_slice(&[b'A', short_count]);
    // SAFETY: an array like the plain ones has `length` elements without holes, which are tagged. Nothing below calls V8.
    for element in unsafe { tagged::elements(tagged::tagged(value), count) } {
        // SAFETY: as above.
        write(unsafe { tagged::view(*element) }, bytes)?;
    }
    bytes.extend_from_slice(&[b'$', 0, short_count]);
    Some(())
}

fn write(value: View<'_>, bytes: &mut Vec<u8>) -> Option<()> {
    match value {
        View::OneByte(characters) => {
            let length = u8::try_from(characters.len()).ok().filter(|length| usize::from(*length) <= MAX_CHARACTERS)?;
            bytes.extend_from_slice(&[b'"', length]);
            bytes.extend_from_slice(characters);
        }
        View::Number(number) => {
            bytes.push(b'N');
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        View::Integer(integer) => {
            bytes.push(b'I');
            write_integer(integer, bytes);
        }
        View::Undefined => bytes.push(b'_'),
        View::Null => bytes.push(b'0'),
        View::Boolean(true) => bytes.push(b'T'),
        View::Boolean(false) => bytes.push(b'F'),
        View::TwoByte(_) | View::Other => return None,
    }
    Some(())
}

/// The sign is the lowest bit. Each byte has seven bits, the lowest first, and says whether there are more.
fn write_integer(integer: i32, bytes: &mut Vec<u8>) {
    let mut rest = (integer.cast_unsigned() << 1) ^ (integer >> 31).cast_unsigned();
    while rest > 0x7f {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

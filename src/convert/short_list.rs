//! Writes short lists of primitives, such as the path of a property. To make V8's serializer takes several times as long as to write such a list. The
//! bytes are those that it writes.

use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::{Arc, OnceLock};

use crate::protocol::MAX_SHORT_LIST;
use crate::value::Payload;

/// Elements of the longest list.
const MAX_ELEMENTS: usize = MAX_SHORT_LIST as usize;

/// Characters of the longest string: its length takes one byte.
const MAX_CHARACTERS: usize = 127;

/// Bytes of a list of a few short strings.
const USUAL_BYTES: usize = 64;

/// Two arrays of a realm that have elements without holes, and nothing else: one of small integers, one of any values. V8 describes the properties of an
/// array by its map, which all such arrays of a realm share.
#[derive(Default)]
pub struct PlainLists(OnceLock<[v8::Global<v8::Array>; 2]>);

impl PlainLists {
    /// Whether `value` is such an array. They are created in the current context.
    fn include(&self, scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>) -> bool {
        if self.0.get().is_none() {
            let [Some(integers), Some(any)] = ["[0]", "[null]"].map(|json| parse(scope, json)) else { return false };
            let _ = self.0.set([integers, any]);
        }
        let map = map_of(value);
        let is_alike = |list: &v8::Global<v8::Array>| map_of(v8::Local::new(scope, list).into()) == map;
        map.is_some() && self.0.get().is_some_and(|lists| lists.iter().any(is_alike))
    }
}

/// Arrays that V8 makes with a length may have holes. Those of its parser do not, and it runs no code of the guest.
fn parse(scope: &mut v8::PinScope<'_, '_>, json: &str) -> Option<v8::Global<v8::Array>> {
    v8::tc_scope!(let scope, scope);
    let json = v8::String::new(scope, json)?;
    let list = v8::Local::<v8::Array>::try_from(v8::json::parse(scope, json)?).ok()?;
    Some(v8::Global::new(scope, list))
}

/// The address of the map of an object; `None` for a small integer. As `v8::TypecheckWitness` reads it, which the crate does not bind.
fn map_of(value: v8::Local<'_, v8::Value>) -> Option<usize> {
    // SAFETY: a `v8::Local` is the address of a place that has a tagged pointer to the value, or a small integer.
    let tagged = unsafe { ptr::from_ref(&*value).cast::<usize>().read() };
    // SAFETY: V8 is built without compressed pointers. An object begins with its map, which changes only on this thread, or while V8 has stopped it.
    is_object(tagged).then(|| unsafe { ((tagged - TAG) as *const usize).read() })
}

/// The tag of pointers to objects.
const TAG: usize = 1;

const fn is_object(tagged: usize) -> bool {
    tagged & TAG != 0
}

/// The elements of a list.
struct Elements<'a, 's, 'i> {
    scope: &'a v8::PinScope<'s, 'i>,
    all: [Option<v8::Local<'s, v8::Value>>; MAX_ELEMENTS],
}

impl<'s> Elements<'_, 's, '_> {
    fn read(
        scope: &v8::PinScope<'s, '_>,
        list: v8::Local<'_, v8::Array>,
    ) -> [Option<v8::Local<'s, v8::Value>>; MAX_ELEMENTS] {
        /// `v8::Maybe<void>`, which is trivially copyable and so returned in a register like this one.
        #[repr(C)]
        struct Maybe(u8);
        type Visit = unsafe extern "C" fn(u32, NonNull<v8::Value>, *mut c_void) -> c_int;
        unsafe extern "C" {
            /// `v8::Array::Iterate`, which the crate does not bind. A `v8::Local` is a pointer, here and in C++.
            #[link_name = "_ZN2v85Array7IterateENS_5LocalINS_7ContextEEEPFNS0_14CallbackResultEjNS1_INS_5ValueEEEPvES7_"]
            fn iterate(list: *const v8::Array, context: *const v8::Context, visit: Visit, data: *mut c_void) -> Maybe;
        }
        let mut elements = Elements { scope, all: [None; MAX_ELEMENTS] };
        let context = scope.get_current_context();
        // SAFETY: the list and the context are alive, and `visit` gets what it expects. The list has no holes, so no code of the guest runs.
        unsafe { iterate(&raw const *list, &raw const *context, visit, (&raw mut elements).cast()) };
        elements.all
    }
}

/// `v8::Array::CallbackResult`.
const CONTINUE: c_int = 2;

/// V8 calls this for each element. It must not allocate in the heap: until the last element, nothing may move.
///
/// # Safety
/// `data` points to the `Elements`.
unsafe extern "C" fn visit(index: u32, element: NonNull<v8::Value>, data: *mut c_void) -> c_int {
    // SAFETY: guaranteed by the caller.
    let elements = unsafe { &mut *data.cast::<Elements<'_, '_, '_>>() };
    // SAFETY: it is a `v8::Local`, for the time of this call.
    let element = unsafe { mem::transmute::<NonNull<v8::Value>, v8::Local<'_, v8::Value>>(element) };
    if let Some(place) = elements.all.get_mut(index as usize) {
        *place = Some(v8::Local::new(elements.scope, element));
    }
    CONTINUE
}

/// Writes `value` if it is a short list of primitives; `None` if it is anything else. No code of the guest runs.
pub fn payload(
    scope: &mut v8::PinScope<'_, '_>,
    plain: &PlainLists,
    value: v8::Local<'_, v8::Value>,
) -> Option<Payload> {
    let mut payload = Payload::default();
    payload_into(scope, plain, value, &mut payload).map(|()| payload)
}

/// The same. The memory of `payload`, which has no table, is used again.
pub fn payload_into(
    scope: &mut v8::PinScope<'_, '_>,
    plain: &PlainLists,
    value: v8::Local<'_, v8::Value>,
    payload: &mut Payload,
) -> Option<()> {
    let list = v8::Local::<v8::Array>::try_from(value).ok()?;
    let length = list.length() as usize;
    if length > MAX_ELEMENTS || !plain.include(scope, value) {
        return None;
    }
    let elements = Elements::read(scope, list);
    let count = u8::try_from(length).ok()?;
    let bytes = Arc::make_mut(&mut payload.bytes);
    bytes.clear();
    bytes.reserve(USUAL_BYTES);
    bytes.extend_from_slice(&Payload::VERSION);
    bytes.extend_from_slice(&[b'A', count]);
    for element in elements.get(..length)? {
        write(scope, (*element)?, bytes)?;
    }
    bytes.extend_from_slice(&[b'$', 0, count]);
    Some(())
}

fn write(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>, bytes: &mut Vec<u8>) -> Option<()> {
    if let Ok(text) = v8::Local::<v8::String>::try_from(value) {
        let length = text.length();
        if length > MAX_CHARACTERS || !text.is_onebyte() {
            return None;
        }
        bytes.extend_from_slice(&[b'"', u8::try_from(length).ok()?]);
        bytes.reserve(length);
        let room = bytes.spare_capacity_mut().get_mut(..length)?;
        text.write_one_byte_uninit_v2(scope, 0, room, v8::WriteFlags::empty());
        // SAFETY: V8 has written `length` characters behind those that were there.
        unsafe { bytes.set_len(bytes.len() + length) };
    } else if let Ok(number) = v8::Local::<v8::Number>::try_from(value) {
        if map_of(value).is_some() {
            bytes.push(b'N');
            bytes.extend_from_slice(&number.value().to_le_bytes());
        } else {
            // A small integer.
            bytes.push(b'I');
            write_integer(number.value() as i32, bytes);
        }
    } else {
        bytes.push(match () {
            () if value.is_undefined() => b'_',
            () if value.is_null() => b'0',
            () if value.is_true() => b'T',
            () if value.is_false() => b'F',
            () => return None,
        });
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

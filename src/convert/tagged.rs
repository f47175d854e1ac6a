//! Simple values of V8's heap, read where they lie. V8's functions for the same are several calls for each value. The layout is that of V8 on 64-bit
//! processors without compressed pointers; the test below compares with those functions.

use std::ptr;
use std::slice;

/// A value as V8's heap has it, while nothing allocates there.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(Debug, PartialEq))]
pub enum View<'a> {
    /// A small integer.
    Integer(i32),
    Number(f64),
    OneByte(&'a [u8]),
    TwoByte(&'a [u16]),
    Undefined,
    Null,
    Boolean(bool),
    /// Anything else, such as a string that consists of others.
    Other,
}

/// The tag of pointers to objects.
pub const TAG: usize = 1;

/// Where the value of a small integer begins.
const INTEGER_SHIFT: u32 = 32;
const _: () = assert!(size_of::<usize>() == 8);

// Offsets in an object, in bytes. Those that end in `_API` are part of V8's interface (`v8-internal.h`).

/// The type of instances, in a map.
const TYPE_API: usize = 12;
/// The prototype of objects with a map.
const PROTOTYPE: usize = 24;
const KIND_OF_ODDBALL_API: usize = 40;
const ELEMENTS_OF_OBJECT: usize = 16;
const FIRST_ELEMENT_API: usize = 16;
const LENGTH_OF_STRING: usize = 12;
const CHARACTERS: usize = 16;
const VALUE_OF_NUMBER: usize = 8;

// Types of instances.

const FIRST_NO_STRING: u16 = 0x80;
const NUMBER: u16 = 0x82;
const ODDBALL: u16 = 0x83;
/// Most types of objects are greater.
const PROXY: u16 = 0x125;

/// How the characters of a string are kept.
const REPRESENTATION: u16 = 0xf;
const ONE_BYTE_HERE: u16 = 8;
const TWO_BYTE_HERE: u16 = 0;

/// The kinds of oddballs, as small integers.
const FALSE: usize = 0;
const TRUE: usize = 1;
const NULL: usize = 3;
const UNDEFINED: usize = 4;

const fn is_object(tagged: usize) -> bool {
    tagged & TAG != 0
}

/// # Safety
/// `tagged` is the tagged pointer to an object that has a `T` there.
unsafe fn field<T>(tagged: usize, offset: usize) -> T {
    // SAFETY: guaranteed by the caller. V8 writes fields of objects only on the thread that has locked the isolate, or while it has stopped that.
    unsafe { ((tagged - TAG + offset) as *const T).read_unaligned() }
}

/// The tagged pointer to `value`, or the small integer itself.
#[inline(always)]
pub fn tagged(value: v8::Local<'_, v8::Value>) -> usize {
    // SAFETY: it is the contents of a local handle.
    unsafe { tagged_at(&*value) }
}

/// The same for the contents of a handle of any kind.
///
/// # Safety
/// `contents` was dereferenced from a handle.
#[inline(always)]
pub unsafe fn tagged_at<T>(contents: &T) -> usize {
    // SAFETY: a handle is the address of a place that has that.
    unsafe { ptr::from_ref(contents).cast::<usize>().read() }
}

/// The address of the map of an object; `None` for a small integer. As `v8::TypecheckWitness` reads it, which the crate does not bind.
///
/// # Safety
/// `tagged` is what a place in V8's heap or in a handle scope has.
#[inline(always)]
pub unsafe fn map_of(tagged: usize) -> Option<usize> {
    // SAFETY: an object begins with its map.
    is_object(tagged).then(|| unsafe { field(tagged, 0) })
}

/// The number of the type of objects with a map.
///
/// # Safety
/// `map` is the tagged pointer to a map.
#[inline(always)]
pub unsafe fn type_of_map(map: usize) -> u16 {
    // SAFETY: as the caller guarantees.
    unsafe { field(map, TYPE_API) }
}

/// # Safety
/// `tagged` is what a place in V8's heap or in a handle scope has. Until the result is no longer used, nothing may allocate in that heap.
#[inline(always)]
pub unsafe fn view<'a>(tagged: usize) -> View<'a> {
    // SAFETY: as the caller guarantees.
    let Some(map) = (unsafe { map_of(tagged) }) else {
        return View::Integer((tagged.cast_signed() >> INTEGER_SHIFT) as i32);
    };
    // SAFETY: it is a map.
    let kind = unsafe { type_of_map(map) };
    if kind < FIRST_NO_STRING {
        let characters = tagged - TAG + CHARACTERS;
        // SAFETY: every string has a length. The characters of one that keeps them itself follow.
        return unsafe {
            let length = field::<u32>(tagged, LENGTH_OF_STRING) as usize;
            match kind & REPRESENTATION {
                ONE_BYTE_HERE => View::OneByte(slice::from_raw_parts(characters as *const u8, length)),
                TWO_BYTE_HERE => View::TwoByte(slice::from_raw_parts(characters as *const u16, length)),
                _ => View::Other,
            }
        };
    }
    // SAFETY: the type says which fields there are.
    unsafe {
        match kind {
            NUMBER => View::Number(field(tagged, VALUE_OF_NUMBER)),
            ODDBALL => match field::<usize>(tagged, KIND_OF_ODDBALL_API) >> INTEGER_SHIFT {
                FALSE => View::Boolean(false),
                TRUE => View::Boolean(true),
                NULL => View::Null,
                UNDEFINED => View::Undefined,
                _ => View::Other,
            },
            _ => View::Other,
        }
    }
}

/// The elements of an array.
///
/// # Safety
/// As for [`view`]. The array has at least `count` elements, which are neither holes nor unboxed numbers.
pub unsafe fn elements<'a>(array: usize, count: usize) -> &'a [usize] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let elements = field::<usize>(array, ELEMENTS_OF_OBJECT);
        slice::from_raw_parts((elements - TAG + FIRST_ELEMENT_API) as *const usize, count)
    }
}

/// Number of objects that [`has_no_proxy`] examines at most.
const MAX_PROTOTYPES: usize = 64;

/// Whether it is certain that neither `object` nor one of its prototypes is a proxy.
pub fn has_no_proxy(object: v8::Local<'_, v8::Object>) -> bool {
    let mut current = tagged(object.into());
    for _ in 0..MAX_PROTOTYPES {
        // SAFETY: it is an object or the prototype of one, and nothing allocates meanwhile.
        let Some(map) = (unsafe { map_of(current) }) else { return false };
        // SAFETY: it is a map. That of an object has a prototype, which may be `null`.
        match unsafe { type_of_map(map) } {
            ODDBALL => return true,
            ..=PROXY => return false,
            // SAFETY: as above.
            _ => current = unsafe { field(map, PROTOTYPE) },
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{View, elements, has_no_proxy, tagged, view};

    #[test]
    fn finds_proxies() {
        (crate::guest::settings().engine)().unwrap();
        let isolate = &mut v8::Isolate::new(v8::CreateParams::default());
        v8::scope!(let scope, isolate);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        let scope = &mut v8::ContextScope::new(scope, context);
        let check = |code: &str, expected: bool| {
            let source = v8::String::new(scope, code).unwrap();
            let value = v8::Script::compile(scope, source, None).and_then(|script| script.run(scope)).unwrap();
            assert_eq!(has_no_proxy(value.try_into().unwrap()), expected, "{code}");
        };
        for code in [
            "globalThis",
            "({})",
            "[]",
            "() => 1",
            "Object.create(null)",
            "new Error",
            "new Map",
            "new Uint8Array(1)",
            "new String('a')",
        ] {
            check(code, true);
            check(&format!("new Proxy({code}, {{}})"), false);
            check(&format!("Object.create({code})"), true);
            check(&format!("Object.create(new Proxy({code}, {{}}))"), false);
            check(&format!("Object.setPrototypeOf(() => {{}}, Object.create(new Proxy({code}, {{}})))"), false);
        }
        check("(({ proxy, revoke }) => { revoke(); return proxy; })(Proxy.revocable({}, {}))", false);
        check("let chain = {}; for (let i = 0; i < 30; i += 1) chain = Object.create(chain); chain", true);
        check("for (let i = 0; i < 60; i += 1) chain = Object.create(chain); chain", false);
        check("Object.setPrototypeOf(globalThis, new Proxy({}, {})); globalThis", false);
    }

    #[test]
    fn sees_what_v8_sees() {
        (crate::guest::settings().engine)().unwrap();
        let isolate = &mut v8::Isolate::new(v8::CreateParams::default());
        v8::scope!(let scope, isolate);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        let scope = &mut v8::ContextScope::new(scope, context);
        let check = |code: &str, expected: View<'_>| {
            let source = v8::String::new(scope, code).unwrap();
            let value = v8::Script::compile(scope, source, None).and_then(|script| script.run(scope)).unwrap();
            // SAFETY: nothing is allocated meanwhile.
            assert_eq!(unsafe { view(tagged(value)) }, expected, "{code}");
            let source = v8::String::new(scope, &format!("[{code}, 'behind', {{}}]")).unwrap();
            let list = v8::Script::compile(scope, source, None).and_then(|script| script.run(scope)).unwrap();
            // SAFETY: as above. The array has three elements, one of which is an object.
            let first = unsafe { view(elements(tagged(list), 3)[0]) };
            assert_eq!(first, expected, "[{code}]");
        };
        for integer in [0, 1, -1, 42, i32::MAX, i32::MIN] {
            check(&integer.to_string(), View::Integer(integer));
        }
        for number in [0.5, -1.25, 1e300, 2_147_483_648.0, f64::INFINITY] {
            check(&if number.is_infinite() { "Infinity".to_owned() } else { number.to_string() }, View::Number(number));
        }
        check("undefined", View::Undefined);
        check("null", View::Null);
        check("true", View::Boolean(true));
        check("false", View::Boolean(false));
        for text in ["", "a", "name", "abcdefghijklmnopqrstuvwxyz"] {
            check(&format!("'{text}'"), View::OneByte(text.as_bytes()));
        }
        check("'Zürich'", View::OneByte(b"Z\xfcrich"));
        check("'\u{65e5}\u{672c}'", View::TwoByte(&[0x65e5, 0x672c]));
        check("'\\ud800'", View::TwoByte(&[0xd800]));
        check("'a' + 'b'", View::OneByte(b"ab"));
        for other in [
            "('x'.repeat(9) + String(Math.random()) + 'y'.repeat(9))",
            "({})",
            "[]",
            "1n",
            "Symbol()",
            "(() => 1)",
            "new Date()",
            "new String('a')",
        ] {
            check(other, View::Other);
        }
    }
}

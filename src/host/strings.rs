//! Large strings for the host. Copying one costs several times as much as the guest's own copy of it: the host takes new memory for it from
//! the system. Where the host supports external strings, it uses the text's memory instead.

use std::ffi::{c_char, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::OnceLock;

use napi_sys as sys;

use super::js::{Js, JsResult, JsValue, Refused};
use super::shared_memory::{Adopted, External};
use crate::engine::library;
use crate::isolate::blocks;
use crate::value::Text;

/// The smallest text, in bytes, that is not copied. The host's collector has to free each external string.
const MIN_EXTERNAL: usize = 64 << 10;

/// The largest one, below the limit of each host: a host that refuses a string does not say whether it has freed it.
const MAX_EXTERNAL: usize = 256 << 20;

/// The most bytes of such strings with which another one is not copied. Some hosts free external strings only on the next
/// turn of the event loop, and a guest may send any number of them to a synchronous call.
const MAX_ALIVE: i64 = 32 << 20;

type Finalize = unsafe extern "C" fn(env: sys::napi_env, characters: *mut c_void, hint: *mut c_void);

/// `node_api_create_external_string_latin1` or `_utf16`. It is part of version 10 of Node-API, which not every supported host has.
type Create<T> = unsafe extern "C" fn(
    env: sys::napi_env,
    characters: *mut T,
    length: usize,
    finalize: Finalize,
    hint: *mut c_void,
    result: *mut sys::napi_value,
    copied: *mut bool,
) -> sys::napi_status;

struct Creators {
    latin1: Option<Create<c_char>>,
    utf16: Option<Create<u16>>,
}

fn creators() -> &'static Creators {
    static CREATORS: OnceLock<Creators> = OnceLock::new();
    CREATORS.get_or_init(|| {
        let latin1 = library::of_host(c"node_api_create_external_string_latin1");
        let utf16 = library::of_host(c"node_api_create_external_string_utf16");
        // SAFETY: null becomes `None`; else the host exports functions of these names with these types.
        unsafe {
            Creators {
                latin1: transmute::<*mut c_void, Option<Create<c_char>>>(latin1),
                utf16: transmute::<*mut c_void, Option<Create<u16>>>(utf16),
            }
        }
    })
}

/// Whether the host gets a copy of the text in any case.
pub fn is_copied(adopted: &Adopted, text: &Text) -> bool {
    !(MIN_EXTERNAL..=MAX_EXTERNAL).contains(&text.byte_len()) || adopted.string_bytes() > MAX_ALIVE
}

/// A string of the host.
pub fn write<'a>(js: Js<'a>, adopted: &Adopted, text: Text) -> JsResult<JsValue<'a>> {
    if is_copied(adopted, &text) {
        let value = js.text(&text);
        blocks::keep_text(text);
        return value;
    }
    let value = match (&text, creators()) {
        (Text::Latin1(_), Creators { latin1: Some(create), .. }) => {
            let owner = Box::new(adopted.string(text));
            let Text::Latin1(characters) = &owner.memory else { return Err(Refused) };
            let (characters, length) = (characters.as_ptr().cast_mut().cast(), characters.len());
            // SAFETY: the characters belong to the owner.
            unsafe { external(js, *create, characters, length, owner) }
        }
        (Text::Utf16(_), Creators { utf16: Some(create), .. }) => {
            let owner = Box::new(adopted.string(text));
            let Text::Utf16(characters) = &owner.memory else { return Err(Refused) };
            let (characters, length) = (characters.as_ptr().cast_mut(), characters.len());
            // SAFETY: as above.
            unsafe { external(js, *create, characters, length, owner) }
        }
        _ => js.text(&text),
    };
    adopted.report(js);
    value
}

/// # Safety
/// The characters stay valid and unchanged while `owner` lives. The host only reads them.
unsafe fn external<'a, T>(
    js: Js<'a>,
    create: Create<T>,
    characters: *mut T,
    length: usize,
    owner: Box<External<Text>>,
) -> JsResult<JsValue<'a>> {
    let mut value = ptr::null_mut();
    let owner = Box::into_raw(owner).cast::<c_void>();
    // SAFETY: the caller vouches for the characters; the pointer is to a local. A host that copies them calls `free` at once.
    let status = unsafe { create(js.env(), characters, length, free, owner, &raw mut value, ptr::null_mut()) };
    // After a failure the memory is lost: the host may have kept it.
    if status != sys::Status::napi_ok {
        return Err(Refused);
    }
    // SAFETY: returned by the host just now.
    Ok(unsafe { js.returned(value) })
}

/// The host calls this once, on any thread, when the string is gone.
unsafe extern "C" fn free(_env: sys::napi_env, _characters: *mut c_void, owner: *mut c_void) {
    // SAFETY: the box that `external` gave away.
    let text = unsafe { Box::from_raw(owner.cast::<External<Text>>()) }.into_memory();
    blocks::keep_text(text);
}

//! Large strings for the host. Copying one costs several times as much as the guest's own copy of it: the host takes new memory for it from
//! the system. Where the host supports external strings, it uses the text's memory instead.

use std::ffi::{c_char, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::OnceLock;

use napi::sys;

use super::js::{Js, JsResult, JsValue, Refused};
use super::library;
use crate::value::Text;

/// The smallest text, in bytes, that is not copied. The host's collector has to free each external string.
const MIN_EXTERNAL: usize = 64 << 10;

/// The largest one, below the limit of each host: a host that refuses a string does not say whether it has freed it.
const MAX_EXTERNAL: usize = 256 << 20;

type Finalize = unsafe extern "C" fn(env: sys::napi_env, data: *mut c_void, length: *mut c_void);

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

struct Host {
    latin1: Option<Create<c_char>>,
    utf16: Option<Create<u16>>,
}

fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        let latin1 = library::of_host(c"node_api_create_external_string_latin1");
        let utf16 = library::of_host(c"node_api_create_external_string_utf16");
        // SAFETY: null becomes `None`; else the host exports functions of these names with these types.
        unsafe { Host { latin1: transmute::<*mut c_void, _>(latin1), utf16: transmute::<*mut c_void, _>(utf16) } }
    })
}

/// A string of the host.
pub fn write(js: Js<'_>, text: Text) -> JsResult<JsValue> {
    if !(MIN_EXTERNAL..=MAX_EXTERNAL).contains(&text.byte_len()) {
        return js.text(&text);
    }
    match (text, host()) {
        (Text::Latin1(bytes), Host { latin1: Some(create), .. }) => {
            let length = bytes.len();
            let bytes = Box::into_raw(bytes);
            // SAFETY: `free` gets the slice's address and length, once.
            unsafe { external(js, *create, bytes.cast(), length, free::<u8>) }
        }
        (Text::Utf16(units), Host { utf16: Some(create), .. }) => {
            let length = units.len();
            let units = Box::into_raw(units);
            // SAFETY: as above.
            unsafe { external(js, *create, units.cast(), length, free::<u16>) }
        }
        (text, _) => js.text(&text),
    }
}

/// # Safety
/// The characters stay valid, and no code changes them, until `finalize` has freed them. It gets their address and their number.
unsafe fn external<T>(
    js: Js<'_>,
    create: Create<T>,
    characters: *mut T,
    length: usize,
    finalize: Finalize,
) -> JsResult<JsValue> {
    let mut value = ptr::null_mut();
    let hint = ptr::without_provenance_mut(length);
    // SAFETY: the caller vouches for the characters; the pointer is to a local. A host that copies them calls `finalize` at once.
    let status = unsafe { create(js.env(), characters, length, finalize, hint, &raw mut value, ptr::null_mut()) };
    // After a failure the memory is lost: the host may have kept it.
    if status == sys::Status::napi_ok { Ok(value) } else { Err(Refused) }
}

/// Frees a boxed slice. Hosts may call it on any thread, at any time.
unsafe extern "C" fn free<T>(_env: sys::napi_env, data: *mut c_void, length: *mut c_void) {
    // SAFETY: `write` has taken both from a box, and the host calls this once.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(data.cast::<T>(), length.addr())) });
}

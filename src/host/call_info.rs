//! Arguments of a callback.

use std::ffi::c_void;
use std::ptr;

use napi_sys as sys;

use super::js::{Js, JsResult, JsValue, check};

/// Arguments of a callback, the first few without allocation.
pub struct CallInfo<'a> {
    short: [JsValue<'a>; CallInfo::SHORT],
    long: Vec<JsValue<'a>>,
    count: usize,
    pub data: *mut c_void,
}

impl<'a> CallInfo<'a> {
    const SHORT: usize = 14;

    /// # Safety
    /// The host must have passed `info` to the callback that `js` proves to run.
    pub unsafe fn read(js: Js<'a>, info: sys::napi_callback_info) -> JsResult<Self> {
        let mut read =
            Self { short: [JsValue::NONE; Self::SHORT], long: Vec::new(), count: Self::SHORT, data: ptr::null_mut() };
        // SAFETY: guaranteed by the caller; the buffer has room for `count` values.
        check(unsafe {
            sys::napi_get_cb_info(
                js.env(),
                info,
                &raw mut read.count,
                read.short.as_mut_ptr().cast(),
                ptr::null_mut(),
                &raw mut read.data,
            )
        })?;
        if read.count > Self::SHORT {
            read.long = vec![JsValue::NONE; read.count];
            // SAFETY: as above.
            check(unsafe {
                sys::napi_get_cb_info(
                    js.env(),
                    info,
                    &raw mut read.count,
                    read.long.as_mut_ptr().cast(),
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            })?;
        }
        Ok(read)
    }

    pub fn args(&self) -> &[JsValue<'a>] {
        if self.count > Self::SHORT { &self.long } else { &self.short[..self.count] }
    }
}

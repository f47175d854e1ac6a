//! Arguments of a callback.

use std::ffi::c_void;
use std::ptr;

use napi_sys as sys;

use super::js::{Js, JsResult, JsValue, check};

/// Arguments of a callback, the first `SHORT` without allocation. The host fills those that are not given.
pub struct CallInfo<'a, const SHORT: usize> {
    short: [JsValue<'a>; SHORT],
    long: Vec<JsValue<'a>>,
    count: usize,
    pub data: *mut c_void,
}

impl<'a, const SHORT: usize> CallInfo<'a, SHORT> {
    /// # Safety
    /// The host must have passed `info` to the callback that `js` proves to run.
    #[inline(always)]
    pub unsafe fn read(js: Js<'a>, info: sys::napi_callback_info) -> JsResult<Self> {
        let mut read = Self { short: [JsValue::NONE; SHORT], long: Vec::new(), count: SHORT, data: ptr::null_mut() };
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
        if read.count > SHORT {
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
        if self.count > SHORT { &self.long } else { &self.short[..self.count] }
    }
}

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
    #[inline(always)]
    pub const fn new() -> Self {
        Self { short: [JsValue::NONE; SHORT], long: Vec::new(), count: 0, data: ptr::null_mut() }
    }

    /// Reads the arguments where they stay, since they are many bytes.
    ///
    /// # Safety
    /// The host must have passed `info` to the callback that `js` proves to run.
    #[inline(always)]
    pub unsafe fn fill(&mut self, js: Js<'a>, info: sys::napi_callback_info) -> JsResult<()> {
        self.count = SHORT;
        // SAFETY: guaranteed by the caller; the buffer has room for `count` values.
        check(unsafe {
            sys::napi_get_cb_info(
                js.env(),
                info,
                &raw mut self.count,
                self.short.as_mut_ptr().cast(),
                ptr::null_mut(),
                &raw mut self.data,
            )
        })?;
        if self.count > SHORT {
            self.long = vec![JsValue::NONE; self.count];
            // SAFETY: as above.
            check(unsafe {
                sys::napi_get_cb_info(
                    js.env(),
                    info,
                    &raw mut self.count,
                    self.long.as_mut_ptr().cast(),
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            })?;
        }
        Ok(())
    }

    pub fn args(&self) -> &[JsValue<'a>] {
        if self.count > SHORT { &self.long } else { &self.short[..self.count] }
    }
}

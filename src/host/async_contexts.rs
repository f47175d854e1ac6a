//! The async contexts (`AsyncLocalStorage`) of pending calls, on hosts that are Node. When a guest calls a function of this host on behalf of a pending
//! call, the function runs in that call's context.
//!
//! The surface could enter a context, too, but not leave it where a time limit of `node:vm` ends JavaScript: that runs no `finally`. Node would find
//! its stack of contexts corrupt, and end the process.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr;

use napi_sys as sys;

use super::js::{Js, JsResult, JsValue, check};

/// Those of an environment, by the number of the call.
#[derive(Default)]
pub struct AsyncContexts(RefCell<HashMap<i64, AsyncContext>>);

/// Dropping it leaks the context.
#[derive(Clone, Copy)]
pub struct AsyncContext(sys::napi_async_context);

impl AsyncContexts {
    pub fn get(&self, call: i64) -> Option<AsyncContext> {
        self.0.borrow().get(&call).copied()
    }

    /// Keeps the context of the JavaScript that runs now for a call that begins.
    pub fn begin(&self, js: Js<'_>, call: i64) -> JsResult<()> {
        // First: it runs hooks of the program, which may make calls.
        let context = js.async_context()?;
        let before = self.0.borrow_mut().insert(call, context);
        drop_context(js, before);
        Ok(())
    }

    /// The call has settled.
    pub fn end(&self, js: Js<'_>, call: i64) {
        let context = self.0.borrow_mut().remove(&call);
        drop_context(js, context);
    }
}

fn drop_context(js: Js<'_>, context: Option<AsyncContext>) {
    if let Some(AsyncContext(context)) = context {
        // SAFETY: it is one of this environment, and nothing has it any more. A failure leaks it.
        let _ = unsafe { sys::napi_async_destroy(js.env(), context) };
    }
}

impl<'a> Js<'a> {
    /// The context of the JavaScript that runs now.
    fn async_context(self) -> JsResult<AsyncContext> {
        let name = self.string("isolated-v8")?;
        let mut context = ptr::null_mut();
        // SAFETY: `self` proves that a callback of this environment runs; the pointer is to a local. Without an object, the host creates one.
        check(unsafe { sys::napi_async_init(self.env(), ptr::null_mut(), name.raw(), &raw mut context) })?;
        Ok(AsyncContext(context))
    }

    /// As [`Js::call`], in the context of the environment's pending call.
    pub fn call_in(
        self,
        context: Option<AsyncContext>,
        function: JsValue<'_>,
        args: &[JsValue<'_>],
    ) -> JsResult<JsValue<'a>> {
        let Some(AsyncContext(context)) = context else { return self.call(function, args) };
        let mut receiver = ptr::null_mut();
        let mut result = ptr::null_mut();
        // SAFETY: the context is one of this environment, and exists when this begins: the surface drops those of calls that have settled. Node does not
        // use the object after it has called the function, which may settle the call. The arguments are values of this callback, `args.len()` of them.
        check(unsafe {
            match sys::napi_get_global(self.env(), &raw mut receiver) {
                sys::Status::napi_ok => sys::napi_make_callback(
                    self.env(),
                    context,
                    receiver,
                    function.raw(),
                    args.len(),
                    args.as_ptr().cast(),
                    &raw mut result,
                ),
                status => status,
            }
        })?;
        // SAFETY: returned by the host just now.
        Ok(unsafe { self.returned(result) })
    }
}

//! The Node-API binding: the functions that the host's surface calls, and how the host's thread waits and is woken.

mod abortable;
mod answers;
mod arena;
mod async_contexts;
mod binding;
mod call;
mod call_info;
mod carrier;
mod context;
mod direct_calls;
mod engine;
mod environment;
mod environment_handle;
mod event;
mod events;
mod execution;
mod functions;
mod interruption;
mod js;
mod pins;
mod pressure;
mod reference;
mod released;
mod reminders;
mod replies;
mod serving;
mod shared_memory;
mod signal;
mod streams;
mod strings;
mod subprocess;
mod text;
mod turn_budget;
mod warm;

use std::ptr;
use std::sync::Once;

use napi_sys as sys;

use js::{Js, JsResult};

type Callback = unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value;

/// Sets the addon's exports. The host calls this in each environment that loads the addon.
///
/// # Safety
/// Only the host may call it, on the environment's thread, with values of that environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn napi_register_module_v1(env: sys::napi_env, exports: sys::napi_value) -> sys::napi_value {
    static FUNCTIONS: Once = Once::new();
    FUNCTIONS.call_once(|| {
        // SAFETY: no function of Node-API was called before. The functions are the host's own, which is never unloaded.
        drop(unsafe { sys::setup() });
    });
    let run = |js: Js<'_>| {
        // SAFETY: the caller's promise.
        let exports = unsafe { js.returned(exports) };
        if export(js, exports).is_err() {
            js.throw_type_error(c"isolated-v8: the addon could not be set up");
        }
    };
    // SAFETY: the caller's promise.
    unsafe { Js::inside(env, run) };
    exports
}

fn export(js: Js<'_>, exports: js::JsValue<'_>) -> JsResult<()> {
    for (name, function) in [(c"open", binding::open as Callback), (c"startupSnapshots", engine::startup_snapshots)] {
        // SAFETY: the host may call both functions on this thread, and they ignore the data.
        let function = unsafe { js.function(name, Some(function), ptr::null_mut()) }?;
        js.set(exports, name, function)?;
    }
    js.set(exports, c"v8", js.string(crate::engine::version())?)
}

//! The Node-API binding: the functions that the host's surface calls, and how the host's thread waits and is woken.

mod abortable;
mod answers;
mod arena;
mod call;
mod carrier;
mod context;
mod engine;
mod environment;
mod event;
mod events;
mod execution;
mod functions;
mod js;
mod memory;
mod pins;
mod pressure;
mod process;
mod reference;
mod released;
mod reminders;
mod replies;
mod share;
mod shared;
mod signal;
mod streams;
mod strings;
mod warm;

use napi::bindgen_prelude::Object;
use napi::{Env, JsValue, Result, Status, sys};

use js::Js;

type Callback = unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value;

/// The addon's exports, created for each environment that loads it.
#[napi_derive::napi(module_exports)]
pub fn exports(exports: Object, env: Env) -> Result<()> {
    // SAFETY: the host calls this with the environment that loads the addon, on its thread.
    let js = unsafe { Js::new(env.raw()) };
    // SAFETY: the host may call both functions on this thread, and they ignore the data.
    let [open, ship] = [(c"open", call::open as Callback), (c"ship", engine::ship)].map(|(name, function)| unsafe {
        js.function(name, Some(function), std::ptr::null_mut())
            .and_then(|function| js.set(exports.raw(), name, function))
    });
    let version = js.string(crate::engine::version()).and_then(|version| js.set(exports.raw(), c"v8", version));
    open.and(version)
        .and(ship)
        .map_err(|_| napi::Error::new(Status::GenericFailure, "isolated-v8: the addon could not be set up"))
}

//! The Node-API binding: the functions that the host's surface calls, and how the host's thread waits and is woken.

mod abortable;
mod arena;
mod call;
mod carrier;
mod engine;
mod environment;
mod events;
mod execution;
mod js;
mod library;
mod memory;
mod pins;
mod pressure;
mod process;
mod reference;
mod released;
mod replies;
mod share;
mod shared;
mod signal;
mod streams;
mod warm;

use napi::bindgen_prelude::Object;
use napi::{Env, JsValue, Result, Status};

use js::Js;
pub use library::own_file;

/// The addon's exports, created for each environment that loads it.
#[napi_derive::napi(module_exports)]
pub fn exports(exports: Object, env: Env) -> Result<()> {
    // SAFETY: the host calls this with the environment that loads the addon, on its thread.
    let js = unsafe { Js::new(env.raw()) };
    let open = js
        .function("open", Some(call::open), std::ptr::null_mut())
        .and_then(|open| js.set(exports.raw(), c"open", open));
    let version = js.string(crate::engine::version()).and_then(|version| js.set(exports.raw(), c"v8", version));
    let ship = js
        .function("ship", Some(engine::ship), std::ptr::null_mut())
        .and_then(|ship| js.set(exports.raw(), c"ship", ship));
    open.and(version)
        .and(ship)
        .map_err(|_| napi::Error::new(Status::GenericFailure, "isolated-v8: the addon could not be set up"))
}

//! Functions for all isolates of the process: counts, and the defaults of calls.

use std::ptr;
use std::time::Duration;

use napi::sys;

use super::call::callback;
use super::js::{Js, JsValue, Refused};
use crate::isolate::{Policy, registry};
use crate::ops::milliseconds;
use crate::{engine, guest};

/// `statistics()`: numbers in the order that `surface/host/engine.js` names them.
pub unsafe extern "C" fn statistics(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, _local, _args| {
        let registry = registry();
        let figures = [
            registry.made,
            registry.idle,
            registry.warm,
            engine::threads() as u64,
            registry.lost_threads,
            registry.lost_running,
            registry.lost_bytes as u64,
        ];
        // Exact up to 2^53.
        let numbers: Result<Vec<_>, _> =
            figures.iter().chain(&registry.ended).map(|figure| js.number(*figure as f64)).collect();
        js.array(&numbers?)
    })
}

/// `ship()`: an `ArrayBuffer` that belongs at the end of the addon's file. It holds the startup snapshot.
pub unsafe extern "C" fn ship(env: sys::napi_env, _info: sys::napi_callback_info) -> JsValue {
    // SAFETY: `env` is the environment of the callback that runs now.
    let js = unsafe { Js::new(env) };
    let shipped = (crate::settings().engine)().map(|engine| js.buffer(&engine.ship(&guest::RECIPE)));
    shipped.and_then(Result::ok).unwrap_or(ptr::null_mut())
}

/// `configure(terminationGrace, timeout, deadline, lostMemoryLimit)`: milliseconds, and bytes. A negative value leaves its setting
/// unchanged; a time limit of 0 is none. Returns the current settings.
pub unsafe extern "C" fn configure(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, _local, args| {
        let [grace, timeout, deadline, lost, ..] = args else {
            return Err(Refused);
        };
        let (grace, timeout, deadline) =
            (js.read_number(*grace)?, js.read_number(*timeout)?, js.read_number(*deadline)?);
        let lost = js.read_number(*lost)?;
        let mut policy = Policy::current();
        if let Some(grace) = milliseconds(grace) {
            policy.termination_grace = grace;
        }
        if timeout >= 0.0 {
            policy.timeout = milliseconds(timeout);
        }
        if deadline >= 0.0 {
            policy.deadline = milliseconds(deadline);
        }
        if lost >= 0.0 {
            // The cast saturates.
            policy.lost_memory_limit = lost as usize;
        }
        policy.set();
        let policy = Policy::current();
        let number =
            |duration: Option<Duration>| js.number(duration.map_or(0.0, |duration| duration.as_secs_f64() * 1_000.0));
        let lost = js.number(policy.lost_memory_limit as f64)?;
        js.array(&[number(Some(policy.termination_grace))?, number(policy.timeout)?, number(policy.deadline)?, lost])
    })
}

//! Functions for all isolates of the process: counts, and the defaults of calls.

use std::ptr;
use std::time::Duration;

use napi_sys as sys;

use super::environment::Environment;
use super::js::{Js, JsResult, JsValue, Refused};
use crate::isolate::{End, Policy, caller_thread, registry};
use crate::ops::milliseconds;
use crate::protocol::{setting, statistic};
use crate::{engine, guest, sandbox};

/// `startEngine()`: starts V8 on another thread, because an isolate is about to be made. Has no effect once it has started. An error is reported by
/// what makes the isolate, which tries again.
pub fn start<'a>(js: Js<'a>, environment: &'static Environment, _args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let start = environment.settings.engine;
    engine::run_on_pool(move || {
        let _ = start();
    });
    js.undefined()
}

/// `statistics()`: counts of isolates and threads, each at its index of `STATISTIC`.
pub fn statistics<'a>(js: Js<'a>, _local: &'static Environment, _args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let registry = registry();
    let (code_cache_bytes, code_cache_hits) = engine::code_cache::figures();
    let mut figures = [0; statistic::ALL.len()];
    for (index, figure) in [
        (statistic::MADE, registry.made),
        (statistic::IDLE, registry.idle),
        (statistic::WARM, registry.warm),
        (statistic::THREADS, engine::threads() as u64),
        (statistic::LOST_THREADS, registry.lost_threads),
        (statistic::LOST_RUNNING, registry.lost_running),
        (statistic::LOST_BYTES, registry.lost_bytes as u64),
        (statistic::DISPOSED, registry.ended[End::Disposed as usize]),
        (statistic::COLLECTED, registry.ended[End::Collected as usize]),
        (statistic::OUT_OF_MEMORY, registry.ended[End::OutOfMemory as usize]),
        (statistic::ENVIRONMENT_GONE, registry.ended[End::Environment as usize]),
        (statistic::ABANDONED, registry.ended[End::Abandoned as usize]),
        (statistic::CODE_CACHE_BYTES, code_cache_bytes as u64),
        (statistic::CODE_CACHE_HITS, code_cache_hits),
    ] {
        figures[index as usize] = figure;
    }
    // Exact up to 2^53.
    let numbers: Result<Vec<_>, _> = figures.iter().map(|figure| js.number(*figure as f64)).collect();
    js.array(&numbers?)
}

/// `startupSnapshots()`: an `ArrayBuffer` that belongs at the end of the addon's file. It holds the startup snapshots, that of processes of
/// sandboxes first.
pub unsafe extern "C" fn startup_snapshots(env: sys::napi_env, _info: sys::napi_callback_info) -> sys::napi_value {
    let snapshots = |js: Js<'_>| {
        let engine = (crate::guest::settings().engine)().ok()?;
        let both =
            [engine.embeddable_snapshot(&sandbox::BUILTINS), engine.embeddable_snapshot(&guest::SNAPSHOT_SOURCE)]
                .concat();
        js.buffer(&both).ok().map(JsValue::raw)
    };
    // SAFETY: `env` is the environment of the callback that runs now.
    unsafe { Js::inside(env, snapshots) }.unwrap_or(ptr::null_mut())
}

/// `configure(...settings)`: changes the settings, each at its index of `SETTING`, in milliseconds or bytes. A negative value leaves its
/// setting unchanged; a time limit of 0 is none. Returns the current settings. Without arguments, returns whether sync calls can run on the
/// caller's thread.
pub fn configure<'a>(js: Js<'a>, _local: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    if args.is_empty() {
        return js.boolean(caller_thread::is_available());
    }
    let read = |index: u32| js.read_number(*args.get(index as usize).ok_or(Refused)?);
    let (grace, timeout, deadline, lost) = (
        read(setting::TERMINATION_GRACE)?,
        read(setting::TIMEOUT)?,
        read(setting::DEADLINE)?,
        read(setting::LOST_MEMORY_LIMIT)?,
    );
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
    match read(setting::SYNC_ON_CALLER)? {
        0.0 => policy.on_caller = false,
        1.0 => policy.on_caller = true,
        _ => {}
    }
    match read(setting::CODE_CACHE)? {
        0.0 => engine::code_cache::enable(false),
        1.0 => engine::code_cache::enable(true),
        _ => {}
    }
    policy.set();
    let policy = Policy::current();
    let number = |duration: Option<Duration>| duration.map_or(0.0, |duration| duration.as_secs_f64() * 1_000.0);
    let mut settings = [0.0; setting::ALL.len()];
    settings[setting::TERMINATION_GRACE as usize] = number(Some(policy.termination_grace));
    settings[setting::TIMEOUT as usize] = number(policy.timeout);
    settings[setting::DEADLINE as usize] = number(policy.deadline);
    settings[setting::LOST_MEMORY_LIMIT as usize] = policy.lost_memory_limit as f64;
    settings[setting::CODE_CACHE as usize] = f64::from(u8::from(engine::code_cache::is_enabled()));
    settings[setting::SYNC_ON_CALLER as usize] = f64::from(u8::from(policy.on_caller));
    let settings: Result<Vec<_>, _> = settings.iter().map(|setting| js.number(*setting)).collect();
    js.array(&settings?)
}

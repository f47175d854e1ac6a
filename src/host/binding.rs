//! The native functions that a host's surface gets.

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};

use napi_sys as sys;

use super::call_info::CallInfo;
use super::environment::Environment;
use super::functions::Functions;
use super::js::{Js, JsResult, JsValue, Refused};
use super::{call, direct_calls, engine as host_engine, events, execution, replies, subprocess, warm};
use crate::engine;

/// Arguments that most functions get without allocation.
const ARGS: usize = 14;

/// A function that calls `body` with the arguments. Throws a TypeError if `body` is refused without a pending exception.
fn function<'a, F>(js: Js<'a>, environment: &'static Environment, name: &CStr, body: F) -> JsResult<JsValue<'a>>
where
    F: for<'s> Fn(Js<'s>, &'static Environment, &[JsValue<'s>]) -> JsResult<JsValue<'s>> + Copy + 'static,
{
    function_of::<F, ARGS>(js, environment, name, body)
}

/// The same for a function that is called with up to `SHORT` arguments.
fn function_of<'a, F, const SHORT: usize>(
    js: Js<'a>,
    environment: &'static Environment,
    name: &CStr,
    _body: F,
) -> JsResult<JsValue<'a>>
where
    F: for<'s> Fn(Js<'s>, &'static Environment, &[JsValue<'s>]) -> JsResult<JsValue<'s>> + Copy + 'static,
{
    let data = ptr::from_ref(environment).cast_mut().cast::<c_void>();
    // SAFETY: `_body` is a value of `F`. An `Environment` lives forever, and this one belongs to that of `js`: `open`, the only caller,
    // has just opened it there. That environment calls the function on its own thread.
    unsafe { js.function(name, Some(callback::<F, SHORT>), data) }
}

/// Calls the function of type `F`.
///
/// # Safety
/// Only for the host, with an `Environment` of its environment as data, and only if there is a value of `F`.
unsafe extern "C" fn callback<F, const SHORT: usize>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value
where
    F: for<'s> Fn(Js<'s>, &'static Environment, &[JsValue<'s>]) -> JsResult<JsValue<'s>> + Copy + 'static,
{
    const { assert!(size_of::<F>() == 0, "it must not capture anything") };
    // SAFETY: a value without a size can be read from any aligned address. There is one, which may be copied.
    let body = unsafe { NonNull::<F>::dangling().read() };
    let run = |js: Js<'_>| {
        let mut call = CallInfo::<SHORT>::new();
        // SAFETY: `info` belongs to the callback that `js` proves to run.
        let result = unsafe { call.fill(js, info) }.and_then(|()| {
            // SAFETY: guaranteed by the caller.
            let environment = unsafe { &*call.data.cast::<Environment>() };
            body(js, environment, call.args())
        });
        or_throw(js, result, c"isolated-v8: malformed call of the native binding")
    };
    // SAFETY: `env` is the environment of the callback that runs now.
    unsafe { Js::inside(env, run) }
}

/// What a callback returns to the host. Throws a TypeError if it was refused without a pending exception.
fn or_throw(js: Js<'_>, result: JsResult<JsValue<'_>>, message: &CStr) -> sys::napi_value {
    result.map_or_else(
        |_| {
            if !js.exception_is_pending() {
                js.throw_type_error(message);
            }
            ptr::null_mut()
        },
        JsValue::raw,
    )
}

/// `open(host)`: opens this environment. `host` has the surface's [`Functions`], and says whether it `exposesGc`, `hasScopes` or `missesSignals`.
/// The result has the functions that the surface calls.
pub unsafe extern "C" fn open(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let run = |js: Js<'_>| {
        let mut call = CallInfo::<ARGS>::new();
        // SAFETY: `info` belongs to the callback that `js` proves to run.
        let opened = unsafe { call.fill(js, info) }.and_then(|()| functions_of(js, &call));
        or_throw(js, opened, c"isolated-v8: the environment could not be opened")
    };
    // SAFETY: `env` is the environment of the callback that runs now.
    unsafe { Js::inside(env, run) }
}

/// Opens the environment with these arguments of `open`.
fn functions_of<'a>(js: Js<'a>, call: &CallInfo<'a, ARGS>) -> JsResult<JsValue<'a>> {
    let [host, ..] = call.args() else { return Err(Refused) };
    let is_set = |name| js.read_boolean(js.property(*host, name)?);
    if is_set(c"exposesGc")? {
        engine::expose_gc();
    }
    let environment = Environment::open(Functions::of(js, *host)?, crate::guest::settings());
    events::attach(js, environment)?;
    if is_set(c"missesSignals")? {
        environment.signal().set_repeats();
    }
    if !is_set(c"hasScopes")? {
        environment.has_no_scopes(js, function(js, environment, c"serveNext", call::serve_next)?)?;
    }
    js.object(&[
        (c"outcome", environment.arena.outcome_buffer(js)?),
        (c"invoke", function(js, environment, c"invoke", call::invoke)?),
        (c"abort", function(js, environment, c"abort", call::abort)?),
        (c"configure", function(js, environment, c"configure", host_engine::configure)?),
        (c"startEngine", function(js, environment, c"startEngine", host_engine::start)?),
        (c"statistics", function(js, environment, c"statistics", host_engine::statistics)?),
        (c"flushWakeUps", function(js, environment, c"flushWakeUps", call::flush_wake_ups)?),
        (c"answer", function_of::<_, 1>(js, environment, c"answer", direct_calls::answer)?),
        (c"answerBytes", function_of::<_, 1>(js, environment, c"answerBytes", direct_calls::answer_bytes)?),
        (c"answerSmall", function_of::<_, 1>(js, environment, c"answerSmall", direct_calls::answer_small)?),
        (c"answerText", function_of::<_, 1>(js, environment, c"answerText", direct_calls::answer_text)?),
        (c"directCall", function_of::<_, 1>(js, environment, c"directCall", direct_calls::direct_call)?),
        (
            c"directCallValue",
            function_of::<_, 1>(js, environment, c"directCallValue", direct_calls::direct_call_value)?,
        ),
        (c"drain", function(js, environment, c"drain", call::drain)?),
        (c"pause", function(js, environment, c"pause", call::pause)?),
        (c"wanted", function(js, environment, c"wanted", call::is_wanted)?),
        (c"resume", function(js, environment, c"resume", call::resume)?),
        (c"limits", function(js, environment, c"limits", call::limits)?),
        (c"installGlobals", function(js, environment, c"installGlobals", call::install_globals)?),
        (c"keepSnapshot", function(js, environment, c"keepSnapshot", warm::keep_snapshot)?),
        (c"takeIsolate", function(js, environment, c"takeIsolate", warm::take_isolate)?),
        (c"makeWarm", function(js, environment, c"makeWarm", warm::make_warm)?),
        (c"meter", function(js, environment, c"meter", warm::meter)?),
        (c"prewarm", function(js, environment, c"prewarm", warm::prewarm)?),
        (c"makeInspectable", function(js, environment, c"makeInspectable", warm::make_inspectable)?),
        (c"execute", function(js, environment, c"execute", execution::execute)?),
        (c"runAsActor", function(js, environment, c"runAsActor", call::run_as_actor)?),
        (c"adoptModule", function(js, environment, c"adoptModule", call::adopt)?),
        (c"executeInProcess", function(js, environment, c"executeInProcess", subprocess::execute)?),
        (c"terminateExecution", function(js, environment, c"terminateExecution", subprocess::terminate)?),
        (c"checkConfinement", function(js, environment, c"checkConfinement", subprocess::check_confinement)?),
        (c"release", function(js, environment, c"release", call::release)?),
        (c"reply", function(js, environment, c"reply", replies::reply)?),
        (c"fail", function(js, environment, c"fail", replies::fail)?),
        (c"refuse", function(js, environment, c"refuse", replies::refuse)?),
        (c"recipient", function(js, environment, c"recipient", replies::recipient)?),
        (c"maxAnswers", function(js, environment, c"maxAnswers", replies::max_answers)?),
        (c"isAwaited", function(js, environment, c"isAwaited", replies::is_awaited)?),
        (c"disowned", function(js, environment, c"disowned", call::disowned)?),
        (c"keepContext", function(js, environment, c"keepContext", call::keep_context)?),
        (c"dropContext", function(js, environment, c"dropContext", call::drop_context)?),
    ])
}

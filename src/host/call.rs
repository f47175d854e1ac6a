//! The functions that the host's surface calls, and how its thread waits.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use napi::sys;

use super::environment::Local;
use super::js::{CallInfo, Js, JsResult, JsValue};
use super::streams::Origin;
use super::warm;
use super::{carrier, engine as whole, execution, process, replies};
use crate::engine;
use crate::isolate::{Kind, Limits, Remote, Settings};
use crate::ops::{self, Caller, Prepared};
use crate::protocol::{limit, mode, wanted};
use crate::sandbox::{self, Equipment, Names, Sources};
use crate::value::{Chain, Charge, Completion, Handle, Outcome, Reply, Value, spin};

/// Most calls are answered within this time; sleeping and waking takes longer than they do.
const SPIN: Duration = Duration::from_micros(50);

/// How often a waiting thread checks whether its environment is being terminated.
const CHECK: Duration = Duration::from_millis(100);

/// Runs the body of a callback. Throws a TypeError if the body is refused without a pending exception.
pub(super) fn callback(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    body: impl FnOnce(Js<'_>, &'static Local, &[JsValue]) -> JsResult<JsValue>,
) -> JsValue {
    // SAFETY: `env` is the environment of the callback that runs now.
    let js = unsafe { Js::new(env) };
    let result = CallInfo::read(js, info).and_then(|call| {
        // SAFETY: these callbacks are created with a leaked `Local` as data, and run on its thread.
        let local = unsafe { &*call.data.cast::<Local>() };
        body(js, local, call.args())
    });
    result.unwrap_or_else(|_| {
        if !js.exception_is_pending() {
            js.throw_type_error(c"isolated-v8: malformed call of the native binding");
        }
        ptr::null_mut()
    })
}

/// `invoke(op, mode, request, handle, ...args)`.
pub unsafe extern "C" fn invoke(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let [op, mode, request, handle, rest @ ..] = args else {
            return Err(super::js::Refused);
        };
        let op = js.read_number(*op)? as u32;
        let mode = js.read_number(*mode)? as u32;
        let request = js.read_number(*request)? as i64;
        let target = local.handle(js.read_number(*handle)? as usize);
        let mut values = Vec::with_capacity(rest.len());
        for carrier in rest {
            match carrier::read(js, local, *carrier)? {
                Ok(value) => values.push(value),
                Err(fault) => return finish(js, local, mode, request, Prepared::from(fault)),
            }
        }
        let prepared = ops::prepare(op, target, values, &HostCaller { js, local });
        finish(js, local, mode, request, prepared)
    })
}

struct HostCaller<'a> {
    js: Js<'a>,
    local: &'static Local,
}

impl Caller for HostCaller<'_> {
    fn settings(&self) -> &Settings {
        &self.local.settings
    }

    fn handle(&self, id: usize) -> Option<Value> {
        self.local.handle(id)
    }

    fn disposes(&self, remote: &Arc<Remote>) {
        self.local.keep_alive_until_gone(self.js, remote);
        if self.local.shared.has_streams() {
            self.local.shared.ask_streams(|streams| streams.dispose(remote.id()));
        }
    }

    fn owns(&self, remote: &Arc<Remote>) {
        self.local.shared.add_isolate(remote);
    }
}

fn finish(js: Js<'_>, local: &'static Local, mode: u32, request: i64, prepared: Prepared) -> JsResult<JsValue> {
    match mode {
        mode::SYNC => {
            let origin = prepared.remote();
            // A call that is made while another one waits gets no wider limits.
            let outer = if local.chain.borrow().is_some() { local.waiting.get() } else { Limits::default() };
            let limits = prepared.limits().within(outer);
            local.limits.set(limits);
            // Calls that are made meanwhile leave their own limits in `local.limits`.
            let before = local.waiting.replace(limits);
            let outcome = wait(js, local, prepared);
            local.waiting.set(before);
            local.limits.set(limits);
            let promise = matches!(outcome, Ok(Value::Promise(_)));
            let carrier = local.write_result(js, outcome);
            local.returned(js, &origin, promise);
            carrier
        }
        mode::ASYNC => {
            let completion = local.limited_completion(js, request, prepared.remote(), prepared.limits());
            local.call_later(js, prepared, Chain::of_request(request), completion);
            js.undefined()
        }
        // Its outcome is dropped, unless it could not begin. It keeps the event loop alive nevertheless.
        _ => match prepared {
            Prepared::Done(Err(fault)) => carrier::write(js, local, Err(fault)),
            prepared => {
                let completion = local.digest(js, prepared.remote());
                prepared.dispatch(Kind::Task, Chain::default(), Charge::default(), completion);
                js.undefined()
            }
        },
    }
}

/// Waits for the outcome on this thread, and serves the callee's requests meanwhile.
fn wait(js: Js<'_>, local: &'static Local, prepared: Prepared) -> Outcome {
    if let Prepared::Done(outcome) = prepared {
        return outcome;
    }
    let inherited = local.chain.borrow().clone();
    let outermost = inherited.is_none();
    let chain = inherited.unwrap_or_else(|| Chain::rooted(crate::value::Owner::id(&*local.shared)));
    let completion = Reply::new(Arc::downgrade(&local.shared));
    let outer = local.chain.replace(Some(chain.clone()));
    prepared.dispatch(Kind::Call, chain.clone(), Charge::default(), Arc::clone(&completion) as Arc<dyn Completion>);
    let outcome = loop {
        let version = local.shared.version.load(Ordering::Acquire);
        if let Some(outcome) = completion.take() {
            break outcome;
        }
        if let Some(request) = local.shared.take_call() {
            local.serve_now(js, request);
            continue;
        }
        if !spin(SPIN, || local.shared.version.load(Ordering::Acquire) != version)
            && !local.shared.park(version, CHECK)
            && !local.is_alive(js)
        {
            // A worker that is being terminated: its isolates end, and this call with them.
            local.close();
        }
    };
    *local.chain.borrow_mut() = outer;
    if outermost {
        local.shared.end_chain(&chain);
    }
    outcome
}

/// `equip(request, context, web, timers, index, sources, logLength)`: puts into a context what sandboxes have. `web` selects names of the
/// web. `timers` is the listener for errors in timers; without it there are no timers. `index` and `sources` are what can be imported. The
/// outcome settles `request`: a reference to a list of functions for the library's code in the context, see `sandbox::equip`. With
/// `logLength`, one of them makes text of a console's arguments, of at most this many characters.
pub unsafe extern "C" fn equip(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let [request, context, web, timers, index, sources, log_length, ..] = args else {
            return Err(super::js::Refused);
        };
        let request = js.read_number(*request)? as i64;
        let context = local.handle(js.read_number(*context)? as usize);
        let web = Names::from_bits(js.read_number(*web)? as u32);
        let timers = carrier::read(js, local, *timers)?;
        let (index, sources) = (carrier::read(js, local, *index)?, carrier::read(js, local, *sources)?);
        let log_length = match carrier::read(js, local, *log_length)? {
            Ok(Value::Number(length)) => Some(length as usize),
            _ => None,
        };
        let (Some(Value::Handle(Handle::Context(context))), Ok(timers)) = (context, timers) else {
            return Err(super::js::Refused);
        };
        let timers = match timers {
            Value::Function(listener) => Some(listener),
            _ => None,
        };
        let modules = match (index, sources) {
            (Ok(Value::String(index)), Ok(Value::String(text))) => Some(Sources { index, text }),
            _ => None,
        };
        let prepared = sandbox::equip(&context, Equipment { timers, web, modules, log_length });
        finish(js, local, mode::ASYNC, request, prepared)
    })
}

/// `enact(request, context, begin, code, file, timeout, deadline, …arguments)`: runs a script, named `file` in stacks, for the actor that
/// the function behind the reference `begin` creates from the arguments. A clone of the script's last value settles `request`.
pub unsafe extern "C" fn enact(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let [request, context, begin, code, file, timeout, deadline, rest @ ..] = args else {
            return Err(super::js::Refused);
        };
        let request = js.read_number(*request)? as i64;
        let context = local.handle(js.read_number(*context)? as usize);
        let begin = local.handle(js.read_number(*begin)? as usize);
        let (code, file) = (carrier::read(js, local, *code)?, carrier::read(js, local, *file)?);
        let limits = [*timeout, *deadline].map(|limit| js.read_number(limit).map(ops::milliseconds));
        let [timeout, deadline] = limits;
        let limits = Limits::new(timeout?, deadline?);
        let (
            Some(Value::Handle(Handle::Context(context))),
            Some(Value::Handle(Handle::Reference(begin))),
            Ok(Value::String(code)),
            Ok(Value::String(file)),
        ) = (context, begin, code, file)
        else {
            return Err(super::js::Refused);
        };
        let mut arguments = Vec::with_capacity(rest.len());
        for carrier in rest {
            match carrier::read(js, local, *carrier)? {
                Ok(value) => arguments.push(value),
                Err(fault) => return finish(js, local, mode::ASYNC, request, Prepared::from(fault)),
            }
        }
        let enactment = sandbox::Enactment { begin, arguments, code, file, limits };
        finish(js, local, mode::ASYNC, request, sandbox::enact(&context, enactment))
    })
}

/// `adoptModule(request, context, code, file)`: settles `request` with the specifier by which the code, named `file` in stacks, is
/// imported, if it is a module.
pub unsafe extern "C" fn adopt(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let [request, context, code, file, ..] = args else {
            return Err(super::js::Refused);
        };
        let request = js.read_number(*request)? as i64;
        let context = local.handle(js.read_number(*context)? as usize);
        let (code, file) = (carrier::read(js, local, *code)?, carrier::read(js, local, *file)?);
        let (Some(Value::Handle(Handle::Context(context))), Ok(Value::String(code)), Ok(Value::String(file))) =
            (context, code, file)
        else {
            return Err(super::js::Refused);
        };
        finish(js, local, mode::ASYNC, request, sandbox::adopt(&context, code, file))
    })
}

/// `abort(request)`: aborts a call whose number has the bit `ABORTABLE`, or the promise that resulted from it.
pub unsafe extern "C" fn abort(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let [request, ..] = args else {
            return Err(super::js::Refused);
        };
        local.abort(js.read_number(*request)? as i64);
        js.undefined()
    })
}

/// `release(handle)`: the surface no longer has a wrapper for the handle.
pub unsafe extern "C" fn release(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let [handle, ..] = args else {
            return Err(super::js::Refused);
        };
        local.release(js.read_number(*handle)? as usize);
        js.undefined()
    })
}

/// `disowned()`: the slots of the surface's table that are no longer held. Each is returned once.
pub unsafe extern "C" fn disowned(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, _args| {
        let disowned = local.shared.disowned.take();
        let slots: Result<Vec<_>, _> = disowned.into_iter().map(|slot| js.number(f64::from(slot))).collect();
        js.array(&slots?)
    })
}

/// `pause()`: the surface reads, in several turns, the value that it was just given. Events of the same isolate wait until it calls
/// `resume` with the number that this returns.
pub unsafe extern "C" fn pause(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, _args| js.number(local.pause() as f64))
}

/// `wanted(number)`: whether the value that is being read is still wanted, as one of `WANTED`.
pub unsafe extern "C" fn is_wanted(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let [number, ..] = args else {
            return Err(super::js::Refused);
        };
        let id = js.read_number(*number)? as u64;
        js.number(f64::from(match local.is_wanted(js, id) {
            false => wanted::NO,
            true if local.shared.ask_streams(|streams| streams.is_disposed(id)) => wanted::DISPOSED,
            true => wanted::YES,
        }))
    })
}

/// `resume(number)`: the value was read.
pub unsafe extern "C" fn resume(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let [number, ..] = args else {
            return Err(super::js::Refused);
        };
        local.shared.end_reading(js.read_number(*number)? as u64);
        js.undefined()
    })
}

/// `limits()`: milliseconds until the deadline of the call whose outcome was just given to the surface, or that waits while a request is
/// served, and the call's `timeout`; infinite if it has none.
pub unsafe extern "C" fn limits(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, _args| {
        let Limits { timeout, deadline } = local.limits.get();
        let milliseconds = |time: Option<Duration>| time.map_or(f64::INFINITY, |time| time.as_secs_f64() * 1_000.0);
        let left = deadline.map(|deadline| deadline.time.saturating_duration_since(Instant::now()));
        let mut limits = [0.0; limit::ALL.len()];
        limits[limit::LEFT as usize] = milliseconds(left);
        limits[limit::TIMEOUT as usize] = milliseconds(timeout);
        js.array(&limits.map(|limit| js.number(limit)).into_iter().collect::<Result<Vec<_>, _>>()?)
    })
}

/// `drain()`: handles the events that were left for another turn.
pub unsafe extern "C" fn drain(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, _args| {
        local.handle_events(js);
        js.undefined()
    })
}

/// `serveNext()`: serves the request that [`Local::serve_now`] has stored.
unsafe extern "C" fn serve_next(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, _args| {
        if let Some(request) = local.next.take() {
            local.serve(js, request, Origin::default());
        }
        js.undefined()
    })
}

/// `flushWakeUps()`: wakes the sleeping isolates that were called in this turn.
pub unsafe extern "C" fn flush_wake_ups(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, _args| {
        local.flush_wake_ups();
        js.undefined()
    })
}

/// `open(settle, serve, serveLater, defer, flushLater, own, leave, exposesGc, hasScopes, missesSignals)`: opens this environment.
/// The result has the functions above.
pub unsafe extern "C" fn open(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    // SAFETY: `env` is the environment of the callback that runs now.
    let js = unsafe { Js::new(env) };
    let opened = CallInfo::read(js, info).and_then(|call| {
        let Some((functions, [exposes_gc, has_scopes, misses_signals, ..])) = call.args().split_first_chunk() else {
            return Err(super::js::Refused);
        };
        if js.read_boolean(*exposes_gc)? {
            engine::expose_gc();
        }
        let local = Local::open(js, *functions, crate::settings())?;
        let data = ptr::from_ref(local).cast_mut().cast::<c_void>();
        if js.read_boolean(*misses_signals)? {
            local.signal().set_repeats();
        }
        if !js.read_boolean(*has_scopes)? {
            local.has_no_scopes(js, js.function("serveNext", Some(serve_next), data)?)?;
        }
        js.object(&[
            (c"invoke", js.function("invoke", Some(invoke), data)?),
            (c"abort", js.function("abort", Some(abort), data)?),
            (c"configure", js.function("configure", Some(whole::configure), data)?),
            (c"statistics", js.function("statistics", Some(whole::statistics), data)?),
            (c"flushWakeUps", js.function("flushWakeUps", Some(flush_wake_ups), data)?),
            (c"drain", js.function("drain", Some(drain), data)?),
            (c"pause", js.function("pause", Some(pause), data)?),
            (c"wanted", js.function("wanted", Some(is_wanted), data)?),
            (c"resume", js.function("resume", Some(resume), data)?),
            (c"limits", js.function("limits", Some(limits), data)?),
            (c"equip", js.function("equip", Some(equip), data)?),
            (c"keepSnapshot", js.function("keepSnapshot", Some(warm::keep_snapshot), data)?),
            (c"takeIsolate", js.function("takeIsolate", Some(warm::take_isolate), data)?),
            (c"makeWarm", js.function("makeWarm", Some(warm::make_warm), data)?),
            (c"meter", js.function("meter", Some(warm::meter), data)?),
            (c"prewarm", js.function("prewarm", Some(warm::prewarm), data)?),
            (c"execute", js.function("execute", Some(execution::execute), data)?),
            (c"enact", js.function("enact", Some(enact), data)?),
            (c"adoptModule", js.function("adoptModule", Some(adopt), data)?),
            (c"executeApart", js.function("executeApart", Some(process::execute), data)?),
            (c"terminateApart", js.function("terminateApart", Some(process::terminate), data)?),
            (c"surveyApart", js.function("surveyApart", Some(process::survey), data)?),
            (c"release", js.function("release", Some(release), data)?),
            (c"reply", js.function("reply", Some(replies::reply), data)?),
            (c"recipient", js.function("recipient", Some(replies::recipient), data)?),
            (c"isAwaited", js.function("isAwaited", Some(replies::is_awaited), data)?),
            (c"disowned", js.function("disowned", Some(disowned), data)?),
        ])
    });
    opened.unwrap_or_else(|_| {
        if !js.exception_is_pending() {
            js.throw_type_error(c"isolated-v8: the environment could not be opened");
        }
        ptr::null_mut()
    })
}

/// Values are moved several times on their way; a larger variant should be boxed.
const _: () = assert!(std::mem::size_of::<Value>() <= 32);

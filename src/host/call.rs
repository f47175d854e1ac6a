//! The functions that the host's surface calls, and how its thread waits.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use napi::sys;

use super::carrier;
use super::environment::Local;
use super::js::{CallInfo, Js, JsResult, JsValue};
use crate::engine;
use crate::isolate::{Kind, Remote};
use crate::ops::protocol::mode;
use crate::ops::{self, Args, Prepared};
use crate::sandbox::{self, Body, FunctionForm, LogStyle, Spec, Tool};
use crate::value::{Answer, Chain, Charge, Fault, Handle, IsolateHandle, Nobody, Outcome, Reply, Value, spin};

/// Most calls are answered within this time; sleeping and being woken takes longer than they do.
const SPIN: Duration = Duration::from_micros(50);

/// How often a thread that waits looks whether its environment is being terminated.
const CHECK: Duration = Duration::from_millis(100);

/// Runs the body of a callback. A refusal without a pending exception becomes one.
fn callback(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    body: impl FnOnce(Js<'_>, &'static Local, &[JsValue]) -> JsResult<JsValue>,
) -> JsValue {
    // SAFETY: `env` is the environment of the callback that runs now.
    let js = unsafe { Js::new(env) };
    let result = CallInfo::read(js, info).and_then(|call| {
        // SAFETY: these callbacks are made with a leaked `Local` as data, on whose thread they run.
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
        if op == ops::op::DISPOSE
            && let Some(Value::Handle(Handle::Isolate(isolate))) = &target
            && let Some(remote) = Remote::from_owner(&isolate.0)
        {
            local.stay_until_gone(js, &remote);
        }
        let prepared = if op == ops::op::RUN && !values.is_empty() {
            let context = values.remove(0).as_number().and_then(|id| local.handle(id as usize));
            ops::prepare_run(target, context, values)
        } else {
            ops::prepare(op, target, values, &local.settings)
        };
        if op == ops::op::CREATE_SNAPSHOT
            && let Some(remote) = prepared.remote().upgrade()
        {
            // No handle names it, but it ends with the environment all the same.
            local.shared.register(&remote);
        }
        finish(js, local, mode, request, prepared)
    })
}

fn finish(js: Js<'_>, local: &'static Local, mode: u32, request: i64, prepared: Prepared) -> JsResult<JsValue> {
    match mode {
        mode::SYNC => {
            let origin = prepared.remote();
            let outcome = wait(js, local, prepared);
            let promise = matches!(outcome, Ok(Value::Promise(_)));
            let carrier = carrier::write(js, local, outcome);
            local.returned(js, promise.then_some(&origin));
            carrier
        }
        mode::ASYNC => {
            let answer = local.async_answer(js, request, prepared.remote());
            prepared.dispatch(Kind::Task, Chain::of_request(request), Charge::default(), answer);
            js.undefined()
        }
        // Nobody hears how it ends, except that it could not begin.
        _ => match prepared {
            Prepared::Done(Err(fault)) => carrier::write(js, local, Err(fault)),
            prepared => {
                prepared.dispatch(Kind::Task, Chain::default(), Charge::default(), Arc::new(Nobody));
                js.undefined()
            }
        },
    }
}

/// Waits for the outcome on this thread and serves what the callee asks of it meanwhile.
fn wait(js: Js<'_>, local: &'static Local, prepared: Prepared) -> Outcome {
    if let Prepared::Done(outcome) = prepared {
        return outcome;
    }
    let inherited = local.chain.borrow().clone();
    let outermost = inherited.is_none();
    let chain = inherited.unwrap_or_else(|| Chain::rooted(crate::value::Owner::id(&*local.shared)));
    let answer = Reply::new(Arc::downgrade(&local.shared));
    let outer = local.chain.replace(Some(chain.clone()));
    prepared.dispatch(Kind::Call, chain.clone(), Charge::default(), Arc::clone(&answer) as Arc<dyn Answer>);
    let outcome = loop {
        let version = local.shared.version.load(Ordering::Acquire);
        if let Some(outcome) = answer.take() {
            break outcome;
        }
        if let Some(request) = local.shared.take_call() {
            // Fails only where the host is going down; the request is answered in any case.
            let _ = js.scoped(|| local.serve(js, request));
            continue;
        }
        if !spin(SPIN, || local.shared.version.load(Ordering::Acquire) != version)
            && !local.shared.park(version, CHECK)
            && !local.is_alive(js)
        {
            // A worker that is being terminated: its isolates end, this call with them.
            local.close();
        }
    };
    *local.chain.borrow_mut() = outer;
    if outermost {
        local.shared.end_chain(&chain);
    }
    outcome
}

/// `execute(request, code, prefix, functionCode, functionPrefix, functionGuard, flags, memoryLimit, timeout, maxOutput,
/// globals, ...tools)`: an execution in a
/// sandbox. Returns its isolate's handle; the outcome settles `request`.
pub unsafe extern "C" fn execute(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let [request, rest @ ..] = args else {
            return Err(super::js::Refused);
        };
        let request = js.read_number(*request)? as i64;
        let mut values = Vec::with_capacity(rest.len());
        for carrier in rest {
            match carrier::read(js, local, *carrier)? {
                Ok(value) => values.push(value),
                Err(_) => return Err(super::js::Refused),
            }
        }
        let answer = local.async_answer(js, request, Weak::new());
        let mut spec = execution(values, answer).map_err(|_| super::js::Refused)?;
        spec.request = request;
        let remote = sandbox::start(spec, &local.settings);
        let id = local.keep(Value::Handle(Handle::Isolate(IsolateHandle(remote))));
        js.number(id as f64)
    })
}

/// Bits of `flags`.
const SHADOW_GLOBAL: u32 = 1;
const TIMERS: u32 = 2;
const MARKED_LOGS: u32 = 4;

fn execution(values: Vec<Value>, answer: Arc<dyn Answer>) -> Result<Spec, Fault> {
    let mut args = Args::new(values);
    let code = Body { text: args.text()?, prefix: args.number()? as i32 };
    let (text, prefix, guard) = (args.optional_text()?, args.number()? as i32, args.optional_text()?);
    let function = match (text, guard) {
        (Some(text), Some(guard)) => Some(FunctionForm { code: Body { text, prefix }, guard }),
        _ => None,
    };
    let flags = args.number()? as u32;
    let memory_limit = (args.number()? as usize).saturating_mul(1 << 20);
    let timeout = Duration::try_from_secs_f64(args.number()? / 1_000.0).map_err(|_| ops::malformed())?;
    let max_output = args.number()? as usize;
    let globals = args.value();
    let mut tools = Vec::new();
    let mut rest = args.rest().into_iter();
    while let (Some(namespace), Some(method), Some(function)) = (rest.next(), rest.next(), rest.next()) {
        let (Value::String(namespace), Value::String(method), Value::Function(function)) =
            (namespace, method, function)
        else {
            return Err(ops::malformed());
        };
        tools.push(Tool { namespace, method, function });
    }
    Ok(Spec {
        code,
        function,
        shadow_global: flags & SHADOW_GLOBAL != 0,
        memory_limit,
        timeout,
        max_output,
        log_style: if flags & MARKED_LOGS != 0 { LogStyle::Marked } else { LogStyle::Plain },
        timers: flags & TIMERS != 0,
        globals,
        tools,
        request: 0,
        answer,
    })
}

/// `release(handle)`: the surface has no wrapper for it any more.
pub unsafe extern "C" fn release(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let [handle, ..] = args else {
            return Err(super::js::Refused);
        };
        local.release(js.read_number(*handle)? as usize);
        js.undefined()
    })
}

/// `reply(request, carrier)`: the answer to a request, or the outcome of a promise of the surface's.
pub unsafe extern "C" fn reply(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let [request, carrier, ..] = args else {
            return Err(super::js::Refused);
        };
        let request = js.read_number(*request)? as i64;
        let outcome = carrier::read(js, local, *carrier)?;
        local.reply(js, request, outcome);
        js.undefined()
    })
}

/// `taken()`: the slots of the surface's table that have come since it asked last.
pub unsafe extern "C" fn taken(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, _args| {
        let taken = std::mem::take(&mut *local.taken.borrow_mut());
        let slots: Result<Vec<_>, _> = taken.into_iter().map(|slot| js.number(f64::from(slot))).collect();
        js.array(&slots?)
    })
}

/// `drain()`: handles the events that were left for another turn.
pub unsafe extern "C" fn drain(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, _args| {
        local.handle_events(js);
        js.undefined()
    })
}

/// `open(settle, serve, serveFor, defer, exposesGc)`: opens this environment; the result has the functions above.
pub unsafe extern "C" fn open(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    // SAFETY: `env` is the environment of the callback that runs now.
    let js = unsafe { Js::new(env) };
    let opened = CallInfo::read(js, info).and_then(|call| {
        let [settle, serve, serve_for, defer, exposes_gc, ..] = call.args() else {
            return Err(super::js::Refused);
        };
        if js.read_boolean(*exposes_gc)? {
            engine::expose_gc();
        }
        let local = Local::open(js, [*settle, *serve, *serve_for, *defer], crate::settings())?;
        let data = ptr::from_ref(local).cast_mut().cast::<c_void>();
        js.object(&[
            (c"invoke", js.function("invoke", Some(invoke), data)?),
            (c"drain", js.function("drain", Some(drain), data)?),
            (c"execute", js.function("execute", Some(execute), data)?),
            (c"release", js.function("release", Some(release), data)?),
            (c"reply", js.function("reply", Some(reply), data)?),
            (c"taken", js.function("taken", Some(taken), data)?),
        ])
    });
    opened.unwrap_or_else(|_| {
        if !js.exception_is_pending() {
            js.throw_type_error(c"isolated-v8: the environment could not be opened");
        }
        ptr::null_mut()
    })
}

/// Values are moved several times on their way; a larger one should be boxed.
const _: () = assert!(std::mem::size_of::<Value>() <= 32);

//! The native functions that a realm's surface calls.

use std::sync::Arc;

use super::arguments::Arguments;
use super::direct_call::{self, Called};
use super::{brand, carrier, children, local, member, outgoing, surface};
use crate::convert::cap;
use crate::isolate::{GuestRealm, Remote, Settings};
use crate::ops::{self, Caller, Prepared, op};
use crate::protocol::{INVOKE_HEAD, message, mode};
use crate::value::{Code, Completion, ErrorClass, Fault, Value};

/// `{ invoke, invokeSync, release, track, brand, owned, cross, get, limited, set, remove, isArrayBuffer, now }`.
pub fn native_object<'s>(scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Object>> {
    let object = v8::Object::new(scope);
    let functions = [
        ("invoke", function(scope, invoke)?),
        ("invokeSync", function(scope, invoke_sync)?),
        ("release", function(scope, release)?),
        ("track", function(scope, track)?),
        ("owned", function(scope, owned)?),
        ("brand", function(scope, brand_object)?),
        ("cross", function(scope, local::cross)?),
        ("get", function(scope, local::get)?),
        ("limited", function(scope, local::limited)?),
        ("set", function(scope, local::set)?),
        ("remove", function(scope, local::remove)?),
        ("isArrayBuffer", function(scope, is_array_buffer)?),
        ("now", function(scope, now)?),
    ];
    for (name, function) in functions {
        let name = v8::String::new(scope, name)?;
        object.create_data_property(scope, name.into(), function.into())?;
    }
    Some(object)
}

/// A function that is no constructor. It has no prototype, which would cost as much as the function.
fn function<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    callback: impl v8::MapFnTo<v8::FunctionCallback>,
) -> Option<v8::Local<'s, v8::Function>> {
    v8::Function::builder(callback).constructor_behavior(v8::ConstructorBehavior::Throw).build(scope)
}

fn number(scope: &mut v8::PinScope<'_, '_>, args: &v8::FunctionCallbackArguments<'_>, index: i32) -> f64 {
    let value = args.get(index);
    // Without a conversion, which the surface never needs.
    v8::Local::<v8::Number>::try_from(value)
        .map_or_else(|_| value.number_value(scope).unwrap_or(0.0), |number| number.value())
}

/// `invoke(op, mode, request, handle, ...args)`.
fn invoke<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    result: v8::ReturnValue<v8::Value>,
) {
    let waiting = number(scope, &args, 1) as u32;
    invoke_in(scope, &args, result, waiting);
}

/// The same with `mode::SYNC` only.
fn invoke_sync<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    result: v8::ReturnValue<v8::Value>,
) {
    invoke_in(scope, &args, result, mode::SYNC);
}

#[inline(always)]
fn invoke_in<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: &v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
    waiting: u32,
) {
    let _lifted = cap::lift();
    let op = number(scope, args, 0) as u32;
    let is_application = op == op::REF_APPLY && waiting == mode::SYNC;
    let called = if is_application { direct_call::apply(scope, args, &mut result) } else { Called::Unsent(None) };
    if matches!(called, Called::Returned) {
        return;
    }
    let Ok(at) = GuestRealm::current(scope) else { return };
    let request = number(scope, args, 2);
    let send = |scope: &mut v8::PinScope<'s, '_>| {
        let (prepared, bytes) = prepare(scope, &at, op, args)?;
        match waiting {
            mode::SYNC if op == op::REF_APPLY_SYNC_PROMISE => outgoing::wait_settled(scope, &at, prepared),
            // Part of a compilation that may have been asynchronous.
            mode::SYNC if op == op::SCRIPT_CACHED_DATA => outgoing::wait_anyway(scope, &at, prepared),
            mode::SYNC => outgoing::wait(scope, &at, prepared),
            mode::ASYNC => {
                let completion = settlement(scope, &at, request, outgoing::answered_by_guest(&prepared))?;
                outgoing::start(scope, &at, prepared, bytes, completion).map(|()| Value::Undefined)
            }
            // The outcome is discarded, except a failure to start.
            _ => match prepared {
                Prepared::Done(Err(fault)) => Err(fault),
                prepared => outgoing::post(scope, &at, prepared, bytes).map(|()| Value::Undefined),
            },
        }
    };
    let outcome = match called {
        Called::Ended(outcome) => outcome,
        Called::Returned | Called::Unsent(_) => send(scope),
    };
    if ops::may_end_caller(op) && at.guest.check_stopping().is_err() {
        // This isolate was disposed, or the one that created it.
        return at.guest.terminate(scope);
    }
    let carrier = if ops::returns_number(op) {
        carrier::write_id(scope, &at, outcome)
    } else {
        carrier::write(scope, &at, outcome)
    };
    // If no carrier can be written, execution is being terminated.
    if let Ok(carrier) = carrier {
        result.set(carrier);
    }
}

/// The prepared call, and the size of its arguments in bytes.
fn prepare<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    op: u32,
    args: &v8::FunctionCallbackArguments<'s>,
) -> Result<(Prepared, usize), Fault> {
    at.guest.end_if_stopping(scope)?;
    if op == op::REF_APPLY_SYNC_PROMISE && at.guest.chain().is_rooted() {
        return Err(Fault::coded(ErrorClass::Error, message::FROM_DEFAULT_THREAD, Code::Unsupported));
    }
    let target = at.guest.carried(number(scope, args, INVOKE_HEAD as i32 - 1) as usize);
    let mut values = Arguments::new(at);
    for index in INVOKE_HEAD as i32..args.length() {
        values.push(carrier::read(scope, at, args.get(index))?)?;
    }
    let Arguments { values, bytes, .. } = values;
    Ok((prepare_call(scope, at, op, target, values)?.within(at.guest.limits()), bytes))
}

fn prepare_call(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    op: u32,
    target: Option<Value>,
    values: Vec<Value>,
) -> Result<Prepared, Fault> {
    if op == op::CREATE_ISOLATE {
        return Ok(Prepared::Done(children::create(scope, at, values)));
    }
    let caller = GuestCaller { at, remote: at.guest.remote()? };
    Ok(ops::prepare(op, target, values, &caller))
}

struct GuestCaller<'a> {
    at: &'a GuestRealm,
    remote: Arc<Remote>,
}

impl Caller for GuestCaller<'_> {
    fn settings(&self) -> &Settings {
        &self.remote.settings
    }

    fn handle(&self, id: usize) -> Option<Value> {
        self.at.guest.carried(id)
    }

    fn is_guest(&self) -> bool {
        true
    }
}

/// The answer that settles a request of the surface.
fn settlement(
    scope: &v8::PinScope<'_, '_>,
    at: &GuestRealm,
    request: f64,
    of_guest: bool,
) -> Result<Arc<dyn Completion>, Fault> {
    outgoing::later(scope, at, of_guest, move |scope, at, outcome| {
        let Ok(carrier) = carrier::write(scope, at, outcome) else {
            return;
        };
        let Ok(surface) = surface(scope, at) else { return };
        if let Some(settle) = member(scope, surface, "settle") {
            let receiver = v8::undefined(scope).into();
            let request = v8::Number::new(scope, request).into();
            // Fails only if the guest is being stopped.
            let _ = settle.call(scope, receiver, &[request, carrier]);
        }
    })
}

/// `release(handle)`.
fn release<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    if let Ok(at) = GuestRealm::current(scope) {
        at.guest.handles.release(number(scope, &args, 0) as usize);
    }
}

/// `track(object, handle)`: releases the handle when the object, which represents it, is collected.
fn track<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    if let (Ok(at), Ok(object)) = (GuestRealm::current(scope), v8::Local::<v8::Object>::try_from(args.get(0))) {
        let id = number(scope, &args, 1) as usize;
        at.guest.handles.track(scope, id, object);
    }
}

/// `owned(handle)`: the value of this isolate that a Reference refers to.
fn owned<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    let Ok(at) = GuestRealm::current(scope) else { return };
    let id = number(scope, &args, 0) as usize;
    if let Some(value) = at.guest.handles.referred(scope, id) {
        result.set(value);
    }
}

/// `brand(object, target)`: marks the object as one of the surface's. It represents the function `target`, if there is one.
fn brand_object<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    if let Ok(object) = v8::Local::<v8::Object>::try_from(args.get(0)) {
        let key = brand(scope);
        object.set_private(scope, key, args.get(1));
    }
}

fn is_array_buffer<'s>(
    _scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    result.set_bool(args.get(0).is_array_buffer());
}

/// `now()`: nanoseconds of a monotonic clock.
fn now<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    _args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    let nanoseconds = u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX);
    result.set(v8::BigInt::new_from_u64(scope, nanoseconds).into());
}

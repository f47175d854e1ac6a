//! Native functions for a realm's References to values of the same isolate. The values stay where they are, but results are converted as if
//! they had been sent to another isolate and back.

use super::outgoing;
use crate::convert;
use crate::isolate::{GuestRealm, Limits};
use crate::ops::{self, Transfer, reference};
use crate::value::{Fault, Value};

type Returned<'s> = Result<v8::Local<'s, v8::Value>, Fault>;

/// Runs the body of a function. Lifts the serializer's memory limit, which must not apply to Rust code.
fn respond<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    result: &mut v8::ReturnValue<v8::Value>,
    body: impl FnOnce(&mut v8::PinScope<'s, '_>, &GuestRealm) -> Returned<'s>,
) {
    let _lifted = convert::cap::lift();
    let Ok(at) = GuestRealm::current(scope) else { return };
    match body(scope, &at) {
        Ok(value) => result.set(value),
        // Execution is being terminated, or an exception is pending: nothing is thrown, and no further code runs here.
        Err(Fault::Stopped) => {}
        Err(fault) => outgoing::throw(scope, &at, &fault),
    }
}

fn bits(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>) -> Transfer {
    Transfer::from_number(value.number_value(scope).unwrap_or(0.0))
}

fn key<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    value: v8::Local<'s, v8::Value>,
) -> Result<reference::Key, Fault> {
    let key = convert::primitive_from_v8(scope, value, convert::Exchange::limit(at))?;
    reference::Key::new(key.unwrap_or(Value::Undefined))
}

/// `cross(value, bits)`: the value as if it had been sent to another isolate and back.
pub fn cross<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    respond(scope, &mut result, |scope, at| {
        let transfer = bits(scope, args.get(1));
        let value = ops::transfer_out(scope, at, args.get(0), transfer)?;
        convert::to_v8(scope, at, value)
    });
}

/// `get(target, key, bits)`.
pub fn get<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    respond(scope, &mut result, |scope, at| {
        let key = key(scope, at, args.get(1))?;
        let transfer = bits(scope, args.get(2));
        let value = reference::get(scope, at, args.get(0), &key, transfer)?;
        convert::to_v8(scope, at, value)
    });
}

/// `set(target, key, value)`. The value has already been converted.
pub fn set<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    respond(scope, &mut result, |scope, at| {
        let key = key(scope, at, args.get(1))?;
        reference::set_value(scope, args.get(0), &key, args.get(2))?;
        Ok(v8::undefined(scope).into())
    });
}

/// `limited(function, timeout, deadline)`: calls `function` under limits in milliseconds, in addition to those of the running call. Zero is no
/// limit.
pub fn limited<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    respond(scope, &mut result, |scope, at| {
        let function = v8::Local::<v8::Function>::try_from(args.get(0)).map_err(|_| ops::malformed())?;
        let [timeout, deadline] =
            [1, 2].map(|index| ops::milliseconds(args.get(index).number_value(scope).unwrap_or(0.0)));
        let called = at.guest.run_limited(scope, Limits::new(timeout, deadline), |scope| {
            let receiver = v8::undefined(scope).into();
            v8::tc_scope!(let scope, scope);
            match function.call(scope, receiver, &[]) {
                Some(value) => Some(Ok(value)),
                None if scope.has_terminated() => None,
                None => scope.exception().map(Err),
            }
        })?;
        called.map_err(|exception| {
            scope.throw_exception(exception);
            Fault::Stopped
        })
    });
}

/// `remove(target, key)`.
pub fn remove<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    respond(scope, &mut result, |scope, at| {
        let key = key(scope, at, args.get(1))?;
        reference::delete(scope, args.get(0), &key)?;
        Ok(v8::undefined(scope).into())
    });
}

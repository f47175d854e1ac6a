//! Calls functions in the isolate or host that owns them.

use std::sync::Arc;

use super::args::malformed;
use super::prepared::{Location, locate};
use super::work::work_on_value;
use super::{Args, Prepared, Transfer, op, transfer_out};
use crate::convert;
use crate::isolate::{GuestRealm, Limits};
use crate::protocol::message;
use crate::value::{Callable, CallbackMode, Fault, Outcome, Value};

/// Calls a held function with neutral arguments; the receiver is `undefined` unless given.
pub fn call_function<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    function: v8::Local<'s, v8::Value>,
    receiver: Value,
    arguments: Vec<Value>,
    transfer: Transfer,
) -> Outcome {
    let function =
        v8::Local::<v8::Function>::try_from(function).map_err(|_| Fault::invalid(message::NOT_A_FUNCTION))?;
    let receiver = convert::to_v8(scope, at, receiver)?;
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(convert::to_v8(scope, at, argument)?);
    }
    v8::tc_scope!(let scope, scope);
    match function.call(scope, receiver, &values) {
        Some(value) => transfer_out(scope, at, value, transfer),
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    }
}

pub fn call(target: Option<Value>, args: Args) -> Result<Prepared, Fault> {
    let callable = match target {
        Some(Value::Function(callable)) => callable,
        _ => return Err(malformed()),
    };
    call_callable(&callable, args.rest())
}

/// Prepares a call of a function of another realm.
pub fn call_callable(callable: &Arc<Callable>, arguments: Vec<Value>) -> Result<Prepared, Fault> {
    match locate(&callable.slot)? {
        Location::Host(host) => {
            let op = if callable.mode == CallbackMode::Awaited { op::CALL_AWAITED } else { op::CALL };
            Ok(Prepared::Request { host, op, slot: Arc::clone(&callable.slot), args: arguments, requester: None })
        }
        Location::Isolate(remote) => {
            let awaited = if callable.mode == CallbackMode::Awaited { Transfer::PROMISE } else { 0 };
            let transfer = Transfer(Transfer::OR_COPY | awaited);
            let work = work_on_value(Arc::clone(&callable.slot), move |scope, at, function| {
                call_function(scope, at, function, Value::Undefined, arguments, transfer)
            });
            Ok(Prepared::Enter { remote, limits: Limits::standard(), work })
        }
    }
}

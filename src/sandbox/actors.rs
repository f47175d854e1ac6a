//! Executions of a plugin run concurrently in one realm. Each has an actor, a value of the realm. Everything that an execution causes, at once
//! or later, runs on behalf of its actor. Only the library's code in the realm sees actors.

use std::sync::Arc;

use crate::convert;
use crate::isolate::{Limits, Remote, SlotValue, async_context};
use crate::ops::{self, Prepared, Transfer};
use crate::value::{ContextHandle, Fault, Reference, Text, Value};

/// Functions for the library's code: one returns the actor of the current call, the other calls a function on behalf of an actor.
pub fn functions<'s>(scope: &mut v8::PinScope<'s, '_>) -> Option<[v8::Local<'s, v8::Function>; 2]> {
    let present = v8::Function::builder(present).constructor_behavior(v8::ConstructorBehavior::Throw).build(scope)?;
    let act = v8::Function::builder(act).constructor_behavior(v8::ConstructorBehavior::Throw).build(scope)?;
    Some([present, act])
}

fn present<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    _args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    if let Some(actor) = async_context::actor(scope) {
        result.set(actor);
    }
}

fn act<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    let Ok(function) = v8::Local::<v8::Function>::try_from(args.get(1)) else { return };
    let value = async_context::within_actor(scope, args.get(0), |scope| {
        let receiver = v8::undefined(scope).into();
        function.call(scope, receiver, &[])
    });
    if let Some(value) = value {
        result.set(value);
    }
}

/// A script that runs on behalf of an actor of its own.
pub struct ActorScript {
    /// A function of the library that makes the actor.
    pub begin: Arc<Reference>,
    pub arguments: Vec<Value>,
    pub code: Text,
    /// The script's name in stacks.
    pub file: Text,
    pub limits: Limits,
}

/// Runs a script in the context. The result is a promise of a clone of the script's last value or, if that is a promise, of what it
/// resolves to.
pub fn run_as_actor(context: &ContextHandle, script: ActorScript) -> Prepared {
    let Some(remote) = Remote::from_owner(context.slot.owner()) else {
        return Prepared::from(ops::malformed());
    };
    let ActorScript { begin, arguments, code, file, limits } = script;
    let work = ops::work_in_realm(Arc::clone(&context.slot), move |scope, at| {
        if !at.guest.owns(&begin.slot) {
            return Err(ops::malformed());
        }
        let begin = at.guest.read_slot(&begin.slot, |value| match value {
            SlotValue::Value(_, value) => Some(v8::Local::new(scope, value)),
            _ => None,
        });
        let begin = begin.and_then(|begin| v8::Local::<v8::Function>::try_from(begin).ok());
        let begin = begin.ok_or_else(ops::malformed)?;
        let script = ops::compile(scope, &code, &ops::Origin { filename: file, line: 0, column: 0 })?;
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(convert::to_v8(scope, at, argument)?);
        }
        v8::tc_scope!(let scope, scope);
        let receiver = v8::undefined(scope).into();
        let Some(actor) = begin.call(scope, receiver, &values) else {
            return Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped));
        };
        // Until the job is over.
        async_context::act_for(scope, actor);
        ops::run_unbound(scope, at, script, Transfer(Transfer::COPY | Transfer::PROMISE))
    });
    Prepared::Enter { remote, limits, work }
}

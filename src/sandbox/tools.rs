//! Tools of an agent: `namespace.method(params)`, or `name(params)`, in the sandbox is an asynchronous call of a host function, with the
//! params after a conversion to JSON.

use std::sync::Arc;

use super::property::put;
use crate::convert::{self, cap};
use crate::guest::outgoing;
use crate::isolate::GuestRealm;
use crate::ops::{self, Prepared, Transfer, op};
use crate::value::{Callable, Fault, Text, Value};

/// A function of the host with the name `namespace.method`.
pub struct Tool {
    pub namespace: Text,
    pub method: Text,
    pub function: Arc<Callable>,
}

/// The method of a tool whose name has one part: `a` is `a(params)`, and also `a.call(params)`.
const OWN: &str = "call";

/// Puts the tools on the global object. `text`: they take their params as JSON.
pub fn install(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    global: v8::Local<'_, v8::Object>,
    tools: &[Tool],
    text: bool,
) -> Result<(), Fault> {
    let own = Text::from(OWN);
    let (named, others): (Vec<_>, Vec<_>) = tools.iter().partition(|tool| tool.method == own);
    // First, because such a tool is the object that has the others of its namespace.
    let mut made = Vec::new();
    for tool in named {
        let namespace = convert::text_to_v8(scope, &tool.namespace)?;
        let function = function_of(scope, at, tool, &tool.namespace, text)?;
        let object = match namespace_of(scope, global, namespace)? {
            Some(object) if !made.contains(&object) => object,
            _ => {
                put(scope, global, namespace.into(), function.into())?;
                made.push(function.into());
                function.into()
            }
        };
        let method = convert::text_to_v8(scope, &own)?;
        put(scope, object, method.into(), function.into())?;
    }
    for tool in others {
        let namespace = convert::text_to_v8(scope, &tool.namespace)?;
        let object = match namespace_of(scope, global, namespace)? {
            Some(object) => object,
            None => {
                let object = v8::Object::new(scope);
                put(scope, global, namespace.into(), object.into())?;
                object
            }
        };
        let function = function_of(scope, at, tool, &tool.method, text)?;
        let method = convert::text_to_v8(scope, &tool.method)?;
        put(scope, object, method.into(), function.into())?;
    }
    Ok(())
}

/// The object that the global object has under a name.
fn namespace_of<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    global: v8::Local<'_, v8::Object>,
    name: v8::Local<'_, v8::String>,
) -> Result<Option<v8::Local<'s, v8::Object>>, Fault> {
    let own = global.has_own_property(scope, name.into()).ok_or(Fault::Stopped)?;
    let existing = if own { global.get(scope, name.into()) } else { None };
    Ok(existing.and_then(|existing| v8::Local::try_from(existing).ok()))
}

/// The function by which guest code calls a tool.
fn function_of<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    tool: &Tool,
    name: &Text,
    text: bool,
) -> Result<v8::Local<'s, v8::Function>, Fault> {
    let id = at.guest.carry(Value::Function(Arc::clone(&tool.function)));
    let data = v8::Number::new(scope, id as f64).into();
    let builder = if text { v8::Function::builder(call::<true>) } else { v8::Function::builder(call::<false>) };
    let function = builder
        .data(data)
        .length(1)
        .constructor_behavior(v8::ConstructorBehavior::Throw)
        .build(scope)
        .ok_or(Fault::Stopped)?;
    let name = convert::text_to_v8(scope, name)?;
    function.set_name(name);
    Ok(function)
}

/// Guest code calls a tool. Always returns a promise, even for params that have no JSON.
fn call<'s, const TEXT: bool>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    let _lifted = cap::lift();
    let (Ok(at), Some(resolver)) = (GuestRealm::current(scope), v8::PromiseResolver::new(scope)) else {
        return;
    };
    let promise = resolver.get_promise(scope);
    result.set(promise.into());
    let id = args.data().number_value(scope).unwrap_or(-1.0);
    let started = params(scope, &at, &args, TEXT).and_then(|params| {
        let Some(Value::Function(tool)) = at.guest.carried(id as usize) else {
            return Err(ops::malformed());
        };
        let host = Arc::clone(tool.slot.owner()).as_host().ok_or_else(Fault::environment_gone)?;
        let completion = outgoing::resolution(scope, &at, resolver, false)?;
        let (slot, bytes) = (Arc::clone(&tool.slot), params.byte_size());
        let call = Prepared::Request { host, op: op::CALL_AWAITED, slot, args: vec![params], requester: None };
        outgoing::start(scope, &at, call, bytes, completion)
    });
    if let Err(fault) = started {
        let exception =
            convert::exception_from_fault(scope, &fault, |scope, value| convert::to_v8(scope, &at, value).ok());
        if let Some(exception) = exception {
            // This fails only if the guest is being stopped.
            let _ = resolver.reject(scope, exception);
        }
    }
}

/// The params as JSON, or a copy of what that JSON parses to; `{}` if there are none. They are parsed here, where that costs only the
/// guest's time.
fn params<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    args: &v8::FunctionCallbackArguments<'s>,
    text: bool,
) -> Result<Value, Fault> {
    let params = args.get(0);
    v8::tc_scope!(let scope, scope);
    // Params without JSON count as absent; V8 would write `undefined`.
    let absent = params.is_null_or_undefined() || params.is_function() || params.is_symbol();
    let params = if absent { v8::Object::new(scope).into() } else { params };
    let json = v8::json::stringify(scope, params);
    let data = json.and_then(|json| if text { Some(json.into()) } else { v8::json::parse(scope, json) });
    match data {
        Some(data) => ops::transfer_out(scope, at, data, Transfer(Transfer::COPY)),
        None => Err(convert::fault_from_caught(scope).unwrap_or_else(|| Fault::refused("Invalid tool parameters"))),
    }
}

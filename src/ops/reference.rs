//! `Reference`: reads, writes and calls a value in its own isolate.

use std::sync::Arc;

use super::args::{malformed, reference_of};
use super::prepared::{Location, locate};
use super::work::work_on_value;
use super::{Args, Prepared, Transfer, call_function, op, transfer_out};
use crate::convert;
use crate::engine;
use crate::isolate::{Guest, GuestRealm};
use crate::protocol::message;
use crate::value::{Fault, Outcome, Reference, TypeOf, Value};

pub fn access(op: u32, target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let reference = reference_of(target)?;
    let slot = Arc::clone(&reference.slot);
    let remote = match locate(&slot)? {
        Location::Host(host) => {
            return Ok(Prepared::Request { host, op, slot, args: args.rest(), requester: None });
        }
        Location::Isolate(remote) => remote,
    };
    let (first, second) = (args.value(), args.value());
    let limits = args.limits()?;
    let work = match op {
        op::REF_COPY => work_on_value(slot, |scope, at, value| convert::clone_from_v8(scope, at, value)),
        op::REF_GET => {
            let key = Key::new(first)?;
            let mut transfer = Transfer::from_number(second.as_number().ok_or_else(malformed)?);
            transfer.0 |= if reference.accessors { Transfer::ACCESSORS } else { 0 };
            transfer.0 |= if reference.inherit { Transfer::UNSAFE_INHERIT } else { 0 };
            check_object(&reference)?;
            work_on_value(slot, move |scope, at, value| get(scope, at, value, &key, transfer))
        }
        op::REF_SET => {
            let key = Key::new(first)?;
            check_object(&reference)?;
            work_on_value(slot, move |scope, at, value| set(scope, at, value, &key, second))
        }
        op::REF_DELETE => {
            let key = Key::new(first)?;
            check_object(&reference)?;
            work_on_value(slot, move |scope, _place, value| delete(scope, value, &key))
        }
        _ => return Err(malformed()),
    };
    Ok(Prepared::Enter { remote, limits, work })
}

pub fn apply(op: u32, target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let reference = reference_of(target)?;
    let slot = Arc::clone(&reference.slot);
    let remote = match locate(&slot)? {
        Location::Host(host) => {
            return Ok(Prepared::Request { host, op, slot, args: args.rest(), requester: None });
        }
        Location::Isolate(remote) => remote,
    };
    let mut transfer = Transfer::from_number(args.number()?);
    if op == op::REF_APPLY_SYNC_PROMISE {
        transfer.0 |= Transfer::PROMISE;
    }
    let limits = args.limits()?;
    let receiver = args.value();
    let arguments = args.rest();
    let work = work_on_value(slot, move |scope, at, function| {
        call_function(scope, at, function, receiver, arguments, transfer)
    });
    Ok(Prepared::Enter { remote, limits, work })
}

/// A property name or index.
pub enum Key {
    Name(crate::value::Text),
    Index(u32),
}

impl Key {
    pub fn new(value: Value) -> Result<Self, Fault> {
        match value {
            Value::String(text) => Ok(Key::Name(text)),
            Value::Number(number) if number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0 => {
                Ok(Key::Index(number as u32))
            }
            _ => Err(Fault::invalid(message::INVALID_KEY)),
        }
    }

    /// As a property name: V8 treats an index like the name with the same digits.
    fn to_v8<'s>(&self, scope: &mut v8::PinScope<'s, '_>) -> Result<v8::Local<'s, v8::Name>, Fault> {
        let text = match self {
            Key::Name(text) => convert::key_to_v8(scope, text)?,
            Key::Index(index) => convert::key_to_v8(scope, &crate::value::Text::from(index.to_string()))?,
        };
        Ok(text.into())
    }
}

fn not_an_object() -> Fault {
    Fault::invalid(message::NOT_AN_OBJECT)
}

fn check_object(reference: &Reference) -> Result<(), Fault> {
    if reference.type_of == TypeOf::Object { Ok(()) } else { Err(not_an_object()) }
}

/// The object that a reference refers to. An error if a proxy would handle its properties.
fn object_of<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    value: v8::Local<'s, v8::Value>,
) -> Result<v8::Local<'s, v8::Object>, Fault> {
    let object = v8::Local::<v8::Object>::try_from(value).map_err(|_| not_an_object())?;
    if convert::has_no_proxy(object) {
        return Ok(object);
    }
    let mut current = value;
    for step in 1_usize.. {
        check_stopping(scope, step)?;
        if current.is_proxy() {
            return Err(Fault::invalid(message::PROXY));
        }
        let Ok(holder) = v8::Local::<v8::Object>::try_from(current) else {
            return Ok(object);
        };
        let Some(prototype) = holder.get_prototype(scope) else {
            return Ok(object);
        };
        current = prototype;
    }
    Ok(object)
}

/// Number of prototypes that are examined before the next check whether the call was stopped.
const PROTOTYPES_PER_CHECK: usize = 1 << 10;

fn check_stopping(scope: &v8::PinScope<'_, '_>, step: usize) -> Result<(), Fault> {
    if step.is_multiple_of(PROTOTYPES_PER_CHECK) { Guest::of(scope)?.check_stopping() } else { Ok(()) }
}

/// Reads a property and transfers it as `transfer` requests. The reference may allow more than own data properties.
pub fn get<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    value: v8::Local<'s, v8::Value>,
    key: &Key,
    mut transfer: Transfer,
) -> Outcome {
    let object = object_of(scope, value)?;
    let name = key.to_v8(scope)?;
    let accessors = transfer.0 & Transfer::ACCESSORS != 0;
    let inherit = transfer.0 & Transfer::UNSAFE_INHERIT != 0;
    transfer.0 &= !Transfer::ACCESSORS;
    v8::tc_scope!(let scope, scope);
    let caught = |scope: &mut _| convert::fault_from_caught(scope).unwrap_or(Fault::Stopped);
    let mut holder: v8::Local<v8::Value> = object.into();
    for step in 1_usize.. {
        let Ok(current) = v8::Local::<v8::Object>::try_from(holder) else { break };
        check_stopping(scope, step)?;
        let Some(own) = current.has_own_property(scope, name) else {
            return Err(caught(scope));
        };
        if own {
            if !accessors && !engine::is_plain(scope.get_current_context(), current, name) {
                let Some(descriptor) = current.get_own_property_descriptor(scope, name) else {
                    return Err(caught(scope));
                };
                if is_accessor(scope, descriptor) || is_computed(scope, current, name) {
                    return Err(Fault::invalid(message::GETTER));
                }
            }
            let Some(found) = object.get(scope, name.into()) else {
                return Err(caught(scope));
            };
            return transfer_out(scope, at, found, transfer);
        }
        if !inherit {
            break;
        }
        match current.get_prototype(scope) {
            Some(prototype) => holder = prototype,
            None => break,
        }
    }
    let nothing = v8::undefined(scope).into();
    transfer_out(scope, at, nothing, transfer)
}

fn is_accessor(scope: &mut v8::PinScope<'_, '_>, descriptor: v8::Local<'_, v8::Value>) -> bool {
    let Ok(descriptor) = v8::Local::<v8::Object>::try_from(descriptor) else {
        return false;
    };
    let Some(value) = v8::String::new(scope, "value") else {
        return false;
    };
    // A data descriptor has its own `value`, regardless of prototypes.
    !descriptor.has_own_property(scope, value.into()).unwrap_or(true)
}

/// Properties that V8 computes although they look like data. V8 treats them as getters, and so does isolated-vm.
fn is_computed(
    scope: &mut v8::PinScope<'_, '_>,
    holder: v8::Local<'_, v8::Object>,
    name: v8::Local<'_, v8::Name>,
) -> bool {
    let Ok(name) = v8::Local::<v8::String>::try_from(name) else {
        return false;
    };
    match name.to_rust_string_lossy(scope).as_str() {
        "length" => holder.is_array() || holder.is_string_object(),
        "stack" => holder.is_native_error(),
        _ => false,
    }
}

fn set<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    value: v8::Local<'s, v8::Value>,
    key: &Key,
    new: Value,
) -> Outcome {
    let new = convert::to_v8(scope, at, new)?;
    set_value(scope, value, key, new)
}

/// Sets a property to a value of the same realm.
pub fn set_value<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    value: v8::Local<'s, v8::Value>,
    key: &Key,
    new: v8::Local<'s, v8::Value>,
) -> Outcome {
    let object = object_of(scope, value)?;
    let name = key.to_v8(scope)?;
    v8::tc_scope!(let scope, scope);
    // Defined, so that no setter sees the value. isolated-vm deletes the property first, which makes V8 discard the code that reads it.
    match object.create_data_property(scope, name, new) {
        Some(true) => Ok(Value::Undefined),
        Some(false) => Err(Fault::invalid(message::NOT_SET)),
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    }
}

pub fn delete<'s>(scope: &mut v8::PinScope<'s, '_>, value: v8::Local<'s, v8::Value>, key: &Key) -> Outcome {
    let object = object_of(scope, value)?;
    let name = key.to_v8(scope)?;
    v8::tc_scope!(let scope, scope);
    match object.delete(scope, name.into()) {
        Some(true) => Ok(Value::Undefined),
        Some(false) => Err(Fault::invalid(message::NOT_DELETED)),
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    }
}

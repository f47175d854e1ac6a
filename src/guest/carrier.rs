//! Carriers as the guest's surface writes and reads them: primitives as they are, everything else as `[TAG.VALUE, value]`
//! or another tagged array (`surface/core/protocol.js`).

use std::sync::Arc;

use super::{moving, outgoing};
use crate::convert::{self, Exchange};
use crate::isolate::{GuestRealm, SlotValue};
use crate::ops::{self, Transfer};
use crate::protocol::{DEREF_SOURCE, SENT_ID, copy_into, detail, fault, function, handle, kind, ordered, tag};
use crate::value::{Callable, CallbackMode, Code, Details, ErrorClass, ErrorFault, Fault, Handle, Outcome, Value};

/// The neutral value that a carrier of the surface represents.
pub fn read<'s>(scope: &mut v8::PinScope<'s, '_>, at: &GuestRealm, carrier: v8::Local<'s, v8::Value>) -> Outcome {
    if let Some(primitive) = convert::primitive_from_v8(scope, carrier, at.limit())? {
        return Ok(primitive);
    }
    let array = v8::Local::<v8::Array>::try_from(carrier).map_err(|_| ops::malformed())?;
    let tag = number(scope, array, 0)? as u32;
    match tag {
        tag::VALUE => {
            let value = element(scope, array, 1)?;
            let bits = number(scope, array, 2)?;
            let value = ops::transfer_out(scope, at, value, Transfer::from_number(bits))?;
            if let Value::Promise(settlement) = &value {
                settlement.charge(outgoing::charge_one(at)?);
            }
            Ok(value)
        }
        tag::HANDLE => {
            let id = number(scope, array, SENT_ID)? as usize;
            at.guest.carried(id).ok_or_else(ops::malformed)
        }
        tag::FUNCTION => {
            let target = element(scope, array, function::TARGET)?;
            let mode = CallbackMode::from_number(number(scope, array, function::MODE)? as u32);
            let name = element(scope, array, function::NAME)?;
            let name = v8::Local::<v8::String>::try_from(name).map_err(|_| ops::malformed())?;
            let name = convert::beginning(scope, name, ops::MAX_NAME);
            let length = number(scope, array, function::LENGTH)? as u32;
            let slot = at.guest.new_slot(SlotValue::Value(Arc::clone(&at.realm), v8::Global::new(scope, target)))?;
            Ok(Value::Function(Arc::new(Callable { slot, name, length, mode })))
        }
        tag::DEREF => {
            let reference = match array.length() {
                // A value that was not sent to another isolate yet.
                length if length > DEREF_SOURCE => {
                    let value = element(scope, array, DEREF_SOURCE)?;
                    Some(ops::transfer_out(scope, at, value, Transfer(Transfer::REFERENCE))?)
                }
                _ => at.guest.carried(number(scope, array, SENT_ID)? as usize),
            };
            match reference {
                Some(Value::Handle(Handle::Reference(reference))) => Ok(Value::Dereference(reference)),
                _ => Err(ops::malformed()),
            }
        }
        tag::MOVE => moving::read(scope, at, array),
        tag::COPY_INTO => match at.guest.carried(number(scope, array, SENT_ID)? as usize) {
            Some(Value::Handle(Handle::ExternalCopy(copy))) => {
                let transfer_in = element(scope, array, copy_into::TRANSFER_IN)?.is_true();
                Ok(Value::CopyInto { copy, transfer_in, checked: false })
            }
            _ => Err(ops::malformed()),
        },
        _ => Err(ops::malformed()),
    }
}

pub fn element<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    array: v8::Local<'s, v8::Array>,
    index: u32,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    array.get_index(scope, index).ok_or(Fault::Stopped)
}

fn number(scope: &mut v8::PinScope<'_, '_>, array: v8::Local<'_, v8::Array>, index: u32) -> Result<f64, Fault> {
    let value = array.get_index(scope, index).ok_or(Fault::Stopped)?;
    v8::Local::<v8::Number>::try_from(value).map(|number| number.value()).map_err(|_| ops::malformed())
}

/// The carrier of an outcome for which the surface already has an object: a handle is written only as its number.
pub fn write_id<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    outcome: Outcome,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let outcome = outcome.and_then(|value| {
        if let Value::Handle(handle) = &value {
            charge_for(scope, at, handle)?;
        }
        Ok(value)
    });
    match outcome {
        Ok(value @ Value::Handle(_)) => Ok(write_handle(scope, at.guest.carry(value))),
        outcome => write(scope, at, outcome),
    }
}

/// A copy that was made by a guest is charged to the first guest that holds it.
pub fn charge_for(scope: &mut v8::Isolate, at: &GuestRealm, handle: &Handle) -> Result<(), Fault> {
    let Handle::ExternalCopy(copy) = handle else { return Ok(()) };
    let copies = &at.guest.remote()?.accounts.copies;
    if copy.charge_to(copies) {
        return Ok(());
    }
    // Some copies that the guest no longer holds may not have been detected yet.
    at.guest.handles.collect(scope);
    if copy.charge_to(copies) {
        return Ok(());
    }
    let message = "The copies that are held here take more than the memory limit; release some";
    Err(Fault::coded(ErrorClass::RangeError, message, Code::Limit))
}

fn write_handle<'s>(scope: &mut v8::PinScope<'s, '_>, id: usize) -> v8::Local<'s, v8::Value> {
    // The kind does not matter, because the surface has asked for this handle.
    let elements =
        ordered([(0, f64::from(tag::HANDLE)), (handle::KIND, f64::from(kind::LINKER)), (handle::ID, id as f64)]);
    let elements = elements.map(|number| v8::Number::new(scope, number).into());
    v8::Array::new_with_elements(scope, &elements).into()
}

/// The carrier of an outcome; [`Fault::Stopped`] if the guest is being stopped and none of its code may continue.
pub fn write<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    outcome: Outcome,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let fault = match outcome {
        Ok(Value::List(values)) => {
            let mut elements = vec![v8::Number::new(scope, f64::from(tag::LIST)).into()];
            for value in values {
                elements.push(write(scope, at, Ok(value))?);
            }
            return Ok(v8::Array::new_with_elements(scope, &elements).into());
        }
        // Has no class: the surface identifies it by its id.
        Ok(Value::Handle(handle @ Handle::Linker(_))) => {
            return Ok(write_handle(scope, at.guest.carry(Value::Handle(handle))));
        }
        Ok(value) => match convert::to_v8(scope, at, value) {
            Ok(value) if value.is_object() || value.is_symbol() => {
                let tag = v8::Number::new(scope, f64::from(tag::VALUE)).into();
                return Ok(v8::Array::new_with_elements(scope, &[tag, value]).into());
            }
            Ok(primitive) => return Ok(primitive),
            Err(fault) => fault,
        },
        Err(fault) => fault,
    };
    let elements = match fault {
        Fault::Stopped => return Err(Fault::Stopped),
        Fault::Thrown(value) => {
            let value = convert::to_v8(scope, at, value)?;
            vec![v8::Number::new(scope, f64::from(tag::THROWN)).into(), value]
        }
        Fault::Error(error) => fault_elements(scope, &error)?,
    };
    Ok(v8::Array::new_with_elements(scope, &elements).into())
}

fn fault_elements<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    error: &ErrorFault,
) -> Result<Vec<v8::Local<'s, v8::Value>>, Fault> {
    let undefined: v8::Local<v8::Value> = v8::undefined(scope).into();
    let ascii = |scope: &mut v8::PinScope<'s, '_>, text: &str| -> v8::Local<'s, v8::Value> {
        v8::String::new(scope, text).map_or(undefined, Into::into)
    };
    let name = match &error.name {
        Some(name) => convert::text_to_v8(scope, name)?.into(),
        None => undefined,
    };
    let details = match &error.details {
        Some(details) => write_details(scope, details)?,
        None => undefined,
    };
    Ok(ordered([
        (0, v8::Number::new(scope, f64::from(tag::FAULT)).into()),
        (fault::CLASS, ascii(scope, error.class.name())),
        (fault::NAME, name),
        (fault::MESSAGE, convert::text_to_v8(scope, &error.message)?.into()),
        (fault::STACK, convert::text_to_v8(scope, &error.stack)?.into()),
        (fault::CODE, error.code.map_or(undefined, |code| ascii(scope, code.name()))),
        (fault::DETAILS, details),
    ])
    .into())
}

fn write_details<'s>(scope: &mut v8::PinScope<'s, '_>, details: &Details) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let primitive = |scope: &mut v8::PinScope<'s, '_>, value: &Value| {
        convert::primitive_to_v8(scope, value).unwrap_or_else(|| Err(ops::malformed()))
    };
    let mut elements: Vec<v8::Local<'s, v8::Value>> = vec![v8::undefined(scope).into(); detail::PROPERTIES as usize];
    match &details.cause {
        Some(Fault::Thrown(value)) => elements[detail::CAUSE as usize] = primitive(scope, value)?,
        Some(Fault::Error(error)) => {
            let fault = fault_elements(scope, error)?;
            elements[detail::CAUSE as usize] = v8::Array::new_with_elements(scope, &fault).into();
        }
        Some(Fault::Stopped) | None => {}
    }
    for (key, value) in &details.properties {
        elements.extend([convert::text_to_v8(scope, key)?.into(), primitive(scope, value)?]);
    }
    Ok(v8::Array::new_with_elements(scope, &elements).into())
}

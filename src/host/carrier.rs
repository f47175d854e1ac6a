//! Carriers: neutral values as the host's surface writes and reads them. A primitive is its own carrier; everything else is an array that
//! starts with its tag (`surface/core/protocol.js`).

use std::sync::Arc;

use super::environment::Environment;
use super::js::{Js, JsResult, JsType, JsValue};
use super::{shared_memory, strings};
use crate::isolate::blocks;
use crate::ops::Transfer;
use crate::protocol::{
    DEREF_SOURCE, SENT_ID, arrived_shared, copy_into, detail, fault, function, handle, message, ordered, reference,
    shared, tag, wire,
};
use crate::value::{
    Callable, CallbackMode, Code, Details, ErrorClass, ErrorFault, ExternalCopy, Fault, Handle, Outcome, Payload,
    Reference, TableEntry, Text, TypeOf, Value,
};

/// From this size on, moved memory stays in place. Copying less takes no longer than creating a reference to it.
const MIN_EXTERNAL: usize = 128 << 10;

/// From this size on, the surface's memory is freed at once if it will not use it again.
const MIN_FREED: usize = 16 << 10;

fn malformed() -> Fault {
    Fault::invalid("Malformed carrier")
}

/// Reads a carrier. The outer result is the host's refusal, the inner one the outcome that the carrier represents.
pub fn read(js: Js<'_>, environment: &Environment, value: JsValue<'_>) -> JsResult<Outcome> {
    // Most are numbers, so this saves the question for the type.
    if let Some(number) = js.number_of(value)? {
        return Ok(Ok(Value::Number(number)));
    }
    Ok(Ok(match js.type_of(value)? {
        JsType::Undefined => Value::Undefined,
        JsType::Null => Value::Null,
        JsType::Boolean => Value::Boolean(js.read_boolean(value)?),
        JsType::String => Value::String(js.read_text(value)?),
        JsType::BigInt => Value::BigInt(Box::new(js.read_bigint(value)?)),
        JsType::Object => return read_tagged(js, environment, value),
        JsType::Number | JsType::Function | JsType::Other => return Ok(Err(malformed())),
    }))
}

fn read_tagged(js: Js<'_>, environment: &Environment, array: JsValue<'_>) -> JsResult<Outcome> {
    let number = |index: u32| js.read_number(js.element(array, index)?);
    let tag = number(0)? as u32;
    let value = match tag {
        tag::HANDLE => environment.handle(number(SENT_ID)? as usize),
        tag::WIRE => match read_payload(js, environment, array)? {
            Ok(value) => Some(value),
            Err(fault) => return Ok(Err(fault)),
        },
        tag::FUNCTION => {
            match environment.own_slot(js, js.element(array, function::TARGET)?, js.element(array, function::MODE)?)? {
                Ok(slot) => Some(Value::Function(Arc::new(Callable {
                    slot,
                    name: js.read_text(js.element(array, function::NAME)?)?,
                    length: number(function::LENGTH)? as u32,
                    mode: CallbackMode::from_number(number(function::MODE)? as u32),
                }))),
                Err(fault) => return Ok(Err(fault)),
            }
        }
        tag::REFERENCE => {
            let flags = number(reference::FLAGS)? as u32;
            let target = js.element(array, reference::TARGET)?;
            let slot = match environment.own_slot(js, target, js.element(array, reference::FLAGS)?)? {
                Ok(slot) => slot,
                Err(fault) => return Ok(Err(fault)),
            };
            Some(Value::Handle(Handle::Reference(Arc::new(Reference {
                slot,
                type_of: TypeOf::named(&js.read_text(js.element(array, reference::TYPE_OF)?)?.to_string()),
                accessors: flags & Transfer::ACCESSORS != 0,
                inherit: flags & Transfer::UNSAFE_INHERIT != 0,
            }))))
        }
        tag::COPY => match read(js, environment, js.element(array, 1)?)? {
            Ok(value) => {
                let copy = if environment.serves_guest() { ExternalCopy::of_guest } else { ExternalCopy::of_host };
                return Ok(copy(value).map(|copy| Value::Handle(Handle::ExternalCopy(copy))));
            }
            Err(fault) => return Ok(Err(fault)),
        },
        tag::PROMISE => {
            let settlement = match number(1)? as i64 {
                // It has settled already.
                0 => environment.settled(read(js, environment, js.element(array, 2)?)?),
                request => environment.expect_reply(request),
            };
            Some(Value::Promise(settlement))
        }
        tag::FAULT => return Ok(Err(read_fault(js, environment, array)?)),
        tag::THROWN => {
            let thrown = read(js, environment, js.element(array, 1)?)?;
            return Ok(Err(thrown.map_or_else(|fault| fault, Fault::Thrown)));
        }
        tag::DEREF => match environment.take_handle(js, number(SENT_ID)? as usize, js.element(array, DEREF_SOURCE)?)? {
            Some(Value::Handle(Handle::Reference(reference))) => Some(Value::Dereference(reference)),
            _ => None,
        },
        tag::COPY_INTO => {
            match environment.take_handle(js, number(SENT_ID)? as usize, js.element(array, copy_into::ENTRY)?)? {
                Some(Value::Handle(Handle::ExternalCopy(copy))) => {
                    let transfer_in = js.read_boolean(js.element(array, copy_into::TRANSFER_IN)?)?;
                    let checked = js.read_boolean(js.element(array, copy_into::CHECKED)?)?;
                    Some(Value::CopyInto { copy, transfer_in, checked })
                }
                _ => None,
            }
        }
        tag::BUFFER | tag::MOVE => {
            return Ok(read_entry(js, environment, array)?.map(|entry| only(&Payload::ONLY_BUFFER, entry)));
        }
        tag::ONE_BYTE => Some(Value::String(js.read_one_byte(js.element(array, 1)?)?)),
        tag::SHARED => return Ok(read_entry(js, environment, array)?.map(|entry| only(&Payload::ONLY_SHARED, entry))),
        _ => None,
    };
    Ok(value.ok_or_else(malformed))
}

fn only(bytes: &[u8], entry: TableEntry) -> Value {
    Value::Payload(Box::new(Payload { bytes: Arc::new(bytes.to_vec()), table: vec![entry], moved: false }))
}

fn read_payload(js: Js<'_>, environment: &Environment, array: JsValue<'_>) -> JsResult<Outcome> {
    let view = js.element(array, wire::BYTES)?;
    let bytes = js.take_bytes(view)?;
    // Collections of the host would have to follow it, and external memory makes them more frequent.
    if bytes.len() >= MIN_FREED && js.read_boolean(js.element(array, wire::IS_ALONE)?)? {
        // If the host refuses, it is freed then.
        let _ = js.detach(js.buffer_of_view(view)?);
    }
    let rows = js.element(array, wire::TABLE)?;
    let (mut table, mut moved) = (Vec::new(), false);
    if js.type_of(rows)? == JsType::Object {
        for index in 0..js.length(rows)? {
            let row = js.element(rows, index)?;
            moved |= js.type_of(row)? == JsType::Object && js.read_number(js.element(row, 0)?)? as u32 == tag::MOVE;
            match read_entry(js, environment, row)? {
                Ok(entry) => table.push(entry),
                Err(fault) => return Ok(Err(fault)),
            }
        }
    }
    Ok(Ok(Value::Payload(Box::new(Payload { bytes: Arc::new(bytes), table, moved }))))
}

fn read_entry(js: Js<'_>, environment: &Environment, row: JsValue<'_>) -> JsResult<Result<TableEntry, Fault>> {
    let tag = js.read_number(js.element(row, 0)?)? as u32;
    Ok(Ok(match tag {
        tag::BUFFER | tag::MOVE => {
            let buffer = js.element(row, 1)?;
            let (data, total) = js.buffer_memory(buffer)?;
            // On other systems, a thread that does not stop cannot be kept from accessing the memory.
            if tag == tag::MOVE
                && cfg!(target_os = "linux")
                && total >= MIN_EXTERNAL
                && js.read_boolean(js.element(row, 2)?)?
            {
                // SAFETY: the surface says so with this flag.
                return Ok(Ok(TableEntry::Buffer(unsafe { environment.pins.give_away(js, buffer) }?)));
            }
            let (offset, length) = if tag == tag::BUFFER {
                (js.read_number(js.element(row, 2)?)? as usize, js.read_number(js.element(row, 3)?)? as usize)
            } else {
                (0, total)
            };
            let mut bytes = Vec::new();
            if !data.is_null() && offset.checked_add(length).is_some_and(|end| end <= total) {
                // SAFETY: the host gave address and length of memory that lives while this callback runs, no JavaScript
                // runs meanwhile, and the range was checked to lie inside.
                bytes = unsafe { std::slice::from_raw_parts(data.add(offset), length) }.to_vec();
            }
            if tag == tag::MOVE {
                // Nothing uses the buffer any more: frees its memory now instead of when the host collects it. If the host refuses, it is
                // freed then.
                let _ = js.detach(buffer);
            }
            TableEntry::Buffer(bytes.into())
        }
        tag::SHARED => {
            let view = js.element(row, shared::VIEW)?;
            let key = js.read_number(js.element(row, shared::KEY)?)? as u32;
            let (data, length) = js.view_memory(view)?;
            TableEntry::Shared(match shared_memory::of_guest(data, length) {
                Some(memory) => {
                    environment.adopted.remember_departed(js, &memory, js.element(row, shared::BUFFER)?)?;
                    memory
                }
                // SAFETY: from the host, just now.
                None => unsafe { environment.pins.share(js, view, key, (data, length)) }?,
            })
        }
        _ => return Ok(read(js, environment, row)?.map(TableEntry::Value)),
    }))
}

fn read_fault(js: Js<'_>, environment: &Environment, array: JsValue<'_>) -> JsResult<Fault> {
    let text = |index: u32| -> JsResult<Option<Text>> {
        let value = js.element(array, index)?;
        Ok(if js.type_of(value)? == JsType::String { Some(js.read_text(value)?) } else { None })
    };
    let empty = || Text::from("");
    Ok(Fault::Error(Box::new(ErrorFault {
        class: text(fault::CLASS)?.map_or(ErrorClass::Error, |class| ErrorClass::named(&class.to_string())),
        name: text(fault::NAME)?,
        message: text(fault::MESSAGE)?.unwrap_or_else(empty),
        stack: text(fault::STACK)?.unwrap_or_else(empty),
        // Of the codes of a host's errors, guests see only the one for values that cannot be transferred.
        code: text(fault::CODE)?.and_then(|code| Code::named(&code.to_string())).filter(|code| *code == Code::Transfer),
        details: read_details(js, environment, js.element(array, fault::DETAILS)?)?,
    })))
}

fn read_details(js: Js<'_>, environment: &Environment, list: JsValue<'_>) -> JsResult<Option<Box<Details>>> {
    if js.type_of(list)? != JsType::Object {
        return Ok(None);
    }
    let cause = match read(js, environment, js.element(list, detail::CAUSE)?)? {
        Ok(Value::Undefined) => None,
        Ok(value) => Some(Fault::Thrown(value)),
        Err(fault) => Some(fault),
    };
    let mut properties = Vec::new();
    for index in (detail::PROPERTIES..js.length(list)?).step_by(2) {
        let key = js.read_text(js.element(list, index)?)?;
        if let Ok(value) = read(js, environment, js.element(list, index + 1)?)? {
            properties.push((key, value));
        }
    }
    Ok(Some(Box::new(Details { properties, cause })))
}

/// Writes the carrier of an outcome.
pub fn write<'a>(js: Js<'a>, environment: &Environment, outcome: Outcome) -> JsResult<JsValue<'a>> {
    match outcome {
        Ok(value) => write_value(js, environment, value),
        Err(fault) => write_fault(js, environment, fault),
    }
}

/// As [`write`]. If the host has no room for the value, writes a fault instead, so that no caller waits forever.
pub fn write_or_refuse<'a>(js: Js<'a>, environment: &Environment, outcome: Outcome) -> JsResult<JsValue<'a>> {
    write(js, environment, outcome).or_else(|_| {
        if js.exception_is_pending() {
            environment.clear_exception(js);
        }
        write_fault(js, environment, Fault::beyond("The value could not be brought into the host"))
    })
}

/// As [`write_or_refuse`], for a value that others have as well.
pub fn write_shared<'a>(js: Js<'a>, environment: &Environment, value: &Value) -> JsResult<JsValue<'a>> {
    match value {
        Value::Number(number) => js.number(*number),
        Value::String(text) if strings::is_copied(&environment.adopted, text) => js.text(text),
        value => write_or_refuse(js, environment, Ok(value.clone())),
    }
}

fn write_value<'a>(js: Js<'a>, environment: &Environment, value: Value) -> JsResult<JsValue<'a>> {
    match value {
        Value::Undefined => js.undefined(),
        Value::Null => js.null(),
        Value::Boolean(boolean) => js.boolean(boolean),
        Value::Number(number) => js.number(number),
        Value::BigInt(bigint) => js.bigint(&bigint),
        Value::String(text) => strings::write(js, &environment.adopted, text),
        Value::Payload(payload)
            if **payload.bytes == Payload::ONLY_BUFFER || **payload.bytes == Payload::ONLY_SHARED =>
        {
            match payload.table.into_iter().next() {
                Some(entry) => write_entry(js, environment, entry),
                None => js.undefined(),
            }
        }
        Value::Payload(payload) => {
            let mut rows = Vec::with_capacity(payload.table.len());
            for entry in payload.table {
                rows.push(write_entry(js, environment, entry)?);
            }
            let bytes = environment.arena.view(js, payload.bytes, environment.context.purpose.get().is_delivered)?;
            js.array(&[js.number(f64::from(tag::WIRE))?, bytes, js.array(&rows)?])
        }
        Value::Handle(handle) => write_handle(js, environment, handle),
        Value::Function(callable) => write_function(js, environment, callable),
        Value::Promise(settlement) => {
            let request = environment.promise(js, &settlement);
            js.array(&[js.number(f64::from(tag::PROMISE))?, js.number(request)?])
        }
        Value::List(values) => {
            let mut elements = vec![js.number(f64::from(tag::LIST))?];
            for value in values {
                elements.push(write_or_refuse(js, environment, Ok(value))?);
            }
            js.array(&elements)
        }
        Value::Dereference(reference) => {
            if environment.owns(&reference.slot) {
                let index = reference.slot.index();
                environment.retain_for_reader(reference);
                return js.array(&[js.number(f64::from(tag::DEREF))?, js.number(f64::from(index))?]);
            }
            write_fault(js, environment, Fault::refused(message::WRONG_ISOLATE))
        }
        Value::CopyInto { copy, transfer_in, .. } => match copy.open(transfer_in) {
            Ok(value) => write_value(js, environment, value),
            Err(fault) => write_fault(js, environment, fault),
        },
    }
}

fn write_entry<'a>(js: Js<'a>, environment: &Environment, entry: TableEntry) -> JsResult<JsValue<'a>> {
    match entry {
        TableEntry::Value(value) => write_value(js, environment, value),
        TableEntry::Buffer(bytes) => match bytes.read(|bytes| js.buffer(bytes)) {
            Some(buffer) => {
                blocks::keep_bytes(bytes);
                js.array(&[js.number(f64::from(tag::BUFFER))?, buffer?])
            }
            None => write_fault(js, environment, Fault::environment_gone()),
        },
        TableEntry::Shared(memory) => {
            let key = environment.shared_key(&memory);
            let buffer = if key == 0 { environment.adopted.buffer(js, &memory)? } else { None };
            let length = memory.len();
            environment.retain_for_reader(memory);
            js.array(&ordered([
                (0, js.number(f64::from(tag::SHARED))?),
                (arrived_shared::KEY, js.number(f64::from(key))?),
                (arrived_shared::BUFFER, buffer.map_or_else(|| js.undefined(), Ok)?),
                (arrived_shared::LENGTH, js.number(length as f64)?),
            ]))
        }
    }
}

fn write_handle<'a>(js: Js<'a>, environment: &Environment, handle: Handle) -> JsResult<JsValue<'a>> {
    let kind = handle.kind();
    let (slot, type_of, flags) = match &handle {
        Handle::ExternalCopy(copy) => {
            copy.claim();
            (None, None, 0)
        }
        Handle::Reference(reference) => {
            let own = environment.owns(&reference.slot).then(|| reference.slot.index());
            (own, Some(reference.type_of), Transfer::of_reference(reference))
        }
        _ => (None, None, 0),
    };
    if let Handle::Isolate(isolate) = &handle {
        environment.handle.count_isolate(js, isolate);
    }
    let id = match handle {
        Handle::Ivm => Environment::IVM,
        Handle::Lib => Environment::LIB,
        handle => environment.keep(Value::Handle(handle)),
    };
    let type_of = match type_of {
        Some(type_of) => js.string(type_of.name())?,
        None => js.undefined()?,
    };
    js.array(&ordered([
        (0, js.number(f64::from(tag::HANDLE))?),
        (handle::KIND, js.number(f64::from(kind))?),
        (handle::ID, js.number(id as f64)?),
        (handle::OWN, js.number(slot.map_or(-1.0, f64::from))?),
        (handle::TYPE_OF, type_of),
        (handle::FLAGS, js.number(f64::from(flags))?),
    ]))
}

fn write_function<'a>(js: Js<'a>, environment: &Environment, callable: Arc<Callable>) -> JsResult<JsValue<'a>> {
    let own = environment.owns(&callable.slot).then(|| callable.slot.index());
    let name = js.text(&callable.name)?;
    let length = f64::from(callable.length);
    let mode = f64::from(callable.mode.number());
    let id = environment.keep(Value::Function(callable));
    js.array(&ordered([
        (0, js.number(f64::from(tag::FUNCTION))?),
        (function::TARGET, js.number(id as f64)?),
        (function::NAME, name),
        (function::LENGTH, js.number(length)?),
        (function::MODE, js.number(mode)?),
        (function::OWN, js.number(own.map_or(-1.0, f64::from))?),
    ]))
}

fn write_fault<'a>(js: Js<'a>, environment: &Environment, why: Fault) -> JsResult<JsValue<'a>> {
    let error = match why {
        Fault::Error(error) => *error,
        Fault::Thrown(value) => {
            let thrown = write_value(js, environment, value)?;
            return js.array(&[js.number(f64::from(tag::THROWN))?, thrown]);
        }
        Fault::Stopped => match Fault::disposed_during_execution() {
            Fault::Error(error) => *error,
            Fault::Thrown(_) | Fault::Stopped => return js.undefined(),
        },
    };
    let name = match &error.name {
        Some(name) => js.text(name)?,
        None => js.undefined()?,
    };
    let code = match error.code {
        Some(code) => js.string(code.name())?,
        None => js.undefined()?,
    };
    let details = match error.details {
        Some(details) => write_details(js, environment, *details)?,
        None => js.undefined()?,
    };
    js.array(&ordered([
        (0, js.number(f64::from(tag::FAULT))?),
        (fault::CLASS, js.string(error.class.name())?),
        (fault::NAME, name),
        (fault::MESSAGE, js.text(&error.message)?),
        (fault::STACK, js.text(&error.stack)?),
        (fault::CODE, code),
        (fault::DETAILS, details),
    ]))
}

fn write_details<'a>(js: Js<'a>, environment: &Environment, details: Details) -> JsResult<JsValue<'a>> {
    let mut elements = vec![js.undefined()?; detail::PROPERTIES as usize];
    elements[detail::CAUSE as usize] = match details.cause {
        Some(Fault::Thrown(value)) => write_value(js, environment, value)?,
        Some(fault) => write_fault(js, environment, fault)?,
        None => js.undefined()?,
    };
    for (key, value) in details.properties {
        elements.extend([js.text(&key)?, write_value(js, environment, value)?]);
    }
    js.array(&elements)
}

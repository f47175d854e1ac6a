//! What the surface puts into the contexts of sandboxes and plugins, and runs there.

use super::call::finish;
use super::environment::Local;
use super::js::{Js, JsResult, JsValue, Refused};
use super::{carrier, execution};
use crate::isolate::Limits;
use crate::ops::{self, Prepared, Record};
use crate::protocol::{equipment, mode};
use crate::sandbox::{self, Equipment, Names, Sources};
use crate::value::{Fault, Handle, Value};

/// `equip(mode, request, context, equipment)`: puts into a context what sandboxes have, as `EQUIPMENT` declares it. The outcome is a reference to a
/// list of functions for the library's code in the context, see `sandbox::equip`.
pub fn equip<'a>(js: Js<'a>, local: &'static Local, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [mode, request, context, record, ..] = args else {
        return Err(Refused);
    };
    let mode = js.read_number(*mode)? as u32;
    let request = js.read_number(*request)? as i64;
    let Some(Value::Handle(Handle::Context(context))) = local.handle(js.read_number(*context)? as usize) else {
        return Err(Refused);
    };
    let equipment = equipment(execution::read(js, local, *record, &[])?).map_err(|_| Refused)?;
    finish(js, local, mode, request, sandbox::equip(&context, equipment))
}

fn equipment(mut record: Record) -> Result<Equipment, Fault> {
    let (index, text) =
        (record.optional_text(equipment::MODULE_INDEX)?, record.optional_text(equipment::MODULE_SOURCES)?);
    Ok(Equipment {
        timers: record.optional_function(equipment::TIMERS)?,
        web: Names::from_bits(record.number(equipment::WEB)? as u32),
        modules: index.zip(text).map(|(index, text)| Sources { index, text }),
        log_length: match record.value(equipment::MAX_LOG_LENGTH) {
            Value::Number(length) => Some(length as usize),
            _ => None,
        },
        is_plugin: record.number(equipment::IS_PLUGIN)? != 0.0,
    })
}

/// `runAsActor(request, context, begin, code, file, timeout, deadline, …arguments)`: runs a script, named `file` in stacks, for the actor that
/// the function behind the reference `begin` creates from the arguments. A clone of the script's last value settles `request`.
pub fn run_as_actor<'a>(js: Js<'a>, local: &'static Local, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, context, begin, code, file, timeout, deadline, rest @ ..] = args else {
        return Err(Refused);
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
        return Err(Refused);
    };
    let mut arguments = Vec::with_capacity(rest.len());
    for carrier in rest {
        match carrier::read(js, local, *carrier)? {
            Ok(value) => arguments.push(value),
            Err(fault) => return finish(js, local, mode::ASYNC, request, Prepared::from(fault)),
        }
    }
    let script = sandbox::ActorScript { begin, arguments, code, file, limits };
    finish(js, local, mode::ASYNC, request, sandbox::run_as_actor(&context, script))
}

/// `adoptModule(request, context, code, file)`: settles `request` with the specifier by which the code, named `file` in stacks, is
/// imported, if it is a module.
pub fn adopt<'a>(js: Js<'a>, local: &'static Local, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, context, code, file, ..] = args else {
        return Err(Refused);
    };
    let request = js.read_number(*request)? as i64;
    let context = local.handle(js.read_number(*context)? as usize);
    let (code, file) = (carrier::read(js, local, *code)?, carrier::read(js, local, *file)?);
    let (Some(Value::Handle(Handle::Context(context))), Ok(Value::String(code)), Ok(Value::String(file))) =
        (context, code, file)
    else {
        return Err(Refused);
    };
    finish(js, local, mode::ASYNC, request, sandbox::adopt(&context, code, file))
}

//! Executions in sandboxes, as the host's surface requests them: one record of arguments, which `EXECUTION` declares.

use std::sync::{Arc, Weak};

use super::carrier;
use super::environment::Environment;
use super::js::{Js, JsResult, JsValue, Refused};
use super::warm::{isolate_of, template};
use crate::isolate::Settings;
use crate::ops::{self, Record};
use crate::protocol::{execution, flag, form, form_part};
use crate::sandbox::{self, Form, FormGuard, LogStyle, Logging, Modules, Sources, Spec, Supply, Tool, UserCode};
use crate::value::{Completion, Fault, Handle, IsolateHandle, Value};

/// `execute(request, execution, isolate)`: starts an execution in a sandbox, in `isolate` if [`make_inspectable`](super::warm::make_inspectable)
/// has made one for it. Returns the handle of its isolate; the outcome settles `request`.
pub fn execute<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, record, isolate, ..] = args else { return Err(Refused) };
    let made = match js.read_number(*isolate)? as usize {
        0 => None,
        id => Some(isolate_of(environment, id)?),
    };
    let request = js.read_number(*request)? as i64;
    let mut record = read(js, environment, *record, LISTS)?;
    let completion = environment.async_completion(js, request, Weak::new());
    let spec = spec(&mut record, request, completion, &environment.settings).map_err(|_| Refused)?;
    let warm = record.number(execution::WARM).map_err(|_| Refused)? as usize;
    let supply = match made {
        Some(made) => Supply::Made(made),
        None => Supply::Pool(Arc::clone(&environment.handle.warm_pool), warm),
    };
    let remote = sandbox::start(spec, &environment.settings, supply);
    let id = environment.keep(Value::Handle(Handle::Isolate(IsolateHandle(remote))));
    js.number(id as f64)
}

/// The elements of `EXECUTION` that are lists.
pub(super) const LISTS: &[u32] = &[execution::FORMS, execution::TOOLS];

/// Reads a record of carriers. Its elements `lists` are lists of carriers.
pub(super) fn read(js: Js<'_>, environment: &Environment, record: JsValue<'_>, lists: &[u32]) -> JsResult<Record> {
    let one = |value| carrier::read(js, environment, value)?.map_err(|_| Refused);
    let length = js.length(record)?;
    let mut values = Vec::with_capacity(length as usize);
    for index in 0..length {
        let value = js.element(record, index)?;
        values.push(if lists.contains(&index) {
            let elements = (0..js.length(value)?).map(|index| one(js.element(value, index)?));
            Value::List(elements.collect::<JsResult<Vec<_>>>()?)
        } else {
            one(value)?
        });
    }
    Ok(Record::new(values))
}

fn spec(
    record: &mut Record,
    request: i64,
    completion: Arc<dyn Completion>,
    settings: &Settings,
) -> Result<Spec, Fault> {
    let flags = record.number(execution::FLAGS)? as u32;
    let web = record.number(execution::WEB)? as u32;
    let memory_limit = (record.number(execution::MEMORY_LIMIT)? as usize).saturating_mul(1 << 20);
    let mut tools = Vec::new();
    let mut parts = record.list(execution::TOOLS)?.into_iter();
    while let (Some(namespace), Some(method), Some(function)) = (parts.next(), parts.next(), parts.next()) {
        let (Value::String(namespace), Value::String(method), Value::Function(function)) =
            (namespace, method, function)
        else {
            return Err(ops::malformed());
        };
        tools.push(Tool { namespace, method, function });
    }
    Ok(Spec {
        code: body(record)?,
        forms: forms(record)?,
        modules: modules(record)?,
        template: template(flags, web, memory_limit, record.value(execution::SNAPSHOT), settings)?,
        freeze_builtins: false,
        timeout: record.duration(execution::TIMEOUT)?,
        max_output: record.number(execution::MAX_OUTPUT)? as usize,
        logging: logging(record, if flags & flag::MARKED_LOGS != 0 { LogStyle::Marked } else { LogStyle::Plain })?,
        globals: record.value(execution::GLOBALS),
        tools,
        tools_take_text: false,
        request,
        completion,
    })
}

fn forms(record: &mut Record) -> Result<Vec<Form>, Fault> {
    let parts = record.list(execution::FORMS)?;
    let forms = parts.chunks(form_part::ALL.len()).map(|parts| {
        let mut parts = Record::new(parts.to_vec());
        let code = UserCode {
            text: parts.text(form_part::TEXT)?,
            line: parts.number(form_part::LINE)? as i32,
            column: parts.number(form_part::COLUMN)? as i32,
        };
        let flags = parts.number(form_part::FLAGS)? as u32;
        let must_compile = flags & form::NEEDS_GUARD != 0;
        let guard = parts.optional_text(form_part::GUARD)?.map(|text| FormGuard { text, must_compile });
        Ok(Form { code, guard, is_function: flags & form::FUNCTION != 0 })
    });
    forms.collect()
}

pub(super) fn body(record: &mut Record) -> Result<UserCode, Fault> {
    Ok(UserCode {
        text: record.text(execution::CODE)?,
        line: record.number(execution::LINE)? as i32,
        column: record.number(execution::COLUMN)? as i32,
    })
}

pub(super) fn logging(record: &mut Record, style: LogStyle) -> Result<Logging, Fault> {
    Ok(Logging {
        style,
        max_lines: record.number(execution::MAX_LOGS)? as usize,
        max_length: record.number(execution::MAX_LOG_LENGTH)? as usize,
        listener: record.optional_function(execution::ON_LOG)?,
    })
}

/// The modules, if there are any, and the code as a module.
pub(super) fn modules(record: &mut Record) -> Result<Option<Modules>, Fault> {
    let (index, text) =
        (record.optional_text(execution::MODULE_INDEX)?, record.optional_text(execution::MODULE_SOURCES)?);
    let main = record.optional_text(execution::MODULE_CODE)?;
    let (line, column) =
        (record.number(execution::MODULE_LINE)? as i32, record.number(execution::MODULE_COLUMN)? as i32);
    Ok(match (index, text, main) {
        (Some(index), Some(text), Some(main)) => {
            Some(Modules { sources: Sources { index, text }, main: UserCode { text: main, line, column } })
        }
        _ => None,
    })
}

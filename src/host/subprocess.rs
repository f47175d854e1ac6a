//! Executions of `SubprocessSandbox`, as the host's surface requests them.

use std::path::PathBuf;
use std::sync::Weak;
use std::time::Duration;

use super::environment::Environment;
use super::execution::{LISTS, body, logging, modules, read};
use super::js::{Js, JsResult, JsValue, Refused};
use crate::child::{self, Execution, ProcessTemplate, Requester, Task};
use crate::engine::library::own_file;
use crate::isolate::Settings;
use crate::ops::{self, Record};
use crate::protocol::{execution, process};
use crate::sandbox::{LogStyle, Logging, Modules, UserCode};
use crate::value::{Code, ErrorClass, Fault, Owner, Text, Value};

/// `executeInProcess(request, process, execution)`: starts an execution in a process of its own. Returns its number; the outcome settles
/// `request`.
pub fn execute<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, process, execution, ..] = args else { return Err(Refused) };
    let request = js.read_number(*request)? as i64;
    let (process, execution) = (read(js, environment, *process, &[])?, read(js, environment, *execution, LISTS)?);
    let completion = environment.async_completion(js, request, Weak::new());
    let (template, pool) = match template_of(process, &environment.settings) {
        Ok(found) => found,
        Err(fault) => {
            completion.complete(Err(fault));
            return js.number(0.0);
        }
    };
    let Parts { timeout, task, tools, logging } = parts_of(execution).map_err(|_| Refused)?;
    let requester = Requester { owner: environment.handle.id(), request, tools, completion };
    let number = child::start(Execution { template, again: false, pool, timeout, task, logging, requester });
    js.number(number as f64)
}

/// `terminateExecution(number)`: ends an execution, if it has not ended.
pub fn terminate<'a>(js: Js<'a>, _local: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [number, ..] = args else { return Err(Refused) };
    child::terminate(js.read_number(*number)? as u64);
    js.undefined()
}

/// `checkConfinement(request, process)`: settles `request` with what confines such processes: name, whether it holds, and detail of each layer.
pub fn check_confinement<'a>(
    js: Js<'a>,
    environment: &'static Environment,
    args: &[JsValue<'a>],
) -> JsResult<JsValue<'a>> {
    let [request, process, ..] = args else { return Err(Refused) };
    let request = js.read_number(*request)? as i64;
    let process = read(js, environment, *process, &[])?;
    let completion = environment.async_completion(js, request, Weak::new());
    match template_of(process, &environment.settings) {
        Ok((template, pool)) => child::check_confinement(template, pool, completion),
        Err(fault) => completion.complete(Err(fault)),
    }
    js.undefined()
}

/// What processes have in common if they can replace each other, and how many of them to keep ready.
fn template_of(mut record: Record, settings: &Settings) -> Result<(ProcessTemplate, usize), Fault> {
    let launcher = record.optional_text(process::LAUNCHER)?.map(|path| PathBuf::from(path.to_string()));
    let memory = (record.number(process::MEMORY_LIMIT)? as u64).saturating_mul(1 << 20);
    let heap = usize::try_from(memory).unwrap_or(usize::MAX);
    let snapshot = ops::snapshot::open(record.value(process::SNAPSHOT), settings, heap)?;
    let addon = own_file().ok_or_else(|| unsupported("The addon's own file cannot be found"))?;
    let launcher = match launcher {
        Some(launcher) => launcher,
        None => beside(&addon).ok_or_else(|| unsupported("The addon's file has a name of its own"))?,
    };
    let names = |list: Text| list.to_string().split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let template = ProcessTemplate {
        launcher,
        addon,
        environment: child::environment(&record.text(process::ENVIRONMENT)?.to_string()),
        timeout: ProcessTemplate::bound(record.duration(process::TIMEOUT)?),
        memory,
        web: record.number(process::WEB)? as u32,
        off: names(record.text(process::OFF)?),
        required: names(record.text(process::REQUIRED)?),
        snapshot,
    };
    Ok((template, record.number(process::POOL)? as usize))
}

struct Parts {
    /// What is left of the execution's timeout.
    timeout: Duration,
    task: Task,
    tools: Vec<std::sync::Arc<crate::value::Callable>>,
    logging: Logging,
}

fn parts_of(mut record: Record) -> Result<Parts, Fault> {
    let (whole, spent) = (record.duration(execution::TIMEOUT)?, record.duration(execution::SPENT)?);
    let UserCode { text: code, line, column } = body(&mut record)?;
    let logging = logging(&mut record, LogStyle::Tagged)?;
    let (mut places, mut tools) = (Vec::new(), Vec::new());
    let mut rest = record.list(execution::TOOLS)?.into_iter();
    while let (Some(Value::String(names)), Some(Value::Function(function))) = (rest.next(), rest.next()) {
        let index = u32::try_from(tools.len()).map_err(|_| ops::malformed())?;
        let names = names.to_string();
        let mut names = names.split('\0').map(Text::from);
        while let (Some(namespace), Some(method)) = (names.next(), names.next()) {
            places.push((namespace, method, index));
        }
        tools.push(function);
    }
    let task = Task {
        code,
        line,
        column,
        deadline: 0.0,
        max_output: record.number(execution::MAX_OUTPUT)?,
        max_lines: u32::try_from(logging.max_lines).unwrap_or(u32::MAX),
        max_length: u32::try_from(logging.max_length).unwrap_or(u32::MAX),
        modules: modules(&mut record)?.map(|Modules { sources, main }| (sources, main)),
        tools: places,
    };
    Ok(Parts { timeout: whole.saturating_sub(spent), task, tools, logging })
}

fn unsupported(message: &str) -> Fault {
    Fault::coded(ErrorClass::Error, message, Code::Unsupported)
}

/// The executable next to the addon's file: `isolated-v8-launcher.linux-x64-gnu` for `isolated-v8.linux-x64-gnu.node`, with `.exe` where
/// executables have that suffix.
fn beside(addon: &std::path::Path) -> Option<PathBuf> {
    let triple = addon.file_name()?.to_str()?.strip_prefix("isolated-v8.")?.strip_suffix(".node")?;
    Some(addon.with_file_name(format!("isolated-v8-launcher.{triple}{}", std::env::consts::EXE_SUFFIX)))
}

//! Executions in processes of their own, as the host's surface requests them.

use std::path::PathBuf;
use std::sync::Weak;
use std::time::Duration;

use napi::sys;

use super::call::{callback, modules_of};
use super::carrier;
use super::environment::Local;
use super::js::{Js, JsResult, JsValue, Refused};
use super::library::own_file;
use crate::child::{self, Job, Sort, Task};
use crate::isolate::Settings;
use crate::ops::{self, Args};
use crate::sandbox::{LogStyle, Logging, Modules};
use crate::value::{Code, ErrorClass, Fault, Owner, Text, Value};

/// `executeApart(request, ...sort, spent, code, line, column, maxOutput, maxLogs, maxLogLength, onLog, index, sources, main, mainLine,
/// mainColumn, ...tools)`: starts an execution in a process of its own. Returns its number; the outcome settles `request`. A tool is two
/// arguments: where guest code finds it, as namespaces and methods with NULs between them, and its function.
pub unsafe extern "C" fn execute(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let (request, mut args) = read(js, local, args)?;
        let completion = local.async_completion(js, request, Weak::new());
        let (sort, pool, whole) = match sort_of(&mut args, &local.settings) {
            Ok(found) => found,
            Err(fault) => {
                completion.complete(Err(fault));
                return js.number(0.0);
            }
        };
        let job = task_of(args).map_err(|_| Refused)?;
        let number = child::start(Job {
            sort,
            again: false,
            pool,
            timeout: whole.saturating_sub(job.spent),
            task: job.task,
            tools: job.tools,
            logging: job.logging,
            owner: local.shared.id(),
            request,
            completion,
        });
        js.number(number as f64)
    })
}

/// `terminateApart(number)`: ends an execution, if it has not ended.
pub unsafe extern "C" fn terminate(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, _local, args| {
        let [number, ..] = args else { return Err(Refused) };
        child::terminate(js.read_number(*number)? as u64);
        js.undefined()
    })
}

/// `surveyApart(request, ...sort)`: settles `request` with what confines such processes: name, whether it holds, and detail of each layer.
pub unsafe extern "C" fn survey(env: sys::napi_env, info: sys::napi_callback_info) -> JsValue {
    callback(env, info, |js, local, args| {
        let (request, mut args) = read(js, local, args)?;
        let completion = local.async_completion(js, request, Weak::new());
        match sort_of(&mut args, &local.settings) {
            Ok((sort, pool, _)) => child::survey(sort, pool, completion),
            Err(fault) => completion.complete(Err(fault)),
        }
        js.undefined()
    })
}

fn read(js: Js<'_>, local: &Local, args: &[JsValue]) -> JsResult<(i64, Args)> {
    let [request, rest @ ..] = args else { return Err(Refused) };
    let mut values = Vec::with_capacity(rest.len());
    for carrier in rest {
        values.push(carrier::read(js, local, *carrier)?.map_err(|_| Refused)?);
    }
    Ok((js.read_number(*request)? as i64, Args::new(values)))
}

/// Reads `launcher, environment, off, required, timeout, memoryLimit, pool, web, snapshot`. `launcher` is the path of the executable if it
/// is not the usual one. `environment` is separated by NULs, `off` and `required` by commas. `timeout` is in milliseconds, `memoryLimit` in
/// megabytes. `pool` is how many processes to keep ready, `web` is bits of names, and `snapshot` is what the processes start from.
fn sort_of(args: &mut Args, settings: &Settings) -> Result<(Sort, usize, Duration), Fault> {
    let launcher = args.optional_text()?.map(|path| PathBuf::from(path.to_string()));
    let environment = child::environment(&args.text()?.to_string());
    let (off, required) = (args.text()?.to_string(), args.text()?.to_string());
    let timeout = Duration::try_from_secs_f64(args.number()? / 1_000.0).map_err(|_| ops::malformed())?;
    let memory = (args.number()? as u64).saturating_mul(1 << 20);
    let (pool, web) = (args.number()? as usize, args.number()? as u32);
    let heap = usize::try_from(memory).unwrap_or(usize::MAX);
    let snapshot = ops::snapshot::open(args.value(), settings, heap)?;
    let addon = own_file().ok_or_else(|| unsupported("The addon's own file cannot be found"))?;
    let launcher = match launcher {
        Some(launcher) => launcher,
        None => beside(&addon).ok_or_else(|| unsupported("The addon's file has a name of its own"))?,
    };
    let names = |list: String| list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let (off, required, bound) = (names(off), names(required), Sort::bound(timeout));
    Ok((Sort { launcher, addon, environment, timeout: bound, memory, web, off, required, snapshot }, pool, timeout))
}

struct Parts {
    /// The part of the timeout that has already passed.
    spent: Duration,
    task: Task,
    tools: Vec<std::sync::Arc<crate::value::Callable>>,
    logging: Logging,
}

fn task_of(mut args: Args) -> Result<Parts, Fault> {
    let spent = Duration::try_from_secs_f64(args.number()? / 1_000.0).map_err(|_| ops::malformed())?;
    let (code, line, column) = (args.text()?, args.number()? as i32, args.number()? as i32);
    let (max_output, most_lines, most_length) = (args.number()?, args.number()? as u32, args.number()? as u32);
    let logging = Logging {
        style: LogStyle::Tagged,
        most_lines: most_lines as usize,
        most_length: most_length as usize,
        listener: args.optional_function()?,
    };
    let modules = modules_of(&mut args)?;
    let (mut places, mut tools) = (Vec::new(), Vec::new());
    let mut rest = args.rest().into_iter();
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
        max_output,
        most_lines,
        most_length,
        modules: modules.map(|Modules { sources, main }| (sources, main)),
        tools: places,
    };
    Ok(Parts { spent, task, tools, logging })
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

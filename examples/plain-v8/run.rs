//! One test, in a context of its own.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agents::Agents;
use crate::host::{self, STATE, State};
use crate::modules;

/// The young generation has its default size.
const HEAP_LIMIT: usize = 512 << 20;
const PAUSE: Duration = Duration::from_millis(1);

pub struct Test {
    pub path: PathBuf,
    source: String,
    harness: Vec<(String, String)>,
    module: bool,
    asynchronous: bool,
    limit: Duration,
}

impl Test {
    pub fn read(root: &Path, request: &Value) -> std::io::Result<Self> {
        let flag = |name| request[name].as_bool().unwrap_or_default();
        let path = root.join("test").join(request["file"].as_str().unwrap_or_default());
        let text = read_text(&path)?;
        let names = request["harness"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Ok(Self {
            source: if flag("strict") { format!("\"use strict\";\n{text}") } else { text },
            harness: names
                .map(|name| Ok((name.to_owned(), read_text(&root.join("harness").join(name))?)))
                .collect::<std::io::Result<_>>()?,
            module: flag("module"),
            asynchronous: flag("async"),
            limit: Duration::from_millis(request["limit"].as_u64().unwrap_or(10_000)),
            path,
        })
    }
}

fn read_text(path: &Path) -> std::io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
}

/// Where and with what a test ended.
pub struct Failure {
    phase: &'static str,
    name: String,
    message: String,
}

impl Failure {
    pub fn of(phase: &'static str, message: &str) -> Self {
        Self { phase, name: String::new(), message: message.to_owned() }
    }
}

pub fn make_isolate() -> v8::OwnedIsolate {
    let params = v8::CreateParams::default().heap_limits(0, HEAP_LIMIT).allow_atomics_wait(true);
    let mut isolate = v8::Isolate::new(params);
    isolate.set_host_import_module_dynamically_callback(modules::import);
    isolate
}

pub fn outcome(isolate: &mut v8::OwnedIsolate, test: &Test) -> Value {
    let agents = Agents::new();
    STATE.replace(Some(State::new(&test.path, agents.clone())));

    let (done, watched) = mpsc::channel::<()>();
    let (handle, limit) = (isolate.thread_safe_handle(), test.limit);
    let watchdog = std::thread::spawn(move || {
        if watched.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
            handle.terminate_execution();
        }
    });
    let outcome = run(isolate, test);
    drop(done);
    let _ = watchdog.join();
    isolate.cancel_terminate_execution();
    agents.end();
    // While the isolate is there: it has handles.
    drop(STATE.replace(None));
    match outcome {
        Ok(printed) => json!({ "printed": printed }),
        Err(Failure { phase, name, message }) => json!({ "phase": phase, "name": name, "message": message }),
    }
}

fn run(isolate: &mut v8::Isolate, test: &Test) -> Result<Option<String>, Failure> {
    v8::scope!(let scope, isolate);
    let context = v8::Context::new(scope, v8::ContextOptions::default());
    let scope = &mut v8::ContextScope::new(scope, context);
    host::install(scope).ok_or_else(|| Failure::of("crash", "no host object"))?;
    v8::tc_scope!(let scope, scope);

    let path = test.path.to_string_lossy();
    let script = if test.module { None } else { compile(scope, &test.source, &path) };
    let module = if test.module { modules::compile(scope, &test.source, &test.path, "") } else { None };
    if script.is_none() && module.is_none() {
        return Err(caught(scope, "parse"));
    }
    for (name, source) in &test.harness {
        let harness = compile(scope, source, name).and_then(|script| script.run(scope));
        harness.ok_or_else(|| caught(scope, "harness"))?;
    }

    let start = Instant::now();
    let mut evaluated = None;
    if let Some(module) = module {
        module.instantiate_module(scope, modules::resolve).ok_or_else(|| caught(scope, "resolution"))?;
        let promise = module.evaluate(scope).ok_or_else(|| caught(scope, "runtime"))?;
        evaluated = v8::Local::<v8::Promise>::try_from(promise).ok();
    } else if let Some(script) = script {
        script.run(scope).ok_or_else(|| caught(scope, "runtime"))?;
    }
    loop {
        if scope.has_terminated() || start.elapsed() > test.limit {
            return Err(Failure::of("timeout", "no end"));
        }
        scope.perform_microtask_checkpoint();
        let worked = modules::load_next(scope) | pump(scope);
        let settled = match evaluated.map(|promise| promise.state()) {
            Some(v8::PromiseState::Rejected) => {
                let reason = evaluated.map(|promise| promise.result(scope));
                return Err(describe(scope, reason, "runtime"));
            }
            state => state != Some(v8::PromiseState::Pending),
        };
        let printed = host::printed();
        if settled && !worked && (printed.is_some() || !test.asynchronous) {
            return Ok(printed);
        }
        if !worked {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Runs a task that V8 has for the isolate, if there is one.
pub fn pump(isolate: &v8::Isolate) -> bool {
    v8::Platform::pump_message_loop(&v8::V8::get_current_platform(), isolate, false)
}

pub fn compile<'s>(scope: &mut v8::PinScope<'s, '_>, source: &str, name: &str) -> Option<v8::Local<'s, v8::Script>> {
    let (source, name) = (v8::String::new(scope, source)?, v8::String::new(scope, name)?);
    let origin = v8::ScriptOrigin::new(scope, name.into(), 0, 0, false, 0, None, false, false, false, None);
    v8::Script::compile(scope, source, Some(&origin))
}

fn caught(scope: &mut v8::PinnedRef<'_, v8::TryCatch<'_, '_, v8::HandleScope<'_>>>, phase: &'static str) -> Failure {
    if scope.has_terminated() {
        return Failure::of("timeout", "terminated");
    }
    let exception = scope.exception();
    scope.reset();
    describe(scope, exception, phase)
}

/// An exception as the runner wants to know it: by its constructor.
fn describe(
    scope: &mut v8::PinScope<'_, '_>,
    exception: Option<v8::Local<'_, v8::Value>>,
    phase: &'static str,
) -> Failure {
    v8::tc_scope!(let scope, scope);
    let text_of = |path: &[&str]| {
        let mut value = exception?;
        for name in path {
            let key = v8::String::new(scope, name)?;
            value = v8::Local::<v8::Object>::try_from(value).ok()?.get(scope, key.into())?;
        }
        Some(value.to_rust_string_lossy(scope))
    };
    let name = text_of(&["constructor", "name"]).unwrap_or_default();
    let message = text_of(&["message"]).or_else(|| text_of(&[])).unwrap_or_default();
    Failure { phase, name, message }
}

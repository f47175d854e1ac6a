//! One execution from beginning to end. Whatever ends it first (result, error, timeout, memory, disposal) answers; the
//! isolate is gone right after.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::console::Logs;
use super::timers::Timers;
use super::{Body, Spec, console, timers, tools};
use crate::convert;
use crate::isolate::clock::{self, Alarm};
use crate::isolate::{Guest, IsolateScope, Job, Kind, Place, Realm, Remote, Settings, Stop, behalf};
use crate::ops::{self, Transfer};
use crate::value::{Answer, Chain, Code, ErrorFault, Fault, Outcome, Text, Value};

pub struct Session {
    pub remote: Arc<Remote>,
    pub logs: Logs,
    pub timers: Timers,
    max_output: usize,
    request: i64,
    answer: Arc<dyn Answer>,
    alarm: Mutex<Option<Alarm>>,
}

/// Starts an execution. The isolate is known at once, so that it can be disposed from outside.
pub fn start(spec: Spec, settings: &Settings) -> Arc<Remote> {
    let mut settings = settings.clone();
    settings.memory_limit = spec.memory_limit;
    let remote = Remote::create(settings);
    let session = Arc::new(Session {
        remote: Arc::clone(&remote),
        logs: Logs::new(spec.log_style),
        timers: Timers::default(),
        max_output: spec.max_output,
        request: spec.request,
        answer: Arc::clone(&spec.answer),
        alarm: Mutex::new(None),
    });
    let timeout = spec.timeout;
    let timed_out = Arc::clone(&session);
    {
        // Under the lock, which an alarm that goes off at once waits for.
        let mut alarm = session.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        *alarm = Some(clock::at(Instant::now() + timeout, move || timed_out.finish(Err(Fault::deadline(timeout)))));
    }
    remote.when_ended(Arc::new(Step(Arc::clone(&session))));
    let work = {
        let session = Arc::clone(&session);
        move |scope: &mut IsolateScope<'_, '_>, guest: &Arc<Guest>| run(scope, guest, &session, spec)
    };
    session.post(work);
    remote
}

impl Session {
    /// The execution that runs in this isolate.
    pub fn of(scope: &v8::Isolate) -> Option<Arc<Session>> {
        scope.get_slot::<Arc<Session>>().cloned()
    }

    /// Runs `work` in the isolate; what it fails with ends the execution.
    pub fn post(
        self: &Arc<Self>,
        work: impl FnOnce(&mut IsolateScope<'_, '_>, &Arc<Guest>) -> Outcome + Send + 'static,
    ) {
        let job = Job::new(Kind::Task, Arc::new(Step(Arc::clone(self))), Box::new(work));
        self.remote.post(job.in_chain(Chain::of_request(self.request)));
    }

    /// Ends the execution with this outcome, unless it has ended before.
    pub fn finish(&self, outcome: Outcome) {
        let Some(alarm) = self.alarm.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        drop(alarm);
        self.timers.clear();
        let (ok, value, code) = match outcome {
            Ok(value) => (true, value, None),
            Err(Fault::Thrown(value)) => (false, Value::String(Text::from(value.describe())), None),
            Err(Fault::Error(error)) => {
                let ErrorFault { message, code, .. } = *error;
                (false, Value::String(message), code)
            }
            Err(Fault::Stopped) => (false, Value::String(Text::from("Execution was terminated")), Some(Code::Disposed)),
        };
        let code = code.map_or(Value::Undefined, |code| Value::String(Text::from(code.name())));
        let mut list = vec![Value::Boolean(ok), value, code];
        list.extend(self.logs.take().into_iter().map(Value::String));
        // Stopped first: nothing of the guest runs on when its caller knows.
        self.remote.stop(Stop::Disposed);
        self.answer.answer(Ok(Value::List(list)));
    }

    /// The code's value is known: cloned, measured, and the end.
    fn complete<'s>(&self, scope: &mut v8::PinScope<'s, '_>, at: &Place, value: v8::Local<'s, v8::Value>) {
        let outcome = ops::transfer_out(scope, at, value, Transfer(Transfer::COPY));
        match outcome.and_then(|value| self.check_size(value)) {
            // Whoever stops the isolate has answered.
            Err(Fault::Stopped) => {}
            outcome => self.finish(outcome),
        }
    }

    /// Refuses a result that is too large in any form; the surface measures the rest as JSON.
    fn check_size(&self, value: Value) -> Outcome {
        let size = value.byte_size();
        let most = self.max_output.saturating_mul(CLONE_PER_JSON).saturating_add(CLONE_OVERHEAD);
        if size <= most {
            return Ok(value);
        }
        let message = format!("Result of {size} bytes exceeds the maximum output size of {} bytes", self.max_output);
        Err(Fault::coded(crate::value::ErrorClass::RangeError, &message, Code::Limit))
    }
}

/// Bytes a clone takes for each byte of JSON at the worst (`null` is 4 and 1, but an empty array 5 and 2), and its header.
const CLONE_PER_JSON: usize = 4;
const CLONE_OVERHEAD: usize = 64;

/// The answer of one of the session's jobs: only a failure matters.
struct Step(Arc<Session>);

impl Answer for Step {
    fn answer(&self, outcome: Outcome) {
        if let Err(fault) = outcome {
            self.0.finish(Err(fault));
        }
    }
}

fn run(scope: &mut IsolateScope<'_, '_>, guest: &Arc<Guest>, session: &Arc<Session>, spec: Spec) -> Outcome {
    scope.set_slot(Arc::clone(session));
    let realm = Realm::create(scope, guest);
    let context = v8::Local::new(scope, &realm.context);
    let scope = &mut v8::ContextScope::new(scope, context);
    // All that runs in this isolate is for the one call.
    behalf::begin(scope, guest);
    // The realm must outlive this job: functions in it find their place through it.
    guest.keep_realm(Arc::clone(&realm));
    let at = Place { guest: Arc::clone(guest), realm };
    prepare_globals(scope, &at, &spec)?;
    session.remote.measure(scope);
    let (value, call_result) = evaluate(scope, &spec)?;
    await_value(scope, session, value, call_result)?;
    Ok(Value::Undefined)
}

fn prepare_globals(scope: &mut v8::PinScope<'_, '_>, at: &Place, spec: &Spec) -> Result<(), Fault> {
    v8::tc_scope!(let scope, scope);
    let failed = |scope: &mut _| convert::fault_from_caught(scope).unwrap_or(Fault::Stopped);
    let global = scope.get_current_context().global(scope);
    if console::install(scope, global).is_none() {
        return Err(failed(scope));
    }
    if spec.timers && timers::install(scope, global).is_none() {
        return Err(failed(scope));
    }
    if !spec.shadow_global {
        let key = convert::text_to_v8(scope, &Text::from("global"))?;
        if global.create_data_property(scope, key.into(), global.into()).is_none() {
            return Err(failed(scope));
        }
    }
    tools::install(scope, at, global, &spec.tools)?;
    let globals = convert::to_v8(scope, at, spec.globals.clone())?;
    let Ok(globals) = v8::Local::<v8::Object>::try_from(globals) else {
        return Ok(());
    };
    let Some(keys) = globals.get_own_property_names(scope, v8::GetPropertyNamesArgs::default()) else {
        return Err(failed(scope));
    };
    for index in 0..keys.length() {
        let pair = keys.get_index(scope, index).and_then(|key| {
            let value = globals.get(scope, key)?;
            let key = key.to_string(scope)?;
            Some((key, value))
        });
        let Some((key, value)) = pair else {
            return Err(failed(scope));
        };
        if global.create_data_property(scope, key.into(), value).is_none() {
            return Err(failed(scope));
        }
    }
    Ok(())
}

/// Compiles and calls the code.
fn evaluate<'s>(scope: &mut v8::PinScope<'s, '_>, spec: &Spec) -> Result<(v8::Local<'s, v8::Value>, bool), Fault> {
    let Some(function) = &spec.function else {
        return Ok((evaluate_text(scope, spec, &spec.code).map_err(Failure::into_fault)?, false));
    };
    if !compiles(scope, &function.guard)? {
        match evaluate_text(scope, spec, &function.code) {
            Err(Failure::Syntax(_)) => {}
            result => return Ok((result.map_err(Failure::into_fault)?, true)),
        }
    }
    Ok((evaluate_text(scope, spec, &spec.code).map_err(Failure::into_fault)?, false))
}

fn compiles(scope: &mut v8::PinScope<'_, '_>, code: &Text) -> Result<bool, Fault> {
    let code = convert::text_to_v8(scope, code)?;
    v8::tc_scope!(let scope, scope);
    let mut source = v8::script_compiler::Source::new(code, None);
    Ok(compile_body(scope, &mut source, &[]).is_some())
}

fn compile_body<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    source: &mut v8::script_compiler::Source,
    names: &[v8::Local<'s, v8::String>],
) -> Option<v8::Local<'s, v8::Function>> {
    let options = v8::script_compiler::CompileOptions::NoCompileOptions;
    let reason = v8::script_compiler::NoCacheReason::NoReason;
    v8::script_compiler::compile_function(scope, source, names, &[], options, reason)
}

enum Failure {
    Syntax(Fault),
    Run(Fault),
}

impl Failure {
    fn into_fault(self) -> Fault {
        match self {
            Failure::Syntax(fault) | Failure::Run(fault) => fault,
        }
    }
}

fn evaluate_text<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    spec: &Spec,
    body: &Body,
) -> Result<v8::Local<'s, v8::Value>, Failure> {
    let code = convert::text_to_v8(scope, &body.text).map_err(Failure::Run)?;
    // Positions are those of the user's own text.
    let origin = ops::Origin { filename: Text::from("sandbox.js"), line: 0, column: -body.prefix };
    let origin = origin.to_v8(scope).map_err(Failure::Run)?;
    let shadowed = convert::text_to_v8(scope, &Text::from("globalThis")).map_err(Failure::Run)?;
    let names: &[_] = if spec.shadow_global { &[shadowed] } else { &[] };
    v8::tc_scope!(let scope, scope);
    let mut source = v8::script_compiler::Source::new(code, Some(&origin));
    let Some(function) = compile_body(scope, &mut source, names) else {
        return Err(Failure::Syntax(convert::fault_from_compilation(scope).unwrap_or(Fault::Stopped)));
    };
    let receiver = v8::undefined(scope).into();
    function
        .call(scope, receiver, &[])
        .ok_or_else(|| Failure::Run(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)))
}

/// Data of the functions below: whether a function is still to be called.
const CALL: i32 = 1;
const TAKE: i32 = 0;

/// Waits for the value, which may be a promise or any other thenable, and goes on with it.
fn await_value<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    session: &Arc<Session>,
    value: v8::Local<'s, v8::Value>,
    call_result: bool,
) -> Result<(), Fault> {
    if !value.is_object() {
        let at = Place::current(scope)?;
        go_on(scope, &at, session, value, call_result);
        return Ok(());
    }
    let promise = match v8::Local::<v8::Promise>::try_from(value) {
        Ok(promise) => promise,
        Err(_) => {
            let resolver = v8::PromiseResolver::new(scope).ok_or(Fault::Stopped)?;
            resolver.resolve(scope, value).ok_or(Fault::Stopped)?;
            resolver.get_promise(scope)
        }
    };
    let data = v8::Integer::new(scope, if call_result { CALL } else { TAKE }).into();
    let fulfilled = v8::Function::builder(on_fulfilled).data(data).build(scope);
    let rejected = v8::Function::builder(on_rejected).build(scope);
    match (fulfilled, rejected) {
        (Some(fulfilled), Some(rejected)) if promise.then2(scope, fulfilled, rejected).is_some() => Ok(()),
        _ => Err(Fault::not_awaited(scope.is_execution_terminating())),
    }
}

fn go_on<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &Place,
    session: &Arc<Session>,
    value: v8::Local<'s, v8::Value>,
    call_result: bool,
) {
    let Ok(function) = v8::Local::<v8::Function>::try_from(value) else {
        return session.complete(scope, at, value);
    };
    if !call_result {
        return session.complete(scope, at, value);
    }
    v8::tc_scope!(let scope, scope);
    let receiver = v8::undefined(scope).into();
    let result = match function.call(scope, receiver, &[]) {
        Some(result) => await_value(scope, session, result, false),
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    };
    if let Err(fault) = result {
        fail(session, fault);
    }
}

fn fail(session: &Session, fault: Fault) {
    // Whoever stops the isolate has answered.
    if !matches!(fault, Fault::Stopped) {
        session.finish(Err(fault));
    }
}

fn on_fulfilled<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    let (Some(session), Ok(at)) = (Session::of(scope), Place::current(scope)) else {
        return;
    };
    let call_result = args.data().int32_value(scope) == Some(CALL);
    go_on(scope, &at, &session, args.get(0), call_result);
}

fn on_rejected<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    let Some(session) = Session::of(scope) else { return };
    let fault = convert::fault_from_exception(scope, args.get(0));
    fail(&session, fault);
}

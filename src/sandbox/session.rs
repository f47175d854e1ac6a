//! One execution from beginning to end. Whatever ends it first (result, error, timeout, memory, disposal) determines its outcome. Right
//! afterwards, the isolate is disposed of.

use std::rc::Rc;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::evaluation::{Then, evaluate};
use super::logs::Logs;
use super::modules::Graph;
use super::property::put;
use super::refused_modules;
use super::result::ExecutionResult;
use super::spec::Spec;
use super::template::RealmTemplate;
use super::timers::Timers;
use super::warm::Pool;
use super::{builtins, shadows, timers, tools};
use crate::convert;
use crate::isolate::clock::{self, Alarm};
use crate::isolate::{self, Guest, GuestRealm, IsolateScope, Job, Kind, Remote, Settings, Stop, async_context};
use crate::native::lock;
use crate::ops::{self, Transfer};
use crate::value::{Chain, Code, Completion, Fault, Outcome, Owner, Text, Value};

pub struct Session {
    remote: Arc<Remote>,
    logs: Arc<Logs>,
    timers: Arc<Timers>,
    /// When the execution was requested.
    began: Instant,
    max_output: usize,
    request: i64,
    completion: Arc<dyn Completion>,
    alarm: Mutex<Option<Alarm>>,
}

/// Where isolates come from.
#[cfg_attr(windows, allow(dead_code, reason = "children have no pool, and there are none"))]
pub enum Supply {
    /// The isolate is made for the execution.
    New,
    /// An isolate of this template that was made earlier, unless it has ended.
    Warm(Arc<Remote>),
    /// An isolate that was made for this execution, whether it has ended or not.
    Made(Arc<Remote>),
    /// A waiting isolate of the pool, and how many isolates must be ready for later executions.
    Pool(Arc<Pool>, usize),
}

/// Starts an execution. Returns its isolate at once, so that it can be disposed from outside.
pub fn start(mut spec: Spec, settings: &Settings, supply: Supply) -> Arc<Remote> {
    let began = Instant::now();
    let remote = match &supply {
        Supply::Pool(pool, wanted) => pool.take(&spec.template, *wanted, settings),
        Supply::Warm(warm) if warm.take_into_use() => Arc::clone(warm),
        Supply::Made(made) => Arc::clone(made),
        Supply::Warm(_) | Supply::New => {
            Remote::create_prepared(spec.template.settings(settings), spec.template.preparation())
        }
    };
    spec.completion.comes_from(&(Arc::clone(&remote) as Arc<dyn Owner>));
    let logging = std::mem::take(&mut spec.logging);
    let session = Arc::new_cyclic(|me: &Weak<Session>| Session {
        remote: Arc::clone(&remote),
        logs: Arc::new(Logs::new(logging)),
        timers: Timers::new(&remote, listener(me.clone())),
        began,
        max_output: spec.max_output,
        request: spec.request,
        completion: Arc::clone(&spec.completion),
        alarm: Mutex::new(None),
    });
    session.limit(spec.timeout);
    remote.when_ended(Arc::new(Step(Arc::clone(&session))));
    let restocking = match &supply {
        Supply::Pool(pool, 1..) => Some(pool.restocking(&spec.template)),
        _ => None,
    };
    if let Some(restocking) = &restocking {
        remote.when_gone(Arc::clone(restocking));
    }
    let own = Arc::clone(&session);
    session.post(move |scope, guest| run(scope, guest, &own, spec));
    if let Some(restocking) = restocking {
        // This job runs when the code waits for something, unless the execution is over by then.
        session.post(move |_scope, _guest| {
            restocking.complete(Ok(Value::Undefined));
            Ok(Value::Undefined)
        });
    }
    remote
}

impl Spec {
    fn has_timers(&self) -> bool {
        matches!(self.template.realm, RealmTemplate::Sandbox { timers: true, .. })
    }

    pub fn shadows_global(&self) -> bool {
        matches!(self.template.realm, RealmTemplate::Sandbox { shadow_global: true, .. })
    }

    /// The names that the code finds on the global object, except those of `globals`.
    fn names(&self) -> Vec<Text> {
        let tools = self.tools.iter().map(|tool| tool.namespace.clone());
        self.template.names().map(Text::from).chain(tools).collect()
    }
}

impl Session {
    /// Runs `work` in the isolate. A failure of `work` ends the execution.
    pub fn post(
        self: &Arc<Self>,
        work: impl FnOnce(&mut IsolateScope<'_, '_>, &Rc<Guest>) -> Outcome + Send + 'static,
    ) {
        let job = Job::new(Kind::Task, Arc::new(Step(Arc::clone(self))), Guest::work(work));
        self.remote.post(job.in_chain(Chain::of_request(self.request)));
    }

    /// Ends the execution when it has taken that long, apart from the pauses of a debugger.
    fn limit(self: &Arc<Self>, timeout: Duration) {
        let (due, timed_out) = (Instant::now() + timeout, Arc::clone(self));
        // Under the lock, so that an alarm that fires at once waits.
        let mut alarm = lock(&self.alarm);
        *alarm = Some(clock::at(due, move || timed_out.expire(timeout, due)));
    }

    /// `due`: when the time is over if the code was never paused.
    fn expire(self: Arc<Self>, timeout: Duration, due: Instant) {
        let next = due + self.remote.inspector.pauses.total();
        if next <= Instant::now() {
            return self.finish(Err(Fault::deadline(timeout)));
        }
        let timed_out = Arc::clone(&self);
        let mut alarm = lock(&self.alarm);
        if alarm.is_some() {
            let next = next.max(Instant::now() + PAUSE_CHECK);
            *alarm = Some(clock::at(next, move || timed_out.expire(timeout, due)));
        }
    }

    /// Ends the execution with this outcome, unless it has already ended.
    pub fn finish(&self, outcome: Outcome) {
        let Some(alarm) = lock(&self.alarm).take() else {
            return;
        };
        drop(alarm);
        self.timers.clear();
        let stopped = match &outcome {
            Err(Fault::Error(error)) => error.code.is_some_and(Code::is_stop),
            Err(Fault::Stopped) => true,
            _ => false,
        };
        let ended_of_itself = !stopped && !self.remote.is_disposed();
        let meter = &self.remote.accounts.meter;
        let (lines, dropped) = self.logs.take();
        let result = ExecutionResult {
            cpu: u128::from(meter.cpu_time()),
            wall: self.began.elapsed().as_nanos(),
            heap_peak: meter.heap_peak() as f64,
            host_calls: meter.host_calls(),
            lost: f64::from(dropped),
            lines,
            ..ExecutionResult::of(outcome)
        };
        if ended_of_itself {
            self.remote.listeners.undelivered.complete();
        }
        // Stop first: no guest code may run after the caller has the result.
        self.remote.stop(Stop::Disposed);
        self.completion.complete(Ok(result.into()));
    }

    /// Finishes with the code's value: clones it and checks its size.
    fn complete<'s>(&self, scope: &mut v8::PinScope<'s, '_>, at: &GuestRealm, value: v8::Local<'s, v8::Value>) {
        self.remote.accounts.meter.saw_heap(scope.get_heap_statistics().used_heap_size());
        let outcome = ops::transfer_out(scope, at, value, Transfer(Transfer::COPY));
        match outcome.and_then(|value| self.check_size(value)) {
            // The code that stops the isolate has answered.
            Err(Fault::Stopped) => {}
            outcome => self.finish(outcome),
        }
    }

    /// Refuses a result that is far too large to be worth reading. The surface measures all others as JSON.
    fn check_size(&self, value: Value) -> Outcome {
        let size = value.byte_size();
        if size <= max_clone(self.max_output) {
            return Ok(value);
        }
        let most = self.max_output;
        let message =
            format!("Result of {size} bytes as a clone exceeds the maximum output size of {most} bytes by far");
        Err(Fault::coded(crate::value::ErrorClass::RangeError, &message, Code::Limit))
    }
}

/// How often to check whether a pause is over that began when the time was almost over.
const PAUSE_CHECK: Duration = Duration::from_millis(50);

/// The maximum number of bytes of a result's clone if the result may take `max_output` bytes as JSON.
pub fn max_clone(max_output: usize) -> usize {
    max_output.saturating_mul(CLONE_PER_JSON).max(WORTH_READING)
}

/// The assumed maximum of clone bytes per byte of JSON. There is no real one: `undefined` takes no bytes in JSON.
const CLONE_PER_JSON: usize = 64;
const WORTH_READING: usize = 16 << 20;

/// A failure in a callback of the guest's ends the execution.
fn listener(session: Weak<Session>) -> Box<dyn Fn() -> Option<Arc<dyn Completion>> + Send + Sync> {
    Box::new(move || session.upgrade().map(|session| Arc::new(Step(session)) as Arc<dyn Completion>))
}

/// The answer of one of the session's jobs. Only a failure matters.
struct Step(Arc<Session>);

impl Completion for Step {
    fn complete(&self, outcome: Outcome) {
        if let Err(fault) = outcome {
            self.0.finish(Err(fault));
        }
    }
}

fn run(scope: &mut IsolateScope<'_, '_>, guest: &Rc<Guest>, session: &Arc<Session>, mut spec: Spec) -> Outcome {
    let mut main = None;
    isolate::attach(scope, Arc::clone(session));
    isolate::attach(scope, Arc::clone(&session.logs));
    if spec.has_timers() {
        timers::begin(scope, &session.timers);
    }
    let realm = spec.template.realm(scope, guest, session.began)?;
    let context = v8::Local::new(scope, &realm.context);
    let scope = &mut v8::ContextScope::new(scope, context);
    // Everything in this isolate runs on behalf of this one call.
    async_context::begin(scope, guest.request());
    // The realm must outlive this job, because its functions find their place through it.
    guest.realms.keep(Arc::clone(&realm));
    let at = GuestRealm { guest: Rc::clone(guest), realm };
    prepare_globals(scope, &at, &spec)?;
    session.remote.measure(scope);
    match spec.modules.take() {
        Some(modules) => {
            Graph::install(scope, modules.sources);
            main = Some(modules.main);
        }
        None => refused_modules::refuse(scope),
    }
    let (value, then) = evaluate(scope, &spec, main.as_ref())?;
    await_value(scope, session, value, then)?;
    Ok(Value::Undefined)
}

fn prepare_globals(scope: &mut v8::PinScope<'_, '_>, at: &GuestRealm, spec: &Spec) -> Result<(), Fault> {
    v8::tc_scope!(let scope, scope);
    let failed = |scope: &mut _| convert::fault_from_caught(scope).unwrap_or(Fault::Stopped);
    let global = scope.get_current_context().global(scope);
    tools::install(scope, at, global, &spec.tools, spec.tools_take_text)?;
    if spec.freeze_builtins {
        let settings = &at.guest.remote()?.settings;
        let is_ready =
            settings.snapshot.is_none() && (settings.engine)().is_ok_and(crate::engine::Engine::has_startup_snapshot);
        if (!is_ready && builtins::prepare(scope).is_none()) || builtins::freeze(scope, global).is_none() {
            return Err(failed(scope));
        }
    }
    let mut names = spec.names();
    let globals = convert::to_v8(scope, at, spec.globals.clone())?;
    let Ok(globals) = v8::Local::<v8::Object>::try_from(globals) else {
        return check_names(scope, global, spec, names);
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
        put(scope, global, key.into(), value)?;
        names.push(convert::text_from_v8(scope, key, usize::MAX)?);
    }
    check_names(scope, global, spec, names)
}

/// So far, only code of a snapshot can have declared something.
fn check_names(
    scope: &mut v8::PinScope<'_, '_>,
    global: v8::Local<'_, v8::Object>,
    spec: &Spec,
    names: Vec<Text>,
) -> Result<(), Fault> {
    if spec.template.snapshot.is_some() { shadows::check(scope, global, names) } else { Ok(()) }
}

/// Waits for the value, which may be a promise or any other thenable, and continues with it.
fn await_value<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    session: &Arc<Session>,
    value: v8::Local<'s, v8::Value>,
    then: Then<'s>,
) -> Result<(), Fault> {
    if !value.is_object() {
        let at = GuestRealm::current(scope)?;
        go_on(scope, &at, session, value, then);
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
    let data = then.data(scope);
    let fulfilled = v8::Function::builder(on_fulfilled).data(data).build(scope);
    let rejected = v8::Function::builder(on_rejected).build(scope);
    match (fulfilled, rejected) {
        (Some(fulfilled), Some(rejected)) if promise.then2(scope, fulfilled, rejected).is_some() => Ok(()),
        _ => Err(Fault::not_awaited(scope.is_execution_terminating())),
    }
}

fn go_on<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    session: &Arc<Session>,
    value: v8::Local<'s, v8::Value>,
    then: Then<'s>,
) {
    v8::tc_scope!(let scope, scope);
    let result = match then {
        Then::Take => return session.complete(scope, at, value),
        Then::Call => {
            let Ok(function) = v8::Local::<v8::Function>::try_from(value) else {
                return session.complete(scope, at, value);
            };
            let receiver = v8::undefined(scope).into();
            function.call(scope, receiver, &[]).map(|result| (result, Then::Take))
        }
        Then::Export(namespace) => default_of(scope, namespace).map(|value| (value, Then::Call)),
    };
    let result = match result {
        Some((value, then)) => await_value(scope, session, value, then),
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    };
    if let Err(fault) = result {
        fail(session, fault);
    }
}

/// The default export of an evaluated module; undefined if there is none.
fn default_of<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    namespace: v8::Local<'s, v8::Value>,
) -> Option<v8::Local<'s, v8::Value>> {
    let key = v8::String::new(scope, "default")?;
    v8::Local::<v8::Object>::try_from(namespace).ok()?.get(scope, key.into())
}

fn fail(session: &Session, fault: Fault) {
    // The code that stops the isolate has answered.
    if !matches!(fault, Fault::Stopped) {
        session.finish(Err(fault));
    }
}

fn on_fulfilled<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    let (Some(session), Ok(at)) = (isolate::attached::<Session>(scope), GuestRealm::current(scope)) else {
        return;
    };
    go_on(scope, &at, &session, args.get(0), Then::of(args.data()));
}

fn on_rejected<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    let Some(session) = isolate::attached::<Session>(scope) else { return };
    let fault = convert::fault_from_exception(scope, args.get(0));
    fail(&session, fault);
}

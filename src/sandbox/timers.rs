//! `setTimeout` and the other timer functions. A timer is an alarm of the clock that posts a job. The deadline of the call that set the
//! timer applies to the job too.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::property::put;
use crate::convert::{self, cap};
use crate::isolate::clock::{self, Alarm};
use crate::isolate::{
    self, Caused, Guest, IsolateScope, Job, Kind as JobKind, Limits, PendingEvent, Remote, async_context,
};
use crate::native::{Guard, lock};
use crate::value::{Chain, Completion, Fault, Outcome, Value};

/// The maximum number of pending timers.
const MAX_TIMERS: usize = 1_000;

/// The functions that realms get.
pub const NAMES: [&str; 7] =
    ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate", "queueMicrotask"];

/// As in hosts, a longer delay counts as none.
const MAX_DELAY: f64 = 2_147_483_647.0;

/// The shortest delay, also of an interval.
const MIN_DELAY: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Table {
    pending: HashMap<u32, Timer>,
    last: u32,
    /// Posted jobs of timers that were cleared afterwards.
    orphans: usize,
    closed: bool,
}

struct Timer {
    callback: v8::Global<v8::Function>,
    /// In the guest's heap, where they count.
    arguments: Option<v8::Global<v8::Array>>,
    repeat: Option<Duration>,
    /// The call on whose behalf it was set, its setter, and its limits.
    request: i64,
    setter: v8::Global<v8::Value>,
    limits: Limits,
    /// Held for as long as the timer is pending.
    alarm: Option<Alarm>,
    /// The timer has fired, and its job has not run yet.
    posted: bool,
    _pending: Option<PendingEvent>,
}

impl Table {
    fn is_full(&self) -> bool {
        self.pending.len() + self.orphans >= MAX_TIMERS
    }

    fn remove(&mut self, id: u32) -> Option<Timer> {
        let timer = self.pending.remove(&id)?;
        self.orphans += usize::from(timer.posted);
        Some(timer)
    }
}

/// Returns the recipient of the outcomes of callbacks, or `None` if there is none any more.
type Listener = Box<dyn Fn() -> Option<Arc<dyn Completion>> + Send + Sync>;

/// The timers of one isolate.
pub struct Timers {
    remote: Weak<Remote>,
    listener: Listener,
    table: Mutex<Table>,
}

impl Timers {
    pub fn new(remote: &Arc<Remote>, listener: Listener) -> Arc<Self> {
        Arc::new(Self { remote: Arc::downgrade(remote), listener, table: Mutex::default() })
    }

    fn of(scope: &v8::Isolate) -> Option<Arc<Self>> {
        isolate::attached(scope)
    }

    fn lock(&self) -> Guard<'_, Table> {
        lock(&self.table)
    }

    /// Removes all timers, and refuses new ones.
    pub fn clear(&self) {
        let mut table = self.lock();
        table.closed = true;
        let pending = std::mem::take(&mut table.pending);
        // Not under the lock: an alarm that fires now takes it.
        drop(table);
        drop(pending);
    }

    /// Sets the alarm with which timer `id` fires at `time`.
    fn fire_at(self: &Arc<Self>, id: u32, time: Instant) -> Alarm {
        let timers = Arc::downgrade(self);
        clock::at(time, move || {
            if let Some(timers) = timers.upgrade() {
                timers.fire(id);
            }
        })
    }

    /// Timer `id` fires.
    fn fire(self: &Arc<Self>, id: u32) {
        let mut table = self.lock();
        let Some(timer) = table.pending.get_mut(&id) else { return };
        let (request, limits) = (timer.request, timer.limits);
        let (Some(remote), Some(completion), false) = (self.remote.upgrade(), (self.listener)(), is_over(&limits))
        else {
            let timer = table.remove(id);
            drop(table);
            return drop(timer);
        };
        timer.posted = true;
        // An answer that is given at once may take the lock.
        drop(table);
        let timers = Arc::clone(self);
        let work = Guest::work(move |scope, guest| fire(scope, guest, &timers, id));
        let job = Job::new(JobKind::Timer, Caused::by(remote.pending_event(), completion), work);
        remote.post(job.in_chain(Chain::of_request(request)).limited(limits));
    }

    /// Reports a failure.
    fn report(&self, fault: Fault) {
        // The code that stops the isolate has answered.
        if !matches!(fault, Fault::Stopped)
            && let Some(completion) = (self.listener)()
        {
            completion.complete(Err(fault));
        }
    }
}

/// Whether the deadline of these limits has passed, so that nothing may begin under them.
fn is_over(limits: &Limits) -> bool {
    limits.deadline.is_some_and(|deadline| deadline.time <= Instant::now())
}

/// What the functions below do with their callback.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Timeout,
    Interval,
    Immediate,
}

/// Sets the timers of the isolate.
pub fn begin(isolate: &mut v8::Isolate, timers: &Arc<Timers>) {
    isolate::attach(isolate, Arc::clone(timers));
}

pub fn has_begun(isolate: &v8::Isolate) -> bool {
    Timers::of(isolate).is_some()
}

/// Puts the functions on the global object. They do nothing before [`begin`].
pub fn install(scope: &mut v8::PinScope<'_, '_>, global: v8::Local<'_, v8::Object>) -> Result<(), Fault> {
    let functions = [
        (v8::Function::builder(set_timeout), 1),
        (v8::Function::builder(set_interval), 1),
        (v8::Function::builder(set_immediate), 1),
        (v8::Function::builder(clear), 0),
        (v8::Function::builder(clear), 0),
        (v8::Function::builder(clear), 0),
        (v8::Function::builder(queue_microtask), 1),
    ];
    for (name, (builder, length)) in NAMES.into_iter().zip(functions) {
        let name = v8::String::new(scope, name).ok_or(Fault::Stopped)?;
        let builder = builder.length(length).constructor_behavior(v8::ConstructorBehavior::Throw);
        let function = builder.build(scope).ok_or(Fault::Stopped)?;
        function.set_name(name);
        put(scope, global, name.into(), function.into())?;
    }
    Ok(())
}

fn set_timeout<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    result: v8::ReturnValue<v8::Value>,
) {
    set(scope, &args, result, Kind::Timeout);
}

fn set_interval<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    result: v8::ReturnValue<v8::Value>,
) {
    set(scope, &args, result, Kind::Interval);
}

fn set_immediate<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    result: v8::ReturnValue<v8::Value>,
) {
    set(scope, &args, result, Kind::Immediate);
}

const NO_CALLBACK: &str = "The \"callback\" argument must be of type function";

fn throw(scope: &mut v8::PinScope<'_, '_>, message: &str, range: bool) {
    if let Some(message) = v8::String::new(scope, message) {
        let error =
            if range { v8::Exception::range_error(scope, message) } else { v8::Exception::type_error(scope, message) };
        scope.throw_exception(error);
    }
}

fn set<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: &v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
    kind: Kind,
) {
    let _lifted = cap::lift();
    let (Some(timers), Ok(guest)) = (Timers::of(scope), Guest::of(scope)) else { return };
    let Ok(callback) = v8::Local::<v8::Function>::try_from(args.get(0)) else {
        return throw(scope, NO_CALLBACK, false);
    };
    let (delay, first) = match kind {
        Kind::Immediate => (Duration::ZERO, 1),
        Kind::Timeout | Kind::Interval => {
            // Converting an object may run guest code, which may throw.
            let Some(number) = args.get(1).number_value(scope) else {
                return;
            };
            let valid = (1.0..=MAX_DELAY).contains(&number);
            let delay = if valid { Duration::from_millis(number as u64) } else { MIN_DELAY };
            (delay, 2)
        }
    };
    let arguments: Vec<_> = (first..args.length()).map(|index| args.get(index)).collect();
    let arguments = if arguments.is_empty() { None } else { Some(v8::Array::new_with_elements(scope, &arguments)) };
    let limits = guest.limits();
    let mut table = timers.lock();
    if table.closed {
        return;
    }
    if table.is_full() {
        // Timers that can no longer fire, because their deadline has passed.
        let over: Vec<_> = table.pending.extract_if(|_, timer| !timer.posted && is_over(&timer.limits)).collect();
        let full = table.is_full();
        drop(table);
        drop(over);
        if full {
            return throw(scope, "Too many timers are pending", true);
        }
        table = timers.lock();
    }
    table.last = table.last.wrapping_add(1).max(1);
    let id = table.last;
    let timer = Timer {
        callback: v8::Global::new(scope, callback),
        arguments: arguments.map(|arguments| v8::Global::new(scope, arguments)),
        repeat: (kind == Kind::Interval).then_some(delay),
        request: async_context::current(scope),
        setter: async_context::keep(scope),
        limits,
        alarm: (kind != Kind::Immediate).then(|| timers.fire_at(id, Instant::now() + delay)),
        posted: false,
        _pending: timers.remote.upgrade().map(|remote| remote.pending_event()),
    };
    table.pending.insert(id, timer);
    drop(table);
    if kind == Kind::Immediate {
        timers.fire(id);
    }
    result.set_uint32(id);
}

fn fire(scope: &mut IsolateScope<'_, '_>, guest: &Rc<Guest>, timers: &Arc<Timers>, id: u32) -> Outcome {
    let mut table = timers.lock();
    let Some(timer) = table.pending.get_mut(&id) else {
        table.orphans = table.orphans.saturating_sub(1);
        return Ok(Value::Undefined);
    };
    timer.posted = false;
    let callback = v8::Local::new(scope, &timer.callback);
    let arguments = timer.arguments.as_ref().map(|arguments| v8::Local::new(scope, arguments));
    let setter = v8::Local::new(scope, &timer.setter);
    let finished = match timer.repeat {
        Some(delay) => {
            timer.alarm = Some(timers.fire_at(id, Instant::now() + delay));
            None
        }
        None => table.pending.remove(&id),
    };
    drop(table);
    drop(finished);
    let realm = guest.utility_realm(scope)?;
    let context = v8::Local::new(scope, &realm.context);
    let scope = &mut v8::ContextScope::new(scope, context);
    async_context::within_kept(scope, setter, |scope| {
        v8::tc_scope!(let scope, scope);
        let mut list = Vec::new();
        if let Some(arguments) = arguments {
            for index in 0..arguments.length() {
                list.push(arguments.get_index(scope, index).ok_or(Fault::Stopped)?);
            }
        }
        let receiver = v8::undefined(scope).into();
        match callback.call(scope, receiver, &list) {
            Some(_) => Ok(Value::Undefined),
            None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
        }
    })
}

fn clear<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    let Some(timers) = Timers::of(scope) else { return };
    let id = args.get(0);
    if !id.is_number() && !id.is_string() {
        return;
    }
    // Converting those runs no guest code.
    let Some(number) = id.number_value(scope) else { return };
    let timer = timers.lock().remove(number as u32);
    drop(timer);
}

fn queue_microtask<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    let Ok(callback) = v8::Local::<v8::Function>::try_from(args.get(0)) else {
        return throw(scope, NO_CALLBACK, false);
    };
    // V8 itself does not report what a microtask throws.
    if let Some(task) = v8::Function::builder(run_microtask).data(callback.into()).build(scope) {
        scope.enqueue_microtask(task);
    }
}

fn run_microtask<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    let (Some(timers), Ok(callback)) = (Timers::of(scope), v8::Local::<v8::Function>::try_from(args.data())) else {
        return;
    };
    v8::tc_scope!(let scope, scope);
    let receiver = v8::undefined(scope).into();
    if callback.call(scope, receiver, &[]).is_none() {
        timers.report(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped));
    }
}

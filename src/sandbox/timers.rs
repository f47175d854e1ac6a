//! `setTimeout` and its relatives. A timer is an alarm of the clock that posts a job; the execution's deadline covers all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::session::Session;
use crate::convert::{self, cap};
use crate::isolate::clock::{self, Alarm};
use crate::isolate::{Guest, IsolateScope};
use crate::value::{Fault, Outcome, Value};

/// Timers that may be pending at once.
const MOST: usize = 1_000;

/// As hosts have it: a longer delay counts as none.
const LONGEST_DELAY: f64 = 2_147_483_647.0;

#[derive(Default)]
struct Table {
    pending: HashMap<u32, Timer>,
    last: u32,
    /// Jobs of alarms that have gone off which are still to run, for timers that may have been cleared since.
    posted: usize,
    closed: bool,
}

struct Timer {
    callback: v8::Global<v8::Function>,
    arguments: Vec<v8::Global<v8::Value>>,
    repeat: Option<Duration>,
    /// Held for as long as the timer is pending.
    alarm: Alarm,
}

/// The timers of one execution.
#[derive(Default)]
pub struct Timers(Mutex<Table>);

impl Timers {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets all; none fires any more.
    pub fn clear(&self) {
        let mut table = self.lock();
        table.closed = true;
        let pending = std::mem::take(&mut table.pending);
        // Not under the lock: an alarm that fires now asks for it.
        drop(table);
        drop(pending);
    }
}

/// What the functions below do with their callback.
#[derive(Clone, Copy)]
enum Kind {
    Timeout,
    Interval,
    Immediate,
}

/// Puts the functions on the global object.
pub fn install(scope: &mut v8::PinScope<'_, '_>, global: v8::Local<'_, v8::Object>) -> Option<()> {
    let functions = [
        ("setTimeout", v8::Function::new(scope, set_timeout)?),
        ("setInterval", v8::Function::new(scope, set_interval)?),
        ("setImmediate", v8::Function::new(scope, set_immediate)?),
        ("clearTimeout", v8::Function::new(scope, clear)?),
        ("clearInterval", v8::Function::new(scope, clear)?),
        ("clearImmediate", v8::Function::new(scope, clear)?),
        ("queueMicrotask", v8::Function::new(scope, queue_microtask)?),
    ];
    for (name, function) in functions {
        let name = v8::String::new(scope, name)?;
        function.set_name(name);
        global.create_data_property(scope, name.into(), function.into())?;
    }
    Some(())
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
    let Some(session) = Session::of(scope) else { return };
    let Ok(callback) = v8::Local::<v8::Function>::try_from(args.get(0)) else {
        return throw(scope, "The \"callback\" argument must be of type function", false);
    };
    let (delay, first) = match kind {
        Kind::Immediate => (Duration::ZERO, 1),
        Kind::Timeout | Kind::Interval => {
            // Converting an object may run guest code, which may throw.
            let Some(number) = args.get(1).number_value(scope) else {
                return;
            };
            let valid = (1.0..=LONGEST_DELAY).contains(&number);
            (Duration::from_secs_f64(if valid { number.trunc() / 1_000.0 } else { 0.001 }), 2)
        }
    };
    let arguments = (first..args.length()).map(|index| v8::Global::new(scope, args.get(index))).collect();
    let mut table = session.timers.lock();
    if table.closed {
        return;
    }
    if table.pending.len() + table.posted >= MOST {
        drop(table);
        return throw(scope, "Too many timers are pending", true);
    }
    table.last = table.last.wrapping_add(1).max(1);
    let id = table.last;
    let timer = Timer {
        callback: v8::Global::new(scope, callback),
        arguments,
        repeat: matches!(kind, Kind::Interval).then_some(delay),
        alarm: fire_at(&session, id, delay),
    };
    table.pending.insert(id, timer);
    drop(table);
    result.set_uint32(id);
}

fn fire_at(session: &Arc<Session>, id: u32, delay: Duration) -> Alarm {
    let session = Arc::downgrade(session);
    clock::at(Instant::now() + delay, move || {
        if let Some(session) = session.upgrade() {
            session.timers.lock().posted += 1;
            let firing = Arc::clone(&session);
            session.post(move |scope, guest| fire(scope, guest, &firing, id));
        }
    })
}

fn fire(scope: &mut IsolateScope<'_, '_>, guest: &Arc<Guest>, session: &Arc<Session>, id: u32) -> Outcome {
    let mut table = session.timers.lock();
    table.posted -= 1;
    let Some(timer) = table.pending.get_mut(&id) else {
        return Ok(Value::Undefined);
    };
    let callback = v8::Local::new(scope, &timer.callback);
    let arguments: Vec<_> = timer.arguments.iter().map(|argument| v8::Local::new(scope, argument)).collect();
    match timer.repeat {
        Some(delay) => timer.alarm = fire_at(session, id, delay),
        None => {
            table.pending.remove(&id);
        }
    }
    drop(table);
    let realm = guest.spare_realm(scope);
    let context = v8::Local::new(scope, &realm.context);
    let scope = &mut v8::ContextScope::new(scope, context);
    v8::tc_scope!(let scope, scope);
    let receiver = v8::undefined(scope).into();
    match callback.call(scope, receiver, &arguments) {
        Some(_) => Ok(Value::Undefined),
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    }
}

fn clear<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    let Some(session) = Session::of(scope) else { return };
    let Ok(number) = v8::Local::<v8::Number>::try_from(args.get(0)) else {
        return;
    };
    let timer = session.timers.lock().pending.remove(&(number.value() as u32));
    drop(timer);
}

fn queue_microtask<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    match v8::Local::<v8::Function>::try_from(args.get(0)) {
        Ok(callback) => scope.enqueue_microtask(callback),
        Err(_) => throw(scope, "The \"callback\" argument must be of type function", false),
    }
}

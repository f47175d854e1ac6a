//! Calls out of a guest: functions that live elsewhere, and answers that come back into the realm later.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use crate::convert;
use crate::isolate::{Guest, Held, IsolateScope, Job, Limits, Place, Realm, Remote, Reply};
use crate::ops::{self, Prepared, Transfer};
use crate::value::{
    Answer, Callable, CallbackMode, Chain, Code, ErrorClass, Fault, Nobody, Outcome, Owner, Request, Value,
};

/// A native function of this realm that calls `callable`. One that lives in this isolate is itself.
pub fn function<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &Place,
    callable: Arc<Callable>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    if at.guest.owns(&callable.slot) {
        let own = at.guest.held(&callable.slot, |held| match held {
            Held::Value(_, value) => Some(v8::Local::new(scope, value)),
            _ => None,
        });
        return own.ok_or_else(ops::malformed);
    }
    let name = convert::text_to_v8(scope, &callable.name)?;
    let length = i32::try_from(callable.length).unwrap_or(i32::MAX);
    let id = at.guest.carry(Value::Function(callable));
    let data = v8::Number::new(scope, id as f64).into();
    let function = v8::Function::builder(call)
        .data(data)
        .length(length)
        .constructor_behavior(v8::ConstructorBehavior::Throw)
        .build(scope)
        .ok_or(Fault::Stopped)?;
    function.set_name(name);
    Ok(function.into())
}

/// Guest code calls a function that lives elsewhere.
fn call<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    let Ok(at) = Place::current(scope) else { return };
    match call_out(scope, &at, &args) {
        Ok(value) => result.set(value),
        // Execution is being terminated: nothing is thrown and nothing runs on.
        Err(Fault::Stopped) => {}
        Err(fault) => throw(scope, &at, &fault),
    }
}

fn call_out<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &Place,
    args: &v8::FunctionCallbackArguments<'s>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    at.guest.check_stopping()?;
    let id = args.data().number_value(scope).unwrap_or(-1.0);
    let Some(Value::Function(callable)) = at.guest.carried(id as usize) else {
        return Err(ops::malformed());
    };
    let mut values = Vec::with_capacity(usize::try_from(args.length()).unwrap_or(0));
    for index in 0..args.length() {
        values.push(ops::transfer_out(scope, at, args.get(index), Transfer(Transfer::COPY))?);
    }
    let bytes = values.iter().map(Value::byte_size).sum();
    let prepared = ops::call_callable(&callable, values)?;
    match callable.mode {
        CallbackMode::Sync | CallbackMode::Awaited => {
            let outcome = wait(scope, at, prepared)?;
            convert::to_v8(scope, at, outcome)
        }
        CallbackMode::Ignored => {
            start(scope, at, prepared, Arc::new(Nobody))?;
            Ok(v8::undefined(scope).into())
        }
        CallbackMode::Async => {
            let resolver = v8::PromiseResolver::new(scope).ok_or(Fault::Stopped)?;
            let promise = resolver.get_promise(scope);
            let answer = resolution(scope, at, resolver, bytes)?;
            start(scope, at, prepared, answer)?;
            Ok(promise.into())
        }
    }
}

pub fn throw(scope: &mut v8::PinScope<'_, '_>, at: &Place, fault: &Fault) {
    let exception = convert::exception_from_fault(scope, fault, |scope, value| convert::to_v8(scope, at, value).ok());
    if let Some(exception) = exception {
        scope.throw_exception(exception);
    }
}

/// Waits on this thread for the outcome of a call, wherever it leads.
pub fn wait(scope: &mut v8::PinScope<'_, '_>, at: &Place, prepared: Prepared) -> Outcome {
    if let Prepared::Done(outcome) = prepared {
        return outcome;
    }
    let reply = Reply::new(&at.guest);
    if let Prepared::Enter { remote, limits, work } = prepared {
        let answer = Arc::clone(&reply) as Arc<dyn Answer>;
        let own = at.guest.owner_id() == Some(remote.id());
        let job = Job { limits, chain: at.guest.chain(), answer, work, sync: true, loose: false, background: false };
        if own {
            at.guest.run_nested(scope, job)?;
        } else if at.guest.chain().is_rooted() {
            remote.post(job);
        } else {
            return Err(Fault::error(SYNC_IN_ASYNC));
        }
    } else {
        dispatch(prepared, Arc::clone(&reply) as Arc<dyn Answer>, at.guest.chain(), true);
    }
    at.guest.wait(scope, &reply)
}

const SYNC_IN_ASYNC: &str = "Calling a synchronous isolated-vm function on a non-default isolate from within an \
                             asynchronous isolated-vm function is not allowed.";

/// As [`wait`], and the promise that comes out is waited for as well.
pub fn wait_settled(scope: &mut v8::PinScope<'_, '_>, at: &Place, prepared: Prepared) -> Outcome {
    match wait(scope, at, prepared)? {
        Value::Promise(settlement) => {
            let reply = Reply::new(&at.guest);
            let answer = Arc::clone(&reply) as Arc<dyn Answer>;
            settlement.subscribe(None, Box::new(move |outcome| answer.answer(outcome)));
            at.guest.wait(scope, &reply)
        }
        value => Ok(value),
    }
}

/// Starts a call that nobody waits for. A guest that sends faster than its host takes has to wait all the same.
pub fn start(
    scope: &mut v8::PinScope<'_, '_>,
    at: &Place,
    prepared: Prepared,
    answer: Arc<dyn Answer>,
) -> Result<(), Fault> {
    if let Prepared::Ask { host, .. } = &prepared {
        let chain = at.guest.chain();
        loop {
            let reply = Reply::new(&at.guest);
            if host.admit(&chain, &(Arc::clone(&reply) as Arc<dyn Answer>))? {
                break;
            }
            at.guest.wait(scope, &reply)?;
        }
    }
    dispatch(prepared, answer, Chain::default(), false);
    Ok(())
}

fn dispatch(prepared: Prepared, answer: Arc<dyn Answer>, chain: Chain, sync: bool) {
    match prepared {
        Prepared::Done(outcome) => answer.answer(outcome),
        Prepared::Enter { remote, limits, work } => {
            remote.post(Job { limits, chain, answer, work, sync, loose: false, background: false })
        }
        Prepared::Ask { host, op, slot, args } => {
            host.ask(Request { op, slot: slot.index(), args, chain, answer });
            drop(slot);
        }
    }
}

/// An answer that settles a promise of this realm, by a task of its own.
pub fn resolution(
    scope: &mut v8::PinScope<'_, '_>,
    at: &Place,
    resolver: v8::Local<'_, v8::PromiseResolver>,
    bytes: usize,
) -> Result<Arc<dyn Answer>, Fault> {
    let resolver = v8::Global::new(scope, resolver);
    later(at, bytes, move |scope, at, outcome| {
        let resolver = v8::Local::new(scope, &resolver);
        let value = outcome.and_then(|value| convert::to_v8(scope, at, value));
        // A promise that cannot be settled belongs to an isolate that is being stopped.
        let _ = match value {
            Ok(value) => resolver.resolve(scope, value),
            Err(fault) => {
                convert::exception_from_fault(scope, &fault, |scope, value| convert::to_v8(scope, at, value).ok())
                    .and_then(|exception| resolver.reject(scope, exception))
            }
        };
    })
}

type Arrive = Box<dyn FnOnce(&mut v8::PinScope<'_, '_>, &Place, Outcome) + Send>;

/// An answer that arrives in this realm as a task of its own. `bytes` is what the question takes; all that are waited for
/// may take as much as the guest's heap.
pub fn later(
    at: &Place,
    bytes: usize,
    arrive: impl FnOnce(&mut v8::PinScope<'_, '_>, &Place, Outcome) + Send + 'static,
) -> Result<Arc<dyn Answer>, Fault> {
    let remote = at.guest.remote()?;
    let outstanding = Outstanding { remote: Arc::clone(&remote), bytes };
    let count = remote.outstanding.fetch_add(1, Ordering::Relaxed);
    let total = remote.outstanding_bytes.fetch_add(bytes, Ordering::Relaxed);
    if count >= MOST_OUTSTANDING || total.saturating_add(bytes) > remote.settings.memory_limit {
        return Err(Fault::coded(ErrorClass::RangeError, "Too many calls are waiting for an answer", Code::Limit));
    }
    let arrival =
        Arrival { outstanding, limits: at.guest.limits(), realm: Arc::clone(&at.realm), arrive: Box::new(arrive) };
    Ok(Arc::new(Later(Mutex::new(Some(arrival)))))
}

/// Answers a guest may wait for at once. They arrive as tasks; a guest that never returns to them would pile them up.
const MOST_OUTSTANDING: u32 = 10_000;

/// One of the answers that an isolate waits for. Keeps the isolate alive: nobody else may refer to it any more.
struct Outstanding {
    remote: Arc<Remote>,
    bytes: usize,
}

impl Drop for Outstanding {
    fn drop(&mut self) {
        self.remote.outstanding.fetch_sub(1, Ordering::Relaxed);
        self.remote.outstanding_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct Arrival {
    outstanding: Outstanding,
    /// Those of the call that has asked: what the guest does with the answer is bounded as that was.
    limits: Limits,
    realm: Arc<Realm>,
    arrive: Arrive,
}

struct Later(Mutex<Option<Arrival>>);

impl Answer for Later {
    fn recipient(&self) -> Option<Arc<dyn Owner>> {
        let arrival = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        arrival.as_ref().map(|arrival| Arc::clone(&arrival.outstanding.remote) as Arc<dyn Owner>)
    }

    fn answer(&self, outcome: Outcome) {
        let Some(arrival) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let remote = Arc::clone(&arrival.outstanding.remote);
        let limits = arrival.limits;
        let work = move |scope: &mut IsolateScope<'_, '_>, guest: &Arc<Guest>| {
            let Arrival { outstanding, realm, arrive, .. } = arrival;
            drop(outstanding);
            guest.stay(&realm);
            let context = v8::Local::new(scope, &realm.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            v8::tc_scope!(let scope, scope);
            arrive(scope, &Place { guest: Arc::clone(guest), realm }, outcome);
            Ok(Value::Undefined)
        };
        remote.post(Job {
            limits,
            chain: Chain::default(),
            answer: Arc::new(Nobody),
            work: Box::new(work),
            sync: false,
            loose: true,
            background: false,
        });
    }
}

//! Calls out of a guest: functions of other isolates or hosts, and answers that return into the realm later.

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use super::arguments::Arguments;
use super::completions::{ChargedCompletion, KeepAliveCompletion};
use super::direct_call::{self, Called};
use crate::convert::{self, cap};
use crate::isolate::{Guest, GuestRealm, Job, Kind, Limits, Realm, Remote, SlotValue, async_context};
use crate::native::lock;
use crate::ops::{self, Prepared, Transfer};
use crate::value::{
    Callable, CallbackMode, Chain, Charge, Code, Completion, ErrorClass, Fault, Host, Moment, NoCompletion, Outcome,
    Owner, Value, charged,
};

/// A native function of this realm that calls `callable`. A function of this realm is returned as it is, unless its call mode is not `Sync`.
/// One of another realm of this isolate is not, so that neither realm gets objects of the other.
pub fn function<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    callable: Arc<Callable>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    if at.guest.owns(&callable.slot) && callable.mode == CallbackMode::Sync {
        let (is_own, function) = at
            .guest
            .read_slot(&callable.slot, |value| match value {
                SlotValue::Value(realm, value) => Some((Arc::ptr_eq(realm, &at.realm), v8::Local::new(scope, value))),
                _ => None,
            })
            .ok_or_else(ops::malformed)?;
        if is_own {
            return Ok(function);
        }
    }
    let name = convert::text_to_v8(scope, &callable.name)?;
    let length = i32::try_from(callable.length).unwrap_or(i32::MAX);
    let id = at.guest.carry(Value::Function(callable));
    let data = v8::Number::new(scope, id as f64).into();
    let function = v8::Function::builder(call)
        .data(data)
        .length(length)
        .constructor_behavior(v8::ConstructorBehavior::Throw)
        .build(scope);
    let Some(function) = function else {
        at.guest.handles.release(id);
        return Err(Fault::Stopped);
    };
    function.set_name(name);
    at.guest.handles.track(scope, id, function.into());
    Ok(function.into())
}

/// Guest code calls a function of another isolate or a host.
fn call<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    let _lifted = cap::lift();
    match direct_call::call(scope, &args, &mut result) {
        Called::Returned => {}
        called => call_further(scope, &args, result, called),
    }
}

/// The call has not just returned a result.
#[inline(never)]
fn call_further<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: &v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
    called: Called,
) {
    let Ok(at) = GuestRealm::current(scope) else { return };
    let value = match called {
        Called::Ended(outcome) => outcome.and_then(|value| convert::to_v8(scope, &at, value)),
        Called::Unsent(begun) => call_out(scope, &at, args, begun),
        Called::Returned => return,
    };
    match value {
        Ok(value) => result.set(value),
        // Execution is being terminated: nothing is thrown, and no further code runs.
        Err(Fault::Stopped) => {}
        Err(fault) => throw(scope, &at, &fault),
    }
}

fn call_out<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    args: &v8::FunctionCallbackArguments<'s>,
    begun: Option<Arguments>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    at.guest.end_if_stopping(scope)?;
    let id = args.data().number_value(scope).unwrap_or(-1.0);
    let Some(Value::Function(callable)) = at.guest.carried(id as usize) else {
        return Err(ops::malformed());
    };
    let mut values = begun.unwrap_or_else(|| Arguments::new(at));
    // At most as many as there are.
    for index in values.values.len() as i32..args.length() {
        let value = args.get(index);
        if let Ok(symbol) = v8::Local::<v8::Symbol>::try_from(value) {
            return Err(symbol_refused(scope, symbol));
        }
        values.push(ops::transfer_out(scope, at, value, Transfer(Transfer::COPY))?)?;
    }
    let Arguments { values, bytes, .. } = values;
    let prepared = ops::call_callable(&callable, values)?.within(at.guest.limits());
    match callable.mode {
        CallbackMode::Sync | CallbackMode::Awaited => {
            let outcome = wait(scope, at, prepared)?;
            convert::to_v8(scope, at, outcome)
        }
        CallbackMode::Ignored => {
            post(scope, at, prepared, bytes)?;
            Ok(v8::undefined(scope).into())
        }
        CallbackMode::Async => {
            let resolver = v8::PromiseResolver::new(scope).ok_or(Fault::Stopped)?;
            let promise = resolver.get_promise(scope);
            let completion = resolution(scope, at, resolver, answered_by_guest(&prepared))?;
            start(scope, at, prepared, bytes, completion)?;
            Ok(promise.into())
        }
    }
}

/// The arguments of a call count as one cloned list, so the error names the symbol.
fn symbol_refused(scope: &v8::PinScope<'_, '_>, symbol: v8::Local<'_, v8::Symbol>) -> Fault {
    let name = v8::Local::<v8::String>::try_from(symbol.description(scope));
    let name = name.map(|name| convert::beginning(scope, name, ops::MAX_NAME).to_string()).unwrap_or_default();
    Fault::refused(&format!("Symbol({name}) could not be cloned."))
}

pub fn throw(scope: &mut v8::PinScope<'_, '_>, at: &GuestRealm, fault: &Fault) {
    let exception = convert::exception_from_fault(scope, fault, |scope, value| convert::to_v8(scope, at, value).ok());
    if let Some(exception) = exception {
        scope.throw_exception(exception);
    }
}

/// Waits on this thread for the outcome of any call.
pub fn wait(scope: &mut v8::PinScope<'_, '_>, at: &GuestRealm, prepared: Prepared) -> Outcome {
    if let Prepared::Enter { remote, .. } | Prepared::MakeContext { remote, .. } = &prepared
        && at.guest.owner_id() != Some(remote.id())
        && !at.guest.chain().is_rooted()
    {
        return Err(Fault::coded(ErrorClass::Error, SYNC_IN_ASYNC, Code::Unsupported));
    }
    wait_anyway(scope, at, prepared)
}

/// Like [`wait`], but also allowed inside an asynchronous call.
pub fn wait_anyway(scope: &mut v8::PinScope<'_, '_>, at: &GuestRealm, prepared: Prepared) -> Outcome {
    if let Prepared::Done(outcome) = prepared {
        return outcome;
    }
    let host = matches!(prepared, Prepared::Request { .. });
    if host {
        at.guest.with_remote(|remote| {
            remote.accounts.meter.called_host();
            at.guest.handles.collect_references(scope, &remote.accounts.references);
        })?;
    }
    // To read the arguments may have taken long.
    at.guest.end_if_stopping(scope)?;
    let reply = at.guest.reply();
    let completion = Arc::clone(&reply) as Arc<dyn Completion>;
    let chain = at.guest.chain().in_async_context(async_context::current(scope));
    match prepared {
        Prepared::Enter { remote, limits, work } if at.guest.owner_id() == Some(remote.id()) => {
            at.guest.run_nested(scope, Job::new(Kind::Call, completion, work).limited(limits).in_chain(chain))?;
        }
        prepared => {
            let remote = at.guest.remote()?;
            // A host that waits at the root of the chain does not wait for this guest.
            let chain = if !host && remote.has_answered_all() { chain.not_awaited() } else { chain };
            let prepared = prepared.requested_by(&remote);
            match prepared.begin_beside(&remote, &chain, &completion) {
                Some(prepared) => prepared.dispatch(Kind::Call, chain, Charge::default(), completion),
                None => {
                    let outcome = at.guest.wait(scope, &*reply, false);
                    remote.forget_peer(&completion, matches!(outcome, Err(Fault::Stopped)));
                    return outcome;
                }
            }
        }
    }
    at.guest.wait(scope, &*reply, host)
}

const SYNC_IN_ASYNC: &str = "Calling a synchronous isolated-vm function on a non-default isolate from within an \
                             asynchronous isolated-vm function is not allowed.";

/// Like [`wait`], and also waits for the promise that the call returns.
pub fn wait_settled(scope: &mut v8::PinScope<'_, '_>, at: &GuestRealm, prepared: Prepared) -> Outcome {
    let host = matches!(prepared, Prepared::Request { .. });
    match wait(scope, at, prepared)? {
        Value::Promise(settlement) => {
            let reply = at.guest.reply();
            let completion = Arc::clone(&reply) as Arc<dyn Completion>;
            settlement.subscribe(None, Box::new(move |outcome| completion.complete(outcome)));
            at.guest.wait(scope, &*reply, host)
        }
        value => Ok(value),
    }
}

/// Whether a guest produces the answer, with values of any size.
pub fn answered_by_guest(prepared: &Prepared) -> bool {
    matches!(prepared, Prepared::Enter { .. })
}

/// Starts a call whose answer arrives later. `bytes` is the size of its arguments. All calls in progress together may take as much as the
/// guest's memory limit. In addition, a guest that sends faster than its host receives has to wait.
pub fn start(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    prepared: Prepared,
    bytes: usize,
    completion: Arc<dyn Completion>,
) -> Result<(), Fault> {
    let remote = at.guest.remote()?;
    let charge = Charge::take(&remote.accounts.outstanding, bytes).ok_or_else(Fault::too_many_calls)?;
    let completion = match &prepared {
        Prepared::Request { host, args, .. } => {
            at.guest.handles.collect_references(scope, &remote.accounts.references);
            let completion = hold(&remote, args, completion)?;
            while !admit(scope, at, host, false)? {}
            completion
        }
        Prepared::Done(_) => completion,
        Prepared::Enter { .. } | Prepared::MakeContext { .. } => KeepAliveCompletion::new(&remote, completion),
    };
    // To read the arguments, and what is above, may have taken long.
    at.guest.end_if_stopping(scope)?;
    if matches!(prepared, Prepared::Request { .. }) {
        remote.accounts.meter.called_host();
    }
    let prepared = prepared.requested_by(&remote);
    prepared.dispatch(Kind::Task, Chain::of_request(async_context::current(scope)), charge, completion);
    Ok(())
}

/// Arguments with less weight are limited only by the number of calls that may be in progress.
const LIGHT: usize = 512;

/// Charges the guest for `args` until a host has answered. If the answer is a promise, charges the guest until that promise has settled.
fn hold(remote: &Remote, args: &[Value], completion: Arc<dyn Completion>) -> Result<Arc<dyn Completion>, Fault> {
    let weight = args.iter().map(Value::weight).fold(0, usize::saturating_add);
    if weight <= LIGHT {
        return Ok(completion);
    }
    let charge = Charge::take(&remote.accounts.held, weight).ok_or_else(Fault::too_many_calls)?;
    Ok(ChargedCompletion::new(charge, completion))
}

/// Starts a call whose answer is discarded.
pub fn post(scope: &mut v8::PinScope<'_, '_>, at: &GuestRealm, prepared: Prepared, bytes: usize) -> Result<(), Fault> {
    at.guest.end_if_stopping(scope)?;
    if matches!(prepared, Prepared::Request { .. }) {
        at.guest.remote()?.accounts.meter.called_host();
    }
    notify(scope, at, prepared, bytes)
}

/// Like [`post`], on behalf of this library instead of the guest.
pub fn notify(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    prepared: Prepared,
    bytes: usize,
) -> Result<(), Fault> {
    if let Prepared::Done(outcome) = prepared {
        // A failure to start is reported, as on a host.
        return outcome.map(|_| ());
    }
    let remote = at.guest.remote()?;
    let bytes = bytes.saturating_add(cost_of_one(&remote));
    let charge = match &prepared {
        Prepared::Request { host, .. } => pay(scope, at, host, &remote, bytes)?,
        // Does not wait, because another isolate may never serve the message.
        _ => Charge::take(&remote.accounts.outstanding, bytes).ok_or_else(Fault::too_many_calls)?,
    };
    let prepared = prepared.requested_by(&remote);
    prepared.dispatch(Kind::Task, Chain::of_request(async_context::current(scope)), charge, Arc::new(NoCompletion));
    Ok(())
}

/// Charges for a message to `host`, as soon as enough of the earlier messages have been served.
fn pay(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    host: &Arc<dyn Host>,
    remote: &Remote,
    bytes: usize,
) -> Result<Charge, Fault> {
    let mut served = bytes > remote.settings.memory_limit;
    loop {
        let charge = Charge::take(&remote.accounts.posted, bytes);
        if !admit(scope, at, host, charge.is_none())? {
            continue;
        }
        match charge {
            Some(charge) => return Ok(charge),
            None if served => return Err(Fault::too_many_calls()),
            // The host has served everything between `take` and `admit` above.
            None => served = true,
        }
    }
}

/// Whether `host` accepts another message, possibly after waiting.
fn admit(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    host: &Arc<dyn Host>,
    over_budget: bool,
) -> Result<bool, Fault> {
    let reply = at.guest.reply();
    let requester = at.guest.remote()?.id();
    if host.admit(requester, &at.guest.chain(), over_budget, &(Arc::clone(&reply) as Arc<dyn Completion>))? {
        return Ok(true);
    }
    at.guest.wait(scope, &*reply, true)?;
    Ok(false)
}

/// An answer that settles a promise of this realm, in a separate task.
pub fn resolution(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    resolver: v8::Local<'_, v8::PromiseResolver>,
    of_guest: bool,
) -> Result<Arc<Later>, Fault> {
    let resolver = v8::Global::new(scope, resolver);
    let arrive: Arrive = Box::new(move |scope, at, outcome| {
        let resolver = v8::Local::new(scope, &resolver);
        // A promise that cannot be settled belongs to an isolate that is being stopped.
        let _ = settle(scope, at, resolver, outcome);
    });
    Ok(Later::new(Arrival { settles: true, ..arrival(scope, at, of_guest, arrive)? }))
}

/// Settles a promise of this realm immediately. `None` if it can no longer be settled.
pub fn settle(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    resolver: v8::Local<'_, v8::PromiseResolver>,
    outcome: Outcome,
) -> Option<bool> {
    match outcome.and_then(|value| convert::to_v8(scope, at, value)) {
        Ok(value) => resolver.resolve(scope, value),
        Err(fault) => {
            convert::exception_from_fault(scope, &fault, |scope, value| convert::to_v8(scope, at, value).ok())
                .and_then(|exception| resolver.reject(scope, exception))
        }
    }
}

type Arrive = Box<dyn FnOnce(&mut v8::PinScope<'_, '_>, &GuestRealm, Outcome) + Send>;

/// Maximum number of answers that a guest may wait for at the same time. They arrive as tasks, which would pile up if the guest never
/// processed them.
const MAX_OUTSTANDING: usize = 10_000;

/// The charge for a message itself.
fn cost_of_one(remote: &Remote) -> usize {
    remote.settings.memory_limit / MAX_OUTSTANDING
}

/// Charges for a small item in progress.
pub fn charge_one(at: &GuestRealm) -> Result<Charge, Fault> {
    let remote = at.guest.remote()?;
    Charge::take(&remote.accounts.outstanding, cost_of_one(&remote)).ok_or_else(Fault::too_many_calls)
}

/// An answer that arrives in this realm as a separate task. Its contents are charged until then: `of_guest` if another guest gives it.
pub fn later(
    scope: &v8::PinScope<'_, '_>,
    at: &GuestRealm,
    of_guest: bool,
    arrive: impl FnOnce(&mut v8::PinScope<'_, '_>, &GuestRealm, Outcome) + Send + 'static,
) -> Result<Arc<dyn Completion>, Fault> {
    Ok(Later::new(arrival(scope, at, of_guest, Box::new(arrive))?))
}

fn arrival(scope: &v8::PinScope<'_, '_>, at: &GuestRealm, of_guest: bool, arrive: Arrive) -> Result<Arrival, Fault> {
    let (remote, charge) = (at.guest.remote()?, charge_one(at)?);
    let limits = at.guest.limits();
    let request = async_context::current(scope);
    let realm = Arc::clone(&at.realm);
    Ok(Arrival { remote, charge, of_guest, settles: false, limits, request, realm, arrive })
}

struct Arrival {
    /// Keeps the isolate alive, because nothing else may refer to it any more.
    remote: Arc<Remote>,
    charge: Charge,
    /// Another guest gives the answer, and not a host.
    of_guest: bool,
    /// It settles a promise of the guest.
    settles: bool,
    /// The limits of the call that requested the answer. They also apply to what the guest does with the answer.
    limits: Limits,
    /// The host's number for the async call that requested it; 0 for none.
    request: i64,
    realm: Arc<Realm>,
    arrive: Arrive,
}

/// An answer that arrives as a separate task.
pub struct Later(Mutex<Option<Arrival>>);

impl Completion for Later {
    fn recipient(&self) -> Option<Arc<dyn Owner>> {
        let arrival = lock(&self.0);
        arrival.as_ref().map(|arrival| Arc::clone(&arrival.remote) as Arc<dyn Owner>)
    }

    fn complete(&self, outcome: Outcome) {
        self.deliver(outcome, Moment::now());
    }
}

impl Later {
    fn new(arrival: Arrival) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(arrival))))
    }

    /// Delivers the outcome of a promise that has settled at `moment`.
    pub fn deliver(&self, outcome: Outcome, moment: Moment) {
        let Some(arrival) = lock(&self.0).take() else { return };
        let Arrival { remote, charge, of_guest, settles, limits, request, realm, arrive } = arrival;
        let pending = settles.then(|| remote.outcomes().add(moment));
        let accounts = &remote.accounts;
        let (outcome, contents) = charged(if of_guest { &accounts.outstanding } else { &accounts.answers }, outcome);
        let work = Guest::work(move |scope, guest| {
            drop((charge, contents, pending));
            guest.realms.retain(&realm);
            let context = v8::Local::new(scope, &realm.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            v8::tc_scope!(let scope, scope);
            async_context::within(scope, guest.request(), |scope| {
                arrive(scope, &GuestRealm { guest: Rc::clone(guest), realm }, outcome);
            });
            Ok(Value::Undefined)
        });
        // Until the guest has processed the answer, including microtasks.
        let completion = KeepAliveCompletion::new(&remote, Arc::new(NoCompletion));
        let job = Job::new(Kind::Detached, completion, work);
        remote.post(job.limited(limits).in_chain(Chain::of_request(request)));
    }
}

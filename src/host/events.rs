//! How an environment handles what other threads send: events on its event loop, and requests while its thread waits.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Weak};

use napi_sys as sys;

use super::answers::PendingRequest;
use super::async_contexts::AsyncContext;
use super::carrier;
use super::context::{Current, Purpose};
use super::environment::Environment;
use super::event::{Event, Origin};
use super::js::{Js, JsResult, JsType, JsValue, Refused};
use super::streams::{Next, Reading, Subject};
use super::turn_budget::TurnBudget;
use crate::isolate::{Remote, next_owner_id};
use crate::ops::op;
use crate::value::{Completion, Fault, Outcome, Owner, Request, Value};

impl Environment {
    /// Handles the signal that other threads have sent something.
    pub fn on_signal(&self, js: Js<'_>) {
        // Deno calls thread-safe functions several times between two rounds of `process.nextTick` callbacks. Callbacks that a host function
        // has scheduled must run before the guest's next call, so the events wait for the immediates, which run after them.
        if self.handle.signal.repeats() && js.scoped(self, Self::defer).is_ok() {
            return;
        }
        self.handle_events(js);
    }

    /// Handles what other threads have sent, on a turn of the event loop. Events of an isolate that has used its share of the turn wait for
    /// those of others.
    pub fn handle_events(&self, js: Js<'_>) {
        // This is a new turn. Wakes the isolates that the last turn did not wake: its microtasks may have ended early.
        self.flush_wake_ups();
        let mut budget = TurnBudget::begin();
        let mut events = self.handle.take_events();
        let mut can_continue = true;
        while can_continue && let Some(event) = events.pop_front() {
            let Some(event) = self.handle.hold_back(event) else { continue };
            let origin = event.origin().map_or(0, |origin| origin.id);
            let calls_host = event.calls_host();
            // A refusal means that the host is shutting down, or that an exception is pending, which the host will report.
            let _ = js.scoped(self, |js, environment| environment.handle_event(js, event, true));
            if calls_host && (!events.is_empty() || self.handle.has_streams()) {
                can_continue = self.run_microtasks(js);
            }
            if budget.is_used_up_by(origin) && origin != 0 {
                self.handle.set_aside(origin);
            }
            if budget.is_over() {
                break;
            }
        }
        // At least one of these, however many other events there are.
        while can_continue && let Some(next) = self.handle.next_held() {
            let (event, wanted) = match next {
                Next::Event(event) => (event, true),
                Next::Unwanted(event) => (event, false),
            };
            let _ = js.scoped(self, move |js, environment| environment.handle_event(js, event, wanted));
            can_continue = self.run_microtasks(js);
            budget.is_used_up_by(0);
            if budget.is_over() {
                break;
            }
        }
        if self.handle.put_back(events) {
            // Other work needs the event loop as well. The thread-safe function is not used for this, because hosts call it again at once.
            let _ = js.scoped(self, Self::defer);
        } else if !self.handle.has_streams() {
            self.update_hold(js);
        }
    }

    /// Asks the host to handle events later.
    fn defer(js: Js<'_>, environment: &Self) -> JsResult<()> {
        js.call(js.dereference(&environment.functions.defer)?, &[]).map(drop)
    }

    /// Runs the host's microtasks, as the host does after each of its own callbacks. False if no more events may be handled on this turn.
    fn run_microtasks(&self, js: Js<'_>) -> bool {
        let run = |js: Js<'_>, environment: &Self| {
            let thrown = js.call(js.dereference(&environment.functions.run_microtasks)?, &[])?;
            if js.type_of(thrown)? != JsType::Object {
                return Ok(true);
            }
            js.report_uncaught(js.element(thrown, 0)?);
            Ok(false)
        };
        // A refusal means the same as for an event.
        js.scoped(self, run).flatten().unwrap_or(true)
    }

    /// Handles an event. A request that is not `wanted` is refused.
    fn handle_event(&self, js: Js<'_>, event: Event, wanted: bool) -> JsResult<()> {
        match event {
            Event::Settle { request, outcome, charge, held, follow_ups, origin, call, limits } => {
                let awaited = self.abortable.end(request);
                self.add_follow_up(&follow_ups);
                if held {
                    self.end();
                }
                let outcome = if awaited { outcome } else { Err(Fault::aborted()) };
                let before = self.context.current.replace(Current { origin: origin.id, call });
                self.context.limits.set(limits.map(|limits| *limits).unwrap_or_default());
                let settled = self.settle(js, request, outcome);
                drop(charge);
                self.context.current.set(before);
                let retained = self.context.retained.take();
                if let Some(id) = self.context.pausing.take() {
                    let reading = Reading::new(origin, Subject::Outcome(request), call, 0, retained);
                    self.handle.begin_reading(id, reading);
                }
                settled?;
            }
            Event::Request { request, origin } => {
                // A guest that waits for its host needs some time to notice that its call was aborted.
                let aborted = !request.completion.is_discarded() && self.abortable.is_aborted(request.chain.request());
                if wanted && !aborted && origin.admits(|| request.byte_size()) {
                    let before = self.context.current.replace(Current { origin: origin.id, call: 0 });
                    self.context.limits.take();
                    self.serve(js, request, origin);
                    self.context.current.set(before);
                } else {
                    self.refuse(js, request.completion);
                }
            }
            Event::Disown => {
                self.handle.disowned.arrived();
                self.disown(js)?;
            }
            Event::Drained(origin) => {
                self.add_follow_up(&origin);
                self.end();
            }
            // Nothing to do but what follows every event.
            Event::Quiet => {}
            Event::Unpin => {
                self.handle.unpinned.arrived();
                self.pins.release_unused(js);
            }
            Event::Weigh => self.handle.pressure.weigh(js),
            Event::Remind { last } => self.handle.pressure.remind(js, last),
        }
        Ok(())
    }

    /// Makes the surface empty the slots that are no longer held.
    pub(super) fn disown(&self, js: Js<'_>) -> JsResult<()> {
        if self.handle.disowned.is_any() {
            let args = [js.number(0.0)?, js.number(0.0)?, js.number(f64::from(op::REF_RELEASE))?, js.number(0.0)?];
            js.call(js.dereference(&self.functions.serve)?, &args)?;
        }
        Ok(())
    }

    fn write_for<'a>(&self, js: Js<'a>, purpose: Purpose, outcome: Outcome) -> JsResult<JsValue<'a>> {
        self.context.purpose.set(purpose);
        let carrier = carrier::write_or_refuse(js, self, outcome);
        self.context.purpose.take();
        carrier
    }

    fn settle(&self, js: Js<'_>, request: i64, outcome: Outcome) -> JsResult<()> {
        let carrier = self.write_for(js, Purpose { is_delivered: true, is_argument: false }, outcome)?;
        js.call(js.dereference(&self.functions.settle)?, &[js.number(request as f64)?, carrier])?;
        Ok(())
    }

    /// Refuses a request, because the call that asks was stopped, or its isolate.
    fn refuse(&self, js: Js<'_>, completion: Arc<dyn Completion>) {
        let recipient = completion.recipient();
        // If anything else waits for it, it gets the fault.
        completion.complete(Err(Fault::aborted()));
        if let Some(remote) = recipient.as_ref().and_then(Remote::from_owner) {
            self.add_follow_up(&Arc::downgrade(&remote));
        }
        self.update_hold(js);
    }

    /// The surface reads, in several turns, the value that it was just given. Nothing else from the same isolate is handled until it has
    /// finished.
    pub fn pause(&self) -> u64 {
        let origin = self.context.current.get().origin;
        // An event without an origin holds nothing back.
        let id = if origin == 0 { next_owner_id() } else { origin };
        self.context.pausing.set(Some(id));
        id
    }

    /// Whether the surface should continue to read. If not, its reading ends here.
    pub fn is_wanted(&self, js: Js<'_>, id: u64) -> bool {
        let (wanted, request) = self.handle.with_streams(|streams| (streams.is_wanted(id), streams.request(id)));
        let is_over = |(number, call)| {
            self.answers.get(number).is_some_and(|PendingRequest { completion, requester }| {
                let is_aborted = !completion.is_discarded() && self.abortable.is_aborted(call);
                completion.is_complete() || is_aborted || was_stopped(&*completion, requester.as_ref())
            })
        };
        if wanted && !request.is_some_and(is_over) {
            return true;
        }
        let completion = request.and_then(|(number, _)| self.answers.take(number));
        self.handle.end_reading(id);
        if let Some(PendingRequest { completion, .. }) = completion {
            self.refuse(js, completion);
        }
        false
    }

    /// Aborts a call, or the promise that resulted from it.
    pub fn abort(&self, request: i64) {
        self.abortable.abort(request);
        if self.handle.has_streams() {
            self.handle.with_streams(|streams| streams.abandon(request));
        }
    }

    /// Lets the surface answer a request, now or later.
    pub fn serve(&self, js: Js<'_>, request: Request, origin: Origin) {
        let bytes = request.byte_size();
        let Request { op, slot, args, requester, completion, chain, charge } = request;
        // A request of a guest that was stopped does not begin any more. One that ended by itself has made all of its requests.
        if !completion.is_wanted() || was_stopped(&*completion, requester.as_ref()) {
            return self.refuse(js, completion);
        }
        let op = if completion.is_discarded() { op | op::DISCARDED } else { op };
        let number = self.answers.request(PendingRequest { completion, requester: requester.clone() });
        let call = chain.request();
        // While a sync call waits, its callee's requests are served on this stack.
        let waits = chain.waits_in(self.handle.id);
        // The stack has the stores of the call that waits. The guest may act on behalf of another one, which awaits the callee's promise.
        let caller = if waits && call == self.context.request() { 0 } else { call };
        let context = self.context.async_contexts.get(caller);
        // Either this side enters the caller's context, or the surface does.
        let caller = if context.is_some() { 0 } else { caller };
        let head = [caller as f64, number as f64, f64::from(op), f64::from(slot.index())];
        let outer = self.context.chain.replace(waits.then_some(chain));
        let limits = self.context.limits.get();
        let carried = if waits && (self.context.interrupted.get() || !self.has_room(js)) {
            Err(Refused)
        } else {
            // Frees released slots first, so that a guest that calls repeatedly in one turn of the event loop has no more than it holds.
            self.disown(js).and_then(|()| self.call_serve(js, waits, context, head, args))
        };
        let carried = carried.and_then(|carrier| match self.read_answer(js, requester.as_ref(), carrier)? {
            Ok(Value::Undefined) => Ok(None),
            outcome => Ok(Some(outcome)),
        });
        // Calls that were made meanwhile have set limits of their own.
        self.context.limits.set(limits);
        *self.context.chain.borrow_mut() = outer;
        let retained = self.context.retained.take();
        if let Some(id) = self.context.pausing.take() {
            let subject = Subject::Request { number, _slot: slot, _charge: charge };
            self.handle.begin_reading(id, Reading::new(origin, subject, call, bytes, retained));
        } else {
            drop((charge, slot));
        }
        match carried {
            // `undefined`: the surface calls `reply` itself.
            Ok(None) => {}
            // The call that waits ends first: the guest must not ask again.
            Ok(Some(_)) if waits && self.context.interrupted.get() => {
                self.context.interrupted_requests.borrow_mut().push((number, Fault::environment_gone()));
            }
            Ok(Some(outcome)) => self.reply(js, number, outcome),
            Err(_) => {
                let fault = self.failure(js);
                if waits && self.context.interrupted.get() {
                    return self.context.interrupted_requests.borrow_mut().push((number, fault));
                }
                self.reply(js, number, Err(fault));
            }
        }
    }

    /// `waits`: a sync call waits for the answer. `head`: the async call of this environment on whose behalf the request was made, if the stack does
    /// not have its stores, or 0; the number of the request, the operation and the slot.
    fn call_serve<'a>(
        &self,
        js: Js<'a>,
        waits: bool,
        context: Option<AsyncContext>,
        head: [f64; 4],
        args: Vec<Value>,
    ) -> JsResult<JsValue<'a>> {
        let mut values = Vec::with_capacity(args.len() + head.len());
        for number in head {
            values.push(js.number(number)?);
        }
        for arg in args {
            // The surface releases the handles among the others when it finds the refusal.
            values.push(self.write_for(js, Purpose { is_delivered: !waits, is_argument: true }, Ok(arg))?);
        }
        let serve = if waits { &self.functions.serve } else { &self.functions.serve_later };
        js.call_in(context, js.dereference(serve)?, &values)
    }
}

/// Whether the isolate was stopped that waits for the answer to a request. Its thread needs some time to notice that. What it has sent without
/// waiting for an answer is not lost.
fn was_stopped(completion: &dyn Completion, requester: Option<&Weak<dyn Owner>>) -> bool {
    if completion.is_discarded() {
        return false;
    }
    let owner = requester.and_then(Weak::upgrade).or_else(|| completion.recipient());
    owner.and_then(|owner| Remote::from_owner(&owner)).is_some_and(|remote| remote.was_stopped())
}

/// Connects the environment of `js` with its event loop.
pub fn attach(js: Js<'_>, environment: &'static Environment) -> JsResult<()> {
    let data = ptr::from_ref(environment).cast_mut().cast::<c_void>();
    // SAFETY: the data is what both functions expect: an `Environment` that lives forever, of the environment on whose thread they run.
    unsafe { environment.signal().attach(js, data, on_signal, on_cleanup) }
}

unsafe extern "C" fn on_signal(
    env: sys::napi_env,
    _function: sys::napi_value,
    context: *mut c_void,
    _data: *mut c_void,
) {
    if env.is_null() || context.is_null() {
        // The environment is closing.
        return;
    }
    // SAFETY: the context is the leaked `Environment` of this environment, on whose thread this runs.
    let environment = unsafe { &*context.cast::<Environment>() };
    // SAFETY: `env` is this callback's environment.
    unsafe { Js::inside(env, |js| environment.on_signal(js)) };
}

unsafe extern "C" fn on_cleanup(data: *mut c_void) {
    // SAFETY: the data is the leaked `Environment`, on whose thread hooks run.
    unsafe { &*data.cast::<Environment>() }.close();
}

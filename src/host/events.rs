//! How an environment handles what other threads send: events on its event loop, and requests while its thread waits.

use std::sync::Arc;

use super::carrier;
use super::environment::{Asked, Local};
use super::js::{Js, JsResult, JsValue, Refused};
use super::share::Share;
use super::shared::Event;
use super::streams::{Next, Origin, Reading, Subject};
use crate::isolate::{Remote, next_owner_id};
use crate::ops::op;
use crate::value::{Completion, Fault, Outcome, Request, Value};

/// See [`Local::current`].
#[derive(Clone, Copy, Default)]
pub struct Current {
    /// The isolate that the event comes from; 0 for none.
    pub origin: u64,
    /// The async call whose outcome the event is; 0 for none.
    pub call: i64,
}

impl Local {
    /// Handles the signal that other threads have sent something.
    pub fn on_signal(&self, js: Js<'_>) {
        // Deno calls thread-safe functions several times between two rounds of `process.nextTick` callbacks. Callbacks that a host function
        // has scheduled must run before the guest's next call, so the events wait for the immediates, which run after them.
        if self.shared.signal.repeats() && js.scoped(|| js.call(js.dereference(&self.defer)?, &[])).is_ok() {
            return;
        }
        self.handle_events(js);
    }

    /// Handles what other threads have sent, on a turn of the event loop. Events of an isolate that has used its share of the turn wait for
    /// those of others.
    pub fn handle_events(&self, js: Js<'_>) {
        // This is a new turn. Wakes the isolates that the last turn did not wake: its microtasks may have ended early.
        self.flush_wake_ups();
        let mut share = Share::begin();
        let mut events = self.shared.take_events();
        let mut can_continue = true;
        while can_continue && let Some(event) = events.pop_front() {
            let Some(event) = self.shared.hold_back(event) else { continue };
            let origin = event.origin().map_or(0, |origin| origin.id);
            let calls_host = event.calls_host();
            // A refusal means that the host is shutting down, or that an exception is pending, which the host will report.
            let _ = js.scoped(|| self.handle_event(js, event, true));
            if calls_host && (!events.is_empty() || self.shared.has_streams()) {
                can_continue = self.run_microtasks(js);
            }
            if share.is_used_up_by(origin) && origin != 0 {
                self.shared.set_aside(origin);
            }
            if share.is_over() {
                break;
            }
        }
        // At least one of these, however many other events there are.
        while can_continue && let Some(next) = self.shared.next_held() {
            let (event, wanted) = match next {
                Next::Event(event) => (event, true),
                Next::Unwanted(event) => (event, false),
            };
            let _ = js.scoped(|| self.handle_event(js, event, wanted));
            can_continue = self.run_microtasks(js);
            share.is_used_up_by(0);
            if share.is_over() {
                break;
            }
        }
        if self.shared.put_back(events) {
            // Other work needs the event loop as well. The thread-safe function is not used for this, because hosts call it again at once.
            let _ = js.scoped(|| js.call(js.dereference(&self.defer)?, &[]));
        } else if !self.shared.has_streams() {
            self.update_hold(js);
        }
    }

    /// Runs the host's microtasks, as the host does after each of its own callbacks. False if no more events may be handled on this turn.
    fn run_microtasks(&self, js: Js<'_>) -> bool {
        let done = js.scoped(|| js.call(js.dereference(&self.run_microtasks)?, &[])).flatten();
        done.is_ok() || !js.report_exception()
    }

    /// Handles an event. A request that is not `wanted` is refused.
    fn handle_event(&self, js: Js<'_>, event: Event, wanted: bool) -> JsResult<()> {
        match event {
            Event::Settle { request, outcome, held, follow_ups, origin, call, limits } => {
                let awaited = self.abortable.end(request);
                self.add_follow_up(&follow_ups);
                if held {
                    self.end();
                }
                let outcome = if awaited { outcome } else { Err(Fault::aborted()) };
                let before = self.current.replace(Current { origin: origin.id, call });
                self.limits.set(limits.map(|limits| *limits).unwrap_or_default());
                let settled = self.settle(js, request, outcome);
                self.current.set(before);
                let kept = self.kept.take();
                if let Some(id) = self.pausing.take() {
                    let reading = Reading {
                        origin,
                        subject: Subject::Outcome(request),
                        call,
                        bytes: 0,
                        admitted: false,
                        abandoned: false,
                        disposed: false,
                        _kept: kept,
                    };
                    self.shared.begin_reading(id, reading);
                }
                settled?;
            }
            Event::Ask { request, origin } => {
                if wanted && origin.admits(|| request.byte_size()) {
                    let before = self.current.replace(Current { origin: origin.id, call: 0 });
                    self.limits.take();
                    self.serve(js, request, origin);
                    self.current.set(before);
                } else {
                    self.refuse(js, request.completion);
                }
            }
            Event::Disown => {
                self.shared.disowned.arrived();
                self.disown(js)?;
            }
            Event::Drained(origin) => {
                self.add_follow_up(&origin);
                self.end();
            }
            // Nothing to do but what follows every event.
            Event::Quiet => {}
            Event::Unpin => {
                self.shared.unpinned.arrived();
                self.let_go_of_pins(js);
            }
            Event::Weigh => self.weigh(js),
            Event::Remind { last } => self.remind(js, last),
        }
        Ok(())
    }

    /// Makes the surface empty the slots that are no longer held.
    fn disown(&self, js: Js<'_>) -> JsResult<()> {
        if self.shared.disowned.is_any() {
            let args = [js.number(0.0)?, js.number(f64::from(op::REF_RELEASE))?, js.number(0.0)?];
            js.call(js.dereference(&self.serve)?, &args)?;
        }
        Ok(())
    }

    fn settle(&self, js: Js<'_>, request: i64, outcome: Outcome) -> JsResult<()> {
        let carrier = carrier::write_or_refuse(js, self, outcome)?;
        js.call(js.dereference(&self.settle)?, &[js.number(request as f64)?, carrier])?;
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
        let origin = self.current.get().origin;
        // An event without an origin holds nothing back.
        let id = if origin == 0 { next_owner_id() } else { origin };
        self.pausing.set(Some(id));
        id
    }

    /// Whether the surface should continue to read. If not, its reading ends here.
    pub fn is_wanted(&self, js: Js<'_>, id: u64) -> bool {
        let (wanted, number) = self.shared.ask_streams(|streams| (streams.is_wanted(id), streams.request(id)));
        let asked = number.and_then(|number| usize::try_from(number - 1).ok());
        let answered = |number| self.asked.borrow().get(number).is_some_and(|asked| asked.completion.is_complete());
        if wanted && !asked.is_some_and(answered) {
            return true;
        }
        let completion = asked.and_then(|number| self.asked.borrow_mut().try_remove(number));
        self.shared.end_reading(id);
        if let Some(Asked { completion, .. }) = completion {
            self.refuse(js, completion);
        }
        false
    }

    /// Aborts a call, or the promise that resulted from it.
    pub fn abort(&self, request: i64) {
        self.abortable.abort(request);
        if self.shared.has_streams() {
            self.shared.ask_streams(|streams| streams.abandon(request));
        }
    }

    /// Lets the surface answer a request, now or later.
    pub fn serve(&self, js: Js<'_>, request: Request, origin: Origin) {
        let bytes = request.byte_size();
        let Request { op, slot, args, asker, completion, chain, charge } = request;
        // Nothing waits for the answer any more: a guest's request does not begin after the guest's end.
        let recipient = completion.recipient().and_then(|owner| Remote::from_owner(&owner));
        if completion.is_complete() || recipient.is_some_and(|remote| remote.is_disposed()) {
            return;
        }
        let op = if completion.is_discarded() { op | op::DISCARDED } else { op };
        // A slab's key fits into an `i64`.
        let number = self.asked.borrow_mut().insert(Asked { completion, asker: asker.clone() }) as i64 + 1;
        let call = chain.request();
        // While a sync call waits, its callee's requests are served on this stack.
        let waits = chain.waits_in(self.shared.id);
        let caller = (!waits).then(|| chain.request());
        let outer = self.chain.replace(waits.then_some(chain));
        let limits = self.limits.get();
        let carried = if waits && !self.has_room(js) {
            Err(Refused)
        } else {
            // Frees released slots first, so that a guest that calls repeatedly in one turn of the event loop has no more than it holds.
            self.disown(js).and_then(|()| self.call_serve(js, caller, number, op, slot.index(), args))
        };
        let carried = carried.and_then(|carrier| match self.read_answer(js, asker.as_ref(), carrier)? {
            Ok(Value::Undefined) => Ok(None),
            outcome => Ok(Some(outcome)),
        });
        // Calls that were made meanwhile have set limits of their own.
        self.limits.set(limits);
        *self.chain.borrow_mut() = outer;
        let kept = self.kept.take();
        if let Some(id) = self.pausing.take() {
            let subject = Subject::Request { number, _slot: slot, _charge: charge };
            let reading = Reading {
                origin,
                subject,
                call,
                bytes,
                admitted: false,
                abandoned: false,
                disposed: false,
                _kept: kept,
            };
            self.shared.begin_reading(id, reading);
        } else {
            drop((charge, slot));
        }
        match carried {
            // `undefined`: the surface calls `reply` itself.
            Ok(None) => {}
            Ok(Some(outcome)) => self.reply(js, number, outcome),
            Err(_) => {
                // The surface throws no exception, unless the stack is exhausted.
                let thrown = js.clear_exception();
                let fault = if thrown {
                    Fault::range_error("Maximum call stack size exceeded")
                } else {
                    Fault::environment_gone()
                };
                self.reply(js, number, Err(fault));
                // A guest may treat this as an ordinary error and call again, endlessly.
                if !thrown && !self.is_alive(js) {
                    self.close();
                }
            }
        }
    }

    /// `caller`: if the event loop serves the request, the async call of this environment on whose behalf it was made, or 0.
    fn call_serve(
        &self,
        js: Js<'_>,
        caller: Option<i64>,
        number: i64,
        op: u32,
        slot: u32,
        args: Vec<Value>,
    ) -> JsResult<JsValue> {
        let mut values = Vec::with_capacity(args.len() + 4);
        if let Some(caller) = caller {
            values.push(js.number(caller as f64)?);
        }
        values.push(js.number(number as f64)?);
        values.push(js.number(f64::from(op))?);
        values.push(js.number(f64::from(slot))?);
        for arg in args {
            values.push(carrier::write(js, self, Ok(arg))?);
        }
        let serve = if caller.is_none() { &self.serve } else { &self.serve_later };
        js.call(js.dereference(serve)?, &values)
    }
}

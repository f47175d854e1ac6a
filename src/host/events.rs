//! What other threads have sent to an environment, as its event loop handles it, and what a thread that waits is asked for.

use std::sync::Arc;

use super::carrier;
use super::environment::{Asked, Local};
use super::js::{Js, JsResult, JsValue, Refused};
use super::share::Share;
use super::shared::Event;
use super::streams::{Next, Origin, Reading, Subject};
use crate::isolate::{Remote, next_owner_id};
use crate::ops::op;
use crate::value::{Answer, Fault, Outcome, Request, Value};

/// See [`Local::current`].
#[derive(Clone, Copy, Default)]
pub struct Current {
    /// The isolate that it comes from; 0 for none.
    pub origin: u64,
    /// The async call that it is the outcome of; 0 for none.
    pub call: i64,
}

impl Local {
    /// Other threads have sent something.
    pub fn on_signal(&self, js: Js<'_>) {
        // Deno calls thread-safe functions several times between two rounds of `process.nextTick` callbacks. What a host function has begun
        // is to go on before the guest's next call, so the events wait for the immediates, which come after those callbacks.
        if self.shared.signal.repeats() && js.scoped(|| js.call(js.dereference(self.defer)?, &[])).is_ok() {
            return;
        }
        self.handle_events(js);
    }

    /// What other threads have sent, on a turn of the event loop. What comes from an isolate that has had its share of the turn
    /// waits for what comes from others.
    pub fn handle_events(&self, js: Js<'_>) {
        // A turn of its own. What waits to be told from the last one is told: its microtasks may have ended early.
        self.tell();
        let mut share = Share::begin();
        let mut events = self.shared.take_events();
        while let Some(event) = events.pop_front() {
            let Some(event) = self.shared.hold_back(event) else { continue };
            let origin = event.origin().map_or(0, |origin| origin.id);
            // A refusal means that the host is going down, or that an exception is pending which it will report.
            let _ = js.scoped(|| self.handle_event(js, event, true));
            if share.is_used_up_by(origin) && origin != 0 {
                self.shared.set_aside(origin);
            }
            if share.is_over() {
                break;
            }
        }
        // At least one of them, whatever else there is.
        while let Some(next) = self.shared.next_held() {
            let (event, wanted) = match next {
                Next::Event(event) => (event, true),
                Next::Unwanted(event) => (event, false),
            };
            let _ = js.scoped(|| self.handle_event(js, event, wanted));
            share.is_used_up_by(0);
            if share.is_over() {
                break;
            }
        }
        if self.shared.put_back(events) {
            // Others want the event loop as well. Not through the thread-safe function: hosts call that again at once.
            let _ = js.scoped(|| js.call(js.dereference(self.defer)?, &[]));
        } else if !self.shared.has_streams() {
            self.update_hold(js);
        }
    }

    /// An event that is not `wanted` is not read if it is large.
    fn handle_event(&self, js: Js<'_>, event: Event, wanted: bool) -> JsResult<()> {
        match event {
            Event::Settle { request, outcome, held, owing, origin, call, limits } => {
                let awaited = self.abortable.end(request);
                self.owes(&owing);
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
                        spared: false,
                        abandoned: false,
                        disposed: false,
                        _kept: kept,
                    };
                    self.shared.begin_reading(id, reading);
                }
                settled?;
            }
            Event::Ask { request, origin } => {
                if wanted && origin.spares(|| request.byte_size()) {
                    let before = self.current.replace(Current { origin: origin.id, call: 0 });
                    self.limits.take();
                    self.serve(js, request, origin);
                    self.current.set(before);
                } else {
                    self.refuse(js, request.answer);
                }
            }
            Event::Disown => {
                self.shared.disowned.arrived();
                self.disown(js)?;
            }
            Event::Digested(origin) => {
                self.owes(&origin);
                self.end();
            }
            // What follows every event is all there is to do.
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

    /// Has the surface empty the slots that nobody holds any more.
    fn disown(&self, js: Js<'_>) -> JsResult<()> {
        if self.shared.disowned.is_any() {
            let args = [js.number(0.0)?, js.number(f64::from(op::REF_RELEASE))?, js.number(0.0)?];
            js.call(js.dereference(self.serve)?, &args)?;
        }
        Ok(())
    }

    fn settle(&self, js: Js<'_>, request: i64, outcome: Outcome) -> JsResult<()> {
        let carrier = carrier::write_or_refuse(js, self, outcome)?;
        js.call(js.dereference(self.settle)?, &[js.number(request as f64)?, carrier])?;
        Ok(())
    }

    /// A request is not served: the call that asks has been stopped, or its isolate.
    fn refuse(&self, js: Js<'_>, answer: Arc<dyn Answer>) {
        let recipient = answer.recipient();
        // Whoever else waits for it hears that it was in vain.
        answer.answer(Err(Fault::aborted()));
        if let Some(remote) = recipient.as_ref().and_then(Remote::from_owner) {
            self.owes(&Arc::downgrade(&remote));
        }
        self.update_hold(js);
    }

    /// The surface reads what it was just given in turns. Nothing else from the same isolate comes until it has.
    pub fn pause(&self) -> u64 {
        let origin = self.current.get().origin;
        // What comes from nowhere waits for nothing.
        let id = if origin == 0 { next_owner_id() } else { origin };
        self.pausing.set(Some(id));
        id
    }

    /// Whether the surface is to read on; if not, it is as if it had.
    pub fn is_wanted(&self, js: Js<'_>, id: u64) -> bool {
        let (wanted, number) = self.shared.ask_streams(|streams| (streams.is_wanted(id), streams.request(id)));
        let asked = number.and_then(|number| usize::try_from(number - 1).ok());
        let answered = |number| self.asked.borrow().get(number).is_some_and(|asked| asked.answer.is_answered());
        if wanted && !asked.is_some_and(answered) {
            return true;
        }
        let answer = asked.and_then(|number| self.asked.borrow_mut().try_remove(number));
        self.shared.end_reading(id);
        if let Some(Asked { answer, .. }) = answer {
            self.refuse(js, answer);
        }
        false
    }

    /// Nobody waits for a call any more, or for the promise that came out of it.
    pub fn abort(&self, request: i64) {
        self.abortable.abort(request);
        if self.shared.has_streams() {
            self.shared.ask_streams(|streams| streams.abandon(request));
        }
    }

    /// Lets the surface answer a request, now or later.
    pub fn serve(&self, js: Js<'_>, request: Request, origin: Origin) {
        let bytes = request.byte_size();
        let Request { op, slot, args, asker, answer, chain, charge } = request;
        // Nobody waits for it any more: what a guest has asked for does not begin after its end.
        let recipient = answer.recipient().and_then(|owner| Remote::from_owner(&owner));
        if answer.is_answered() || recipient.is_some_and(|remote| remote.is_disposed()) {
            return;
        }
        let op = if answer.is_discarded() { op | op::DISCARDED } else { op };
        // A slab's key fits.
        let number = self.asked.borrow_mut().insert(Asked { answer, asker: asker.clone() }) as i64 + 1;
        let call = chain.request();
        // While a sync call waits, what it asks for runs where it stands.
        let waits = chain.waits_in(self.shared.id);
        let caller = (!waits).then(|| chain.request());
        let outer = self.chain.replace(waits.then_some(chain));
        let limits = self.limits.get();
        let carried = if waits && !self.has_room(js) {
            Err(Refused)
        } else {
            // A guest that calls again and again in one turn of the event loop is given no more than it holds.
            self.disown(js).and_then(|()| self.call_serve(js, caller, number, op, slot.index(), args))
        };
        let carried = carried.and_then(|carrier| match self.read_answer(js, asker.as_ref(), carrier)? {
            Ok(Value::Undefined) => Ok(None),
            outcome => Ok(Some(outcome)),
        });
        // Calls that were made meanwhile have limits of their own.
        self.limits.set(limits);
        *self.chain.borrow_mut() = outer;
        let kept = self.kept.take();
        if let Some(id) = self.pausing.take() {
            let subject = Subject::Request { number, _slot: slot, _charge: charge };
            let reading =
                Reading { origin, subject, call, bytes, spared: false, abandoned: false, disposed: false, _kept: kept };
            self.shared.begin_reading(id, reading);
        } else {
            drop((charge, slot));
        }
        match carried {
            // `undefined`: the surface replies itself.
            Ok(None) => {}
            Ok(Some(outcome)) => self.reply(js, number, outcome),
            Err(_) => {
                // The surface lets no exception out, but at the end of the stack it cannot help it.
                let thrown = js.clear_exception();
                let fault = if thrown {
                    Fault::range_error("Maximum call stack size exceeded")
                } else {
                    Fault::environment_gone()
                };
                self.reply(js, number, Err(fault));
                // A guest may take that for an error and call again, for ever.
                if !thrown && !self.is_alive(js) {
                    self.close();
                }
            }
        }
    }

    /// `caller` is the async call of this environment on whose behalf it is asked, or 0, where the event loop serves it.
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
        let serve = if caller.is_none() { self.serve } else { self.serve_later };
        js.call(js.dereference(serve)?, &values)
    }
}

//! Calls by guests that run on this thread. A loop of the surface (`serve-here.js`) calls the host's functions. It gives each result to
//! [`answer`], which resumes the guest and returns what the guest asks next, so that the host is not entered for each call.

use std::rc::Rc;
use std::sync::{Arc, Weak};

use super::carrier;
use super::context::Asking;
use super::environment::Local;
use super::js::{Js, JsResult, JsType, JsValue, Refused};
use crate::isolate::borrow;
use crate::ops::{Transfer, op};
use crate::protocol::{APPLY_HEAD, asked, tag};
use crate::value::{Ask, Fault, Outcome, Owner, Value};

/// Calls that the loop serves before the waiting thread looks at other things.
const MAX_ASKS: u32 = 32;

/// The receiver, if there is one, and the arguments.
fn values_of(ask: &Ask) -> (Option<&Value>, &[Value]) {
    // The receiver is the last one before the arguments.
    match ask.args.split_at_checked(APPLY_HEAD as usize) {
        Some((head, args)) if ask.op == op::REF_APPLY => (head.last(), args),
        _ => (None, &ask.args),
    }
}

/// `None` if it must be a request.
fn head_of(ask: &Ask) -> Option<f64> {
    let shows = if ask.shows_stacks { op::SHOWS_STACKS } else { 0 };
    let mut head = match (ask.op, ask.args.first()) {
        (op::CALL, _) => shows,
        (op::REF_APPLY, Some(Value::Number(bits))) if ask.args.len() >= APPLY_HEAD as usize => {
            (*bits as u32 & Transfer::ALL) | op::REFERENCE | shows
        }
        _ => return None,
    };
    let (receiver, args) = values_of(ask);
    if receiver.is_some_and(|receiver| !matches!(receiver, Value::Undefined)) {
        head |= asked::RECEIVER;
    }
    // There are at most `Ask::MAX_ARGS`.
    head |= args.len() as u32 * asked::COUNT;
    Some(f64::from(ask.slot) * f64::from(asked::SLOT) + f64::from(head))
}

const _: () = assert!((Ask::MAX_ARGS as u32 + 1) * asked::COUNT <= asked::SLOT);
const _: () =
    assert!(Transfer::ALL < op::SHOWS_STACKS && op::SHOWS_STACKS < op::REFERENCE && op::REFERENCE < asked::RECEIVER);

impl Local {
    /// Answers a guest that waits on this thread, and a number of calls that it makes next.
    pub(super) fn serve_asks(&self, js: Js<'_>, ask: Rc<Ask>) {
        let (limits, request) = (self.context.limits.get(), self.context.request());
        let asking = Asking { ask: None, head: 0.0, left: MAX_ASKS, limits, request };
        let outer = self.context.asking.replace(Some(asking));
        if let Some(head) = self.begin_ask(js, ask) {
            let served = self.argument(js, 1).and_then(|first| {
                let serve = js.dereference(&self.functions.serve_here)?;
                js.call(serve, &[js.number(head)?, first])
            });
            let outcome = served.err().map(|Refused| Err(self.failure(js)));
            // There is a call if the loop was left in the middle of it.
            if let Some(ask) = self.take_served() {
                self.end_ask(ask, outcome);
            }
        }
        self.context.asking.replace(outer);
    }

    /// Returns the head of the call, which the surface must serve next. `None` if it need not: the call was answered here.
    fn begin_ask(&self, js: Js<'_>, ask: Rc<Ask>) -> Option<f64> {
        let answer = if ask.is_over() {
            // The guest was stopped before it waited.
            None
        } else if !self.has_room(js) {
            js.clear_exception();
            None
        } else {
            match (self.disown(js), head_of(&ask)) {
                (Ok(()), Some(head)) => {
                    let mut serving = self.context.asking.borrow_mut();
                    let asking = serving.as_mut()?;
                    if ask.request != asking.request {
                        self.context.act_for(ask.request);
                    }
                    (asking.ask, asking.head) = (Some(ask), head);
                    return Some(head);
                }
                (Ok(()), None) => None,
                (Err(Refused), _) => Some(Err(self.failure(js))),
            }
        };
        self.resume(ask, answer);
        None
    }

    /// The call that is being served, if there is one.
    fn take_served(&self) -> Option<Rc<Ask>> {
        self.context.asking.borrow_mut().as_mut()?.ask.take()
    }

    /// Answers `ask`, which was being served, and resumes its guest.
    // Processors predict none of the returns after a change of stacks, so there should be few.
    #[inline(always)]
    fn end_ask(&self, ask: Rc<Ask>, outcome: Option<Outcome>) {
        if let Some(Asking { limits, request, .. }) = &*self.context.asking.borrow() {
            if ask.request != *request {
                self.context.act_for(*request);
            }
            // Calls that were made meanwhile have set limits of their own.
            self.context.limits.set(*limits);
        }
        if !self.context.retained.borrow().is_empty() {
            self.context.retained.take();
        }
        self.resume(ask, outcome);
    }

    /// Answers `ask`, and resumes its guest, which uses it again.
    #[inline(always)]
    fn resume(&self, ask: Rc<Ask>, outcome: Option<Outcome>) {
        ask.answer(outcome);
        let asker = ask.asker;
        drop(ask);
        // Otherwise the call that waits ends first: the guest must not ask again.
        if !self.context.interrupted.get() {
            borrow::resume_guest(asker);
        }
    }

    /// What the guest that was resumed asks next, if the surface can serve it like the call before, which had this head.
    #[inline(always)]
    fn next_ask(&self, js: Js<'_>, head: f64) -> bool {
        if self.context.interrupted.get() {
            return false;
        }
        if let Some(Asking { left, .. }) = &mut *self.context.asking.borrow_mut() {
            if *left <= 1 {
                return false;
            }
            *left -= 1;
        }
        self.shared.take_ask().is_some_and(|ask| self.begin_ask(js, ask) == Some(head))
    }

    /// Why the surface could not answer.
    pub(super) fn failure(&self, js: Js<'_>) -> Fault {
        // The surface throws no exception, unless the stack is exhausted.
        if js.clear_exception() {
            return Fault::range_error("Maximum call stack size exceeded");
        }
        // A time limit of `node:vm` has expired, or the worker is being terminated. A guest may treat this as an ordinary error and call again,
        // endlessly.
        self.context.interrupted.set(true);
        Fault::environment_gone()
    }

    /// The receiver (0) or an argument (from 1) of the call that is being served; `undefined` if there is none.
    fn argument<'a>(&self, js: Js<'a>, index: usize) -> JsResult<JsValue<'a>> {
        let asking = self.context.asking.borrow();
        let ask = asking.as_ref().and_then(|asking| asking.ask.as_ref());
        let (receiver, args) = ask.map(|ask| values_of(ask)).unwrap_or_default();
        let value = if index == 0 { receiver } else { args.get(index - 1) };
        value.map_or_else(|| js.undefined(), |value| carrier::write_shared(js, self, value))
    }

    /// `None` if the surface needs a request.
    fn read_result(&self, js: Js<'_>, asker: u64, carrier: JsValue<'_>) -> JsResult<Option<Outcome>> {
        if let Some(number) = js.number_of(carrier)? {
            return Ok(Some(Ok(Value::Number(number))));
        }
        if js.type_of(carrier)? != JsType::Object {
            return carrier::read(js, self, carrier).map(Some);
        }
        if js.read_number(js.element(carrier, 0)?)? as u32 == tag::AGAIN {
            return Ok(None);
        }
        let asker = borrow::guest(asker).map(|remote| Arc::downgrade(&remote) as Weak<dyn Owner>);
        self.read_answer(js, asker.as_ref(), carrier).map(Some)
    }
}

/// `answer(carrier)`: the result of the call that is being served. Returns the first argument of the next one if the surface can serve it
/// like this one; otherwise a function, which no argument is, and [`asked`] says what comes next.
pub fn answer<'a>(js: Js<'a>, local: &'static Local, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let head = local.context.asking.borrow().as_ref().map_or(0.0, |asking| asking.head);
    let ask = local.take_served().ok_or(Refused)?;
    let carrier = args.first().copied().map_or_else(|| js.undefined(), Ok);
    let outcome = carrier.and_then(|carrier| local.read_result(js, ask.asker, carrier));
    local.end_ask(ask, outcome.unwrap_or_else(|Refused| Some(Err(local.failure(js)))));
    if local.next_ask(js, head) { local.argument(js, 1) } else { js.dereference(&local.functions.serve_here) }
}

/// `asked()`: what must be served next, as `ASKED` in the surface's `protocol.js` describes it; negative if the loop ends here.
pub fn asked<'a>(js: Js<'a>, local: &'static Local, _args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let asking = local.context.asking.borrow();
    js.number(asking.as_ref().filter(|asking| asking.ask.is_some()).map_or(-1.0, |asking| asking.head))
}

/// `askedValue(index)`: see [`Local::argument`].
pub fn asked_value<'a>(js: Js<'a>, local: &'static Local, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [index, ..] = args else { return Err(Refused) };
    local.argument(js, js.read_number(*index)? as usize)
}

//! Calls by guests that run on this thread. A loop of the surface (`serve-here.js`) calls the host's functions. It gives each result to
//! [`answer`], which resumes the guest and returns what the guest asks next, so that the host is not entered for each call.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Weak};

use super::carrier;
use super::context::Asking;
use super::environment::Local;
use super::js::{Js, JsResult, JsType, JsValue, Refused};
use crate::isolate::borrow::{self, Asker};
use crate::ops::{Transfer, op};
use crate::protocol::{asked, tag};
use crate::value::{Ask, Fault, Outcome, Owner, Value};

/// Calls that the loop serves before the waiting thread looks at other things.
const MAX_ASKS: u32 = 32;

/// What describes a call to the surface.
fn head_of(ask: &Ask) -> f64 {
    let mut head = if ask.shows_stacks { op::SHOWS_STACKS } else { 0 };
    if ask.op == op::REF_APPLY {
        head |= (ask.bits & Transfer::ALL) | op::REFERENCE;
    }
    if ask.receiver.is_some() {
        head |= asked::RECEIVER;
    }
    // There are at most `Ask::MAX_ARGS`.
    head |= ask.args.len() as u32 * asked::COUNT;
    f64::from(ask.slot) * f64::from(asked::SLOT) + f64::from(head)
}

const _: () = assert!((Ask::MAX_ARGS as u32 + 1) * asked::COUNT <= asked::SLOT);
const _: () =
    assert!(Transfer::ALL < op::SHOWS_STACKS && op::SHOWS_STACKS < op::REFERENCE && op::REFERENCE < asked::RECEIVER);

impl Local {
    /// Answers a guest that waits on this thread, and a number of calls that it makes next.
    pub(super) fn serve_asks(&self, js: Js<'_>, asker: Asker, ask: Rc<Ask>) {
        let asking = Rc::new(Asking {
            asker,
            ask: RefCell::default(),
            head: Cell::new(0.0),
            left: Cell::new(MAX_ASKS),
            limits: self.context.limits.get(),
            request: self.context.request(),
        });
        let outer = self.context.asking.replace(Some(Rc::clone(&asking)));
        if self.begin_ask(js, &asking, ask) {
            let served = self.argument(js, &asking, 1).and_then(|first| {
                let serve = js.dereference(&self.functions.serve_here)?;
                js.call(serve, &[js.number(asking.head.get())?, first])
            });
            let outcome = served.err().map(|Refused| Err(self.failure(js)));
            // There is a call if the loop was left in the middle of it.
            if let Some(ask) = asking.ask.take() {
                self.end_ask(&asking, ask, outcome);
            }
        }
        self.context.asking.replace(outer);
    }

    /// False if the surface need not serve the call: it was answered here.
    #[inline(always)]
    fn begin_ask(&self, js: Js<'_>, asking: &Asking, ask: Rc<Ask>) -> bool {
        let answer = if ask.is_over() {
            // The guest was stopped before it waited.
            None
        } else if !self.has_room(js) {
            js.clear_exception();
            None
        } else {
            match self.disown(js) {
                Ok(()) => {
                    if ask.request != asking.request {
                        self.context.act_for(ask.request);
                    }
                    asking.head.set(head_of(&ask));
                    asking.ask.replace(Some(ask));
                    return true;
                }
                Err(Refused) => Some(Err(self.failure(js))),
            }
        };
        self.resume(&asking.asker, ask, answer);
        false
    }

    /// Answers `ask`, which was being served, and resumes its guest.
    #[inline(always)]
    fn end_ask(&self, asking: &Asking, ask: Rc<Ask>, outcome: Option<Outcome>) {
        if ask.request != asking.request {
            self.context.act_for(asking.request);
        }
        // Calls that were made meanwhile have set limits of their own.
        self.context.limits.set(asking.limits);
        if !self.context.retained.borrow().is_empty() {
            self.context.retained.take();
        }
        self.resume(&asking.asker, ask, outcome);
    }

    /// Answers `ask`, and resumes its guest, which uses it again.
    #[inline(always)]
    fn resume(&self, asker: &Asker, ask: Rc<Ask>, outcome: Option<Outcome>) {
        ask.answer(outcome);
        let isolate = ask.asker;
        drop(ask);
        // Otherwise the call that waits ends first: the guest must not ask again.
        if !self.context.interrupted.get() {
            asker.resume(isolate);
        }
    }

    /// What the guest that was resumed asks next, if the surface can serve it like the call before: returns its first argument.
    #[inline(always)]
    fn next_ask<'a>(&self, js: Js<'a>, asking: &Asking) -> Option<JsResult<JsValue<'a>>> {
        let left = asking.left.get();
        if left <= 1 || self.context.interrupted.get() {
            return None;
        }
        asking.left.set(left - 1);
        let ask = asking.asker.take_ask(self.shared.id)?;
        let head = asking.head.get();
        let is_alike = self.begin_ask(js, asking, ask) && asking.head.get() == head;
        is_alike.then(|| self.argument(js, asking, 1))
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
    fn argument<'a>(&self, js: Js<'a>, asking: &Asking, index: usize) -> JsResult<JsValue<'a>> {
        let ask = asking.ask.borrow();
        let value =
            ask.as_ref().and_then(|ask| if index == 0 { ask.receiver.as_ref() } else { ask.args.get(index - 1) });
        value.map_or_else(|| js.undefined(), |value| carrier::write_shared(js, self, value))
    }

    /// Answers the call that is being served. Returns what [`answer`] does.
    #[inline(always)]
    fn answer<'a>(&self, js: Js<'a>, read: impl FnOnce(&Ask) -> JsResult<Option<Outcome>>) -> JsResult<JsValue<'a>> {
        let asking = self.context.asking.borrow().clone().ok_or(Refused)?;
        let ask = asking.ask.take().ok_or(Refused)?;
        let outcome = read(&ask).unwrap_or_else(|Refused| Some(Err(self.failure(js))));
        self.end_ask(&asking, ask, outcome);
        self.next_ask(js, &asking).unwrap_or_else(|| js.dereference(&self.functions.serve_here))
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
    local.answer(js, |ask| {
        let carrier = args.first().copied().map_or_else(|| js.undefined(), Ok)?;
        local.read_result(js, ask.asker, carrier)
    })
}

/// `answerText(text)`: the same with a short string as the result.
pub fn answer_text<'a>(js: Js<'a>, local: &'static Local, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [text, ..] = args else { return Err(Refused) };
    local.answer(js, |ask| Ok(Some(Ok(Value::String(js.read_text_into(*text, ask.result_memory.take())?)))))
}

/// `asked()`: what must be served next, as `ASKED` in the surface's `protocol.js` describes it; negative if the loop ends here.
pub fn asked<'a>(js: Js<'a>, local: &'static Local, _args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let asking = local.context.asking.borrow().clone();
    js.number(asking.filter(|asking| asking.ask.borrow().is_some()).map_or(-1.0, |asking| asking.head.get()))
}

/// `askedValue(index)`: see [`Local::argument`].
pub fn asked_value<'a>(js: Js<'a>, local: &'static Local, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [index, ..] = args else { return Err(Refused) };
    let asking = local.context.asking.borrow().clone().ok_or(Refused)?;
    local.argument(js, &asking, js.read_number(*index)? as usize)
}

//! Calls by guests that run on this thread. A loop of the surface (`serve-direct-calls.js`) calls the host's functions. It gives each result to
//! [`answer`], which resumes the guest and returns what the guest asks next, so that the host is not entered for each call.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Weak};

use super::carrier;
use super::context::DirectServing;
use super::environment::Environment;
use super::js::{Js, JsResult, JsType, JsValue, Refused};
use crate::isolate::caller_thread::{self, DirectCaller};
use crate::ops::{Transfer, op};
use crate::protocol::{direct_call, tag};
use crate::value::{Answer, Argument, DirectCall, Fault, Owner, Payload, Value};

/// Calls that the loop serves before the waiting thread looks at other things.
const MAX_IN_A_ROW: u32 = 32;

/// What describes a call to the surface.
fn head_of(direct: &DirectCall) -> f64 {
    let mut head = if direct.shows_stacks { op::SHOWS_STACKS } else { 0 };
    if direct.op == op::REF_APPLY {
        head |= (direct.bits & Transfer::ALL) | op::REFERENCE;
    }
    if direct.receiver.is_some() {
        head |= direct_call::RECEIVER;
    }
    // There are at most `DirectCall::MAX_ARGS`.
    head |= direct.args.len() as u32 * direct_call::COUNT;
    f64::from(direct.slot) * f64::from(direct_call::SLOT) + f64::from(head)
}

const _: () = assert!((DirectCall::MAX_ARGS as u32 + 1) * direct_call::COUNT <= direct_call::SLOT);
const _: () = assert!(
    Transfer::ALL < op::SHOWS_STACKS && op::SHOWS_STACKS < op::REFERENCE && op::REFERENCE < direct_call::RECEIVER
);

impl Environment {
    /// Answers a guest that waits on this thread, and a number of calls that it makes next.
    pub(super) fn serve_direct_calls(&self, js: Js<'_>, requester: DirectCaller, direct: Rc<DirectCall>) {
        let serving_now = Rc::new(DirectServing {
            requester,
            direct: RefCell::default(),
            head: Cell::new(0.0),
            left: Cell::new(MAX_IN_A_ROW),
            limits: self.context.limits.get(),
            request: self.context.request(),
        });
        let outer = self.context.direct_serving.replace(Some(Rc::clone(&serving_now)));
        if self.begin_direct_call(js, &serving_now, direct) {
            let served = self.argument(js, &serving_now, 1).and_then(|first| {
                let serve = js.dereference(&self.functions.serve_direct_calls)?;
                js.call(serve, &[js.number(serving_now.head.get())?, first])
            });
            let answered = match served {
                Ok(_) => Ok(Answer::Refused),
                Err(Refused) => Err(self.failure(js)),
            };
            // There is a call if the loop was left in the middle of it.
            if let Some(direct) = serving_now.direct.take() {
                self.end_direct_call(&serving_now, direct, answered);
            }
        }
        self.context.direct_serving.replace(outer);
    }

    /// False if the surface need not serve the call: it was answered here.
    #[inline(always)]
    fn begin_direct_call(&self, js: Js<'_>, serving_now: &DirectServing, direct: Rc<DirectCall>) -> bool {
        let is_of_other = direct.request != serving_now.request;
        let answer = if direct.is_over() || (is_of_other && direct.request != 0) {
            // The guest was stopped before it waited, or acts on behalf of another asynchronous call, whose stores only requests get.
            Ok(Answer::Refused)
        } else if self.context.interrupted.get() {
            Err(Fault::environment_gone())
        } else if !self.has_room(js) {
            // A request needs less room.
            if self.clear_exception(js) { Ok(Answer::Refused) } else { Err(Fault::environment_gone()) }
        } else {
            match self.disown(js) {
                Ok(()) => {
                    if is_of_other {
                        self.context.act_for(direct.request);
                    }
                    serving_now.head.set(head_of(&direct));
                    serving_now.direct.replace(Some(direct));
                    return true;
                }
                Err(Refused) => Err(self.failure(js)),
            }
        };
        self.resume(&serving_now.requester, direct, answer);
        false
    }

    /// Answers `direct`, which was being served, and resumes its guest.
    #[inline(always)]
    fn end_direct_call(&self, serving_now: &DirectServing, direct: Rc<DirectCall>, answered: Result<Answer, Fault>) {
        if direct.request != serving_now.request {
            self.context.act_for(serving_now.request);
        }
        // Calls that were made meanwhile have set limits of their own.
        self.context.limits.set(serving_now.limits);
        if !self.context.retained.borrow().is_empty() {
            self.context.retained.take();
        }
        self.resume(&serving_now.requester, direct, answered);
    }

    /// Answers `direct`, and resumes its guest, which uses it again.
    #[inline(always)]
    fn resume(&self, requester: &DirectCaller, direct: Rc<DirectCall>, answered: Result<Answer, Fault>) {
        direct.answer(answered);
        let isolate = direct.requester;
        drop(direct);
        // Otherwise the call that waits ends first: the guest must not ask again.
        if !self.context.interrupted.get() {
            requester.resume(isolate);
        }
    }

    /// What the guest that was resumed asks next, if the surface can serve it like the call before: returns its first argument.
    #[inline(always)]
    fn next_direct_call<'a>(&self, js: Js<'a>, serving_now: &DirectServing) -> Option<JsResult<JsValue<'a>>> {
        let left = serving_now.left.get();
        if left <= 1 || self.context.interrupted.get() {
            return None;
        }
        serving_now.left.set(left - 1);
        let direct = serving_now.requester.take_direct_call(self.handle.id)?;
        let head = serving_now.head.get();
        let is_alike = self.begin_direct_call(js, serving_now, direct) && serving_now.head.get() == head;
        is_alike.then(|| self.argument(js, serving_now, 1))
    }

    /// The receiver (0) or an argument (from 1) of the call that is being served; `undefined` if there is none.
    fn argument<'a>(&self, js: Js<'a>, serving_now: &DirectServing, index: usize) -> JsResult<JsValue<'a>> {
        let direct = serving_now.direct.borrow();
        let Some(direct) = &*direct else { return js.undefined() };
        let value = if index == 0 {
            direct.receiver.as_ref()
        } else {
            match direct.args.get(index - 1) {
                Some(Argument::Number(number)) => return js.number(*number),
                Some(Argument::OneByte(range)) => {
                    return js.one_byte(direct.memory.bytes.get(range.clone()).unwrap_or_default());
                }
                Some(Argument::TwoByte(range)) => {
                    return js.two_byte(direct.memory.units.get(range.clone()).unwrap_or_default());
                }
                Some(Argument::Small(range)) => {
                    return self.small(js, direct.memory.bytes.get(range.clone()).unwrap_or_default());
                }
                Some(Argument::Value(place)) => direct.memory.values.get(*place),
                None => None,
            }
        };
        match value {
            None => js.undefined(),
            Some(Value::Payload(payload)) => self.small(js, &payload.bytes),
            Some(value) => carrier::write_shared(js, self, value),
        }
    }

    /// The carrier of a value without a table.
    fn small<'a>(&self, js: Js<'a>, bytes: &[u8]) -> JsResult<JsValue<'a>> {
        match self.arena.outcome(js, bytes)? {
            Some(carrier) => Ok(carrier),
            None => {
                carrier::write_or_refuse(js, self, Ok(Value::Payload(Box::new(Payload::without_table(bytes.to_vec())))))
            }
        }
    }

    /// Answers the call that is being served. Returns what [`answer`] does.
    #[inline(always)]
    fn answer<'a>(
        &self,
        js: Js<'a>,
        read: impl FnOnce(&DirectCall) -> JsResult<Result<Answer, Fault>>,
    ) -> JsResult<JsValue<'a>> {
        let serving_now = self.context.direct_serving.borrow().clone().ok_or(Refused)?;
        let direct = serving_now.direct.take().ok_or(Refused)?;
        let answered = read(&direct).unwrap_or_else(|Refused| Err(self.failure(js)));
        self.end_direct_call(&serving_now, direct, answered);
        self.next_direct_call(js, &serving_now).unwrap_or_else(|| js.dereference(&self.functions.serve_direct_calls))
    }

    fn read_result(&self, js: Js<'_>, requester: u64, carrier: JsValue<'_>) -> JsResult<Result<Answer, Fault>> {
        if let Some(number) = js.number_of(carrier)? {
            return Ok(Ok(Answer::Number(number)));
        }
        if js.type_of(carrier)? != JsType::Object {
            return Ok(carrier::read(js, self, carrier)?.map(Answer::Value));
        }
        if js.read_number(js.element(carrier, 0)?)? as u32 == tag::AGAIN {
            // The surface needs a request.
            return Ok(Ok(Answer::Refused));
        }
        let requester = caller_thread::guest(requester).map(|remote| Arc::downgrade(&remote) as Weak<dyn Owner>);
        Ok(self.read_answer(js, requester.as_ref(), carrier)?.map(Answer::Value))
    }
}

/// `answer(carrier)`: the result of the call that is being served. Returns the first argument of the next one if the surface can serve it
/// like this one; otherwise a function, which no argument is, and [`direct_call`] says what comes next.
pub fn answer<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    environment.answer(js, |direct| {
        let carrier = args.first().copied().map_or_else(|| js.undefined(), Ok)?;
        environment.read_result(js, direct.requester, carrier)
    })
}

/// `answerText(text)`: the same with a short string as the result.
pub fn answer_text<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [text, ..] = args else { return Err(Refused) };
    environment.answer(js, |direct| {
        if direct.write_result(|memory| js.read_short_text(*text, memory))? {
            return Ok(Ok(Answer::Text));
        }
        Ok(Ok(Answer::Value(Value::String(js.read_text(*text)?))))
    })
}

/// `answerBytes(bytes)`: the same with a serialized value that has no table.
pub fn answer_bytes<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [bytes, ..] = args else { return Err(Refused) };
    environment.answer(js, |_| {
        let payload = Payload::without_table(js.take_bytes(*bytes)?);
        Ok(Ok(Answer::Value(Value::Payload(Box::new(payload)))))
    })
}

/// `answerSmall(length)`: the same with a serialized value of that length at the place for small ones.
pub fn answer_small<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [length, ..] = args else { return Err(Refused) };
    environment.answer(js, |direct| {
        let length = js.read_number(*length)? as usize;
        direct.write_result(|memory| environment.arena.take_small(js, length, memory))?;
        Ok(Ok(Answer::Small))
    })
}

/// `directCall()`: what must be served next, as `DIRECT_CALL` in the surface's `protocol.js` describes it; negative if the loop ends here.
pub fn direct_call<'a>(js: Js<'a>, environment: &'static Environment, _args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let serving_now = environment.context.direct_serving.borrow().clone();
    js.number(
        serving_now
            .filter(|serving_now| serving_now.direct.borrow().is_some())
            .map_or(-1.0, |serving_now| serving_now.head.get()),
    )
}

/// `directCallValue(index)`: see [`Environment::argument`].
pub fn direct_call_value<'a>(
    js: Js<'a>,
    environment: &'static Environment,
    args: &[JsValue<'a>],
) -> JsResult<JsValue<'a>> {
    let [index, ..] = args else { return Err(Refused) };
    let serving_now = environment.context.direct_serving.borrow().clone().ok_or(Refused)?;
    environment.argument(js, &serving_now, js.read_number(*index)? as usize)
}

//! Passes answers of the surface to their receivers (`answers.rs`): replies to requests of guests, and outcomes of promises.

use std::sync::{Arc, Weak};

use super::answers::PendingRequest;
use super::carrier;
use super::environment::Environment;
use super::interruption::fault_of;
use super::js::{Js, JsResult, JsValue, Refused};
use crate::isolate::Remote;
use crate::value::{Fault, Outcome, Owner};

impl Environment {
    /// Reads the carrier of a value that `requester` has requested.
    pub fn read_answer(
        &self,
        js: Js<'_>,
        requester: Option<&Weak<dyn Owner>>,
        carrier: JsValue<'_>,
    ) -> JsResult<Outcome> {
        let requester = requester.and_then(Weak::upgrade).and_then(|owner| Remote::from_owner(&owner));
        let before = self.context.requester.replace(requester);
        let outcome = carrier::read(js, self, carrier);
        self.context.requester.replace(before);
        outcome
    }

    /// The isolate or child process that receives the surface's reply to this number, if it still exists. A promise that the host sends
    /// without a request has a recipient, but no requester.
    fn recipient_of(&self, request: i64) -> Option<Arc<dyn Owner>> {
        let PendingRequest { completion, requester } = self.answers.get(request)?;
        requester.and_then(|requester| requester.upgrade()).or_else(|| completion.recipient())
    }

    /// Whether anything still waits for the surface's reply to this number.
    fn is_awaited(&self, request: i64) -> bool {
        let Some(PendingRequest { completion, .. }) = self.answers.get(request) else { return false };
        let remote = self.recipient_of(request).and_then(|owner| Remote::from_owner(&owner));
        !completion.is_complete() && !remote.is_some_and(|remote| remote.is_disposed())
    }

    /// Answers the requests whose JavaScript the host has stopped.
    pub fn reply_to_interrupted(&self, js: Js<'_>) {
        for (request, fault) in self.context.interrupted_requests.take() {
            self.reply(js, request, Err(fault));
        }
    }

    /// The surface answers a request, or settles a promise.
    pub fn reply(&self, js: Js<'_>, request: i64, outcome: Outcome) {
        let Some(PendingRequest { completion, .. }) = self.answers.take(request) else { return };
        let recipient = completion.recipient();
        completion.complete(outcome);
        if let Some(remote) = recipient.as_ref().and_then(Remote::from_owner) {
            self.add_follow_up(&Arc::downgrade(&remote));
        } else if self.context.chain.borrow().is_some() {
            // A sync call waits on this thread. `returned` looks at what it has left, before the event loop runs again.
            return;
        }
        self.update_hold(js);
    }
}

/// `reply(request, carrier)`: the answer to a request, or the outcome of a promise of the surface.
pub fn reply<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, carrier, ..] = args else {
        return Err(Refused);
    };
    let request = js.read_number(*request)? as i64;
    let requester = environment.answers.get(request).and_then(|pending| pending.requester);
    let outcome = environment.read_answer(js, requester.as_ref(), *carrier)?;
    environment.reply(js, request, outcome);
    js.undefined()
}

/// `fail(request, error)`: replies why a request could not be served.
pub fn fail<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, error, ..] = args else {
        return Err(Refused);
    };
    environment.reply(js, js.read_number(*request)? as i64, Err(fault_of(js, *error)));
    js.undefined()
}

/// `recipient(request)`: the number of the isolate or child process that receives the reply; 0 if it is unknown.
pub fn recipient<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, ..] = args else {
        return Err(Refused);
    };
    let recipient = environment.recipient_of(js.read_number(*request)? as i64);
    js.number(recipient.map_or(0, |recipient| recipient.id()) as f64)
}

/// `refuse(request)`: the reply is an error, since too many others wait.
pub fn refuse<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, ..] = args else {
        return Err(Refused);
    };
    environment.reply(js, js.read_number(*request)? as i64, Err(Fault::too_many_calls()));
    js.undefined()
}

/// `maxAnswers(request)`: the bytes that answers may take which the receiver of the reply has not read; 0 if it is unknown.
pub fn max_answers<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, ..] = args else {
        return Err(Refused);
    };
    let recipient = environment.recipient_of(js.read_number(*request)? as i64);
    js.number(recipient.map_or(0, |recipient| recipient.max_answers()) as f64)
}

/// `isAwaited(request)`: whether anything still waits for the reply.
pub fn is_awaited<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, ..] = args else {
        return Err(Refused);
    };
    let is_awaited = environment.is_awaited(js.read_number(*request)? as i64);
    js.boolean(is_awaited)
}

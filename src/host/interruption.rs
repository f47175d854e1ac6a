//! Interruptions of the host's JavaScript: a time limit of `node:vm`, or the termination of the worker.

use super::environment::Environment;
use super::js::{Js, JsValue};
use crate::value::Fault;

impl Environment {
    /// Clears the exception of JavaScript that could not run to its end. False if there is none, because a time limit of `node:vm` has expired or the
    /// worker is being terminated. That is noted: the host has forgotten the limit now, so JavaScript that waits for this, and guests, may treat it as
    /// an ordinary error and call again, endlessly.
    pub(super) fn clear_exception(&self, js: Js<'_>) -> bool {
        self.take_exception(js).is_some()
    }

    /// As [`Environment::clear_exception`], and returns the exception.
    fn take_exception<'a>(&self, js: Js<'a>) -> Option<JsValue<'a>> {
        let thrown = js.take_exception();
        if thrown.is_none() {
            self.context.interrupted.set(true);
            // What was returned to the JavaScript that has ended may contain promises. Code of the host that called guests continues, and calls others.
            let notify = |js: Js<'_>, environment: &Self| {
                js.call(js.dereference(&environment.functions.interrupted)?, &[]).map(drop)
            };
            if !matches!(js.scoped(self, notify), Ok(Ok(()))) {
                js.clear_exception();
            }
        }
        thrown
    }

    /// Notes if JavaScript cannot run here any more. A thread that waits in native code is not notified when its worker is terminated; only an
    /// attempt to run JavaScript shows it.
    pub fn note_interruption(&self, js: Js<'_>) {
        // Request 0 settles nothing.
        let ping = |js: Js<'_>, environment: &Self| {
            let zero = js.number(0.0)?;
            js.call(js.dereference(&environment.functions.settle)?, &[zero, js.undefined()?]).map(drop)
        };
        // Deep in a recursion even this may throw; an environment that throws is alive.
        if !matches!(js.scoped(self, ping), Ok(Ok(()))) {
            self.clear_exception(js);
        }
    }

    /// Why the surface could not answer.
    pub(super) fn failure(&self, js: Js<'_>) -> Fault {
        // The surface throws no exception, unless the stack is exhausted.
        if self.clear_exception(js) {
            return Fault::range_error("Maximum call stack size exceeded");
        }
        Fault::environment_gone()
    }
}

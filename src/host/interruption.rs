//! Interruptions of the host's JavaScript: a time limit of `node:vm`, or the termination of the worker.

use super::environment::Environment;
use super::js::Js;
use crate::value::Fault;

impl Environment {
    /// Clears the exception of JavaScript that could not run to its end. False if there is none, because a time limit of `node:vm` has expired or the
    /// worker is being terminated. That is noted: the host has forgotten the limit now, so JavaScript that waits for this, and guests, may treat it as
    /// an ordinary error and call again, endlessly.
    pub(super) fn clear_exception(&self, js: Js<'_>) -> bool {
        let is_thrown = js.clear_exception();
        if !is_thrown {
            self.context.interrupted.set(true);
        }
        is_thrown
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

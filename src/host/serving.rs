//! Serves guests while a sync call waits: their requests, and their direct calls.

use super::environment::{Environment, Next};
use super::event::Origin;
use super::js::Js;

impl Environment {
    /// Serves a guest while a sync call waits. The host's handles that this needs are released at its end.
    pub(super) fn serve_now(&self, js: Js<'_>, next: Next) {
        self.next.set(Some(next));
        let _ = match self.serve_next.get() {
            None => js.scoped(self, |js, environment| environment.serve_next(js)),
            Some(function) => js.dereference(function).and_then(|function| js.call(function, &[])).map(drop),
        };
        if let Some(next) = self.next.take() {
            // The stack was exhausted. Otherwise the host has been interrupted, and runs no function for this.
            self.clear_exception(js);
            self.next.set(Some(next));
            self.serve_next(js);
        }
    }

    /// Serves what [`Environment::serve_now`] has stored.
    pub(super) fn serve_next(&self, js: Js<'_>) {
        match self.next.take() {
            Some(Next::Request(request)) => self.serve(js, request, Origin::default()),
            Some(Next::Direct(requester, direct)) => self.serve_direct_calls(js, requester, direct),
            None => {}
        }
    }
}

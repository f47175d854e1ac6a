//! The receivers of answers that the surface has yet to give: to requests of guests, and for promises that it has sent.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use slab::Slab;

use crate::value::{Completion, Owner};

/// The receiver of an answer that was requested from the surface, or that the surface has promised.
#[derive(Clone)]
pub struct PendingRequest {
    pub completion: Arc<dyn Completion>,
    /// The isolate or the child process that has requested it.
    pub requester: Option<Weak<dyn Owner>>,
}

#[derive(Default)]
pub struct Answers {
    /// Those that were requested, by number minus one.
    requested: RefCell<Slab<PendingRequest>>,
    /// Those that the surface has promised, by its numbers for them, which are negative.
    promised: RefCell<HashMap<i64, PendingRequest>>,
    last_promise: Cell<i64>,
}

impl Answers {
    /// An answer is requested. Returns its number.
    pub fn request(&self, pending: PendingRequest) -> i64 {
        // A slab's key fits into an `i64`.
        self.requested.borrow_mut().insert(pending) as i64 + 1
    }

    /// The surface promises an answer, under this number.
    pub fn promise(&self, number: i64, pending: PendingRequest) {
        self.promised.borrow_mut().insert(number, pending);
    }

    /// The number for a promise of which the surface will get the outcome.
    pub fn next_promise(&self) -> i64 {
        let number = self.last_promise.get() - 1;
        self.last_promise.set(number);
        number
    }

    /// The receiver of the answer with this number.
    pub fn get(&self, number: i64) -> Option<PendingRequest> {
        match usize::try_from(number - 1) {
            Ok(index) => self.requested.borrow().get(index).cloned(),
            Err(_) => self.promised.borrow().get(&number).cloned(),
        }
    }

    /// The same, for the answer itself: it can be taken once.
    pub fn take(&self, number: i64) -> Option<PendingRequest> {
        match usize::try_from(number - 1) {
            Ok(index) => self.requested.borrow_mut().try_remove(index),
            Err(_) => self.promised.borrow_mut().remove(&number),
        }
    }

    pub fn take_all(&self) -> Vec<PendingRequest> {
        let requested = self.requested.take().into_iter().map(|(_, pending)| pending);
        requested.chain(self.promised.take().into_values()).collect()
    }
}

//! Calls of the surface that may be aborted while they are pending, by the number that settles them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use crate::isolate::Remote;
use crate::protocol::ABORTABLE;
use crate::value::{Completion, Fault, Settlement};

#[derive(Default)]
pub struct Abortable {
    calls: RefCell<HashMap<i64, Underway>>,
    /// Promises that the surface waits for.
    promises: RefCell<HashMap<i64, Weak<Settlement>>>,
    /// Calls and promises that were aborted and have not settled.
    aborted: RefCell<HashSet<i64>>,
}

struct Underway {
    completion: Weak<dyn Completion>,
    remote: Weak<Remote>,
}

/// Whether this is the number of a call, not of a promise, and the call may be aborted.
fn is_abortable(request: i64) -> bool {
    request > 0 && request & i64::from(ABORTABLE) != 0
}

impl Abortable {
    /// A call begins. Its number determines whether it can be aborted.
    pub fn begin(&self, request: i64, completion: &Arc<dyn Completion>, remote: &Weak<Remote>) {
        if is_abortable(request) {
            let call = Underway { completion: Arc::downgrade(completion), remote: remote.clone() };
            self.calls.borrow_mut().insert(request, call);
        }
    }

    pub fn promise(&self, request: i64, settlement: &Arc<Settlement>) {
        self.promises.borrow_mut().insert(request, Arc::downgrade(settlement));
    }

    /// A call or promise has settled. False if it was aborted.
    pub fn end(&self, request: i64) -> bool {
        if request < 0 {
            self.promises.borrow_mut().remove(&request);
        } else if is_abortable(request) {
            self.calls.borrow_mut().remove(&request);
        } else {
            return true;
        }
        !self.aborted.borrow_mut().remove(&request)
    }

    /// Whether a call was aborted whose end has not arrived.
    pub fn is_aborted(&self, request: i64) -> bool {
        self.aborted.borrow().contains(&request)
    }

    pub fn abort(&self, request: i64) {
        let call = self.calls.borrow_mut().remove(&request);
        let promise = self.promises.borrow_mut().remove(&request);
        if call.is_some() || promise.is_some() {
            self.aborted.borrow_mut().insert(request);
        }
        if let Some(settlement) = promise.as_ref().and_then(Weak::upgrade) {
            settlement.complete(Err(Fault::aborted()));
        }
        let Some(Underway { completion, remote }) = call else { return };
        let Some(completion) = completion.upgrade() else { return };
        match remote.upgrade() {
            Some(remote) => remote.abort(&completion),
            None => completion.complete(Err(Fault::aborted())),
        }
    }
}

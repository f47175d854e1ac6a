//! Calls of the surface that may be aborted while they are pending, by the number that settles them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use crate::isolate::Remote;
use crate::value::{Completion, Fault, Settlement};

#[derive(Default)]
pub struct Abortable {
    calls: RefCell<HashMap<i64, Option<Underway>>>,
    /// Promises that settle by some time, and keep the event loop alive until then.
    promises: RefCell<HashMap<i64, Weak<Settlement>>>,
    /// Calls and promises that were aborted and have not settled.
    aborted: RefCell<HashSet<i64>>,
}

struct Underway {
    completion: Weak<dyn Completion>,
    remote: Weak<Remote>,
}

impl Abortable {
    /// Makes the call that begins next under this number abortable.
    pub fn announce(&self, request: i64) {
        self.calls.borrow_mut().insert(request, None);
    }

    pub fn begin(&self, request: i64, completion: &Arc<dyn Completion>, remote: &Weak<Remote>) {
        if let Some(call) = self.calls.borrow_mut().get_mut(&request) {
            *call = Some(Underway { completion: Arc::downgrade(completion), remote: remote.clone() });
        }
    }

    pub fn promise(&self, request: i64, settlement: &Arc<Settlement>) {
        self.promises.borrow_mut().insert(request, Arc::downgrade(settlement));
    }

    /// A call or promise has settled. False if it was aborted.
    pub fn end(&self, request: i64) -> bool {
        if request < 0 {
            self.promises.borrow_mut().remove(&request);
        } else {
            self.calls.borrow_mut().remove(&request);
        }
        !self.aborted.borrow_mut().remove(&request)
    }

    pub fn abort(&self, request: i64) {
        let call = self.calls.borrow_mut().remove(&request).flatten();
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

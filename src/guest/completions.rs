//! Completions that do something else as well when a call is answered.

use std::sync::{Arc, Mutex, Weak};

use crate::isolate::Remote;
use crate::native::lock;
use crate::value::{Charge, Completion, Outcome, Owner, Value};

/// An answer that holds a charge until it is given.
pub struct Holding {
    completion: Arc<dyn Completion>,
    charge: Mutex<Charge>,
}

impl Holding {
    pub fn new(charge: Charge, completion: Arc<dyn Completion>) -> Arc<Self> {
        Arc::new(Self { completion, charge: Mutex::new(charge) })
    }
}

impl Completion for Holding {
    fn complete(&self, outcome: Outcome) {
        let charge = std::mem::take(&mut *lock(&self.charge));
        match &outcome {
            Ok(Value::Promise(settlement)) => settlement.charge(charge),
            _ => drop(charge),
        }
        self.completion.complete(outcome);
    }

    fn is_complete(&self) -> bool {
        self.completion.is_complete()
    }

    fn is_wanted(&self) -> bool {
        self.completion.is_wanted()
    }

    fn recipient(&self) -> Option<Arc<dyn Owner>> {
        self.completion.recipient()
    }
}

/// Keeps the host's event loop alive until the answer is given, or until `remote`, which waits for it, is gone.
pub struct KeepingAlive {
    completion: Arc<dyn Completion>,
    remote: Weak<Remote>,
    keep_alive: Mutex<Option<usize>>,
}

impl KeepingAlive {
    pub fn new(remote: &Arc<Remote>, completion: Arc<dyn Completion>) -> Arc<Self> {
        Arc::new(Self { completion, remote: Arc::downgrade(remote), keep_alive: Mutex::new(remote.begin_keep_alive()) })
    }

    fn end(&self) {
        let keep_alive = lock(&self.keep_alive).take();
        if let (Some(id), Some(remote)) = (keep_alive, self.remote.upgrade()) {
            remote.keep_alives.end(id);
        }
    }
}

impl Drop for KeepingAlive {
    fn drop(&mut self) {
        self.end();
    }
}

impl Completion for KeepingAlive {
    fn complete(&self, outcome: Outcome) {
        self.completion.complete(outcome);
        self.end();
    }

    fn is_complete(&self) -> bool {
        self.completion.is_complete()
    }

    fn is_wanted(&self) -> bool {
        self.completion.is_wanted()
    }

    fn recipient(&self) -> Option<Arc<dyn Owner>> {
        self.completion.recipient()
    }
}

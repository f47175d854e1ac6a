//! Completions that do something else as well when a call is answered.

use std::sync::{Arc, Mutex, Weak};

use crate::isolate::Remote;
use crate::native::lock;
use crate::value::{Charge, Completion, Outcome, Value, Wrapper};

/// An answer that holds a charge until it is given.
pub struct ChargedCompletion {
    completion: Arc<dyn Completion>,
    charge: Mutex<Charge>,
}

impl ChargedCompletion {
    pub fn new(charge: Charge, completion: Arc<dyn Completion>) -> Arc<Self> {
        Arc::new(Self { completion, charge: Mutex::new(charge) })
    }
}

impl Wrapper for ChargedCompletion {
    fn inner(&self) -> &dyn Completion {
        &*self.completion
    }

    fn forward(&self, outcome: Outcome) {
        let charge = std::mem::take(&mut *lock(&self.charge));
        match &outcome {
            Ok(Value::Promise(settlement)) => settlement.charge(charge),
            _ => drop(charge),
        }
        self.completion.complete(outcome);
    }
}

/// Keeps the host's event loop alive until the answer is given, or until `remote`, which waits for it, is gone.
pub struct KeepAliveCompletion {
    completion: Arc<dyn Completion>,
    remote: Weak<Remote>,
    keep_alive: Mutex<Option<usize>>,
}

impl KeepAliveCompletion {
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

impl Drop for KeepAliveCompletion {
    fn drop(&mut self) {
        self.end();
    }
}

impl Wrapper for KeepAliveCompletion {
    fn inner(&self) -> &dyn Completion {
        &*self.completion
    }

    fn forward(&self, outcome: Outcome) {
        self.completion.complete(outcome);
        self.end();
    }
}

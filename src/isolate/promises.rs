//! Callers that wait for promises of a guest.

use std::sync::{Arc, Mutex};

use slab::Slab;

use crate::native::lock;
use crate::value::{Completion, Fault, NoCompletion};

struct Awaited {
    completion: Arc<dyn Completion>,
    transfer: u32,
    /// The host's number for the async call that waits; 0 for none.
    request: i64,
}

#[derive(Default)]
pub struct Promises(Mutex<Slab<Awaited>>);

impl Promises {
    /// Keeps `completion` until the promise that it waits for has settled. If that never happens, it is abandoned with the isolate.
    /// `transfer`: how the value is transferred. `request`: the host's number for the async call that waits, or 0.
    pub fn insert(&self, completion: Arc<dyn Completion>, transfer: u32, request: i64) -> usize {
        lock(&self.0).insert(Awaited { completion, transfer, request })
    }

    /// Takes what [`Promises::insert`] has kept.
    pub fn take(&self, id: usize) -> Option<(Arc<dyn Completion>, u32)> {
        let awaited = lock(&self.0).try_remove(id)?;
        Some((awaited.completion, awaited.transfer))
    }

    /// Whether a caller still waits for one of them.
    pub(super) fn are_awaited(&self) -> bool {
        lock(&self.0)
            .iter()
            .any(|(_, Awaited { completion, .. })| !completion.is_complete() && !completion.is_discarded())
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Code that ran for `request` after an `await` was terminated, so the promise that the call waits for may never settle: the call fails.
    pub(super) fn fail(&self, request: i64, fault: &Fault) {
        let mut failed: Vec<Arc<dyn Completion>> = Vec::new();
        let mut awaited = lock(&self.0);
        for (_, awaited) in awaited.iter_mut().filter(|(_, awaited)| awaited.request == request) {
            // The entry remains: the promise's reactions still have its number.
            failed.push(std::mem::replace(&mut awaited.completion, Arc::new(NoCompletion)));
        }
        drop(awaited);
        for completion in failed {
            completion.complete(Err(fault.clone()));
        }
    }

    /// The isolate ends: no promise settles any more.
    pub(super) fn abandon(&self) {
        let awaited = std::mem::take(&mut *lock(&self.0));
        for (_, awaited) in awaited {
            awaited.completion.complete(Err(Fault::promise_abandoned()));
        }
    }
}

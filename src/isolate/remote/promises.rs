//! Callers that wait for promises of a guest.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use slab::Slab;

use super::reason::Stop;
use crate::isolate::job::Deadline;
use crate::native::lock;
use crate::value::{Completion, Fault, NoCompletion};

struct Awaited {
    completion: Arc<dyn Completion>,
    transfer: u32,
    /// The host's number for the async call that waits; 0 for none.
    request: i64,
    deadline: Option<Deadline>,
}

impl Awaited {
    /// Why the promise never settles, in an isolate that ends for this reason. Once the deadline has passed, timers of the call no longer fire,
    /// which may end the isolate before the deadline's own alarm fires.
    fn abandonment(&self, reason: Stop) -> Fault {
        match self.deadline {
            Some(Deadline { limit, time }) if time <= Instant::now() => Fault::deadline(limit),
            // What the guest did after an `await` is part of no running call that could report it.
            _ if matches!(reason, Stop::Memory | Stop::Lost) => reason.fault(),
            _ => Fault::promise_abandoned(),
        }
    }
}

#[derive(Default)]
pub struct Promises(Mutex<Slab<Awaited>>);

impl Promises {
    /// Keeps `completion` until the promise that it waits for has settled. If that never happens, it is abandoned with the isolate.
    /// `transfer`: how the value is transferred. `request`: the host's number for the async call that waits, or 0. `deadline`: that of the call.
    pub fn insert(
        &self,
        completion: Arc<dyn Completion>,
        transfer: u32,
        request: i64,
        deadline: Option<Deadline>,
    ) -> usize {
        lock(&self.0).insert(Awaited { completion, transfer, request, deadline })
    }

    /// Takes what [`Promises::insert`] has kept.
    pub fn take(&self, id: usize) -> Option<(Arc<dyn Completion>, u32)> {
        let awaited = lock(&self.0).try_remove(id)?;
        Some((awaited.completion, awaited.transfer))
    }

    /// Whether a caller still waits for one of them.
    pub(in crate::isolate) fn are_awaited(&self) -> bool {
        lock(&self.0)
            .iter()
            .any(|(_, Awaited { completion, .. })| !completion.is_complete() && !completion.is_discarded())
    }

    pub(in crate::isolate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Code that ran for `request` after an `await` was terminated, so the promise that the call waits for may never settle: the call fails.
    pub(in crate::isolate) fn fail(&self, request: i64, fault: &Fault) {
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

    /// The isolate ends for this reason: no promise settles any more.
    pub(in crate::isolate) fn abandon(&self, reason: Stop) {
        let awaited = std::mem::take(&mut *lock(&self.0));
        for (_, awaited) in awaited {
            let fault = awaited.abandonment(reason);
            awaited.completion.complete(Err(fault));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[derive(Default)]
    struct Recorded(Mutex<Option<String>>);

    impl Completion for Recorded {
        fn complete(&self, outcome: crate::value::Outcome) {
            *lock(&self.0) = outcome.err().map(|fault| fault.message());
        }
    }

    #[test]
    fn abandoned_promises_fail_with_the_limit_that_was_exceeded() {
        const ABANDONED: &str = "Promise was abandoned";
        const LATE: &str = "Execution exceeded its deadline of 0 ms";
        let (memory, lost) = (Stop::Memory.fault().message(), Stop::Lost.fault().message());
        let cases = [
            (None, Stop::Disposed, ABANDONED),
            (Some(Duration::from_secs(3600)), Stop::Environment, ABANDONED),
            (Some(Duration::ZERO), Stop::Disposed, LATE),
            (None, Stop::Memory, memory.as_str()),
            (Some(Duration::from_secs(3600)), Stop::Lost, lost.as_str()),
            (Some(Duration::ZERO), Stop::Memory, LATE),
        ];
        for (limit, reason, expected) in cases {
            let promises = Promises::default();
            let recorded = Arc::new(Recorded::default());
            promises.insert(Arc::<Recorded>::clone(&recorded), 0, 0, limit.map(Deadline::after));
            promises.abandon(reason);
            assert_eq!(lock(&recorded.0).as_deref(), Some(expected));
        }
    }
}

//! Events that will continue a guest without its host: timers, V8's delayed tasks and its compilations. While a caller awaits a promise of the
//! guest, these keep the host's event loop and the isolate alive, even if the host holds no handle to the isolate. A compilation always does:
//! its time is bounded, and it may end in a call of the host.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use crate::isolate::remote::Remote;
use crate::value::{Completion, Outcome, Owner};

/// An event that is pending until this is dropped. Must not be dropped under a lock that the end of an isolate takes.
pub struct PendingEvent(Weak<Remote>);

impl Drop for PendingEvent {
    fn drop(&mut self) {
        if let Some(remote) = self.0.upgrade()
            && remote.detached.pending.fetch_sub(1, Ordering::AcqRel) == 1
        {
            remote.update_keep_alive();
        }
    }
}

/// The completion of a job that an event causes. The event stays pending until the job is over, with its microtasks: they may settle the promise
/// that a caller awaits.
pub struct Caused {
    completion: Arc<dyn Completion>,
    _event: PendingEvent,
}

impl Caused {
    pub fn by(event: PendingEvent, completion: Arc<dyn Completion>) -> Arc<dyn Completion> {
        Arc::new(Self { completion, _event: event })
    }
}

impl Completion for Caused {
    fn complete(&self, outcome: Outcome) {
        self.completion.complete(outcome);
    }

    fn is_complete(&self) -> bool {
        self.completion.is_complete()
    }

    fn is_discarded(&self) -> bool {
        self.completion.is_discarded()
    }

    fn recipient(&self) -> Option<Arc<dyn Owner>> {
        self.completion.recipient()
    }

    fn comes_from(&self, origin: &Arc<dyn Owner>) {
        self.completion.comes_from(origin);
    }
}

impl Remote {
    /// Counts an event that will continue the guest.
    pub fn pending_event(&self) -> PendingEvent {
        self.detached.pending.fetch_add(1, Ordering::AcqRel);
        PendingEvent(self.me.clone())
    }
}

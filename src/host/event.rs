//! Events: what other threads send to the thread of an environment.

use std::sync::{Arc, Weak};

use crate::isolate::{Limits, Remote, Undelivered};
use crate::value::{Charge, Outcome, Owner, Request};

/// What other threads send to the environment's thread.
pub enum Event {
    /// The outcome of an async call (positive number) or of a promise (negative number).
    Settle {
        request: i64,
        outcome: Outcome,
        /// To a guest that has sent the promise, until the surface has the outcome.
        charge: Charge,
        /// The event loop was kept alive for it.
        held: bool,
        /// The isolate that may send more.
        follow_ups: Weak<Remote>,
        origin: Origin,
        /// The async call whose outcome this is, or that led to it.
        call: i64,
        /// The limits of the call, if it has any: they include reading its outcome.
        limits: Option<Box<Limits>>,
    },
    /// A request of a guest.
    Request { request: Request, origin: Origin },
    /// There are slots that are no longer held.
    Disown,
    /// An isolate has processed what was sent to it; until then the event loop was kept alive.
    Drained(Weak<Remote>),
    /// There is memory that no isolate uses any more.
    Unpin,
    /// The memory of isolates has changed.
    Weigh,
    /// There may be unreachable isolates that the host has not collected. `last`: no other reminder follows soon.
    Remind { last: bool },
    /// Nothing is pending among guests any more.
    Quiet,
}

impl Event {
    /// The isolate that the event comes from, if it must not overtake other events of that isolate.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Event::Settle { origin, .. } | Event::Request { origin, .. } => {
                Some(origin).filter(|origin| origin.id != 0)
            }
            _ => None,
        }
    }

    /// Whether code of the host runs when the event is handled.
    pub fn calls_host(&self) -> bool {
        matches!(self, Event::Settle { .. } | Event::Request { .. })
    }
}

/// The origin of an event: an isolate, a child process, or none if the order does not matter.
#[derive(Clone, Default)]
pub struct Origin {
    /// The id of the isolate or the child process; 0 for none.
    pub id: u64,
    pub undelivered: Option<Arc<Undelivered>>,
}

impl Origin {
    pub fn of(remote: &Remote) -> Self {
        Self { id: remote.id(), undelivered: Some(Arc::clone(&remote.listeners.undelivered)) }
    }

    pub fn of_owner(owner: &Arc<dyn Owner>) -> Self {
        match Remote::from_owner(owner) {
            Some(remote) => Self::of(&remote),
            // A child process.
            None => Self { id: owner.id(), undelivered: None },
        }
    }

    /// Whether the isolate has ended, and not by itself.
    pub fn is_over(&self) -> bool {
        self.undelivered.as_ref().is_some_and(|undelivered| undelivered.is_over())
    }

    /// Whether a message of this many bytes is still wanted. Must be called once for each message.
    pub fn admits(&self, bytes: impl FnOnce() -> usize) -> bool {
        self.undelivered.as_ref().is_none_or(|undelivered| undelivered.admits(bytes))
    }
}

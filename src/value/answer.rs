//! Where an outcome goes. Every question has exactly one [`Answer`]; the first outcome wins, later ones are dropped, so
//! that a watchdog may answer for a guest that no longer can.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Fault, Outcome, Owner};

/// The receiving end of one outcome.
pub trait Answer: Send + Sync {
    /// Delivers the outcome. Only the first call has an effect.
    fn answer(&self, outcome: Outcome);

    /// Somebody has answered already; what would be done for the answer need not be.
    fn is_answered(&self) -> bool {
        false
    }

    /// The isolate that has work to do once the answer is there, if it is one.
    fn recipient(&self) -> Option<Arc<dyn Owner>> {
        None
    }
}

/// An answer that nobody waits for.
pub struct Nobody;

impl Answer for Nobody {
    fn answer(&self, _outcome: Outcome) {}
}

type Subscriber = Box<dyn FnOnce(Outcome) + Send>;

/// An isolate that waits for a promise, if one does.
pub type Recipient = Option<Weak<dyn Owner>>;

enum State {
    Pending(Option<(Subscriber, Recipient)>),
    Settled(Option<Outcome>),
}

/// A promise between engines: settled once, taken once.
pub struct Settlement {
    state: Mutex<State>,
    /// It will settle by some time, whatever its guest does.
    timed: AtomicBool,
}

impl Default for Settlement {
    fn default() -> Self {
        Self { state: Mutex::new(State::Pending(None)), timed: AtomicBool::new(false) }
    }
}

impl Settlement {
    /// Says that this has a deadline.
    pub fn set_timed(&self) {
        self.timed.store(true, Ordering::Release);
    }

    /// Worth staying alive for.
    pub fn is_timed(&self) -> bool {
        self.timed.load(Ordering::Acquire)
    }

    /// Calls `subscriber` with the outcome, at once where there is one. A second subscriber replaces the first.
    pub fn subscribe(&self, recipient: Recipient, subscriber: Subscriber) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = match &mut *state {
            State::Pending(waiting) => {
                *waiting = Some((subscriber, recipient));
                return;
            }
            State::Settled(outcome) => outcome.take(),
        };
        drop(state);
        subscriber(outcome.unwrap_or_else(|| Err(Fault::promise_abandoned())));
    }
}

impl Answer for Settlement {
    fn answer(&self, outcome: Outcome) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            State::Settled(_) => {}
            State::Pending(waiting) => match waiting.take() {
                None => *state = State::Settled(Some(outcome)),
                Some((subscriber, _)) => {
                    *state = State::Settled(None);
                    drop(state);
                    subscriber(outcome);
                }
            },
        }
    }

    fn recipient(&self) -> Option<Arc<dyn Owner>> {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Pending(Some((_, recipient))) => recipient.as_ref().and_then(Weak::upgrade),
            State::Pending(None) | State::Settled(_) => None,
        }
    }
}

impl Drop for Settlement {
    /// A promise whose other side has gone is abandoned, not forgotten.
    fn drop(&mut self) {
        self.answer(Err(Fault::promise_abandoned()));
    }
}

impl std::fmt::Debug for Settlement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Settlement")
    }
}

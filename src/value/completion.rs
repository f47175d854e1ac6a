//! The receivers of outcomes. Every request has exactly one [`Completion`]. The first outcome counts and later ones are dropped, so that a
//! watchdog can answer for a guest that no longer can.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use super::{Charge, Fault, Outcome, Owner};
use crate::native::lock;

/// The receiving end of one outcome.
pub trait Completion: Send + Sync {
    /// Delivers the outcome. Only the first call has an effect.
    fn complete(&self, outcome: Outcome);

    /// Whether it was answered already. Work for it is then unnecessary.
    fn is_complete(&self) -> bool {
        false
    }

    /// Whether work for it may still begin.
    fn is_wanted(&self) -> bool {
        !self.is_complete()
    }

    /// Whether the outcome is dropped, be it a value or an error.
    fn is_discarded(&self) -> bool {
        false
    }

    /// The isolate that has work to do once this is answered, if there is one.
    fn recipient(&self) -> Option<Arc<dyn Owner>> {
        None
    }

    /// Sets which isolate or child process provides the outcome, if that was not known before.
    fn comes_from(&self, _origin: &Arc<dyn Owner>) {}
}

/// A thread that may sleep.
pub trait Wake: Send + Sync {
    /// Makes the thread check again what it waits for.
    fn wake(&self);
}

/// What a guest waits for.
pub trait Awaited {
    /// Takes the outcome, if there is one. It can be taken once.
    fn take(&self) -> Option<Outcome>;

    /// The guest no longer waits. Work for the outcome that has not begun need not begin.
    fn give_up(&self);
}

/// The answer that a thread waits for.
pub struct Reply<W: Wake> {
    waiter: Weak<W>,
    outcome: Mutex<Option<Outcome>>,
    completed: AtomicBool,
}

impl<W: Wake> Reply<W> {
    pub fn new(waiter: Weak<W>) -> Arc<Self> {
        Arc::new(Self { waiter, outcome: Mutex::new(None), completed: AtomicBool::new(false) })
    }

    /// Takes the outcome, if there is one. It can be taken once.
    pub fn take(&self) -> Option<Outcome> {
        if !self.completed.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.outcome).take()
    }
}

impl<W: Wake> Awaited for Reply<W> {
    fn take(&self) -> Option<Outcome> {
        self.take()
    }

    fn give_up(&self) {
        self.complete(Err(Fault::Stopped));
    }
}

impl<W: Wake> Completion for Reply<W> {
    fn is_complete(&self) -> bool {
        self.completed.load(Ordering::Acquire)
    }

    fn complete(&self, outcome: Outcome) {
        let mut place = lock(&self.outcome);
        if self.completed.load(Ordering::Acquire) {
            return;
        }
        *place = Some(outcome);
        self.completed.store(true, Ordering::Release);
        drop(place);
        if let Some(waiter) = self.waiter.upgrade() {
            waiter.wake();
        }
    }
}

/// An answer that nothing waits for.
pub struct NoCompletion;

impl Completion for NoCompletion {
    fn complete(&self, _outcome: Outcome) {}

    fn is_discarded(&self) -> bool {
        true
    }
}

type Subscriber = Box<dyn FnOnce(Outcome) + Send>;

/// The isolate that waits for a promise or settles it, if one does.
pub type Recipient = Option<Weak<dyn Owner>>;

/// The position of an event in the order in which promises between engines have settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// Before all others.
    const FIRST: Self = Self(0);

    pub fn now() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

enum State {
    Pending(Option<(Subscriber, Recipient)>),
    Settled(Option<Outcome>, Moment),
}

/// A promise between engines: it is settled once, and its outcome taken once.
pub struct Settlement {
    state: Mutex<State>,
    /// The alarm that settles it at its deadline, if it has one.
    alarm: Mutex<Option<Box<dyn Send>>>,
    timed: AtomicBool,
    /// The isolate whose guest settles it, if one does.
    origin: Recipient,
    /// Charges to a guest for having this in transit, and for its outcome.
    charges: Mutex<Vec<Charge>>,
}

impl Default for Settlement {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Settlement {
    fn new(origin: Recipient) -> Self {
        let state = Mutex::new(State::Pending(None));
        Self { state, alarm: Mutex::default(), timed: AtomicBool::new(false), origin, charges: Mutex::default() }
    }

    /// A settlement that the guest of an isolate settles, with values of any size.
    pub fn of_guest(isolate: Weak<dyn Owner>) -> Arc<Self> {
        Arc::new(Self::new(Some(isolate)))
    }

    /// A settlement of a value that is no promise. It settles when it arrives, whatever else is on the way.
    pub fn settled(origin: Recipient, outcome: Outcome) -> Arc<Self> {
        let settlement = Self::new(origin);
        *lock(&settlement.state) = State::Settled(Some(outcome), Moment::FIRST);
        Arc::new(settlement)
    }

    pub fn is_of_guest(&self) -> bool {
        self.origin.is_some()
    }

    /// The isolate whose guest settles it, as long as that exists.
    pub fn origin(&self) -> Option<Arc<dyn Owner>> {
        self.origin.as_ref().and_then(Weak::upgrade)
    }

    /// Whether it is pending without a subscriber. Its outcome will then wait here.
    pub fn is_unclaimed(&self) -> bool {
        matches!(&*lock(&self.state), State::Pending(None))
    }

    /// Holds `charge` for as long as this exists.
    pub fn charge(&self, charge: Charge) {
        lock(&self.charges).push(charge);
    }

    /// Declares that this settles by some time, whatever its guest does. `alarm` is dropped as soon as it has settled.
    pub fn set_timed(&self, alarm: impl Send + 'static) {
        self.timed.store(true, Ordering::Release);
        *lock(&self.alarm) = Some(Box::new(alarm));
    }

    /// Whether it settles by some time, so that an event loop can stay alive for it.
    pub fn is_timed(&self) -> bool {
        self.timed.load(Ordering::Acquire)
    }

    /// Takes the outcome, if there is one already, with the moment of the settling. It can be taken once.
    pub fn take_settled(&self) -> Option<(Outcome, Moment)> {
        match &mut *lock(&self.state) {
            State::Pending(_) => None,
            State::Settled(outcome, moment) => {
                Some((outcome.take().unwrap_or_else(|| Err(Fault::promise_abandoned())), *moment))
            }
        }
    }

    /// Calls `subscriber` with the outcome, at once if there is one. A second subscriber replaces the first.
    pub fn subscribe(&self, recipient: Recipient, subscriber: Subscriber) {
        let mut state = lock(&self.state);
        if let State::Pending(waiting) = &mut *state {
            *waiting = Some((subscriber, recipient));
            return;
        }
        drop(state);
        if let Some((outcome, _)) = self.take_settled() {
            subscriber(outcome);
        }
    }
}

impl Settlement {
    /// Settles it, unless that has happened before.
    fn settle(&self, outcome: Outcome) {
        let alarm = lock(&self.alarm).take();
        drop(alarm);
        let mut state = lock(&self.state);
        match &mut *state {
            State::Settled(..) => {}
            State::Pending(waiting) => match waiting.take() {
                None => *state = State::Settled(Some(outcome), Moment::now()),
                Some((subscriber, _)) => {
                    *state = State::Settled(None, Moment::now());
                    drop(state);
                    subscriber(outcome);
                }
            },
        }
    }
}

impl Completion for Settlement {
    fn complete(&self, outcome: Outcome) {
        self.settle(outcome);
        if let Some(origin) = self.origin() {
            origin.has_settled();
        }
    }

    fn is_complete(&self) -> bool {
        matches!(&*lock(&self.state), State::Settled(..))
    }

    fn recipient(&self) -> Option<Arc<dyn Owner>> {
        match &*lock(&self.state) {
            State::Pending(Some((_, recipient))) => recipient.as_ref().and_then(Weak::upgrade),
            State::Pending(None) | State::Settled(..) => None,
        }
    }
}

impl Drop for Settlement {
    /// A promise whose other side is gone is abandoned, so that its subscriber gets an outcome.
    fn drop(&mut self) {
        self.settle(Err(Fault::promise_abandoned()));
    }
}

impl std::fmt::Debug for Settlement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Settlement")
    }
}

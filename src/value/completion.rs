//! The receivers of outcomes. Every request has exactly one [`Completion`]. The first outcome counts and later ones are dropped, so that a
//! watchdog can answer for a guest that no longer can.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use super::{Budget, Charge, Fault, Outcome, Owner, Rows, Value};
use crate::native::{lock, locks};

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

    /// Whether its work is a part of a call for which `caller` receives another outcome.
    fn serves(&self, _caller: &Arc<dyn Completion>) -> bool {
        false
    }

    /// Sets which isolate or child process provides the outcome, if that was not known before.
    fn comes_from(&self, _origin: &Arc<dyn Owner>) {}
}

/// A completion that does something else as well when it forwards the outcome to another one.
pub trait Wrapper: Send + Sync {
    fn inner(&self) -> &dyn Completion;

    /// Completes [`Wrapper::inner`], and does the rest.
    fn forward(&self, outcome: Outcome);
}

impl<T: Wrapper> Completion for T {
    fn complete(&self, outcome: Outcome) {
        self.forward(outcome);
    }

    fn is_complete(&self) -> bool {
        self.inner().is_complete()
    }

    fn is_wanted(&self) -> bool {
        self.inner().is_wanted()
    }

    fn recipient(&self) -> Option<Arc<dyn Owner>> {
        self.inner().recipient()
    }
}

/// A thread that may sleep.
pub trait Wake: Send + Sync {
    /// Makes the thread check again what it waits for.
    fn wake(&self);
}

/// What a guest waits for.
pub trait Awaited {
    /// What it gets.
    type Answer;

    /// Takes the answer, if there is one. It can be taken once.
    fn take(&self) -> Option<Result<Self::Answer, Fault>>;

    /// The guest no longer waits. Work for the outcome that has not begun need not begin.
    fn give_up(&self);
}

/// The answer that a thread waits for.
pub struct Reply<W: Wake> {
    waiter: Weak<W>,
    state: AtomicU8,
    /// Only the thread that has changed `state` from [`OPEN`] to [`WRITING`] writes it, before it changes it to [`COMPLETE`]. Only the thread
    /// that has changed it from that to [`TAKEN`] takes it.
    outcome: UnsafeCell<Option<Outcome>>,
}

/// States of a [`Reply`]. They follow each other in this order.
const OPEN: u8 = 0;
const WRITING: u8 = 1;
const COMPLETE: u8 = 2;
const TAKEN: u8 = 3;

// SAFETY: the field `outcome` is used by one thread at a time, as it says; `Release` and `Acquire` on `state` order its uses. The thread that
// takes the outcome may be another one than that which has written it, so it must be `Send`: `assert_send` refuses to compile otherwise. The
// other fields are `Sync`: a `Weak<W>` is, because `Wake` requires `Send` and `Sync` of `W`.
unsafe impl<W: Wake> Sync for Reply<W> {}

const _: () = {
    const fn assert_send<T: Send>() {}
    assert_send::<Outcome>();
};

impl<W: Wake> Reply<W> {
    pub fn new(waiter: Weak<W>) -> Arc<Self> {
        Arc::new(Self { waiter, state: AtomicU8::new(OPEN), outcome: UnsafeCell::new(None) })
    }

    /// Makes it the answer that the thread waits for next.
    pub fn reset(&mut self) {
        *self.state.get_mut() = OPEN;
        *self.outcome.get_mut() = None;
    }

    /// Takes the outcome, if there is one. It can be taken once.
    pub fn take(&self) -> Option<Outcome> {
        if !self.change(COMPLETE, TAKEN) {
            return None;
        }
        // SAFETY: this thread has changed the state to `TAKEN`. Nothing changes that state except `reset`, which nothing can call while `self`
        // is borrowed, so no other thread gets here. The one that has written the outcome has finished before: `COMPLETE` says so.
        unsafe { (*self.outcome.get()).take() }
    }

    /// False if it is in another state than `from`.
    fn change(&self, from: u8, to: u8) -> bool {
        // Most waiting threads look more than once; reading is cheaper than an exchange that fails.
        self.state.load(Ordering::Relaxed) == from
            && self.state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

impl<W: Wake> Awaited for Reply<W> {
    type Answer = Value;

    fn take(&self) -> Option<Outcome> {
        self.take()
    }

    fn give_up(&self) {
        self.complete(Err(Fault::Stopped));
    }
}

impl<W: Wake> Completion for Reply<W> {
    fn is_complete(&self) -> bool {
        self.state.load(Ordering::Acquire) != OPEN
    }

    fn complete(&self, outcome: Outcome) {
        // A thread that was suspended in the middle would leave its caller waiting.
        let _scope = locks::LockScope::enter();
        if !self.change(OPEN, WRITING) {
            return;
        }
        // SAFETY: this thread has changed the state to `WRITING`, from which only the next line changes it. So no other thread writes, and none
        // takes before that line.
        unsafe { *self.outcome.get() = Some(outcome) };
        self.state.store(COMPLETE, Ordering::Release);
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
    /// Bytes and rows of an outcome of a guest that was there from the beginning.
    size: (usize, Rows),
}

impl Default for Settlement {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Settlement {
    fn new(origin: Recipient) -> Self {
        let state = Mutex::new(State::Pending(None));
        Self {
            state,
            alarm: Mutex::default(),
            timed: AtomicBool::new(false),
            origin,
            charges: Mutex::default(),
            size: (0, Rows::default()),
        }
    }

    /// A settlement that the guest of an isolate settles, with values of any size.
    pub fn of_guest(isolate: Weak<dyn Owner>) -> Arc<Self> {
        Arc::new(Self::new(Some(isolate)))
    }

    /// A settlement of a value that is no promise. It settles when it arrives, whatever else is on the way.
    pub fn settled(origin: Recipient, outcome: Outcome) -> Arc<Self> {
        let mut settlement = Self::new(origin);
        // What a host sends is charged elsewhere.
        if settlement.is_of_guest() {
            settlement.size = match &outcome {
                Ok(value) => (value.byte_size(), Rows::of(value)),
                Err(fault) => (fault.byte_size(), Rows::default()),
            };
        }
        *lock(&settlement.state) = State::Settled(Some(outcome), Moment::FIRST);
        Arc::new(settlement)
    }

    /// Bytes of an outcome that was there from the beginning.
    pub fn byte_size(&self) -> usize {
        self.size.0
    }

    /// Rows of that outcome.
    pub fn rows(&self) -> Rows {
        self.size.1
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

/// Charges a budget for an outcome that waits to be read. If the budget has no room, the outcome is an error. An outcome that is larger than the
/// whole budget fits if no other waits.
pub fn charged(budget: &Arc<Budget>, outcome: Outcome) -> (Outcome, Charge) {
    let bytes = outcome.as_ref().map_or_else(Fault::byte_size, Value::own_byte_size);
    match Charge::take(budget, bytes.min(budget.limit())) {
        Some(charge) => (outcome, charge),
        None => (Err(Fault::too_many_calls()), Charge::default()),
    }
}

/// Charges a guest for an outcome that no code has asked for yet.
pub struct ChargedSettlement {
    settlement: Arc<Settlement>,
    /// Not the isolate itself, which may hold this object: it would keep itself alive.
    budget: Arc<Budget>,
}

impl ChargedSettlement {
    pub fn new(settlement: Arc<Settlement>, budget: Arc<Budget>) -> Self {
        Self { settlement, budget }
    }
}

impl Wrapper for ChargedSettlement {
    fn inner(&self) -> &dyn Completion {
        &*self.settlement
    }

    fn forward(&self, outcome: Outcome) {
        if !self.settlement.is_unclaimed() {
            return self.settlement.complete(outcome);
        }
        let (outcome, charge) = charged(&self.budget, outcome);
        self.settlement.charge(charge);
        self.settlement.complete(outcome);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Weak};
    use std::thread;

    use super::{Completion, Fault, Outcome, Reply, Wake};
    use crate::value::Value;

    #[derive(Default)]
    struct Waiter(AtomicUsize);

    impl Wake for Waiter {
        fn wake(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn number(outcome: Option<Outcome>) -> Option<f64> {
        outcome?.ok()?.as_number()
    }

    #[test]
    fn the_first_outcome_counts_and_is_taken_once() {
        let waiter = Arc::<Waiter>::default();
        let mut reply = Reply::new(Arc::downgrade(&waiter));
        assert!(!reply.is_complete() && reply.take().is_none());
        reply.complete(Ok(Value::Number(1.0)));
        reply.complete(Err(Fault::Stopped));
        assert!(reply.is_complete());
        assert_eq!((number(reply.take()), number(reply.take())), (Some(1.0), None));
        reply.complete(Ok(Value::Number(2.0)));
        assert!(reply.is_complete() && reply.take().is_none());
        assert_eq!(waiter.0.load(Ordering::SeqCst), 1);
        Arc::get_mut(&mut reply).unwrap().reset();
        assert!(!reply.is_complete() && reply.take().is_none());
        reply.complete(Ok(Value::Number(3.0)));
        assert_eq!(number(reply.take()), Some(3.0));
    }

    #[test]
    fn one_of_many_threads_completes_it_and_one_takes_it() {
        const THREADS: u32 = 4;
        for _ in 0..200 {
            let reply = Reply::<Waiter>::new(Weak::new());
            let completing = (0..THREADS).map(|index| {
                let reply = Arc::clone(&reply);
                thread::spawn(move || {
                    reply.complete(Ok(Value::String(index.to_string().into())));
                    // Complete, but perhaps by another thread that has not written yet.
                    assert!(reply.is_complete());
                    usize::from(reply.take().is_some())
                })
            });
            let taken: usize = completing.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!(taken + usize::from(reply.take().is_some()), 1);
        }
    }
}

//! A host environment as other threads see it: where events for its thread are queued, and what a guest can ask of it.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::signal::Signal;
use crate::isolate::{Remote, Stop, next_owner_id};
use crate::value::{Answer, Chain, Code, ErrorClass, Fault, Host, Outcome, Owner, Request, Value, Wake};

/// What other threads have for the environment's thread.
pub enum Event {
    /// The outcome of an async call (positive) or promise (negative).
    Settle {
        request: i64,
        outcome: Outcome,
        /// The event loop was kept alive for it.
        held: bool,
        /// Where it comes from; more may come from there.
        origin: Weak<Remote>,
    },
    /// A guest asks for something here.
    Ask(Request),
    /// The last holder of a slot is gone.
    Disown(u32),
    /// An isolate has digested what was sent to it; until then the event loop was kept alive.
    Digested(Weak<Remote>),
    /// Shared memory that no isolate uses any more.
    Unpin(usize),
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    /// Requests for a thread that waits in a sync call.
    calls: VecDeque<Request>,
    closed: bool,
    /// The thread sleeps in a sync call.
    parked: bool,
    /// Guests that wait until the events are fewer.
    crowd: Vec<Arc<dyn Answer>>,
}

/// The environment as seen from any thread.
pub struct Shared {
    pub(super) id: u64,
    pub(super) me: Weak<Shared>,
    queue: Mutex<Queue>,
    parked: Condvar,
    /// Requests for a waiting thread that are queued.
    waiting_calls: AtomicU32,
    /// There are events, and the event loop has been told. Written under the queue's lock.
    pub(super) signalled: AtomicBool,
    /// Counts what a waiting thread must look at.
    pub(super) version: AtomicU32,
    pub(super) signal: Signal,
    isolates: Mutex<Vec<Weak<Remote>>>,
}

impl Shared {
    /// An environment that is being opened.
    pub(super) fn open() -> Arc<Self> {
        Arc::new_cyclic(|me| Shared {
            id: next_owner_id(),
            me: me.clone(),
            queue: Mutex::default(),
            parked: Condvar::new(),
            waiting_calls: AtomicU32::new(0),
            signalled: AtomicBool::new(false),
            version: AtomicU32::new(0),
            signal: Signal::default(),
            isolates: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands `event` to the environment's thread, or back when the environment is gone.
    pub fn send(&self, event: Event) -> Result<(), Event> {
        let mut queue = self.lock();
        if queue.closed {
            return Err(event);
        }
        queue.events.push_back(event);
        let tell = !self.signalled.swap(true, Ordering::AcqRel);
        drop(queue);
        if tell {
            self.signal.raise();
        }
        Ok(())
    }

    /// Everything that has come since the last time.
    pub(super) fn take_events(&self) -> VecDeque<Event> {
        let mut queue = self.lock();
        let events = std::mem::take(&mut queue.events);
        self.let_in(queue);
        events
    }

    /// Has the guests try again that wait for room.
    fn let_in(&self, mut queue: MutexGuard<'_, Queue>) {
        let crowd = std::mem::take(&mut queue.crowd);
        drop(queue);
        for answer in crowd {
            answer.answer(Ok(Value::Undefined));
        }
    }

    /// Puts back what was not handled. False when nothing is left; the next event then tells the event loop again.
    pub(super) fn put_back(&self, mut events: VecDeque<Event>) -> bool {
        let mut queue = self.lock();
        events.append(&mut queue.events);
        queue.events = events;
        let left = !queue.events.is_empty();
        self.signalled.store(left, Ordering::Release);
        self.let_in(queue);
        left
    }

    /// The sync call at the root of `chain` has returned. What is asked of it from now on, or was too late, is for the event
    /// loop.
    pub(super) fn end_chain(&self, chain: &Chain) {
        let mut queue = self.lock();
        chain.end();
        let late = std::mem::take(&mut queue.calls);
        self.waiting_calls.store(0, Ordering::Release);
        drop(queue);
        for request in late {
            self.ask(request);
        }
    }

    pub(super) fn take_call(&self) -> Option<Request> {
        if self.waiting_calls.load(Ordering::Acquire) == 0 {
            return None;
        }
        let request = self.lock().calls.pop_front()?;
        self.waiting_calls.fetch_sub(1, Ordering::Release);
        Some(request)
    }

    fn bump(&self, queue: MutexGuard<'_, Queue>) {
        self.version.fetch_add(1, Ordering::Release);
        let parked = queue.parked;
        drop(queue);
        if parked {
            self.parked.notify_all();
        }
    }

    /// Sleeps until the version is another one, at most for `limit`. False when it is not.
    pub(super) fn park(&self, version: u32, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut queue = self.lock();
        queue.parked = true;
        let mut changed = self.version.load(Ordering::Acquire) != version;
        while !changed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            queue = match self.parked.wait_timeout(queue, left) {
                Ok((queue, _)) => queue,
                Err(poisoned) => poisoned.into_inner().0,
            };
            changed = self.version.load(Ordering::Acquire) != version;
        }
        queue.parked = false;
        changed
    }

    /// The environment goes down: nobody here answers any more, and its isolates end.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        let events = std::mem::take(&mut queue.events);
        let calls = std::mem::take(&mut queue.calls);
        self.waiting_calls.store(0, Ordering::Release);
        let crowd = std::mem::take(&mut queue.crowd);
        drop(queue);
        for answer in crowd {
            answer.answer(Err(Fault::environment_gone()));
        }
        self.signal.close();
        let asked = events.into_iter().filter_map(|event| match event {
            Event::Ask(request) => Some(request),
            _ => None,
        });
        for request in asked.chain(calls) {
            request.answer.answer(Err(Fault::environment_gone()));
        }
        let isolates = std::mem::take(&mut *self.isolates.lock().unwrap_or_else(PoisonError::into_inner));
        let isolates: Vec<_> = isolates.iter().filter_map(Weak::upgrade).collect();
        for remote in &isolates {
            remote.stop(Stop::Environment);
        }
        // What they share of the host's memory goes with the environment. One that does not stop is given up after a while,
        // so this does not last.
        for remote in isolates.into_iter().filter(|remote| remote.shares_memory.load(Ordering::SeqCst)) {
            remote.await_gone();
        }
    }

    pub(super) fn register(&self, remote: &Arc<Remote>) {
        let mut isolates = self.isolates.lock().unwrap_or_else(PoisonError::into_inner);
        if isolates.len().is_power_of_two() {
            isolates.retain(|remote| remote.strong_count() > 0);
        }
        isolates.push(Arc::downgrade(remote));
    }
}

impl Wake for Shared {
    /// For a thread that waits in a sync call.
    fn wake(&self) {
        self.bump(self.lock());
    }
}

impl Owner for Shared {
    fn id(&self) -> u64 {
        self.id
    }

    fn release(&self, slot: u32) {
        // When the environment is gone its slots are, too.
        let _ = self.send(Event::Disown(slot));
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn as_host(self: Arc<Self>) -> Option<Arc<dyn Host>> {
        Some(self)
    }
}

/// Events that may wait for the environment's thread before guests have to.
const MOST_EVENTS: usize = 1_000;

impl Host for Shared {
    fn admit(&self, chain: &Chain, broke: bool, answer: &Arc<dyn Answer>) -> Result<bool, Fault> {
        let mut queue = self.lock();
        // While the event loop has something to do it will come by here.
        let waits = queue.events.len() >= MOST_EVENTS || broke && self.signalled.load(Ordering::Acquire);
        if !waits || queue.closed {
            return Ok(true);
        }
        if chain.waits_in(self.id) {
            // Its thread waits for the very guest that asks.
            return Err(Fault::coded(ErrorClass::RangeError, "Too many calls are waiting for the host", Code::Limit));
        }
        queue.crowd.push(Arc::clone(answer));
        Ok(false)
    }

    fn ask(&self, request: Request) {
        let mut queue = self.lock();
        // Under the lock, under which chains end as well.
        if request.chain.waits_in(self.id) && !queue.closed {
            queue.calls.push_back(request);
            self.waiting_calls.fetch_add(1, Ordering::Release);
            return self.bump(queue);
        }
        drop(queue);
        if let Err(Event::Ask(request)) = self.send(Event::Ask(request)) {
            request.answer.answer(Err(Fault::environment_gone()));
        }
    }
}

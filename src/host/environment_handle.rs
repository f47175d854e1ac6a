//! A host environment as other threads see it: where events for its thread are queued, and what a guest can ask of it.

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::{Duration, Instant};

use super::event::{Event, Origin};
use super::pressure::Pressure;
use super::released::Released;
use super::signal::Signal;
use super::streams::{Next, Reading, Streams};
use crate::child;
use crate::isolate::{Remote, Stop, clock, next_owner_id};
use crate::native::{Guard, context, lock};
use crate::sandbox::Pool;
use crate::value::{Chain, Code, Completion, ErrorClass, Fault, Host, Owner, Request, Value, Wake};

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    /// Events that were looked at and wait for other events of their isolate.
    streams: Streams,
    /// Requests for a thread that waits in a sync call.
    calls: VecDeque<Request>,
    closed: bool,
    /// The thread sleeps in a sync call.
    parked: bool,
    /// Guests that wait until there are fewer events.
    blocked: Vec<Arc<dyn Completion>>,
}

/// How long a signal that the event loop can miss stays without effect until it is raised again: the first time, and at most.
const FIRST_REPEAT: Duration = Duration::from_millis(5);
const MAX_REPEAT: Duration = Duration::from_millis(100);

/// Operations among guests.
#[derive(Default)]
struct Operations {
    pending: AtomicUsize,
    /// The event loop stays alive only for these, and must be notified when they end.
    listens: AtomicBool,
}

/// How the environment's thread waits in a sync call.
pub(super) struct Waiting {
    /// See [`context::thread`].
    thread: usize,
    parked: Condvar,
    /// The number of queued requests for it.
    calls: AtomicU32,
    /// Counts the changes that it must look at.
    version: AtomicU32,
    /// It waits no more.
    closed: AtomicBool,
}

thread_local! {
    /// The request of a guest that runs on this thread of a host, and waits.
    static ASKED: Cell<Option<Request>> = const { Cell::new(None) };
}

/// The environment as seen from any thread.
pub struct EnvironmentHandle {
    pub(super) id: u64,
    pub(super) me: Weak<EnvironmentHandle>,
    queue: Mutex<Queue>,
    pub(super) waiting: Waiting,
    /// Events of an isolate have to wait. Written under the queue's lock.
    holds_back: AtomicBool,
    /// There are events, and the event loop was signalled. Written under the queue's lock.
    pub(super) signalled: AtomicBool,
    pub(super) signal: Signal,
    operations: Operations,
    isolates: Mutex<Vec<Weak<Remote>>>,
    /// Pins of memory that no isolate uses any more.
    pub(super) unpinned: Released<usize>,
    /// Slots that are no longer held.
    pub(super) disowned: Released<u32>,
    /// Isolates that wait for executions in sandboxes.
    pub(super) warm_pool: Arc<Pool>,
    pub(super) pressure: Pressure,
}

impl EnvironmentHandle {
    /// An environment that is being opened.
    pub(super) fn open() -> Arc<Self> {
        Arc::new_cyclic(|me| EnvironmentHandle {
            id: next_owner_id(),
            me: me.clone(),
            queue: Mutex::default(),
            waiting: Waiting {
                thread: context::thread(),
                parked: Condvar::new(),
                calls: AtomicU32::new(0),
                version: AtomicU32::new(0),
                closed: AtomicBool::new(false),
            },
            holds_back: AtomicBool::new(false),
            signalled: AtomicBool::new(false),
            signal: Signal::default(),
            operations: Operations::default(),
            isolates: Mutex::default(),
            unpinned: Released::default(),
            disowned: Released::default(),
            warm_pool: Pool::new(),
            pressure: Pressure::default(),
        })
    }

    /// Sends `event` to the environment's thread. Returns it if the environment is gone.
    pub fn send(&self, event: Event) -> Result<(), Box<Event>> {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return Err(Box::new(event));
        }
        queue.events.push_back(event);
        let must_signal = !self.signalled.swap(true, Ordering::AcqRel);
        drop(queue);
        if must_signal && self.signal.raise() && self.signal.repeats() {
            self.watch_signal();
        }
        Ok(())
    }

    /// Repeats the signal until it takes effect.
    fn watch_signal(&self) {
        if !self.signal.watched.swap(true, Ordering::SeqCst) {
            self.repeat_signal_after(FIRST_REPEAT);
        }
    }

    fn repeat_signal_after(&self, delay: Duration) {
        let me = self.me.clone();
        let taken = self.signal.taken.load(Ordering::SeqCst);
        clock::after(delay, move || {
            let Some(handle) = me.upgrade() else { return };
            if handle.signalled.load(Ordering::SeqCst) && handle.signal.raise() {
                let progresses = handle.signal.taken.load(Ordering::SeqCst) != taken;
                handle.repeat_signal_after(if progresses { FIRST_REPEAT } else { (delay * 2).min(MAX_REPEAT) });
                return;
            }
            handle.signal.watched.store(false, Ordering::SeqCst);
            // An event that came just now has found the alarm set.
            if handle.signalled.load(Ordering::SeqCst) && handle.signal.raise() {
                handle.watch_signal();
            }
        });
    }

    /// Takes everything that has arrived since the last call.
    pub(super) fn take_events(&self) -> VecDeque<Event> {
        let mut queue = lock(&self.queue);
        let events = std::mem::take(&mut queue.events);
        self.signal.taken.fetch_add(1, Ordering::SeqCst);
        self.admit_blocked(queue);
        events
    }

    /// Makes the guests that wait for room try again.
    fn admit_blocked(&self, mut queue: Guard<'_, Queue>) {
        let blocked = std::mem::take(&mut queue.blocked);
        drop(queue);
        for completion in blocked {
            completion.complete(Ok(Value::Undefined));
        }
    }

    /// A pin is no longer needed.
    pub(super) fn unpin(&self, pin: usize) {
        if self.unpinned.push(pin) {
            // An environment that is gone holds no pins.
            let _ = self.send(Event::Unpin);
        }
    }

    /// Whether something is pending among guests.
    pub(super) fn guests_are_busy(&self) -> bool {
        self.operations.pending.load(Ordering::SeqCst) > 0
    }

    /// The same. If so, the event loop will be notified when that ends.
    pub(super) fn listen(&self) -> bool {
        self.operations.listens.store(true, Ordering::SeqCst);
        self.guests_are_busy()
    }

    /// Puts back the events that were not handled. False if nothing is left; the next event then signals the event loop again.
    pub(super) fn put_back(&self, mut events: VecDeque<Event>) -> bool {
        let mut queue = lock(&self.queue);
        events.append(&mut queue.events);
        queue.events = events;
        let left = !queue.events.is_empty() || queue.streams.is_ready();
        self.signalled.store(left, Ordering::Release);
        self.admit_blocked(queue);
        left
    }

    /// Keeps an event that must not overtake others of its isolate; returns any other.
    pub(super) fn hold_back(&self, event: Event) -> Option<Event> {
        if self.holds_back.load(Ordering::Acquire) { lock(&self.queue).streams.hold_back(event) } else { Some(event) }
    }

    fn change_streams<T>(&self, change: impl FnOnce(&mut Streams) -> T) -> T {
        let mut queue = lock(&self.queue);
        let result = change(&mut queue.streams);
        self.holds_back.store(!queue.streams.is_empty(), Ordering::Release);
        result
    }

    /// Makes events of this isolate wait until others have had a turn.
    pub(super) fn set_aside(&self, origin: u64) {
        self.change_streams(|streams| streams.set_aside(origin));
    }

    /// Makes events of this isolate wait until the surface has finished `reading`.
    pub(super) fn begin_reading(&self, origin: u64, reading: Reading) {
        self.change_streams(|streams| streams.begin(origin, reading));
    }

    /// The surface has finished reading, or need not.
    pub(super) fn end_reading(&self, origin: u64) {
        let reading = self.change_streams(|streams| streams.end(origin));
        // Without the lock, and before a guest learns that it may continue.
        drop(reading);
        self.change_streams(|streams| streams.release(origin));
    }

    pub(super) fn next_held(&self) -> Option<Next> {
        if self.holds_back.load(Ordering::Acquire) { self.change_streams(Streams::next) } else { None }
    }

    pub(super) fn has_streams(&self) -> bool {
        self.holds_back.load(Ordering::Acquire)
    }

    pub(super) fn with_streams<T>(&self, use_them: impl FnOnce(&mut Streams) -> T) -> T {
        use_them(&mut lock(&self.queue).streams)
    }

    /// The sync call at the root of `chain` has returned. Requests for it that come from now on, or came too late, go to the event loop.
    pub(super) fn end_chain(&self, chain: &Chain) {
        let mut queue = lock(&self.queue);
        chain.end();
        let late = std::mem::take(&mut queue.calls);
        self.waiting.calls.store(0, Ordering::Release);
        drop(queue);
        for request in late {
            self.request(request);
        }
    }

    pub(super) fn version(&self) -> u32 {
        self.waiting.version.load(Ordering::Acquire)
    }

    /// Whether this is the environment's thread.
    fn is_own_thread(&self) -> bool {
        self.waiting.thread == context::thread()
    }

    pub(super) fn take_call(&self) -> Option<Request> {
        // It may be for another environment of this thread.
        if let Some(request) = ASKED.take() {
            if request.slot.owner().id() == self.id {
                return Some(request);
            }
            ASKED.set(Some(request));
        }
        if self.waiting.calls.load(Ordering::Acquire) == 0 {
            return None;
        }
        let request = lock(&self.queue).calls.pop_front()?;
        self.waiting.calls.fetch_sub(1, Ordering::Release);
        Some(request)
    }

    fn notify_waiting(&self, queue: Guard<'_, Queue>) {
        self.waiting.version.fetch_add(1, Ordering::Release);
        let parked = queue.parked;
        drop(queue);
        if parked {
            self.waiting.parked.notify_all();
        }
    }

    /// Sleeps until the version differs from `version`, at most for `limit`. False if it does not.
    pub(super) fn park(&self, version: u32, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut queue = lock(&self.queue);
        queue.parked = true;
        let mut changed = self.waiting.version.load(Ordering::Acquire) != version;
        while !changed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            queue = queue.wait_for(&self.waiting.parked, left);
            changed = self.waiting.version.load(Ordering::Acquire) != version;
        }
        queue.parked = false;
        changed
    }

    /// Closes the environment: it answers no more requests, and its isolates end.
    pub(super) fn close(&self) {
        let mut queue = lock(&self.queue);
        queue.closed = true;
        self.waiting.closed.store(true, Ordering::Release);
        let events = std::mem::take(&mut queue.events);
        let streams = std::mem::take(&mut queue.streams);
        self.holds_back.store(false, Ordering::Release);
        let calls = std::mem::take(&mut queue.calls);
        self.waiting.calls.store(0, Ordering::Release);
        let blocked = std::mem::take(&mut queue.blocked);
        drop(queue);
        for completion in blocked {
            completion.complete(Err(Fault::environment_gone()));
        }
        self.signal.close();
        child::terminate_of(self.id);
        self.warm_pool.close();
        let requests = events.into_iter().chain(streams.into_events()).filter_map(|event| match event {
            Event::Request { request, .. } => Some(request),
            _ => None,
        });
        for request in requests.chain(calls) {
            request.completion.complete(Err(Fault::environment_gone()));
        }
        let isolates = std::mem::take(&mut *lock(&self.isolates));
        let isolates: Vec<_> = isolates.iter().filter_map(Weak::upgrade).collect();
        for remote in &isolates {
            remote.stop(Stop::Environment);
        }
        // Host memory that they share ends with the environment. An isolate that does not stop is abandoned after a while, so this wait
        // ends.
        // A guest that waits on this thread uses no memory unless this thread resumes it.
        let shares = |remote: &Arc<Remote>| {
            remote.accounts.shares_memory.load(Ordering::SeqCst) && !remote.waits_on_this_thread()
        };
        for remote in isolates.into_iter().filter(shares) {
            remote.await_gone();
        }
    }

    pub(super) fn add_isolate(&self, remote: &Arc<Remote>) {
        let mut isolates = lock(&self.isolates);
        if isolates.len().is_power_of_two() {
            isolates.retain(|remote| remote.strong_count() > 0);
        }
        isolates.push(Arc::downgrade(remote));
        drop(isolates);
        // Guests create isolates on threads of their own. An isolate that arrives after the others were stopped has no memory of the host.
        if lock(&self.queue).closed {
            remote.stop(Stop::Environment);
        }
    }
}

impl Wake for EnvironmentHandle {
    /// Wakes a thread that waits in a sync call.
    fn wake(&self) {
        if self.is_own_thread() {
            // It does not sleep.
            self.waiting.version.fetch_add(1, Ordering::Release);
        } else {
            self.notify_waiting(lock(&self.queue));
        }
    }
}

impl Owner for EnvironmentHandle {
    fn id(&self) -> u64 {
        self.id
    }

    fn release(&self, slot: u32) {
        if self.disowned.push(slot) {
            // When the environment is gone, so are its slots.
            let _ = self.send(Event::Disown);
        }
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn host(&self) -> Option<&dyn Host> {
        Some(self)
    }

    fn as_host(self: Arc<Self>) -> Option<Arc<dyn Host>> {
        Some(self)
    }
}

/// Events that may wait for the environment's thread before guests have to wait.
const MAX_EVENTS: usize = 1_000;

impl Host for EnvironmentHandle {
    fn register(&self, isolate: &Arc<dyn Owner>) {
        if let Some(remote) = Remote::from_owner(isolate) {
            self.add_isolate(&remote);
        }
    }

    fn admit(
        &self,
        requester: u64,
        chain: &Chain,
        over_budget: bool,
        completion: &Arc<dyn Completion>,
    ) -> Result<bool, Fault> {
        let mut queue = lock(&self.queue);
        // While the event loop has something to do, it will let waiting guests in.
        let held = queue.streams.count(requester);
        let busy = held > 0 || self.signalled.load(Ordering::Acquire);
        let waits = queue.events.len().max(held) >= MAX_EVENTS || over_budget && busy;
        if !waits || queue.closed {
            return Ok(true);
        }
        if chain.waits_in(self.id) {
            // The host's thread waits for the very guest that asks.
            return Err(Fault::coded(ErrorClass::RangeError, "Too many calls are waiting for the host", Code::Limit));
        }
        queue.blocked.push(Arc::clone(completion));
        Ok(false)
    }

    fn notify(&self) {
        self.wake();
    }

    fn begin(&self) {
        self.operations.pending.fetch_add(1, Ordering::SeqCst);
    }

    fn end(&self) {
        let Operations { pending, listens } = &self.operations;
        if pending.fetch_sub(1, Ordering::SeqCst) == 1 && listens.swap(false, Ordering::SeqCst) {
            let _ = self.send(Event::Quiet);
        }
    }

    fn answers_here(&self, chain: &Chain) -> bool {
        self.is_own_thread() && chain.waits_in(self.id) && !self.waiting.closed.load(Ordering::Acquire)
    }

    fn request(&self, request: Request) {
        // The guest runs on this thread, which serves the request as soon as the guest waits.
        if self.is_own_thread() && request.chain.waits_in(self.id) && !self.waiting.closed.load(Ordering::Acquire) {
            let Some(before) = ASKED.replace(Some(request)) else { return };
            // Another one was not taken. If it is for another environment of this thread, it stays where that one finds it.
            let is_own = before.slot.owner().id() == self.id;
            let queued = if is_own { Some(before) } else { ASKED.replace(Some(before)) };
            if let Some(request) = queued {
                lock(&self.queue).calls.push_back(request);
                self.waiting.calls.fetch_add(1, Ordering::Release);
            }
            return;
        }
        let mut queue = lock(&self.queue);
        // Under the lock, because chains also end under it.
        if request.chain.waits_in(self.id) && !queue.closed {
            queue.calls.push_back(request);
            self.waiting.calls.fetch_add(1, Ordering::Release);
            return self.notify_waiting(queue);
        }
        drop(queue);
        let requester = request.requester.as_ref().and_then(Weak::upgrade);
        let origin = requester.map(|requester| Origin::of_owner(&requester)).unwrap_or_default();
        if let Err(event) = self.send(Event::Request { request, origin })
            && let Event::Request { request, .. } = *event
        {
            request.completion.complete(Err(Fault::environment_gone()));
        }
    }
}

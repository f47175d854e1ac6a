//! An isolate as every other thread sees it: an inbox, the stack of running entries, and one way to stop it.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use slab::Slab;

use super::entry::Entries;
use super::inspector::{Port, Profiles};
use super::job::Kind;
use super::meter::Meter;
use super::run::{self, Body};
use super::{Binding, Deadline, HeapFigures, Job, clock};
use crate::engine::{Engine, Snapshot, TaskSink};
use crate::value::{Answer, Budget, Fault, Outcome, Owner, Value, Wake};

/// How long a guest that was told to stop may take before it is given up.
pub const TERMINATION_GRACE: Duration = Duration::from_millis(1_000);

/// Gets a description of what went wrong.
pub type Notify = Arc<dyn Fn(&str) + Send + Sync>;

/// What an isolate is made from.
#[derive(Clone)]
pub struct Settings {
    /// Starts the engine, the first time.
    pub engine: fn() -> &'static Engine,
    /// How realms of this isolate show handles.
    pub binding: &'static dyn Binding,
    /// Bytes of V8's heap, and again as many of buffers.
    pub memory_limit: usize,
    /// What the isolate starts from instead of our own snapshot.
    pub snapshot: Option<Snapshot>,
    /// Sessions of V8's inspector can be opened.
    pub inspector: bool,
    /// Called when the isolate is given up.
    pub on_catastrophe: Option<Notify>,
}

/// Why an isolate is at its end. The first reason stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stop {
    None = 0,
    Disposed = 1,
    Memory = 2,
    Environment = 3,
    /// Its thread did not come back.
    Lost = 4,
}

impl Stop {
    fn from_u8(value: u8) -> Self {
        match value {
            0 => Stop::None,
            1 => Stop::Disposed,
            2 => Stop::Memory,
            3 => Stop::Environment,
            _ => Stop::Lost,
        }
    }

    /// What a call that was running gets; `None` for an isolate that goes on.
    pub fn fault(self) -> Option<Fault> {
        match self {
            Stop::None => None,
            Stop::Disposed => Some(Fault::disposed_during_execution()),
            Stop::Memory => Some(Fault::out_of_memory()),
            Stop::Environment => Some(Fault::environment_gone()),
            Stop::Lost => Some(Fault::unresponsive()),
        }
    }
}

/// Who has the V8 side of the isolate.
pub(super) enum Whereabouts {
    /// Made by the first thread that borrows it.
    Unborn,
    Idle(Box<Body>),
    /// On a pool thread, or on the way there.
    Borrowed,
    Gone,
}

pub(super) struct Inbox {
    pub(super) calls: VecDeque<Job>,
    pub(super) tasks: VecDeque<Job>,
    pub(super) place: Whereabouts,
    /// The borrowing thread sleeps on `ready`.
    pub(super) parked: bool,
}

#[derive(Default)]
struct Departures {
    gone: bool,
    waiting: Vec<Arc<dyn Answer>>,
}

impl Inbox {
    fn take_call(&mut self, waiting: &AtomicU32) -> Option<Job> {
        let job = self.calls.pop_front()?;
        waiting.fetch_sub(1, Ordering::Release);
        Some(job)
    }
}

pub struct Remote {
    id: u64,
    me: Weak<Remote>,
    pub settings: Settings,
    pub(super) inbox: Mutex<Inbox>,
    pub(super) ready: Condvar,
    /// Counts changes that a waiting thread must look at.
    pub(super) version: AtomicU32,
    stop: AtomicU8,
    /// Its thread does not come back.
    lost: AtomicBool,
    pub(super) entries: Entries,
    pub(super) v8: OnceLock<v8::IsolateHandle>,
    /// Slots whose last handle is gone; emptied by the thread that borrows the isolate.
    pub(super) released: Mutex<Vec<u32>>,
    pub(super) has_released: AtomicBool,
    pub budget: Arc<Budget>,
    /// Hears of the isolate's end, for whoever waits for more than a call.
    ending: Mutex<Option<Arc<dyn Answer>>>,
    /// Hear when nothing of the isolate can run any more.
    departures: Mutex<Departures>,
    pub(super) figures: Mutex<Option<HeapFigures>>,
    pub meter: Meter,
    /// What inspector sessions have sent.
    pub port: Port,
    pub profiles: Profiles,
    /// Sync calls that are queued.
    waiting_calls: AtomicU32,
    /// Who hears of the outcome of a guest's promise, and how the value is to be transferred.
    awaited: Mutex<Slab<(Arc<dyn Answer>, u32)>>,
    /// What the guest's calls that it does not wait for take outside its heap, from question to answer.
    pub outstanding: Arc<Budget>,
    /// The same for calls whose answer it ignores.
    pub posted: Arc<Budget>,
    /// Loose jobs that are queued or running.
    loose: AtomicU32,
    /// Memory of a host has come in.
    pub shares_memory: AtomicBool,
    /// Handles on values of this isolate that are alive.
    pub handles: AtomicU32,
    pub(super) is_author: bool,
}

/// A deadline counts from the call: one that has not even started by then is answered all the same.
fn answer_at(Deadline { limit, time }: Deadline, answer: &Arc<dyn Answer>) -> clock::Alarm {
    let answer = Arc::downgrade(answer);
    clock::at(time, move || {
        if let Some(answer) = answer.upgrade() {
            answer.answer(Err(Fault::deadline(limit)));
        }
    })
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// An id for an owner of slots.
pub fn next_owner_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

impl Remote {
    /// A new isolate. Its V8 side is made on a pool thread, at once.
    pub fn create(settings: Settings) -> Arc<Self> {
        let remote = Self::new(settings, false);
        remote.borrow_thread(remote.lock());
        remote
    }

    /// An isolate that does one job, and whose answer then is the snapshot of what the job leaves behind (see
    /// [`super::author`]).
    pub fn create_author(settings: Settings) -> Arc<Self> {
        Self::new(settings, true)
    }

    fn new(settings: Settings, is_author: bool) -> Arc<Self> {
        let [budget, outstanding, posted] = std::array::from_fn(|_| Budget::new(settings.memory_limit));
        Arc::new_cyclic(|me: &Weak<Remote>| Self {
            id: next_owner_id(),
            me: me.clone(),
            settings,
            inbox: Mutex::new(Inbox {
                calls: VecDeque::new(),
                tasks: VecDeque::new(),
                place: Whereabouts::Unborn,
                parked: false,
            }),
            ready: Condvar::new(),
            version: AtomicU32::new(0),
            stop: AtomicU8::new(Stop::None as u8),
            lost: AtomicBool::new(false),
            entries: Entries::default(),
            v8: OnceLock::new(),
            released: Mutex::default(),
            has_released: AtomicBool::new(false),
            budget,
            ending: Mutex::default(),
            departures: Mutex::default(),
            figures: Mutex::default(),
            meter: Meter::default(),
            port: Port::default(),
            profiles: Profiles::default(),
            waiting_calls: AtomicU32::new(0),
            awaited: Mutex::default(),
            outstanding,
            posted,
            loose: AtomicU32::new(0),
            shares_memory: AtomicBool::new(false),
            handles: AtomicU32::new(0),
            is_author,
        })
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The guest has work of its own that nobody waits for yet.
    pub fn has_loose_work(&self) -> bool {
        !self.is_disposed() && self.loose.load(Ordering::Acquire) > 0
    }

    pub(super) fn finish_loose(&self) {
        self.loose.fetch_sub(1, Ordering::AcqRel);
    }

    pub fn stop_reason(&self) -> Stop {
        Stop::from_u8(self.stop.load(Ordering::SeqCst))
    }

    pub fn is_disposed(&self) -> bool {
        self.stop_reason() != Stop::None
    }

    /// What runs is to stop: the isolate is at its end, or a limit of some entry has passed.
    pub fn is_stopping(&self) -> bool {
        self.is_disposed() || self.entries.any_expired()
    }

    /// Queues `job`; its answer tells when the isolate is gone.
    pub fn post(&self, mut job: Job) {
        let mut inbox = self.lock();
        if self.is_disposed() || matches!(inbox.place, Whereabouts::Gone) {
            drop(inbox);
            let fault = match self.stop_reason() {
                Stop::Memory => Fault::out_of_memory(),
                Stop::Lost => Fault::unresponsive(),
                _ => Fault::disposed(job.kind == Kind::Call),
            };
            job.answer.answer(Err(fault));
            return;
        }
        if let Some(deadline) = job.limits.deadline
            && matches!(job.kind, Kind::Call | Kind::Task)
        {
            job.overdue = Some(answer_at(deadline, &job.answer));
        }
        if job.kind == Kind::Loose {
            self.loose.fetch_add(1, Ordering::AcqRel);
        }
        if job.kind == Kind::Call {
            inbox.calls.push_back(job);
            self.waiting_calls.fetch_add(1, Ordering::Release);
        } else {
            inbox.tasks.push_back(job);
        }
        self.signal(inbox);
    }

    /// Keeps `answer` until the promise it waits for has settled; without that it is abandoned with the isolate.
    pub fn await_outcome(&self, answer: Arc<dyn Answer>, transfer: u32) -> usize {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner).insert((answer, transfer))
    }

    /// Takes what [`Remote::await_outcome`] has kept.
    pub fn awaited(&self, id: usize) -> Option<(Arc<dyn Answer>, u32)> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner).try_remove(id)
    }

    pub(super) fn abandon_promises(&self) {
        let awaited = std::mem::take(&mut *self.awaited.lock().unwrap_or_else(PoisonError::into_inner));
        for (_, (answer, _)) in awaited {
            answer.answer(Err(Fault::promise_abandoned()));
        }
    }

    /// The next job: sync calls first.
    pub(super) fn take_job(&self) -> Option<Job> {
        let mut inbox = self.lock();
        inbox.take_call(&self.waiting_calls).or_else(|| inbox.tasks.pop_front())
    }

    /// Some sync call is queued.
    pub(super) fn has_waiting_call(&self) -> bool {
        self.waiting_calls.load(Ordering::Acquire) > 0
    }

    /// The next sync call.
    pub(super) fn take_call(&self) -> Option<Job> {
        if !self.has_waiting_call() {
            return None;
        }
        self.lock().take_call(&self.waiting_calls)
    }

    /// Makes sure that a thread looks at the isolate's state again.
    pub(super) fn signal(&self, inbox: MutexGuard<'_, Inbox>) {
        self.version.fetch_add(1, Ordering::Release);
        match inbox.place {
            Whereabouts::Borrowed => {
                let parked = inbox.parked;
                drop(inbox);
                if parked {
                    self.ready.notify_all();
                }
            }
            Whereabouts::Unborn | Whereabouts::Idle(_) => self.borrow_thread(inbox),
            Whereabouts::Gone => {}
        }
    }

    /// Has the thread that works for the isolate, if one does, look at its state again.
    pub(super) fn wake(&self) {
        let inbox = self.lock();
        if matches!(inbox.place, Whereabouts::Borrowed) {
            self.signal(inbox);
        }
    }

    fn borrow_thread(&self, mut inbox: MutexGuard<'_, Inbox>) {
        let Some(me) = self.me.upgrade() else { return };
        let place = std::mem::replace(&mut inbox.place, Whereabouts::Borrowed);
        drop(inbox);
        let body = match place {
            Whereabouts::Idle(body) => Some(body),
            _ => None,
        };
        run::start(me, body);
    }

    /// Ends the isolate: whatever runs is terminated, every call gets the reason. False when it had ended before.
    pub fn stop(&self, reason: Stop) -> bool {
        if self.stop.compare_exchange(0, reason as u8, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return false;
        }
        if let Some(v8) = self.v8.get() {
            v8.terminate_execution();
        }
        let fault = reason.fault().unwrap_or(Fault::Stopped);
        self.answer_end(&fault);
        if self.entries.is_running() {
            self.give_up_after(TERMINATION_GRACE);
        }
        self.signal(self.lock());
        true
    }

    /// `answer` hears of the isolate's end, at once if that has come.
    pub fn when_ended(&self, answer: Arc<dyn Answer>) {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        if let Some(fault) = self.stop_reason().fault() {
            self.answer_end(&fault);
        }
    }

    /// `answer` hears when the isolate's V8 side is gone or given up, at once if that has come.
    pub fn when_gone(&self, answer: Arc<dyn Answer>) {
        let mut departures = self.departures.lock().unwrap_or_else(PoisonError::into_inner);
        if departures.gone {
            drop(departures);
            return answer.answer(Ok(Value::Undefined));
        }
        departures.waiting.push(answer);
    }

    /// Waits until the isolate's V8 side is gone or given up. Not on a thread of an isolate.
    pub fn await_gone(&self) {
        struct Gone(Mutex<bool>, Condvar);
        impl Answer for Gone {
            fn answer(&self, _outcome: Outcome) {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
                self.1.notify_all();
            }
        }
        let answer = Arc::new(Gone(Mutex::new(false), Condvar::new()));
        self.when_gone(Arc::clone(&answer) as Arc<dyn Answer>);
        let mut gone = answer.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*gone {
            gone = answer.1.wait(gone).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn announce_gone(&self) {
        let mut departures = self.departures.lock().unwrap_or_else(PoisonError::into_inner);
        departures.gone = true;
        let waiting = std::mem::take(&mut departures.waiting);
        drop(departures);
        for answer in waiting {
            answer.answer(Ok(Value::Undefined));
        }
    }

    fn answer_end(&self, fault: &Fault) {
        self.entries.answer_all(fault);
        let ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(ending) = ending {
            ending.answer(Err(fault.clone()));
        }
    }

    /// Unless the thread has come back by then, the isolate counts as lost.
    fn give_up_after(&self, grace: Duration) {
        let remote = self.me.clone();
        clock::after(grace, move || {
            if let Some(remote) = remote.upgrade().filter(|remote| remote.entries.is_running()) {
                remote.give_up("Script failed to terminate");
            }
        });
    }

    /// The thread is not expected back: answers every call, queued ones too, and leaves the thread alone. Also called by
    /// V8's out-of-memory handler, on the thread itself.
    pub fn give_up(&self, problem: &str) {
        let first = !self.lost.swap(true, Ordering::AcqRel);
        // An earlier reason stays.
        let _ = self.stop.compare_exchange(0, Stop::Lost as u8, Ordering::AcqRel, Ordering::Acquire);
        self.meter.lower_priority();
        let fault = self.stop_reason().fault().unwrap_or(Fault::Stopped);
        // Before the calls: a host stays alive for those, not for promises.
        self.abandon_promises();
        self.answer_end(&fault);
        self.fail_queued(&fault);
        self.announce_gone();
        if first && let Some(callback) = &self.settings.on_catastrophe {
            callback(problem);
        }
    }

    /// Answers everything that has not started.
    pub(super) fn fail_queued(&self, fault: &Fault) {
        let mut inbox = self.lock();
        let jobs: Vec<Job> = {
            self.waiting_calls.store(0, Ordering::Release);
            let inbox = &mut *inbox;
            inbox.calls.drain(..).chain(inbox.tasks.drain(..)).collect()
        };
        drop(inbox);
        for job in jobs {
            job.answer.answer(Err(fault.clone()));
            if job.kind == Kind::Loose {
                self.finish_loose();
            }
        }
    }

    /// The isolate behind an owner of slots, if it is one.
    pub fn from_owner(owner: &Arc<dyn Owner>) -> Option<Arc<Remote>> {
        Arc::clone(owner).as_any().downcast::<Remote>().ok()
    }
}

impl Owner for Remote {
    fn id(&self) -> u64 {
        self.id
    }

    fn release(&self, slot: u32) {
        self.handles.fetch_sub(1, Ordering::Relaxed);
        self.released.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
        self.has_released.store(true, Ordering::Release);
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl Wake for Remote {
    fn wake(&self) {
        self.signal(self.lock());
    }
}

impl TaskSink for Remote {
    fn post(&self, task: v8::Task, delay: Duration) {
        let me = self.me.clone();
        let post = move || {
            if let Some(remote) = me.upgrade() {
                Remote::post(&remote, run::platform_job(task));
            }
        };
        if delay.is_zero() {
            post();
        } else {
            clock::after(delay, post);
        }
    }
}

impl Drop for Remote {
    /// Nobody can reach the isolate any more: its V8 side is disposed on a pool thread.
    fn drop(&mut self) {
        self.abandon_promises();
        let inbox = self.inbox.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Whereabouts::Idle(body) = std::mem::replace(&mut inbox.place, Whereabouts::Gone) {
            run::dispose_idle(body);
        }
    }
}

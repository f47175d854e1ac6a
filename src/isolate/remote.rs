//! An isolate as every other thread sees it: an inbox, the stack of running entries, and one way to stop it.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use slab::Slab;

use super::ending::{Departures, Stop};
use super::entry::Entries;
use super::inspector::{Port, Profiles};
use super::job::Kind;
use super::meter::Meter;
use super::run::{self, Body};
use super::{Binding, Deadline, HeapFigures, Job, clock};
use crate::engine::{Engine, Snapshot, TaskSink};
use crate::value::{Answer, Budget, Fault, Owner, Wake};

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

impl Inbox {
    fn take_call(&mut self, waiting: &AtomicU32) -> Option<Job> {
        let job = self.calls.pop_front()?;
        waiting.fetch_sub(1, Ordering::Release);
        Some(job)
    }
}

pub struct Remote {
    id: u64,
    pub(super) me: Weak<Remote>,
    pub settings: Settings,
    pub(super) inbox: Mutex<Inbox>,
    pub(super) ready: Condvar,
    /// Counts changes that a waiting thread must look at.
    pub(super) version: AtomicU32,
    pub(super) stop: AtomicU8,
    /// Its thread does not come back.
    pub(super) lost: AtomicBool,
    pub(super) entries: Entries,
    pub(super) v8: OnceLock<v8::IsolateHandle>,
    /// Slots whose last handle is gone; emptied by the thread that borrows the isolate.
    pub(super) released: Mutex<Vec<u32>>,
    pub(super) has_released: AtomicBool,
    pub budget: Arc<Budget>,
    /// Hears of the isolate's end, for whoever waits for more than a call.
    pub(super) ending: Mutex<Option<Arc<dyn Answer>>>,
    /// Hear when nothing of the isolate can run any more.
    pub(super) departures: Mutex<Departures>,
    pub(super) figures: Mutex<Option<HeapFigures>>,
    pub meter: Meter,
    /// What inspector sessions have sent.
    pub port: Port,
    pub profiles: Profiles,
    /// Sync calls that are queued.
    pub(super) waiting_calls: AtomicU32,
    /// Who hears of the outcome of a guest's promise, and how the value is to be transferred.
    pub(super) awaited: Mutex<Slab<(Arc<dyn Answer>, u32)>>,
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

//! An isolate as every other thread sees it: an inbox, the stack of running entries, and one way to stop it.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use slab::Slab;

use super::arrivals::Arrival;
use super::burial::{self, Burial};
use super::census::{self, Account, Ledger};
use super::ending::{Departures, Stop};
use super::entry::Entries;
use super::family::{Family, Membership};
use super::inspector::{Port, Profiles};
use super::job::Kind;
use super::legacy::Legacy;
use super::meter::Meter;
use super::run::{self, Body};
use super::spare::Spare;
use super::{Binding, Deadline, HeapFigures, Job, clock, handles, memory, realm};
use crate::engine::{self, Engine, Seat, Snapshot, TaskSink};
use crate::native::{Ration, TypeBudget};
use crate::value::{Answer, Budget, Fault, Host, Owner, Stay, Value, Wake};

/// Gets a description of what went wrong.
pub type Notify = Arc<dyn Fn(&str) + Send + Sync>;

/// What an isolate is made from.
#[derive(Clone)]
pub struct Settings {
    /// Starts the engine, the first time. `None` if the process has no memory for it.
    pub engine: fn() -> Option<&'static Engine>,
    /// How realms of this isolate show handles.
    pub binding: &'static dyn Binding,
    /// Bytes of V8's heap, and again as many of buffers.
    pub memory_limit: usize,
    /// What the isolate starts from instead of our own snapshot.
    pub snapshot: Option<Snapshot>,
    /// Sessions of V8's inspector can be opened.
    pub inspector: bool,
    /// Its guests see where a host's code lies, in the stacks of what the host's functions throw.
    pub host_stacks: bool,
    /// Where types of WebAssembly count, if not in the isolate itself.
    pub types: Option<Arc<TypeBudget>>,
    /// Where references that hosts give its guests count, if not in the isolate itself.
    pub references: Option<Arc<Budget>>,
    /// With which the isolate ends at the latest.
    pub host: Option<Weak<dyn Host>>,
    /// Makes the host's isolates.
    pub maker: Option<Weak<dyn Maker>>,
}

/// Who makes isolates for a host, and may have had one made before.
pub trait Maker: Send + Sync {
    /// `warm`: how many are to be ready for those who come next, when this one has ended.
    fn make(&self, settings: Settings, warm: usize) -> Arc<Remote>;
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
    /// The borrowing thread sleeps on `ready`, and nobody has woken it yet.
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
    /// While the V8 side is being made.
    arrival: Mutex<Option<Arrival>>,
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
    /// Memory of V8's that is neither its heap nor buffers; without a limit where the isolate can be inspected.
    pub(super) ration: Option<Arc<Ration>>,
    /// Address space that buffers reserve.
    pub(super) space: Arc<Budget>,
    /// Called when the isolate is given up.
    pub(super) on_catastrophe: OnceLock<Notify>,
    /// Hears of the isolate's end, for whoever waits for more than a call.
    pub(super) ending: Mutex<Option<Arc<dyn Answer>>>,
    /// Hear when nothing of the isolate can run any more.
    pub(super) departures: Mutex<Departures>,
    /// Keeps the host for what a running job will still bring about, and from when the isolate is stopped until it is gone.
    pub(super) staying: Mutex<Option<Stay>>,
    /// Keep the host for what the guest waits for, or still does with what has come.
    pub(super) stays: Mutex<Slab<Stay>>,
    pub(super) figures: Mutex<Option<HeapFigures>>,
    pub meter: Meter,
    /// The thread that works for the isolate.
    pub seat: Seat,
    /// What inspector sessions have sent.
    pub port: Port,
    pub profiles: Profiles,
    /// Sync calls that are queued.
    pub(super) waiting_calls: AtomicU32,
    /// Who hears of the outcome of a guest's promise, and how the value is to be transferred.
    pub(super) awaited: Mutex<Slab<(Arc<dyn Answer>, u32)>>,
    /// What the guest's calls that it does not wait for take outside its heap, from question to answer.
    pub outstanding: Arc<Budget>,
    /// What a host may hold of the guest's until it answers, as that is there: the host's function has it until it is done.
    pub held: Arc<Budget>,
    /// The same for calls whose answer it ignores.
    pub posted: Arc<Budget>,
    /// What copies take that the guest has made and holds outside of its heap.
    pub copies: Arc<Budget>,
    /// References to values of hosts, and functions of hosts, that the guest was given at its own request and may still use.
    pub references: Arc<Budget>,
    /// Isolates that the guest has made.
    pub(super) offspring: Mutex<Vec<Weak<Remote>>>,
    /// Those and what they make, as far as it is known what they are to get.
    pub(super) family: OnceLock<Arc<Family>>,
    pub(super) membership: Mutex<Membership>,
    /// Loose jobs that are queued or running, and one more while the host waits for a module that V8 compiles.
    loose: AtomicU32,
    compiles: AtomicBool,
    compiling_counts: AtomicBool,
    /// Compilations in a row that nobody but the guest's own compilations have caused.
    compiled_in_a_row: AtomicU32,
    /// Hear when there are none.
    digested: Mutex<Vec<Arc<dyn Answer>>>,
    /// Memory of a host has come in.
    pub shares_memory: AtomicBool,
    /// Buffers here whose memory a host has given away.
    pub(super) borrowed: Arc<AtomicUsize>,
    /// Handles on values of this isolate that are alive.
    pub handles: AtomicU32,
    /// What it has sent, which others may outlive.
    pub legacy: Arc<Legacy>,
    pub(super) is_author: bool,
    pub(super) spare: Spare,
    pub(super) account: Arc<Account>,
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

/// Tasks that may wait until a thread that sleeps is told of them. With more it begins, while others are still being sent.
const MAX_UNWOKEN_TASKS: usize = 16;

/// See [`Remote::note_compiling`].
const MAX_COMPILED_IN_A_ROW: u32 = 64;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// An id for an owner of slots.
pub fn next_owner_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

impl Remote {
    /// A new isolate. Its V8 side is made on a pool thread, at once.
    pub fn create(settings: Settings) -> Arc<Self> {
        let remote = Self::new(settings, false, Spare::default());
        remote.borrow_thread(remote.lock());
        remote
    }

    /// Has `notify` called when the isolate is given up; whoever has it made says so, once.
    pub fn when_given_up(&self, notify: Notify) {
        // Fails only if it was said before.
        let _ = self.on_catastrophe.set(notify);
    }

    /// An isolate that does one job, and whose answer then is the snapshot of what the job leaves behind (see
    /// [`super::author`]).
    pub fn create_author(settings: Settings) -> Arc<Self> {
        Self::new(settings, true, Spare::default())
    }

    pub(super) fn new(settings: Settings, is_author: bool, spare: Spare) -> Arc<Self> {
        let held = Budget::new(realm::most_outside(settings.memory_limit));
        let [budget, outstanding, posted, copies] = std::array::from_fn(|_| Budget::new(settings.memory_limit));
        let references = settings.references.clone().unwrap_or_else(|| handles::references(settings.memory_limit));
        Arc::new_cyclic(|me: &Weak<Remote>| Self {
            id: next_owner_id(),
            me: me.clone(),
            ration: memory::ration(me, &settings),
            settings,
            inbox: Mutex::new(Inbox {
                calls: VecDeque::new(),
                tasks: VecDeque::new(),
                place: Whereabouts::Unborn,
                parked: false,
            }),
            ready: Condvar::new(),
            arrival: Mutex::default(),
            version: AtomicU32::new(0),
            stop: AtomicU8::new(Stop::None as u8),
            lost: AtomicBool::new(false),
            entries: Entries::default(),
            v8: OnceLock::new(),
            released: Mutex::default(),
            has_released: AtomicBool::new(false),
            budget,
            space: engine::address_space(),
            on_catastrophe: OnceLock::new(),
            ending: Mutex::default(),
            departures: Mutex::default(),
            staying: Mutex::default(),
            stays: Mutex::default(),
            figures: Mutex::default(),
            meter: Meter::default(),
            seat: Seat::default(),
            port: Port::default(),
            profiles: Profiles::default(),
            waiting_calls: AtomicU32::new(0),
            awaited: Mutex::default(),
            outstanding,
            held,
            posted,
            copies,
            references,
            offspring: Mutex::default(),
            family: OnceLock::new(),
            membership: Mutex::default(),
            loose: AtomicU32::new(0),
            compiles: AtomicBool::new(false),
            compiling_counts: AtomicBool::new(false),
            compiled_in_a_row: AtomicU32::new(0),
            digested: Mutex::default(),
            shares_memory: AtomicBool::new(false),
            borrowed: Arc::default(),
            handles: AtomicU32::new(0),
            legacy: Arc::default(),
            is_author,
            account: Arc::new(Account::open(spare.is_one())),
            spare,
        })
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `ledger` reckon with the isolate's memory from now on, unless another one does. Returns what that is so far.
    pub fn charge(&self, ledger: Weak<dyn Ledger>) -> Option<usize> {
        self.account.charge(ledger)
    }

    /// The guest has work of its own that nobody waits for yet.
    pub fn has_loose_work(&self) -> bool {
        !self.is_disposed() && self.loose.load(Ordering::Acquire) > 0
    }

    /// `answer` hears when the guest has no work of its own any more, at once if that is so. Where the isolate is stopped, when it
    /// is gone: what it abandons is told before.
    pub fn when_digested(&self, answer: Arc<dyn Answer>) {
        self.digested.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
        let done = if self.is_disposed() { self.is_gone() } else { self.loose.load(Ordering::Acquire) == 0 };
        if done {
            self.announce_digested();
        }
    }

    pub(super) fn announce_digested(&self) {
        let digested = std::mem::take(&mut *self.digested.lock().unwrap_or_else(PoisonError::into_inner));
        for answer in digested {
            answer.answer(Ok(Value::Undefined));
        }
    }

    pub(super) fn finish_loose(&self) {
        if self.loose.fetch_sub(1, Ordering::AcqRel) == 1 && !self.is_disposed() {
            self.announce_digested();
        }
    }

    /// Notes, after a job of some kind, whether V8 compiles a module asynchronously. That is work of the guest's own, for which the host
    /// stays: it may end in a call of the host. A guest that compiles on and on does not keep a host alive unless somebody waits for a
    /// promise of the guest's.
    pub(super) fn note_compiling(&self, isolate: &v8::Isolate, kind: Kind) {
        let began = engine::began_compiling();
        if !began && !self.compiles.load(Ordering::Relaxed) {
            return;
        }
        if kind != Kind::Background {
            self.compiled_in_a_row.store(0, Ordering::Relaxed);
        } else if began {
            self.compiled_in_a_row.fetch_add(1, Ordering::Relaxed);
        }
        let is_endless = self.compiled_in_a_row.load(Ordering::Relaxed) > MAX_COMPILED_IN_A_ROW;
        let compiles = isolate.has_pending_background_tasks();
        self.compiles.store(compiles, Ordering::Relaxed);
        let is_awaited = || !self.awaited.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        let counts = compiles && (!is_endless || is_awaited());
        let counted = self.compiling_counts.swap(counts, Ordering::Relaxed);
        if counts && !counted {
            self.loose.fetch_add(1, Ordering::AcqRel);
        } else if counted && !counts {
            self.finish_loose();
        }
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
    pub fn post(&self, job: Job) {
        if let Some(inbox) = self.queue(job) {
            self.signal(inbox);
        }
    }

    /// The same for a task that others may follow at once. True when the isolate's thread sleeps and does not know of it:
    /// [`Remote::tell`] is to follow, for waking it takes longer than a short task. Without that it would look by itself, when its
    /// patience with an idle isolate is over.
    pub fn post_untold(&self, job: Job) -> bool {
        let Some(inbox) = self.queue(job) else { return false };
        // With sessions the thread's patience has no end.
        let sleeps = matches!(inbox.place, Whereabouts::Borrowed) && inbox.parked && !self.port.has_sessions();
        if !sleeps || inbox.tasks.len() >= MAX_UNWOKEN_TASKS {
            self.signal(inbox);
            return false;
        }
        self.version.fetch_add(1, Ordering::Release);
        true
    }

    /// Has the isolate's thread look at what [`Remote::post_untold`] has queued.
    pub fn tell(&self) {
        self.awaken(self.lock());
    }

    /// Wakes the thread if it sleeps.
    fn awaken(&self, mut inbox: MutexGuard<'_, Inbox>) {
        // Who wakes it next would do it in vain: it takes a while to run.
        let parked = std::mem::take(&mut inbox.parked);
        drop(inbox);
        if parked {
            self.ready.notify_all();
        }
    }

    /// Puts `job` into the inbox, or answers it.
    fn queue(&self, mut job: Job) -> Option<MutexGuard<'_, Inbox>> {
        let mut inbox = self.lock();
        if self.is_disposed() || matches!(inbox.place, Whereabouts::Gone) {
            drop(inbox);
            let fault = match self.stop_reason() {
                Stop::Memory => Fault::out_of_memory(),
                Stop::Lost => Fault::unresponsive(),
                Stop::Refused => Fault::too_much_lost(),
                _ => Fault::disposed(job.kind == Kind::Call),
            };
            job.answer.answer(Err(fault));
            return None;
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
        Some(inbox)
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
            Whereabouts::Borrowed => self.awaken(inbox),
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

    pub(super) fn borrow_thread(&self, mut inbox: MutexGuard<'_, Inbox>) {
        let Some(me) = self.me.upgrade() else { return };
        let place = std::mem::replace(&mut inbox.place, Whereabouts::Borrowed);
        let is_spare = self.spare.is_one();
        drop(inbox);
        let Whereabouts::Idle(body) = place else { return run::start(me, None) };
        if !is_spare {
            census::stir();
        }
        if self.is_disposed() { burial::bury(Burial::Stopped(body, me)) } else { run::start(me, Some(body)) }
    }

    /// Its V8 side is being made from now on.
    pub(super) fn arrive(&self, arrival: Arrival) {
        *self.arrival.lock().unwrap_or_else(PoisonError::into_inner) = Some(arrival);
    }

    /// It is made, or never will be.
    pub(super) fn has_arrived(&self) {
        let arrival = self.arrival.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(arrival);
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
        self.announce_digested();
        self.stop_offspring();
        let membership = self.leave_family();
        let inbox = self.inbox.get_mut().unwrap_or_else(PoisonError::into_inner);
        let place = std::mem::replace(&mut inbox.place, Whereabouts::Gone);
        if let Whereabouts::Idle(body) = place {
            if !self.spare.is_one() {
                census::stir();
            }
            let native = self.most_native();
            burial::bury(Burial::Forgotten { body, account: Arc::clone(&self.account), membership, native });
        }
    }
}

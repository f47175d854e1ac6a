//! A sync call into an idle isolate, on a fiber of the thread that makes the call. No other thread is needed.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::current::as_current;
use super::deferred_disposal::{self, DeferredDisposal};
use super::heap_tasks;
use super::host_polls;
use super::job_execution;
use super::run;
use super::suspension::{FiberGuest, PeerCall};
use crate::engine::{self, Entered};
use crate::isolate::guest::Guest;
use crate::isolate::job::{Deadline, Job};
use crate::isolate::policy;
use crate::isolate::remote::Remote;
use crate::isolate::remote::body::Body;
use crate::isolate::remote::lifecycle::{Action, Event};
use crate::isolate::remote::reason::Stop;
use crate::native;
use crate::native::fiber::{self, Fiber, Pause};
use crate::value::{DirectCall, spin};

/// A fiber of this thread, with what its guest needs. It is used for one call after another.
struct GuestFiber {
    /// No other fiber has had it.
    id: usize,
    native: Box<Fiber>,
    guest: FiberGuest,
    /// What the guest begins with.
    job: Cell<Option<(Box<Body>, Box<Job>)>>,
    /// What it returns.
    body: Cell<Option<Box<Body>>>,
    /// How many guests had begun on this thread with its own.
    number: Cell<u64>,
    /// V8 works for its guest whenever it works on this thread, although the guest waits.
    current: Cell<bool>,
}

impl Drop for GuestFibers {
    /// The thread ends. Nothing runs on the stacks of guests that still wait, but V8's own threads may refer to them.
    fn drop(&mut self) {
        let taken = self.taken.take();
        for remote in taken.iter().filter_map(|fiber| fiber.guest.remote.try_borrow().ok()?.clone()) {
            remote.execution.caller.lose();
        }
        std::mem::forget(taken);
    }
}

#[derive(Default)]
struct GuestFibers {
    /// Those with a guest, in the order in which they were taken. Their guests wait, except one that runs now.
    taken: RefCell<Vec<Rc<GuestFiber>>>,
    spare: RefCell<Vec<Rc<GuestFiber>>>,
    /// How many have been taken.
    begun: Cell<u64>,
    /// What V8 allows code on this thread to do when no guest runs on it.
    allowed: Cell<Option<engine::Allowed>>,
}

thread_local! {
    static FIBERS: GuestFibers = GuestFibers::default();
}

/// Whether sync calls run on the caller's thread.
pub fn is_wanted() -> bool {
    policy::on_caller()
}

/// Whether guests can run on threads of hosts here.
pub fn is_available() -> bool {
    engine::knows_code_of_v8()
}

/// A thread of ours that has just answered the previous call returns the isolate within this time.
const SPIN: Duration = Duration::from_micros(20);

/// One that has nothing to do, or works on the heap, within this time. It would need as long to begin the call, if other programs need the
/// processors.
const PATIENCE: Duration = Duration::from_millis(20);

/// Fibers that a thread keeps. Each takes the memory that the deepest guest has used.
const MAX_SPARE: usize = 4;

/// With this many guests on a thread, calls between them are messages. What stops the first of them stops all, one inside the other on its stack.
const MAX_BESIDE: usize = 64;

impl Remote {
    /// Begins `job` on this thread, if the isolate is idle. Returns the job if it is not. [`resume`] must follow until it is done.
    pub fn begin_on_caller(self: &Arc<Self>, job: Box<Job>) -> Result<(), Box<Job>> {
        // V8 may report fatal errors where it reads a snapshot of a host; threads of ours survive these.
        let keeps_thread = self.settings.inspector || self.settings.snapshot.is_some();
        if keeps_thread || self.inspector.profiles.are_wanted() || fiber::active() != 0 {
            return Err(job);
        }
        let Some(body) = self.enter_body(job.limits.deadline) else { return Err(job) };
        let Some(fiber) = GuestFiber::find(&body) else {
            self.take_back(body);
            return Err(job);
        };
        host_polls::watch(self);
        fiber.begin(self, body, job);
        FIBERS.with(|fibers| {
            fiber.number.set(fibers.begun.get() + 1);
            fibers.begun.set(fiber.number.get());
            fibers.taken.borrow_mut().push(Rc::clone(&fiber));
        });
        fiber.resume();
        Ok(())
    }

    /// Takes the V8 side, if the isolate is idle or just about to be. Does not wait longer than until `deadline`.
    fn enter_body(&self, deadline: Option<Deadline>) -> Option<Box<Body>> {
        let caller = &self.execution.caller;
        let mut queues = self.mailbox.lock();
        let mut until = None;
        loop {
            if let Action::Enter(body) = self.transition(&queues, Event::Enter).action {
                caller.enter();
                return Some(body);
            }
            // If a thread of ours has it, that returns it as soon as there is no work.
            caller.want();
            let is_empty = queues.is_empty();
            if is_empty && caller.has_entered() {
                self.mailbox.notify(queues);
            } else {
                drop(queues);
            }
            let has_work = !is_empty || (self.running_jobs.runs(None) && !caller.tends_heap());
            if has_work || caller.is_entered() || self.is_stopping() {
                return None;
            }
            match until {
                None if !spin(SPIN, || self.lifecycle.is_idle()) && !caller.has_entered() => return None,
                None => {
                    let patience = Instant::now() + PATIENCE;
                    until = Some(deadline.map_or(patience, |deadline| deadline.time.min(patience)));
                    queues = self.mailbox.lock();
                }
                Some(until) => {
                    queues = self.mailbox.lock();
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    if !self.lifecycle.is_idle() {
                        queues = self.mailbox.await_rest(queues, left);
                    }
                }
            }
        }
    }

    /// Whether a guest of this isolate waits on this thread.
    pub fn waits_on_this_thread(&self) -> bool {
        fiber_of(self).is_some()
    }
}

/// The fiber of the guest of `remote`, if that has one on this thread.
fn fiber_of(remote: &Remote) -> Option<Rc<GuestFiber>> {
    if !fiber::exist() {
        return None;
    }
    // A thread that is ending has none.
    let found = FIBERS.try_with(|fibers| {
        fibers.taken.borrow().iter().rev().find(|fiber| fiber.guest.is_of(remote.id())).map(Rc::clone)
    });
    found.ok().flatten()
}

/// Resumes the guests that have begun on this thread since there were `begun`, and were stopped while they waited, until they have returned, the last
/// first.
pub fn unwind(begun: u64) {
    if !fiber::exist() {
        return;
    }
    let is_stopping = |fiber: &Rc<GuestFiber>| {
        fiber.number.get() > begun && fiber.guest.remote.borrow().as_ref().is_some_and(|remote| remote.is_stopping())
    };
    let last =
        || FIBERS.with(|fibers| fibers.taken.borrow().iter().rev().find(|fiber| is_stopping(fiber)).map(Rc::clone));
    while let Some(fiber) = last() {
        fiber.guest.polls_host.set(false);
        fiber.resume();
    }
}

/// How many guests have begun on this thread.
pub fn begun() -> u64 {
    if fiber::exist() { FIBERS.with(|fibers| fibers.begun.get()) } else { 0 }
}

/// What the guests of this thread need.
pub enum Progress {
    /// One has run.
    Resumed,
    /// One has run for long. The host must look whether it is alive.
    Pulsed,
    /// None has anything to look at.
    None,
}

/// Resumes a guest that waits on this thread, if one has something to look at.
pub fn resume() -> Progress {
    if !fiber::exist() {
        return Progress::None;
    }
    let peer_call =
        FIBERS.with(|fibers| fibers.taken.borrow().iter().rev().find_map(|fiber| fiber.guest.take_peer_call()));
    if let Some(call) = peer_call {
        let PeerCall { caller, peer, job } = *call;
        let is_deep = FIBERS.with(|fibers| fibers.taken.borrow().len() >= MAX_BESIDE);
        if let Err(job) = if is_deep { Err(job) } else { peer.begin_on_caller(job) } {
            caller.execution.caller.forget_peer(&job.completion);
            peer.post(*job);
        }
        return Progress::Resumed;
    }
    let found =
        FIBERS.with(|fibers| fibers.taken.borrow().iter().rev().find(|fiber| fiber.guest.has_changed()).map(Rc::clone));
    match found {
        Some(fiber) if fiber.guest.polls_host.get() => {
            // Next time, it is resumed.
            fiber.guest.polls_host.set(false);
            Progress::Pulsed
        }
        Some(fiber) => {
            fiber.resume();
            Progress::Resumed
        }
        None => Progress::None,
    }
}

/// A guest that asks its host on this thread.
#[derive(Clone)]
pub struct DirectCaller(Rc<GuestFiber>);

impl DirectCaller {
    /// A guest that asks this host, and what it asks.
    pub fn find(host: u64) -> Option<(Self, Rc<DirectCall>)> {
        if !fiber::exist() {
            return None;
        }
        let calls =
            |fiber: &Rc<GuestFiber>| fiber.guest.take_direct_call(host).map(|direct| (Self(Rc::clone(fiber)), direct));
        FIBERS.with(|fibers| fibers.taken.borrow().iter().rev().find_map(calls))
    }

    /// Resumes the guest, if it is still that of this isolate.
    #[inline(always)]
    pub fn resume(&self, isolate: u64) {
        if self.0.guest.is_of(isolate) {
            self.0.resume();
        }
    }

    /// What it asks this host.
    pub fn take_direct_call(&self, host: u64) -> Option<Rc<DirectCall>> {
        self.0.guest.take_direct_call(host)
    }
}

/// The isolate with this number, if its guest waits on this thread.
pub fn guest(isolate: u64) -> Option<Arc<Remote>> {
    FIBERS.with(|fibers| {
        fibers
            .taken
            .borrow()
            .iter()
            .find_map(|fiber| fiber.guest.remote.borrow().clone().filter(|remote| remote.id() == isolate))
    })
}

impl GuestFiber {
    /// A fiber without a guest, if possible the one that has the isolate's lock; `None` if this thread can have no more.
    fn find(body: &Body) -> Option<Rc<Self>> {
        let spare = FIBERS.with(|fibers| {
            let mut spare = fibers.spare.borrow_mut();
            let found = spare.iter().position(|fiber| Some(fiber.id) == body.fiber());
            found.map(|index| spare.swap_remove(index)).or_else(|| spare.pop())
        });
        if spare.is_some() {
            return spare;
        }
        let is_ready = fiber::prepare_thread() && engine::accept_suspension();
        let native = if is_ready { Fiber::new() } else { None }?;
        FIBERS.with(|fibers| fibers.allowed.set(Some(engine::Allowed::now())));
        static NEXT_ID: AtomicUsize = AtomicUsize::new(0);
        Some(Rc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            native,
            guest: FiberGuest::default(),
            job: Cell::default(),
            body: Cell::default(),
            number: Cell::default(),
            current: Cell::default(),
        }))
    }

    /// Keeps it for other calls.
    fn keep(self: Rc<Self>) {
        FIBERS.with(|fibers| {
            let mut spare = fibers.spare.borrow_mut();
            if spare.len() < MAX_SPARE {
                spare.push(self);
            }
        });
    }

    fn begin(&self, remote: &Arc<Remote>, body: Box<Body>, job: Box<Job>) {
        self.guest.begin(remote);
        let context = self.native.context();
        // SAFETY: `self.guest` keeps the isolate until its guest is done, or forever. The thread keeps this fiber until then.
        unsafe {
            context.begin(self.native.reserve(), body.thread(), as_current(remote));
            context.fiber.replace(ptr::from_ref(&self.guest).cast());
        }
        self.guest.entered.set(body.entered().filter(|_| body.fiber() == Some(self.id)));
        self.job.set(Some((body, job)));
        // SAFETY: the thread keeps it until its guest is done or left.
        unsafe { self.native.begin(serve, ptr::from_ref(self).cast()) };
    }

    // Processors predict few of the returns after a change of stacks, so there should be few.
    #[inline(always)]
    fn resume(self: &Rc<Self>) {
        if !self.current.get() {
            self.make_current();
        }
        let pause = self.native.resume();
        if pause != Pause::Waiting {
            self.end(pause);
        }
    }

    /// V8 works for this guest on this thread from now on, until another one is resumed here or this one ends: only guests on fibers use V8 on
    /// threads of hosts.
    #[cold]
    fn make_current(&self) {
        FIBERS.with(|fibers| fibers.taken.borrow().iter().for_each(|fiber| fiber.current.set(false)));
        match self.guest.entered.get() {
            // SAFETY: the guest has entered it on this fiber, and has the body.
            Some(entered) => unsafe { entered.resume() },
            None => Entered::suspend(),
        }
        self.current.set(true);
    }

    /// Its guest is done or was left.
    fn end(self: &Rc<Self>, pause: Pause) {
        Entered::suspend();
        self.current.set(false);
        FIBERS.with(|fibers| fibers.taken.borrow_mut().retain(|fiber| !Rc::ptr_eq(fiber, self)));
        let remote = self.guest.end();
        if pause == Pause::Done {
            Rc::clone(self).keep();
            if let (Some(remote), Some(body)) = (remote, self.body.take()) {
                remote.take_back(body);
            }
            return;
        }
        if let Some(allowed) = FIBERS.with(|fibers| fibers.allowed.get()) {
            allowed.restore();
        }
        if let Some(remote) = remote {
            remote.was_left(pause == Pause::Failed, self);
        }
        // V8's own threads may refer to its frames.
        std::mem::forget(Rc::clone(self));
    }
}

/// Runs on `fiber`.
fn serve(fiber: *const c_void) {
    // SAFETY: `GuestFiber::begin` passes the fiber, which the thread keeps.
    let fiber = unsafe { &*fiber.cast::<GuestFiber>() };
    let remote = fiber.guest.remote.borrow().clone();
    if let (Some((mut body, job)), Some(remote)) = (fiber.job.take(), remote) {
        run_job(fiber, &remote, &mut body, job);
        // When nothing runs here any more, as another thread may take it at once.
        fiber.body.set(Some(body));
    }
}

fn run_job(fiber: &GuestFiber, remote: &Arc<Remote>, body: &mut Body, job: Box<Job>) {
    /// A panic is a bug of ours; without this, the callers of the isolate would wait forever.
    struct Watch<'a> {
        remote: &'a Arc<Remote>,
        is_done: bool,
    }
    impl Drop for Watch<'_> {
        fn drop(&mut self) {
            if !self.is_done {
                self.remote.abandon("Internal error");
            }
        }
    }
    let mut watch = Watch { remote, is_done: false };
    let accounts = &remote.accounts;
    engine::with_budgets(&accounts.budget, &accounts.space, || {
        native::with_quota(accounts.quota.as_ref(), || {
            // Dropped before the body, also on a panic.
            let _thread = remote.execution.thread.take_on_caller();
            let isolate = body.lock_on(fiber.id);
            fiber.guest.entered.set(Entered::now());
            // `make` has attached it.
            let Ok(guest) = Guest::of(isolate) else { return remote.abandon("Internal error") };
            guest.tidy(remote);
            fiber.guest.guest.set(&raw const guest);
            v8::scope!(let scope, isolate);
            job_execution::run(scope, &guest, remote, *job);
            fiber.guest.guest.set(ptr::null());
        });
    });
    watch.is_done = true;
}

impl Remote {
    /// The call that has entered the isolate is over. If there is more work, a thread of ours continues.
    fn take_back(self: &Arc<Self>, body: Box<Body>) {
        let mut queues = self.mailbox.lock();
        self.execution.caller.exit();
        let body = if queues.is_empty() && !self.is_disposed() {
            match self.transition(&queues, Event::Rest(body)).action {
                Action::Continue(body) => body,
                _ => return heap_tasks::watch(self, &mut queues),
            }
        } else {
            body
        };
        drop(queues);
        if self.is_disposed() {
            deferred_disposal::defer(DeferredDisposal::Stopped(body, Arc::clone(self), None));
        } else {
            run::start(Arc::clone(self), Some(body));
        }
    }

    /// Its guest was left on `fiber`. It `failed`: V8 cannot continue, because it has run out of memory.
    fn was_left(self: &Arc<Self>, failed: bool, fiber: &GuestFiber) {
        self.execution.caller.exit();
        self.execution.thread.was_left(fiber.native.unguarded());
        let context = fiber.native.context();
        self.give_back_heap(context.entered(), context.safepoint());
        if failed {
            native::with_quota(self.accounts.quota.as_ref(), engine::abandon_texts);
            self.stop(Stop::Memory);
            self.abandon("Catastrophic out-of-memory error");
        } else {
            self.abandon("Script failed to terminate");
        }
        self.accounts.account.freeze();
    }
}

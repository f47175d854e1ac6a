//! What the thread of a guest does while the guest waits: it spins or sleeps. If the guest runs on a fiber, the thread returns to its host.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::engine::Entered;
use crate::isolate::guest::Guest;
use crate::isolate::job::Job;
use crate::isolate::remote::Remote;
use crate::isolate::remote::caller::Peer;
use crate::native::ticks::Reading;
use crate::native::{context, fiber};
use crate::value::{Completion, DirectCall, spin};

/// Another call usually follows within this time; waking a parked thread takes ten times as long as noticing.
const SPIN: Duration = Duration::from_micros(30);

/// Threads that spin at this moment. At most one may: with few cores, more would take time from threads that work.
static SPINNING: AtomicUsize = AtomicUsize::new(0);

/// A guest on a fiber, as the thread that resumes it sees it.
#[derive(Default)]
pub struct FiberGuest {
    /// The isolate whose guest it is, and its number; 0 for none.
    pub remote: RefCell<Option<Arc<Remote>>>,
    isolate: Cell<u64>,
    /// V8's isolate, once it is entered.
    pub entered: Cell<Option<Entered>>,
    /// The guest, while its job runs; null otherwise.
    pub guest: Cell<*const Rc<Guest>>,
    /// The version of the mailbox when the guest began to wait.
    version: Cell<u32>,
    /// What the guest asks its host, until that looks at it.
    direct_call: Cell<Option<Rc<DirectCall>>>,
    /// A call into another isolate that the host's loop begins for the guest.
    peer_call: Cell<Option<Box<PeerCall>>>,
    /// The guest waits only to let the host's loop look around.
    pub polls_host: Cell<bool>,
}

/// A call of a guest into another isolate, for the thread that the guest runs on.
pub struct PeerCall {
    pub caller: Arc<Remote>,
    pub peer: Arc<Remote>,
    pub job: Box<Job>,
}

impl FiberGuest {
    /// A guest of this isolate begins.
    pub fn begin(&self, remote: &Arc<Remote>) {
        self.remote.replace(Some(Arc::clone(remote)));
        self.isolate.set(remote.id());
        // It is still set if the previous job has panicked.
        self.guest.set(ptr::null());
    }

    /// The guest is done or was left. Returns its isolate.
    pub fn end(&self) -> Option<Arc<Remote>> {
        self.isolate.set(0);
        drop(self.direct_call.take());
        drop(self.peer_call.take());
        self.remote.take()
    }

    /// The call that the host's loop must begin for the guest.
    #[inline(always)]
    pub(super) fn take_peer_call(&self) -> Option<Box<PeerCall>> {
        self.peer_call.take()
    }

    /// The running guest is about to wait for its host, which then looks at `direct`. False if the host looks at an earlier call first.
    pub fn call_directly(&self, direct: &Rc<DirectCall>) -> bool {
        // An earlier call is over, or is for another environment of this thread.
        let before = self.direct_call.take().filter(|before| !before.is_over());
        let is_free = before.is_none();
        self.direct_call.set(before.or_else(|| Some(Rc::clone(direct))));
        is_free
    }

    /// What the guest asks this host.
    pub(super) fn take_direct_call(&self, host: u64) -> Option<Rc<DirectCall>> {
        let direct = self.direct_call.take()?;
        if direct.host == host {
            return Some(direct);
        }
        self.direct_call.set(Some(direct));
        None
    }

    pub fn is_of(&self, isolate: u64) -> bool {
        self.isolate.get() == isolate
    }

    /// Whether the guest has something to look at.
    pub fn has_changed(&self) -> bool {
        self.remote.borrow().as_ref().is_some_and(|remote| remote.mailbox.version() != self.version.get())
    }

    /// The running guest waits until something has changed since `version`.
    #[inline(always)]
    fn suspend(&self, version: u32) {
        self.version.set(version);
        fiber::suspend();
    }
}

/// The guest that runs on a fiber of this thread. The thread keeps the fiber until its guest is done or left, so it outlives everything that runs
/// on it.
#[inline(always)]
fn running<'fiber>() -> Option<&'fiber FiberGuest> {
    let running = context::with(|context| context.fiber.get()).cast::<FiberGuest>();
    // SAFETY: as above. Each fiber sets what its context has here.
    unsafe { running.as_ref() }
}

/// A guest that runs on a fiber of this thread.
pub struct RunningGuest<'a> {
    pub fiber: &'a FiberGuest,
    pub guest: &'a Rc<Guest>,
    pub remote: &'a Remote,
}

/// The guest that runs on a fiber of this thread and has called a function with these arguments, if it is that of the isolate with this address.
#[inline(always)]
pub fn running_guest<'a>(
    isolate: *const c_void,
    _called: &'a v8::FunctionCallbackArguments<'_>,
) -> Option<RunningGuest<'a>> {
    let (fiber, remote) = context::with(|context| (context.fiber.get(), context.isolate.get()));
    // SAFETY: as in `running`.
    let fiber = unsafe { fiber.cast::<FiberGuest>().as_ref() }?;
    if !fiber.entered.get()?.is_of(isolate) {
        return None;
    }
    // SAFETY: the fiber keeps the isolate. `run_job`, which has set the guest, keeps it, and runs on the fiber below the function that was
    // called.
    let (guest, remote) = unsafe { (fiber.guest.get().as_ref()?, remote.cast::<Remote>().as_ref()?) };
    Some(RunningGuest { fiber, guest, remote })
}

impl Remote {
    /// The guest, which runs on this thread, waits for `job` of another isolate next: the host's loop begins it on the same thread. Returns the job if
    /// that cannot be. After the wait, [`Remote::forget_peer`] must follow.
    pub fn call_beside(self: &Arc<Self>, peer: &Arc<Remote>, job: Box<Job>) -> Result<(), Box<Job>> {
        let Some(fiber) = running().filter(|fiber| fiber.is_of(self.id())) else { return Err(job) };
        if let Some(before) = fiber.peer_call.take() {
            // A job that waits has not been suspended yet, and serves this one.
            fiber.peer_call.set(Some(before));
            return Err(job);
        }
        let waiting = self.running_jobs.innermost();
        self.execution.caller.await_peer(waiting, Arc::downgrade(peer) as Weak<dyn Peer>, &job.completion);
        fiber.peer_call.set(Some(Box::new(PeerCall { caller: Arc::clone(self), peer: Arc::clone(peer), job })));
        Ok(())
    }

    /// The guest does not wait any more for the call into another isolate that `completion` belongs to. If it was `stopped`, the call ends here at the
    /// latest: once this guest has returned, nothing resumes one that still runs for it.
    pub fn forget_peer(&self, completion: &Arc<dyn Completion>, stopped: bool) {
        let forgotten = self.execution.caller.forget_peer(completion);
        let fiber = running().filter(|fiber| fiber.is_of(self.id()));
        // Still there if the guest was stopped before it was suspended.
        if let Some(fiber) = fiber
            && let Some(call) = fiber.peer_call.take()
            && !Arc::ptr_eq(&call.job.completion, completion)
        {
            fiber.peer_call.set(Some(call));
        }
        if let Some(call) = forgotten.filter(|_| stopped) {
            call.end();
        }
    }

    /// Spins for a short time. True if something has changed since `version`.
    #[inline(always)]
    pub(in crate::isolate) fn spin(&self, version: u32) -> bool {
        if self.execution.caller.is_entered() {
            self.mailbox.version() != version
        } else {
            self.spin_on_thread(version)
        }
    }

    fn spin_on_thread(&self, version: u32) -> bool {
        let changed = || self.mailbox.version() != version;
        let others = SPINNING.fetch_add(1, Ordering::Relaxed);
        let result = if others > 0 { changed() } else { spin(SPIN, changed) };
        SPINNING.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// The guest waits until something has changed since `version`. This does not count as running time.
    #[inline(always)]
    pub(in crate::isolate) fn sleep(&self, version: u32, reading: &mut Reading) {
        let ran = self.accounts.meter.set_running_at(false, || reading.ticks());
        reading.forget();
        match running().filter(|fiber| fiber.is_of(self.id())) {
            Some(fiber) => {
                self.execution.caller.set_waiting(true);
                fiber.suspend(version);
                self.execution.caller.set_waiting(false);
            }
            None => {
                self.mailbox.park(version, None);
            }
        }
        self.accounts.meter.set_running_at(ran, || reading.ticks());
    }

    /// The guest, which runs on this thread, lets the host's loop run.
    pub(in crate::isolate) fn let_host_poll(&self) {
        if let Some(fiber) = running().filter(|fiber| fiber.is_of(self.id())) {
            fiber.polls_host.set(true);
            fiber.suspend(self.mailbox.version().wrapping_sub(1));
        }
    }
}

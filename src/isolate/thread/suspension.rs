//! How the thread that a guest waits on is used meanwhile: it spins, sleeps, or returns to its host, if the guest runs on a fiber.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::isolate::remote::Remote;
use crate::native::fiber;
use crate::value::spin;

/// Another call usually follows within this time; waking a parked thread takes ten times as long as noticing.
const SPIN: Duration = Duration::from_micros(30);

/// Threads that spin at this moment. At most one may: with few cores, more would take time from threads that work.
static SPINNING: AtomicUsize = AtomicUsize::new(0);

/// A guest on a fiber, as the thread that resumes it sees it.
#[derive(Default)]
pub struct Suspended {
    /// The isolate whose guest it is.
    pub remote: RefCell<Option<Arc<Remote>>>,
    /// The version of the mailbox when the guest began to wait.
    version: Cell<u32>,
    /// The guest waits only to let the host's loop look around.
    pub pulsed: Cell<bool>,
}

thread_local! {
    /// The guest on a fiber that runs now; null on the thread's own stack.
    static RUNNING: Cell<*const Suspended> = const { Cell::new(ptr::null()) };
}

/// The guest that runs on this thread from now on; null for none.
///
/// # Safety
///
/// It must stay in place until this is called again.
pub unsafe fn set_running(guest: *const Suspended) {
    RUNNING.set(guest);
}

impl Suspended {
    pub fn is_of(&self, remote: &Remote) -> bool {
        self.remote.borrow().as_ref().is_some_and(|own| ptr::eq(&**own, remote))
    }

    /// Whether the guest has something to look at.
    pub fn has_changed(&self) -> bool {
        self.remote.borrow().as_ref().is_some_and(|remote| remote.mailbox.version() != self.version.get())
    }
}

impl Remote {
    /// Spins for a short time. True if something has changed since `version`.
    pub(in crate::isolate) fn spin(&self, version: u32) -> bool {
        let changed = || self.mailbox.version() != version;
        if self.execution.loan.is_lent() {
            return changed();
        }
        let others = SPINNING.fetch_add(1, Ordering::Relaxed);
        let result = if others > 0 { changed() } else { spin(SPIN, changed) };
        SPINNING.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// The guest waits until something has changed since `version`. This does not count as running time.
    #[inline(always)]
    pub(in crate::isolate) fn sleep(&self, version: u32) {
        let ran = self.accounts.meter.set_running(false);
        self.execution.loan.set_waiting(fiber::active() != 0);
        let was_suspended = suspend(self, version);
        self.execution.loan.set_waiting(false);
        if !was_suspended {
            self.mailbox.park(version, None);
        }
        self.accounts.meter.set_running(ran);
    }

    /// The guest, which runs on this thread, lets the host's loop run.
    pub(in crate::isolate) fn let_host_poll(&self) {
        // SAFETY: as in `suspend`.
        if let Some(fiber) = unsafe { RUNNING.get().as_ref() } {
            fiber.pulsed.set(true);
            suspend(self, self.mailbox.version().wrapping_sub(1));
        }
    }
}

/// The guest of `remote`, which runs on a fiber of this thread, waits until something has changed since `version`. False if it does not run on a
/// fiber.
#[inline(always)]
fn suspend(remote: &Remote, version: u32) -> bool {
    let running = RUNNING.get();
    // SAFETY: the thread keeps the fiber while its guest runs.
    let Some(fiber) = (unsafe { running.as_ref() }).filter(|fiber| fiber.is_of(remote)) else { return false };
    fiber.version.set(version);
    fiber::suspend()
}

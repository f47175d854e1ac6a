//! Control over the execution of guest code, from any thread.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{OnceLock, Weak};

use super::body::Body;
use super::delayed_tasks::DelayedTasks;
use super::lifecycle::Action;
use crate::engine::GuestThread;
use crate::native::{context, locks};

/// Gives an isolate the thread that a change of its state requires.
pub trait Worker: Send + Sync {
    fn perform(&self, action: Action<Box<Body>>);
}

pub struct Execution {
    worker: Weak<dyn Worker>,
    /// Set once the V8 isolate exists.
    v8: OnceLock<v8::IsolateHandle>,
    /// The thread that works for the isolate.
    pub thread: GuestThread,
    pub delayed_tasks: DelayedTasks,
    /// How a thread of a host borrows the isolate.
    pub loan: Loan,
}

/// A number that no thread has.
const NO_THREAD: usize = usize::MAX;

/// A thread of a host works for the isolate, whose loop resumes the guest.
#[derive(Default)]
pub struct Loan {
    /// The number of that thread; 0 for none.
    lender: AtomicUsize,
    /// The guest is suspended there, and cannot continue before its host does.
    waits: AtomicBool,
    /// A thread of a host would have borrowed the isolate.
    wanted: AtomicBool,
    /// Counts the loans.
    pub count: AtomicU32,
    /// See `pulse`.
    pub watched: AtomicBool,
    /// The guest was asked to let its host look around.
    pub pulsed: AtomicBool,
}

impl Loan {
    /// This thread borrows the isolate, or no longer does.
    pub fn lend(&self, lent: bool) {
        if lent {
            self.count.fetch_add(1, Ordering::SeqCst);
        }
        self.lender.store(if lent { context::thread() } else { 0 }, Ordering::Release);
    }

    /// The thread that has borrowed the isolate ends, and does not return it.
    pub fn lose_lender(&self) {
        self.set_waiting(false);
        self.lender.store(NO_THREAD, Ordering::Release);
    }

    pub fn set_waiting(&self, waits: bool) {
        self.waits.store(waits, Ordering::Release);
    }

    pub fn is_waiting(&self) -> bool {
        self.waits.load(Ordering::Acquire)
    }

    /// A thread of a host makes sync calls.
    pub fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Whether it has made one since this was asked last.
    pub fn take_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) && self.wanted.swap(false, Ordering::Relaxed)
    }

    pub fn is_lent(&self) -> bool {
        self.lender.load(Ordering::Acquire) != 0
    }

    /// Whether this thread has borrowed the isolate.
    pub fn is_lent_here(&self) -> bool {
        self.lender.load(Ordering::Acquire) == context::thread()
    }
}

impl Execution {
    pub fn new(worker: Weak<dyn Worker>) -> Self {
        Self {
            worker,
            v8: OnceLock::default(),
            thread: GuestThread::default(),
            delayed_tasks: DelayedTasks::default(),
            loan: Loan::default(),
        }
    }

    /// Does what a transition requires.
    pub fn perform(&self, action: Action<Box<Body>>) {
        if let Some(worker) = self.worker.upgrade() {
            worker.perform(action);
        }
    }

    /// The V8 isolate exists.
    pub fn learn(&self, isolate: &v8::OwnedIsolate) {
        // Fails only if it was set before: each isolate is created once.
        let _ = self.v8.set(isolate.thread_safe_handle());
    }

    /// Makes V8 call `callback` on the isolate's thread, between two instructions of the guest, with a null pointer.
    pub fn interrupt(&self, callback: unsafe extern "C" fn(v8::UnsafeRawIsolatePtr, *mut c_void)) {
        // The handle has a lock that the watch of this thread's quota takes, too, and V8 may allocate under it.
        let _scope = locks::LockScope::enter();
        if let Some(v8) = self.v8.get() {
            v8.request_interrupt(callback, std::ptr::null_mut());
        }
    }

    pub fn terminate(&self) {
        let _scope = locks::LockScope::enter();
        if let Some(v8) = self.v8.get() {
            v8.terminate_execution();
        }
    }

    pub fn cancel_termination(&self) {
        let _scope = locks::LockScope::enter();
        if let Some(v8) = self.v8.get() {
            v8.cancel_terminate_execution();
        }
    }
}

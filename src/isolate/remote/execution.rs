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
pub trait Executor: Send + Sync {
    fn perform(&self, action: Action<Box<Body>>);
}

pub struct Execution {
    executor: Weak<dyn Executor>,
    /// Set once the V8 isolate exists.
    v8: OnceLock<v8::IsolateHandle>,
    /// The thread that works for the isolate.
    pub thread: GuestThread,
    pub delayed_tasks: DelayedTasks,
    /// How a thread of a host enters the isolate.
    pub caller: CallerThread,
}

/// A number that no thread has.
const NO_THREAD: usize = usize::MAX;

/// A thread of a host works for the isolate, whose loop resumes the guest.
#[derive(Default)]
pub struct CallerThread {
    /// The number of that thread; 0 for none.
    thread: AtomicUsize,
    /// The guest is suspended there, and cannot continue before its host does.
    waits: AtomicBool,
    /// A thread of a host would have entered the isolate.
    wanted: AtomicBool,
    /// Counts how often one has entered it.
    pub count: AtomicU32,
    /// See `host_polls`.
    pub watched: AtomicBool,
    /// The guest was asked to let its host look around.
    pub polls_host: AtomicBool,
}

impl CallerThread {
    /// This thread enters the isolate.
    pub fn enter(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.thread.store(context::thread(), Ordering::Release);
    }

    pub fn exit(&self) {
        self.thread.store(0, Ordering::Release);
    }

    /// The thread that has entered the isolate ends, and does not return it.
    pub fn lose(&self) {
        self.set_waiting(false);
        self.thread.store(NO_THREAD, Ordering::Release);
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

    /// Whether a thread of a host has ever entered the isolate.
    pub fn has_entered(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    pub fn is_entered(&self) -> bool {
        self.thread.load(Ordering::Acquire) != 0
    }

    /// Whether this thread has entered the isolate.
    pub fn is_this_thread(&self) -> bool {
        self.thread.load(Ordering::Acquire) == context::thread()
    }
}

impl Execution {
    pub fn new(executor: Weak<dyn Executor>) -> Self {
        Self {
            executor,
            v8: OnceLock::default(),
            thread: GuestThread::default(),
            delayed_tasks: DelayedTasks::default(),
            caller: CallerThread::default(),
        }
    }

    /// Does what a transition requires.
    pub fn perform(&self, action: Action<Box<Body>>) {
        if let Some(executor) = self.executor.upgrade() {
            executor.perform(action);
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

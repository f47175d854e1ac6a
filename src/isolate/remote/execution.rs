//! Control over the execution of guest code, from any thread.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock, Weak};

use super::body::Body;
use super::caller::CallerThread;
use super::delayed_tasks::DelayedTasks;
use super::lifecycle::Action;
use crate::engine::GuestThread;
use crate::native::locks;

/// Gives an isolate the thread that a change of its state requires.
pub trait Executor: Send + Sync {
    fn perform(&self, action: Action<Box<Body>>);
}

pub struct Execution {
    executor: Weak<dyn Executor>,
    /// Set once the V8 isolate exists.
    v8: OnceLock<v8::IsolateHandle>,
    /// The thread that works for the isolate.
    pub thread: Arc<GuestThread>,
    pub delayed_tasks: DelayedTasks,
    /// The thread of a host that has entered the isolate.
    pub caller: CallerThread,
}

impl Execution {
    pub fn new(executor: Weak<dyn Executor>) -> Self {
        Self {
            executor,
            v8: OnceLock::default(),
            thread: Arc::default(),
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

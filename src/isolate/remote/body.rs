//! The V8 isolate itself, which moves from thread to thread.

use std::mem::{self, ManuallyDrop};

use crate::engine::{self, Entered, Snapshot};
use crate::native::{context, locks};

/// The isolate with what belongs to it. Its guest is attached to it.
pub struct Body {
    /// Dropped first: the isolate must not be locked when it is disposed of.
    kept: Option<KeptLock>,
    shared: v8::SharedIsolate,
    /// V8 reads from it as long as the isolate lives.
    _snapshot: Option<Snapshot>,
    /// The number of the thread that V8 sees on fibers.
    thread: i32,
}

/// The lock of an isolate that has run on a fiber. It is kept for the next call there, because V8's lock takes as long as a short call. No
/// frame of V8 is on the fiber.
struct KeptLock {
    locker: ManuallyDrop<v8::Locker<'static>>,
    entered: Option<Entered>,
    /// See [`Body::thread`].
    thread: i32,
    /// The fiber whose stack V8 knows.
    fiber: usize,
    calls: u32,
}

// SAFETY: the lock belongs to the thread that V8 sees on fibers, which is none of the system. Only one thread has the body, and `drop`, the only
// use on another one, says to V8 that it is that thread.
unsafe impl Send for KeptLock {}

/// Calls for which a lock is kept. Handles that other threads have dropped are released with the lock.
const MAX_CALLS: u32 = 1_000;

impl Body {
    pub fn new(shared: v8::SharedIsolate, snapshot: Option<Snapshot>) -> Self {
        Self { kept: None, shared, _snapshot: snapshot, thread: engine::new_thread() }
    }

    /// Locks the isolate on this thread, which is one of ours. On threads of hosts, only guests on fibers use V8, which works
    /// for the guest that was resumed last even while that guest waits.
    pub fn lock(&mut self) -> v8::Locker<'_> {
        self.kept = None;
        assert!(Entered::now().is_none(), "V8 works for another isolate on this thread");
        self.shared.lock()
    }

    /// Locks the isolate on the fiber that runs on this thread, or finds it locked. The lock is kept.
    pub fn lock_on(&mut self, fiber: usize) -> &mut v8::Isolate {
        self.kept.take_if(|kept| kept.fiber != fiber || kept.calls == MAX_CALLS);
        let kept = self.kept.get_or_insert_with(|| {
            let locker = self.shared.lock();
            locks::disregard_held();
            engine::limit_stack(&locker);
            // SAFETY: the lifetime only says that the isolate is shared. The locker itself keeps the isolate.
            let locker = unsafe { mem::transmute::<v8::Locker<'_>, v8::Locker<'static>>(locker) };
            // The locker has entered it.
            let entered = Entered::now();
            KeptLock { locker: ManuallyDrop::new(locker), entered, thread: self.thread, fiber, calls: 0 }
        });
        kept.calls += 1;
        &mut kept.locker
    }

    /// The fiber for which the lock is kept.
    pub fn fiber(&self) -> Option<usize> {
        self.kept.as_ref().map(|kept| kept.fiber)
    }

    /// What the guest has entered on that fiber.
    pub fn entered(&self) -> Option<Entered> {
        self.kept.as_ref().and_then(|kept| kept.entered)
    }

    pub fn thread(&self) -> i32 {
        self.thread
    }
}

impl Drop for KeptLock {
    fn drop(&mut self) {
        let Some(entered) = self.entered else { return };
        // On its own fiber, it is the same.
        let before = Entered::now().filter(|before| !before.is_same(entered));
        let thread = context::with(|context| context.v8_thread.replace(self.thread));
        // SAFETY: the locker keeps the isolate entered. Only this thread has the body, so no other one uses it.
        unsafe { entered.resume() };
        // SAFETY: it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.locker) };
        if let Some(before) = before {
            // SAFETY: it was so before.
            unsafe { before.resume() };
        }
        context::with(|context| context.v8_thread.set(thread));
    }
}

//! The thread of a host that has entered an isolate, as other threads see it. `thread/caller_thread.rs` enters isolates.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crate::native::context;

/// A number that no thread has.
const NO_THREAD: usize = usize::MAX;

/// The thread of a host that works for the isolate: a loop on it resumes the guest.
#[derive(Default)]
pub struct CallerThread {
    /// The number of that thread; 0 for none.
    thread: AtomicUsize,
    /// The guest is suspended there, and cannot continue before its host does.
    waits: AtomicBool,
    /// A thread of a host has tried to enter the isolate, which was not idle.
    wanted: AtomicBool,
    /// The isolate's thread runs a task that works on the heap.
    tends_heap: AtomicBool,
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

    /// The isolate's thread begins, or has run, a task that works on the heap.
    pub fn set_tending_heap(&self, tends: bool) {
        self.tends_heap.store(tends, Ordering::Relaxed);
    }

    /// Whether it runs one, after which it may return the isolate.
    pub fn tends_heap(&self) -> bool {
        self.tends_heap.load(Ordering::Relaxed)
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

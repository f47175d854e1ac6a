//! A notice to the thread of a guest that does not stop: it must stop as soon as no other thread waits for it (`locks::heed_notice`). Threads that
//! run little, because other work has priority, would otherwise keep locks of V8, ICU and the allocator for long, again and again.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    // Without a destructor, so that a signal handler can use it as long as the thread runs.
    static GIVEN: Cell<bool> = const { Cell::new(false) };
}

/// There has been a notice in this process. Without one, V8's C++ code need not look for it.
static EVER: AtomicBool = AtomicBool::new(false);

/// Gives notice to this thread. Called by signal handlers.
pub fn give() {
    EVER.store(true, Ordering::Relaxed);
    GIVEN.set(true);
}

/// Whether this thread has notice.
#[inline]
pub fn is_given() -> bool {
    EVER.load(Ordering::Relaxed) && GIVEN.get()
}

/// This thread has stopped working for the guest.
pub fn withdraw() {
    if EVER.load(Ordering::Relaxed) {
        GIVEN.set(false);
    }
}

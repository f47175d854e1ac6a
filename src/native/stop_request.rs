//! A request to the thread of a guest that does not stop: the thread must stop as soon as it holds no lock (`locks::obey_stop_request`). A
//! thread that gets little processor time, because other work has priority, would otherwise hold locks of V8, ICU and the allocator for long.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    // Without a destructor, so that a signal handler can use it as long as the thread runs.
    static MADE: Cell<bool> = const { Cell::new(false) };
}

/// There has been a request in this process. Without one, V8's C++ code need not look for it.
static EVER: AtomicBool = AtomicBool::new(false);

/// Requests this thread to stop. Called by signal handlers.
pub fn make() {
    EVER.store(true, Ordering::Relaxed);
    MADE.set(true);
}

/// Whether this thread is requested to stop.
#[inline]
pub fn is_made() -> bool {
    EVER.load(Ordering::Relaxed) && MADE.get()
}

/// This thread has stopped working for the guest.
pub fn withdraw() {
    if EVER.load(Ordering::Relaxed) {
        MADE.set(false);
    }
}

//! A notice to the thread of a guest that does not stop: it must stop as soon as no other thread waits for it. Threads that run little, because
//! other work has priority, would otherwise keep locks of V8, ICU and the allocator for long, again and again.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::fiber::{self, Pause};
use super::{locks, refusal};

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

/// This thread has stopped working for the guest.
pub fn withdraw() {
    if EVER.load(Ordering::Relaxed) {
        GIVEN.set(false);
    }
}

/// If this thread has notice and holds no lock, leaves the guest that it runs on a fiber, or parks the thread permanently. Called by V8's C++ code
/// where it asks for memory, or releases a lock.
#[inline]
pub fn check() {
    if EVER.load(Ordering::Relaxed) && GIVEN.get() && !locks::held() {
        stop();
    }
}

#[cold]
fn stop() {
    // What follows asks for memory as well.
    GIVEN.set(false);
    fiber::leave(Pause::Left);
    refusal::end();
}

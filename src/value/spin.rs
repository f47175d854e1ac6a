//! Waiting briefly without sleeping: most answers come within microseconds, and waking a sleeping thread takes longer.

use std::cell::Cell;
use std::num::NonZero;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

/// For this long, the thread only waits; afterwards other threads may run on its processor between two checks.
const ALONE: Duration = Duration::from_micros(20);

/// The same if the awaited thread has run on this processor.
const ALONE_CONTENDED: Duration = Duration::from_micros(2);

/// If a thread that yielded its processor gets it back this late, another thread has run on it.
const LATE: Duration = Duration::from_micros(2);

/// After this many waits, a thread checks whether that has changed.
const CONTENDED_WAITS: u32 = 32;

/// How many processors this process may use, if the system says so. It is read once, because that takes several files on Linux.
pub fn processors() -> Option<usize> {
    static COUNT: LazyLock<Option<usize>> = LazyLock::new(|| thread::available_parallelism().ok().map(NonZero::get));
    *COUNT
}

thread_local! {
    /// Waits of this thread that yield the processor early.
    static CONTENDED: Cell<u32> = const { Cell::new(0) };
}

/// Spins until `ready` returns true, at most for `limit`. False if it has not.
pub fn spin(limit: Duration, ready: impl Fn() -> bool) -> bool {
    // With a single processor, a thread that spins keeps the one that it waits for from running.
    if processors().is_none_or(|count| count == 1) {
        return ready();
    }
    let contended = CONTENDED.get();
    CONTENDED.set(contended.saturating_sub(1));
    let alone = if contended > 0 { ALONE_CONTENDED } else { ALONE };
    let start = Instant::now();
    loop {
        for _ in 0..4 {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        let waited = start.elapsed();
        if waited >= limit {
            return false;
        }
        if waited >= alone {
            thread::yield_now();
            if start.elapsed().saturating_sub(waited) >= LATE && ready() {
                CONTENDED.set(CONTENDED_WAITS);
                return true;
            }
        }
    }
}

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

/// If it gets it back this late, a thread that it does not wait for has run, for as long as the system lets it. Since Linux 6.18, that is milliseconds
/// for each yield, while a thread that sleeps is woken at once.
const VERY_LATE: Duration = Duration::from_micros(50);

/// Beyond this, the whole process has stood still, and the next yield need not.
const MAX_LATE: Duration = Duration::from_millis(20);

/// The next waits sleep for this many times as long, so that yielding takes a small share of the time.
const SLEEPING: u32 = 50;

/// How many processors this process may use, if the system says so. It is read once, because that takes several files on Linux.
pub fn processors() -> Option<usize> {
    static COUNT: LazyLock<Option<usize>> = LazyLock::new(|| thread::available_parallelism().ok().map(NonZero::get));
    *COUNT
}

thread_local! {
    /// Waits of this thread that yield the processor early.
    static CONTENDED: Cell<u32> = const { Cell::new(0) };
    /// It does not yield before.
    static YIELDS_FROM: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Spins until `ready` returns true, at most for `limit`. False if it has not: the thread should sleep.
pub fn spin(limit: Duration, ready: impl Fn() -> bool) -> bool {
    // With a single processor, a thread that spins keeps the one that it waits for from running.
    if processors().is_none_or(|count| count == 1) {
        return ready();
    }
    let start = Instant::now();
    let sleeps = YIELDS_FROM.get().is_some_and(|time| start < time);
    let contended = CONTENDED.get();
    CONTENDED.set(contended.saturating_sub(1));
    let alone = if contended > 0 || sleeps { ALONE_CONTENDED } else { ALONE };
    let limit = if sleeps { limit.min(alone) } else { limit };
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
            let now = Instant::now();
            let late = now.saturating_duration_since(start).saturating_sub(waited);
            if late >= VERY_LATE {
                YIELDS_FROM.set(now.checked_add(late.min(MAX_LATE).saturating_mul(SLEEPING)));
                return ready();
            }
            if late >= LATE && ready() {
                CONTENDED.set(CONTENDED_WAITS);
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{processors, spin};

    /// Where each yield takes some milliseconds, these waits would take a second.
    #[test]
    fn threads_that_wait_beside_busy_ones_seldom_yield() {
        let ends = AtomicBool::new(false);
        let fastest = thread::scope(|scope| {
            for _ in 0..2 * processors().unwrap_or(1) {
                scope.spawn(|| {
                    while !ends.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            // The system may prefer other threads for a while.
            let rounds = (0..5).map(|_| {
                let start = Instant::now();
                for _ in 0..500 {
                    assert!(!spin(Duration::from_micros(50), || false));
                }
                start.elapsed()
            });
            let fastest = rounds.min();
            ends.store(true, Ordering::Relaxed);
            fastest
        });
        assert!(fastest.is_some_and(|time| time < Duration::from_millis(500)), "{fastest:?}");
    }
}

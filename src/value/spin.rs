//! Waiting briefly without sleeping: most answers come within microseconds, and waking a thread that sleeps takes longer.

use std::cell::Cell;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

/// For this long nothing but the wait happens; afterwards others may run on the processor between two looks.
const ALONE: Duration = Duration::from_micros(20);

/// The same where the one that is waited for has run on this processor.
const ALONE_IN_A_CROWD: Duration = Duration::from_micros(2);

/// A thread that gave its processor up and has it back this late has let another run.
const LATE: Duration = Duration::from_micros(2);

/// Waits after which it is looked whether that has changed.
const CROWDED: u32 = 32;

/// On one processor, whoever spins keeps the one that it waits for from running.
static SEVERAL: LazyLock<bool> = LazyLock::new(|| thread::available_parallelism().is_ok_and(|count| count.get() > 1));

thread_local! {
    /// Waits of this thread that are to give its processor up early.
    static CROWD: Cell<u32> = const { Cell::new(0) };
}

/// Waits until `ready`, at most for `limit`. False when it is not.
pub fn spin(limit: Duration, ready: impl Fn() -> bool) -> bool {
    if !*SEVERAL {
        return ready();
    }
    let crowd = CROWD.get();
    CROWD.set(crowd.saturating_sub(1));
    let alone = if crowd > 0 { ALONE_IN_A_CROWD } else { ALONE };
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
                CROWD.set(CROWDED);
                return true;
            }
        }
    }
}

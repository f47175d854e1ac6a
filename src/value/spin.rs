//! Waiting briefly without sleeping: most answers come within microseconds, and waking a thread that sleeps takes longer.

use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

/// For this long nothing but the wait happens; afterwards others may run on the processor between two looks.
const ALONE: Duration = Duration::from_micros(2);

/// On one processor, whoever spins keeps the one that it waits for from running.
static SEVERAL: LazyLock<bool> = LazyLock::new(|| thread::available_parallelism().is_ok_and(|count| count.get() > 1));

/// Waits until `ready`, at most for `limit`. False when it is not.
pub fn spin(limit: Duration, ready: impl Fn() -> bool) -> bool {
    if !*SEVERAL {
        return ready();
    }
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
        if waited >= ALONE {
            thread::yield_now();
        }
    }
}

//! How long guests on fibers have waited for other threads of V8, such as those that compile for them. Meanwhile they need no processor.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::fiber;

/// The waits of a fiber.
#[derive(Default)]
struct Waits {
    /// Those that are over.
    total: Duration,
    /// When the current one has begun.
    since: Option<Instant>,
}

/// By the identity of the fiber. Threads use their fibers again, so there are few.
static WAITS: Mutex<Option<HashMap<usize, Waits>>> = Mutex::new(None);

/// The lock need not count (`locks`): what is done under it is over soon, and Rust code is never left.
fn waits() -> MutexGuard<'static, Option<HashMap<usize, Waits>>> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many waits have begun.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

fn change(change: impl FnOnce(&mut Waits)) {
    change(waits().get_or_insert_default().entry(fiber::active()).or_default());
}

/// The guest on the fiber that runs on this thread begins to wait.
pub fn begin() {
    BEGUN.fetch_add(1, Ordering::Relaxed);
    change(|waits| waits.since = Some(Instant::now()));
}

/// It does not wait any more.
pub fn end() {
    change(|waits| waits.total += waits.since.take().map_or(Duration::ZERO, |since| since.elapsed()));
}

/// How long guests on this fiber have waited until now, all together.
pub fn waited(fiber: usize) -> Duration {
    if BEGUN.load(Ordering::Relaxed) == 0 {
        return Duration::ZERO;
    }
    let waits = waits();
    let waits = waits.as_ref().and_then(|waits| waits.get(&fiber));
    waits.map_or(Duration::ZERO, |waits| waits.total + waits.since.map_or(Duration::ZERO, |since| since.elapsed()))
}

#[cfg(test)]
mod tests {
    use super::{begin, end, fiber, waited};

    #[test]
    fn adds_up_the_waits_of_a_fiber() {
        // That of this thread's own stack. Other tests wait on fibers.
        let fiber = fiber::active();
        let mut before = waited(fiber);
        for _ in 0..2 {
            begin();
            while waited(fiber) == before {
                std::thread::yield_now();
            }
            end();
            assert!(waited(fiber) > before);
            before = waited(fiber);
            assert_eq!(waited(fiber), before);
        }
        assert!(waited(usize::MAX).is_zero());
    }
}

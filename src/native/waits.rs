//! How long guests on fibers have waited for other threads of V8, such as those that compile for them. Meanwhile they need no processor.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{context, fiber};

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

/// How many waits have begun.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

fn with_waits<T>(use_them: impl FnOnce(&mut HashMap<usize, Waits>) -> T) -> T {
    // A thread must not stop permanently here, since the clock asks for waits. `locks` uses this file, so it cannot count this lock.
    context::with(|context| context.held.set(context.held.get() + 1));
    let result = use_them(WAITS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default());
    context::with(|context| context.held.set(context.held.get().saturating_sub(1)));
    result
}

fn change(change: impl FnOnce(&mut Waits)) {
    with_waits(|waits| change(waits.entry(fiber::active()).or_default()));
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
    let until_now = |waits: &Waits| waits.total + waits.since.map_or(Duration::ZERO, |since| since.elapsed());
    with_waits(|waits| waits.get(&fiber).map_or(Duration::ZERO, until_now))
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

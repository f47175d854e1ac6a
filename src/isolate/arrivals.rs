//! Isolates that are yet to be made. Each is made on a thread of its own, so that only so many are at a time: the others wait for
//! their turn, and whoever has asked for them does not.

use std::collections::VecDeque;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::clock;

/// How many are made at a time. More would only take the processors from each other.
static MAX_CONCURRENT: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(8, |cores| (cores.get() * 4).clamp(8, 64)));

type Make = Box<dyn FnOnce(Arrival) + Send>;

struct Queue {
    /// Being made.
    count: usize,
    waiting: VecDeque<Make>,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { count: 0, waiting: VecDeque::new() });

fn lock() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An isolate that is being made, until this is dropped.
pub struct Arrival(());

impl Drop for Arrival {
    fn drop(&mut self) {
        let mut queue = lock();
        let Some(next) = queue.waiting.pop_front() else {
            queue.count -= 1;
            return;
        };
        drop(queue);
        // Not from here: where isolates cannot be made, one would drop the next.
        clock::after(Duration::ZERO, || next(Arrival(())));
    }
}

/// Calls `make` as soon as it is its turn. It must not wait for anything.
pub fn admit(make: impl FnOnce(Arrival) + Send + 'static) {
    let mut queue = lock();
    if queue.count >= *MAX_CONCURRENT {
        return queue.waiting.push_back(Box::new(make));
    }
    queue.count += 1;
    drop(queue);
    make(Arrival(()));
}

//! Limits how many isolates are created at a time, because each is created on a thread of its own. The others wait in a queue; their
//! callers do not wait.

use std::collections::VecDeque;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use crate::isolate::clock;
use crate::native::lock;
use crate::value::processors;

/// Isolates created at a time. More would only compete for the processors.
static MAX_CONCURRENT: LazyLock<usize> = LazyLock::new(|| processors().map_or(8, |cores| (cores * 4).clamp(8, 64)));

type Make = Box<dyn FnOnce(Permit) + Send>;

struct Queue {
    /// Isolates that are being created.
    count: usize,
    waiting: VecDeque<Make>,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { count: 0, waiting: VecDeque::new() });

/// The permission to create one isolate. Dropping it lets the next one start.
pub struct Permit(());

impl Drop for Permit {
    fn drop(&mut self) {
        let mut queue = lock(&QUEUE);
        let Some(next) = queue.waiting.pop_front() else {
            queue.count -= 1;
            return;
        };
        if !clock::is_running() {
            // No isolate can be created, so all of them fail now.
            let others = std::mem::take(&mut queue.waiting);
            queue.count += others.len();
            drop(queue);
            others.into_iter().chain([next]).for_each(|next| next(Permit(())));
            return;
        }
        drop(queue);
        // Not on this thread: where isolates cannot be created, each drop would lead to the next, recursively.
        clock::after(Duration::ZERO, || next(Permit(())));
    }
}

/// Calls `make` when its turn comes. `make` must not wait for anything.
pub fn admit(make: impl FnOnce(Permit) + Send + 'static) {
    let mut queue = lock(&QUEUE);
    if queue.count >= *MAX_CONCURRENT {
        return queue.waiting.push_back(Box::new(make));
    }
    queue.count += 1;
    drop(queue);
    make(Permit(()));
}

//! Returns the memory of isolates to the system that V8 cannot dispose of, because a thread that works for them has stopped permanently.

use std::sync::Arc;
use std::time::Duration;

use super::{malloc_trim, pool_work};
use crate::engine::GuestThread;
use crate::isolate::clock;
use crate::native::{self, NativeQuota};

/// How often to check whether V8's own threads are done with an isolate.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LAST_LOOKS: Duration = Duration::from_secs(1);

pub struct LostHeap {
    pub thread: Arc<GuestThread>,
    pub quota: Arc<NativeQuota>,
}

impl LostHeap {
    /// Returns the memory when V8's own threads are done with the isolate, whose thread has stopped inside `entered` tasks of V8. They begin none any more.
    pub fn give_back(self, entered: usize) {
        self.give_back_after(entered, FIRST_LOOK);
    }

    fn give_back_after(self, entered: usize, delay: Duration) {
        if self.quota.tasks().are_over(entered) {
            // SAFETY: V8's own threads do nothing for the isolate, and never will. No other thread reads its heap: neither threads that ask
            // for its size or terminate its execution, nor other isolates, since heaps share only read-only pages.
            unsafe { self.thread.give_back_heap() };
            native::give_back_blocks(&self.quota);
            return malloc_trim::trim_after(self.quota.peak());
        }
        clock::after(delay, move || {
            pool_work::run(move || self.give_back_after(entered, (delay * 2).min(LAST_LOOKS)));
        });
    }
}

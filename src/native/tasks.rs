//! What V8's own threads do for one isolate. Where its thread has stopped for good they do nothing more for it, and when they are done
//! nothing looks at its heap.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

thread_local! {
    /// Tasks that this thread is in. A guest's thread helps with those that it waits for.
    static ENTERED: Cell<usize> = const { Cell::new(0) };
}

/// How many tasks this thread is in.
pub fn entered() -> usize {
    ENTERED.get()
}

#[derive(Default)]
pub struct Tasks {
    running: AtomicUsize,
    closed: AtomicBool,
}

impl Tasks {
    /// Runs `task`, unless the isolate's thread has stopped for good.
    #[cfg_attr(
        any(test, fuzzing, not(target_os = "linux")),
        allow(dead_code, reason = "only the addon on Linux knows V8's tasks")
    )]
    pub fn run(&self, task: impl FnOnce()) {
        // In this order: who closes sees the task, or the task sees that.
        self.running.fetch_add(1, Ordering::SeqCst);
        if !self.are_closed() {
            ENTERED.set(ENTERED.get() + 1);
            task();
            ENTERED.set(ENTERED.get() - 1);
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
    }

    pub fn are_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// No further task begins.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// No task runs but `stopped` ones, whose thread has stopped for good.
    pub fn are_over(&self, stopped: usize) -> bool {
        self.are_closed() && self.running.load(Ordering::SeqCst) <= stopped
    }
}

#[cfg(test)]
mod tests {
    use super::{Tasks, entered};

    #[test]
    fn none_begins_after_the_end() {
        let tasks = Tasks::default();
        let mut ran = 0;
        tasks.run(|| {
            ran += 1;
            tasks.run(|| assert_eq!(entered(), 2));
            tasks.close();
            assert_eq!([0, 1].map(|stopped| tasks.are_over(stopped)), [false, true]);
            tasks.run(|| unreachable!());
        });
        assert_eq!((ran, entered(), tasks.are_over(0)), (1, 0, true));
    }
}

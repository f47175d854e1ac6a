//! The tasks of V8's own threads for one isolate. After the isolate's thread has stopped permanently, they run no more tasks for it. When
//! the running ones are done, nothing accesses its heap.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::context;

/// How many tasks this thread is running. A guest's thread helps with tasks that it waits for.
pub fn entered() -> usize {
    context::with(|context| context.entered.get())
}

#[derive(Default)]
pub struct Tasks {
    running: AtomicUsize,
    closed: AtomicBool,
}

impl Tasks {
    /// Runs `task`, unless the isolate's thread has stopped permanently.
    #[cfg_attr(
        any(test, fuzzing, not(target_os = "linux")),
        allow(dead_code, reason = "only the addon on Linux knows V8's tasks")
    )]
    pub fn run(&self, task: impl FnOnce()) {
        // The order matters: either the closing thread sees the task, or the task sees that it is closed.
        self.running.fetch_add(1, Ordering::SeqCst);
        if !self.are_closed() {
            let before = context::with(|context| context.entered.replace(context.entered.get() + 1));
            task();
            context::with(|context| context.entered.set(before));
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

    /// Whether no task is running except `stopped` ones, whose thread has stopped permanently.
    pub fn are_over(&self, stopped: usize) -> bool {
        self.are_closed() && self.running.load(Ordering::SeqCst) <= stopped
    }
}

#[cfg(test)]
mod tests {
    use super::{Tasks, entered};

    #[test]
    fn no_task_starts_after_the_end() {
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

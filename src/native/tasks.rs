//! The tasks of V8's own threads for one isolate. After the isolate's thread has stopped permanently, they run no more tasks for it. When
//! the running ones are done, nothing accesses its heap.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::context;

/// How many tasks this thread is running. A guest's thread helps with tasks that it waits for.
pub fn entered() -> usize {
    context::with(|context| context.entered.get())
}

/// A thread that waits for a collection.
struct Waiting {
    /// The system's number of the thread.
    thread: i32,
    /// The tasks that it is running.
    entered: usize,
    /// The address of what it waits for; `None` if it has requested a collection.
    at: Option<usize>,
    /// It compiles a function.
    compiles: bool,
}

/// A function that is compiled by this thread.
struct Compilation {
    thread: ThreadId,
    /// Ends it early, if its compiler can.
    cancel: Option<Cancel>,
}

pub type Cancel = Box<dyn Fn() + Send>;

/// The threads that wait for a collection. After the isolate's thread has stopped permanently, those that have requested one wait forever. So do those
/// that wait at the addresses `endless`, if it has stopped in a collection.
#[derive(Default)]
struct Collections {
    waiting: Vec<Waiting>,
    endless: Range<usize>,
    /// The isolate's thread has stopped permanently.
    is_stopped: bool,
}

impl Collections {
    /// Whether `waiting` never accesses the heap again.
    fn is_endless(&self, waiting: &Waiting) -> bool {
        waiting.at.map_or(self.is_stopped, |at| self.endless.contains(&at))
    }
}

/// The lock need not count (`locks`): what is done under it takes no memory that counts, and is over soon. No thread stops permanently under it, since
/// it runs no code of V8 then.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
pub struct Tasks {
    running: AtomicUsize,
    closed: AtomicBool,
    /// Compilations of functions that run.
    compiling: Mutex<Vec<Compilation>>,
    /// No function is compiled any more.
    compiled: AtomicBool,
    /// Tasks whose threads have stopped permanently.
    lost: AtomicUsize,
    /// Attempts that were abandoned (`attempts`).
    abandoned: AtomicUsize,
    collections: Mutex<Collections>,
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

    /// Runs `compile`, which compiles a function unless [`Tasks::end_compiling`] was called. `cancel` may be called on another thread meanwhile.
    #[cfg_attr(
        any(fuzzing, not(target_os = "linux")),
        allow(dead_code, reason = "only the addon on Linux knows V8's compilations")
    )]
    pub fn compile<T>(&self, cancel: Option<Cancel>, compile: impl FnOnce() -> T) -> T {
        let thread = thread::current().id();
        // The order matters: either the thread that ends compilations sees this one, or this one sees that they have ended.
        lock(&self.compiling).push(Compilation { thread, cancel });
        let result = compile();
        let mut compiling = lock(&self.compiling);
        if let Some(place) = compiling.iter().rposition(|it| it.thread == thread) {
            // The order of the others remains: the last one of a thread ends first.
            compiling.remove(place);
        }
        result
    }

    /// No further compilation begins, and those that run are cancelled. False if one still runs.
    pub fn end_compiling(&self) -> bool {
        self.compiled.store(true, Ordering::SeqCst);
        let compiling = lock(&self.compiling);
        compiling.iter().filter_map(|it| it.cancel.as_ref()).for_each(|cancel| cancel());
        // V8 ends these waits when it disposes of the isolate, and nothing else does: the isolate's thread collects no more.
        let requesting = self.collections().waiting.iter().filter(|it| it.compiles && it.at.is_none()).count();
        compiling.len() <= requesting
    }

    pub fn has_ended_compiling(&self) -> bool {
        self.compiled.load(Ordering::SeqCst)
    }

    /// This thread, which runs one of the tasks, stops permanently.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there no such thread is known"))]
    pub fn lose_thread(&self) {
        self.lost.fetch_add(entered(), Ordering::SeqCst);
    }

    /// The number of tasks whose threads have stopped permanently. V8 would wait for them when it disposes of the isolate.
    pub fn lost(&self) -> usize {
        self.lost.load(Ordering::SeqCst)
    }

    /// How many attempts of these tasks were abandoned.
    #[cfg_attr(
        any(test, fuzzing, not(target_os = "linux")),
        allow(dead_code, reason = "only the addon on Linux makes attempts")
    )]
    pub(super) fn abandoned(&self) -> usize {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Such an attempt is abandoned.
    #[cfg_attr(
        any(test, fuzzing, not(target_os = "linux")),
        allow(dead_code, reason = "only the addon on Linux makes attempts")
    )]
    pub(super) fn abandon(&self) {
        self.abandoned.fetch_add(1, Ordering::Relaxed);
    }

    fn collections(&self) -> MutexGuard<'_, Collections> {
        lock(&self.collections)
    }

    /// The isolate's thread has stopped permanently, in a collection for which other threads wait at these addresses, or at none. No further task
    /// begins. Returns the threads that wait forever.
    pub fn stop(&self, endless: Range<usize>) -> Vec<i32> {
        let mut collections = self.collections();
        if self.closed.swap(true, Ordering::SeqCst) {
            return Vec::new();
        }
        collections.endless = endless;
        collections.is_stopped = true;
        collections.waiting.iter().filter(|it| collections.is_endless(it)).map(|it| it.thread).collect()
    }

    /// `thread`, which is this one, is about to wait for the object at the address `at`, or for a collection that it has requested. True if it
    /// waits forever.
    #[cfg_attr(
        any(fuzzing, not(target_os = "linux")),
        allow(dead_code, reason = "only the addon on Linux knows such threads")
    )]
    pub fn begin_wait(&self, thread: i32, at: Option<usize>) -> bool {
        let mut collections = self.collections();
        let compiles = context::with(|context| context.engine.compiles.get());
        // While it waits for a collection that it has requested, a thread also waits for the object by which V8 wakes it. Its tasks count once.
        let is_nested = collections.waiting.iter().any(|it| it.thread == thread);
        let waiting = Waiting { thread, entered: if is_nested { 0 } else { entered() }, at, compiles };
        let is_lost = collections.is_endless(&waiting);
        collections.waiting.push(waiting);
        is_lost
    }

    /// The thread has waited. True if it may not continue.
    #[cfg_attr(
        any(fuzzing, not(target_os = "linux")),
        allow(dead_code, reason = "only the addon on Linux knows such threads")
    )]
    pub fn end_wait(&self, thread: i32) -> bool {
        let mut collections = self.collections();
        let Some(place) = collections.waiting.iter().rposition(|it| it.thread == thread) else { return false };
        let is_endless = collections.is_endless(&collections.waiting[place]);
        if !is_endless {
            collections.waiting.remove(place);
        }
        is_endless
    }

    /// Whether no task is running except `stopped` ones, whose thread has stopped permanently, those that are lost, and those that wait forever.
    pub fn are_over(&self, stopped: usize) -> bool {
        let collections = self.collections();
        let endless = collections.waiting.iter().filter(|it| collections.is_endless(it));
        let waiting: usize = endless.map(|it| it.entered).sum();
        self.are_closed() && self.running.load(Ordering::SeqCst) <= stopped + waiting + self.lost()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{Tasks, entered};

    #[test]
    fn no_task_starts_after_the_end() {
        let tasks = Tasks::default();
        let mut ran = 0;
        tasks.run(|| {
            ran += 1;
            tasks.run(|| assert_eq!(entered(), 2));
            assert!(tasks.stop(0..0).is_empty());
            assert_eq!([0, 1].map(|stopped| tasks.are_over(stopped)), [false, true]);
            tasks.run(|| unreachable!());
        });
        assert_eq!((ran, entered(), tasks.are_over(0)), (1, 0, true));
    }

    #[test]
    fn threads_that_wait_forever_run_no_task() {
        let tasks = Tasks::default();
        tasks.run(|| {
            assert!(!tasks.begin_wait(1, Some(0x100)));
            assert!(!tasks.end_wait(1));
            for (thread, at) in [(1, Some(0x100)), (2, Some(0x11f)), (3, Some(0x120)), (4, None)] {
                assert!(!tasks.begin_wait(thread, at));
            }
            assert_eq!(tasks.stop(0x100..0x120), [1, 2, 4]);
            assert!(tasks.stop(0x100..0x120).is_empty());
            assert_eq!(
                [5, 6, 7].map(|thread| tasks.begin_wait(thread, Some(0x110 * (thread as usize - 4)))),
                [true, false, false]
            );
            assert!(tasks.begin_wait(8, None));
            assert_eq!(
                [1, 2, 3, 4, 5, 6, 7, 8].map(|thread| tasks.end_wait(thread)),
                [true, true, false, true, true, false, false, true]
            );
            // This one, and the five that wait.
            assert!(tasks.are_over(0));
        });
        let running = Tasks::default();
        running.run(|| {
            assert!(running.stop(0x100..0x120).is_empty());
            assert!(!running.are_over(0));
            assert!(running.begin_wait(1, Some(0x100)));
            assert!(running.are_over(0));
        });
        let nested = Tasks::default();
        nested.run(|| {
            assert!(!nested.begin_wait(1, None) && !nested.begin_wait(1, Some(0x100)));
            nested.run(|| {
                assert_eq!(nested.stop(0x100..0x120), [1, 1]);
                assert!(!nested.are_over(0));
            });
            assert!(nested.are_over(0));
        });
        let requesting = Tasks::default();
        requesting.run(|| {
            assert!(!requesting.begin_wait(1, None) && !requesting.end_wait(1));
            assert!(!requesting.begin_wait(1, None));
            assert_eq!(requesting.stop(0..0), [1]);
            assert!(requesting.are_over(0) && requesting.end_wait(1));
        });
    }

    #[test]
    fn compilations_end_before_the_isolate() {
        let tasks = Tasks::default();
        tasks.run(|| {
            let cancelled = Arc::new(AtomicBool::new(false));
            let cancel = Arc::clone(&cancelled);
            tasks.compile(Some(Box::new(move || cancel.store(true, Ordering::SeqCst))), || {
                assert!(!tasks.has_ended_compiling());
                tasks.compile(None, || assert!(!tasks.end_compiling()));
                assert!(tasks.has_ended_compiling() && cancelled.load(Ordering::SeqCst));
                assert!(!tasks.end_compiling());
            });
            assert!(tasks.end_compiling());
            assert_eq!(tasks.lost(), 0);
            assert!(tasks.stop(0..0).is_empty() && !tasks.are_over(0));
            tasks.lose_thread();
            assert_eq!((tasks.lost(), tasks.are_over(0)), (1, true));
        });
    }
}

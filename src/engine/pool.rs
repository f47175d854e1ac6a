//! Threads that isolates borrow while they have work. The pool grows past threads that are blocked or lost and lets
//! idle ones go.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// V8 takes its stack limit (984 KB) from where a thread's stack stands at entry; nested host calls, the serializer's
/// recursion and native frames need room below that.
const STACK_SIZE: usize = 8 << 20;

/// A limit only so that a runaway cannot exhaust the machine; idle isolates hold no thread.
const MAX_THREADS: usize = 16_384;

const KEEP_ALIVE: Duration = Duration::from_millis(1_000);

/// Threads of the pool that exist.
static THREADS: AtomicUsize = AtomicUsize::new(0);

pub fn threads() -> usize {
    THREADS.load(Ordering::Relaxed)
}

static POOL: OnceLock<Option<Runtime>> = OnceLock::new();

/// Runs `work` on a pool thread. False when no thread can be had at all.
pub fn run_on_pool(work: impl FnOnce() + Send + 'static) -> bool {
    let pool = POOL.get_or_init(|| {
        Builder::new_current_thread()
            .thread_name("isolated-v8")
            .thread_stack_size(STACK_SIZE)
            .thread_keep_alive(KEEP_ALIVE)
            .max_blocking_threads(MAX_THREADS)
            .on_thread_start(|| {
                THREADS.fetch_add(1, Ordering::Relaxed);
                #[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
                crate::native::stack::guard();
            })
            .on_thread_stop(|| {
                #[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
                crate::native::stack::unguard();
                THREADS.fetch_sub(1, Ordering::Relaxed);
            })
            .build()
            .ok()
    });
    match pool {
        Some(pool) => {
            // Panics where the very first thread cannot be started.
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.spawn_blocking(work))).is_ok()
        }
        None => false,
    }
}

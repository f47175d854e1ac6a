//! Threads that isolates borrow while they have work. The pool starts more threads when existing ones are blocked or lost, and ends idle
//! ones.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::guest_thread::accept_suspension;

/// V8 computes its stack limit (984 KB) from the thread's stack position at entry. Nested host calls, the serializer's recursion and native
/// frames need room below that.
const STACK_SIZE: usize = 8 << 20;

/// This limit only keeps runaway code from exhausting the machine; idle isolates hold no thread.
const MAX_THREADS: usize = 16_384;

const KEEP_ALIVE: Duration = Duration::from_millis(1_000);

/// Number of existing pool threads.
static THREADS: AtomicUsize = AtomicUsize::new(0);

pub fn threads() -> usize {
    THREADS.load(Ordering::Relaxed)
}

static POOL: OnceLock<Option<Runtime>> = OnceLock::new();

/// Runs `work` on a pool thread. False if no thread can be started at all. The pool then keeps `work` until it starts one for other work.
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
                accept_suspension();
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
            // Panics when the very first thread cannot be started.
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.spawn_blocking(work))).is_ok()
        }
        None => false,
    }
}

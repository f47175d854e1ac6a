//! Whether this thread holds something that other threads may wait for: a lock of V8 or ICU, or the right to run a one-time initialization.
//! If the thread ended there, every isolate that needs the same would stop. So nothing is refused to it meanwhile: the memory that it takes
//! still counts, and the guest ends later.
//!
//! On Linux, the linker redirects the functions that lock (see `wrapped_locks`). Mutexes of Rust code count as well (see `mutex`).

use super::{context, quota};

/// Whether other threads may wait for this one.
pub fn held() -> bool {
    context::with(|context| context.held.get() > 0)
}

/// Ignores the locks that the thread already holds: that of its own isolate, which no other isolate needs.
pub fn disregard_held() {
    if set(0) > 0 {
        quota::notify_postponed();
    }
}

/// Counts as if this many locks were held. Returns the previous count.
pub(super) fn set(count: u32) -> u32 {
    context::with(|context| context.held.replace(count))
}

/// Called before a thread takes a lock, so that no lock is ever held without being counted.
pub(super) fn begin() {
    context::with(|context| context.held.set(context.held.get() + 1));
}

/// C++ code has released a lock.
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub(super) fn end() {
    if release() {
        super::fiber::check();
        quota::notify_postponed();
    }
}

/// True if it was the last one.
fn release() -> bool {
    context::with(|context| context.held.replace(context.held.get().saturating_sub(1)) == 1)
}

/// Counts as a lock until it is dropped.
#[must_use]
pub struct Hold;

impl Drop for Hold {
    /// Rust code is never left, so the guest is not left here.
    fn drop(&mut self) {
        if release() {
            quota::notify_postponed();
        }
    }
}

pub fn hold() -> Hold {
    begin();
    Hold
}

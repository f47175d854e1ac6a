//! Whether this thread holds something that other threads may wait for: a lock of V8 or ICU, or the right to run a one-time initialization.
//! If the thread ended there, every isolate that needs the same would stop. So nothing is refused to it meanwhile: the memory that it takes
//! still counts, and the guest ends later.
//!
//! On Linux, the linker redirects the functions that lock (see `wrapped_locks`). Mutexes of Rust code count as well (see `mutex`).

use std::cell::Cell;

use super::quota;

thread_local! {
    /// Number of locks that the thread holds, plus one if it is one of V8's own threads.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// Whether other threads may wait for this one.
pub fn held() -> bool {
    HELD.try_with(|held| held.get() > 0).unwrap_or(true)
}

/// Ignores the locks that the thread already holds: that of its own isolate, which no other isolate needs.
pub fn disregard_held() {
    if set(0) > 0 {
        quota::notify_postponed();
    }
}

/// Counts as if this many locks were held. Returns the previous count.
pub(super) fn set(count: u32) -> u32 {
    HELD.try_with(|held| held.replace(count)).unwrap_or(0)
}

/// Called before a thread takes a lock, so that no lock is ever held without being counted.
pub(super) fn begin() {
    let _ = HELD.try_with(|held| held.set(held.get() + 1));
}

pub(super) fn end() {
    let is_last = HELD.try_with(|held| held.replace(held.get().saturating_sub(1)) == 1).unwrap_or(false);
    if is_last {
        quota::notify_postponed();
    }
}

/// Counts as a lock until it is dropped.
#[must_use]
pub struct Hold;

impl Drop for Hold {
    fn drop(&mut self) {
        end();
    }
}

pub fn hold() -> Hold {
    begin();
    Hold
}

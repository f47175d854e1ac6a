//! Whether this thread holds something that other threads may wait for: a lock of V8 or ICU, or the right to run a one-time initialization.
//! If the thread ended there, every isolate that needs the same would stop. So nothing is refused to it meanwhile: the memory that it takes
//! still counts, and the guest ends later.
//!
//! On Linux, the linker redirects the functions that lock (see `wrapped_locks`).

use super::{context, quota};

/// Whether other threads may wait for this one.
pub fn held() -> bool {
    context::with(|context| context.held.get() > 0)
}

/// Ignores the locks that the thread already holds: that of its own isolate, which no other isolate needs.
pub fn disregard_held() {
    set(0);
}

/// Counts as if this many locks were held. Returns the previous count.
pub(super) fn set(count: u32) -> u32 {
    context::with(|context| context.held.replace(count))
}

pub(super) fn begin() {
    context::with(|context| context.held.set(context.held.get() + 1));
}

pub(super) fn end() {
    let is_last = context::with(|context| context.held.replace(context.held.get().saturating_sub(1)) == 1);
    if is_last {
        #[cfg(target_os = "linux")]
        super::fiber::check();
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

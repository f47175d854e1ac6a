//! Whether this thread holds something that other threads may wait for: a lock of V8 or ICU, or the right to run a one-time initialization.
//! If the thread ended there, every isolate that needs the same would stop. So the thread is not refused memory meanwhile: its allocations
//! count, and the guest ends later.
//!
//! On Linux, the linker redirects the functions that lock (see `wrapped_locks`). Mutexes of Rust code count as well (see `mutex`).

#[cfg(target_os = "linux")]
use std::ffi::c_void;
#[cfg(target_os = "linux")]
use std::time::Duration;

use super::context;
use super::quota::{self, NativeQuota};
#[cfg(target_os = "linux")]
use super::{fiber, refusal, stop_request, waits};

/// How often a guest that waits for a lock on a fiber tries to take it.
#[cfg(target_os = "linux")]
const FIRST_POLL: Duration = Duration::from_micros(20);
#[cfg(target_os = "linux")]
const LAST_POLLS: Duration = Duration::from_millis(1);

/// Whether other threads may wait for this one.
pub fn held() -> bool {
    context::with(|context| context.held.get() > 0)
}

/// How many locks the thread holds.
#[cfg(target_os = "linux")]
pub(super) fn count() -> u32 {
    context::with(|context| context.held.get())
}

/// Ignores the locks that the thread already holds: that of its own isolate, which no other isolate needs.
pub fn disregard_held() {
    if set(0) > 0 {
        quota::with_current(NativeQuota::notify_postponed);
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
#[cfg(target_os = "linux")]
pub fn end() {
    let was_last = release();
    obey_stop_request();
    if was_last {
        quota::with_current(NativeQuota::notify_postponed);
    }
}

/// If this thread is requested to stop and holds no lock, leaves the guest that it runs on a fiber, or parks the thread permanently. Called
/// by V8's C++ code where it asks for memory, or releases a lock. A guest on a fiber is also left in a collection (`safepoints`).
#[cfg(target_os = "linux")]
#[inline]
pub fn obey_stop_request() {
    if stop_request::is_made() && (!held() || can_leave_collection()) {
        // What follows asks for memory as well.
        stop_request::withdraw();
        // SAFETY: V8's C++ code has called this, and holds no lock that others need: that of a collection is lost with the guest. Below it are
        // frames of V8, and of our code that holds nothing that others need while it calls V8.
        unsafe { fiber::leave(fiber::Pause::Left) };
        refusal::end();
    }
}

/// Whether this thread runs a guest on a fiber that is in a collection and holds only its lock.
#[cfg(target_os = "linux")]
pub(super) fn can_leave_collection() -> bool {
    fiber::active() != 0 && count() == 1 && is_in_collection()
}

/// Whether this thread holds the lock of a collection, and took it first.
#[cfg(target_os = "linux")]
pub(super) fn is_in_collection() -> bool {
    context::with(|context| context.safepoint() != 0)
}

/// Takes a lock of C++ code. Its holder may be a lost guest, whose thread gets little of a busy processor. So on a fiber, a guest that holds
/// no other lock, or only that of a collection, polls, and can be left while it waits.
///
/// # Safety
/// `wait` and `try_lock` are functions of the kind of lock that `lock` points to.
#[cfg(target_os = "linux")]
#[cfg_attr(fuzzing, allow(dead_code, reason = "its callers are no part of such builds"))]
pub unsafe fn take(
    lock: *mut c_void,
    wait: unsafe extern "C" fn(*mut c_void),
    try_lock: unsafe extern "C" fn(*mut c_void) -> bool,
) {
    let polls = (fiber::active() != 0 && !held()) || can_leave_collection();
    // Before the call: a thread that waits for a lock is in its queue.
    begin();
    if !polls {
        // SAFETY: guaranteed by the caller.
        return unsafe { wait(lock) };
    }
    let mut pause = FIRST_POLL;
    // SAFETY: as above.
    while !unsafe { try_lock(lock) } {
        end();
        waits::begin();
        std::thread::sleep(pause);
        waits::end();
        pause = (pause * 2).min(LAST_POLLS);
        begin();
    }
}

/// True if it was the last one.
#[cfg(target_os = "linux")]
fn release() -> bool {
    context::with(|context| context.held.replace(context.held.get().saturating_sub(1)) == 1)
}

/// True if it was the last one, and the isolate's watch must be notified.
fn release_last() -> bool {
    context::with(|context| {
        let was_last = context.held.replace(context.held.get().saturating_sub(1)) == 1;
        was_last && quota::has_postponed(context)
    })
}

/// Counts as a lock until it is dropped.
#[must_use]
pub struct LockScope;

impl Drop for LockScope {
    /// Rust code is never left, so the guest is not left here.
    fn drop(&mut self) {
        if release_last() {
            quota::with_current(NativeQuota::notify_postponed);
        }
    }
}

impl LockScope {
    pub fn enter() -> Self {
        begin();
        Self
    }
}

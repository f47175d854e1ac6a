//! Threads on Windows, identified by their ids. Their priority can be lowered, but they cannot be suspended.

use std::time::Duration;

use windows_sys::Win32::Foundation::{CloseHandle, FILETIME, HANDLE};
use windows_sys::Win32::System::Threading::{
    GetCurrentThreadId, GetThreadTimes, OpenThread, SetThreadPriority, THREAD_ACCESS_RIGHTS, THREAD_PRIORITY_IDLE,
    THREAD_QUERY_LIMITED_INFORMATION, THREAD_SET_LIMITED_INFORMATION,
};

pub use super::suspension_absent::{Turn, accept_signal, own_code};

/// The kernel's id of this thread.
pub fn current_thread() -> i32 {
    // SAFETY: has no preconditions.
    unsafe { GetCurrentThreadId() }.cast_signed()
}

/// Runs `work` with a handle to an existing thread.
fn with<T>(thread: i32, access: THREAD_ACCESS_RIGHTS, work: impl FnOnce(HANDLE) -> T) -> Option<T> {
    // SAFETY: takes only numbers.
    let handle = unsafe { OpenThread(access, 0, thread.cast_unsigned()) };
    if handle.is_null() {
        return None;
    }
    let result = work(handle);
    // SAFETY: opened above, and no longer used.
    unsafe { CloseHandle(handle) };
    Some(result)
}

pub fn processor_time(thread: i32) -> Option<Duration> {
    const NONE: FILETIME = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    /// Nanoseconds per unit.
    const UNIT: u64 = 100;
    let [mut begun, mut ended, mut kernel, mut user] = [NONE; 4];
    let known = with(thread, THREAD_QUERY_LIMITED_INFORMATION, |thread| {
        // SAFETY: the thread is open, and there is room for four times.
        unsafe { GetThreadTimes(thread, &raw mut begun, &raw mut ended, &raw mut kernel, &raw mut user) != 0 }
    });
    let units = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    known.filter(|known| *known).map(|_| Duration::from_nanos((units(kernel) + units(user)).saturating_mul(UNIT)))
}

pub fn lower_priority(thread: i32) {
    // A failure leaves it unchanged.
    with(thread, THREAD_SET_LIMITED_INFORMATION, |thread| {
        // SAFETY: the thread is open.
        unsafe { SetThreadPriority(thread, THREAD_PRIORITY_IDLE) }
    });
}

/// Not known here.
pub fn is_main_thread() -> bool {
    false
}

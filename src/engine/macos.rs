//! Threads on macOS, identified by their Mach ports. Their priority can be lowered, but they cannot be suspended.

use std::time::Duration;

pub use super::suspension_absent::{Turn, accept_signal, own_code};

unsafe extern "C" {
    fn pthread_mach_thread_np(thread: libc::pthread_t) -> libc::mach_port_t;
}

/// The kernel's id of this thread. No other thread has the same id before this one has ended.
pub fn current_thread() -> i32 {
    // SAFETY: has no preconditions.
    unsafe { pthread_mach_thread_np(libc::pthread_self()) }.cast_signed()
}

pub fn processor_time(thread: i32) -> Option<Duration> {
    let mut info = std::mem::MaybeUninit::<libc::thread_basic_info>::zeroed();
    let mut count = (size_of_val(&info) / size_of::<libc::natural_t>()) as libc::mach_msg_type_number_t;
    // SAFETY: writes no more than there is room for, or fails if the thread does not exist. Zero is a valid value of every field.
    let (failed, info) = unsafe {
        let (port, kind) = (thread.cast_unsigned(), libc::THREAD_BASIC_INFO as libc::thread_flavor_t);
        let result = libc::thread_info(port, kind, info.as_mut_ptr().cast(), &raw mut count);
        (result != libc::KERN_SUCCESS, info.assume_init())
    };
    let time = |time: libc::time_value_t| {
        let (seconds, micros) = (u64::try_from(time.seconds).ok()?, u64::try_from(time.microseconds).ok()?);
        Some(Duration::from_secs(seconds) + Duration::from_micros(micros))
    };
    if failed { None } else { Some(time(info.user_time)? + time(info.system_time)?) }
}

/// Lowers the priority relative to the other threads of this process.
pub fn lower_priority(thread: i32) {
    /// Below the valid range: results in the lowest priority.
    const LOWEST: libc::integer_t = -64;
    let mut policy = libc::thread_precedence_policy { importance: LOWEST };
    let (kind, count) =
        (libc::THREAD_PRECEDENCE_POLICY as libc::thread_policy_flavor_t, libc::THREAD_PRECEDENCE_POLICY_COUNT);
    // SAFETY: the policy is valid for reads and has the given length. A failure leaves the thread as it is.
    unsafe { libc::thread_policy_set(thread.cast_unsigned(), kind, (&raw mut policy).cast(), count) };
}

/// Not known here.
pub fn is_main_thread() -> bool {
    false
}

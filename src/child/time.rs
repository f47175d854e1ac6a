//! The clock that parent and child share, and the processor time of a process.

use std::time::Duration;

/// The machine's monotonic clock.
pub fn now() -> Duration {
    read(CLOCK).unwrap_or_default()
}

#[cfg(target_os = "linux")]
const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;
/// The clock of [`std::time::Instant`], which stands still while the machine sleeps.
#[cfg(target_os = "macos")]
const CLOCK: libc::clockid_t = libc::CLOCK_UPTIME_RAW;

/// Processor time that a process has used. It must not have been reaped.
#[cfg(target_os = "linux")]
pub fn of_process(pid: libc::pid_t) -> Option<Duration> {
    // Linux encodes a process's clock id like this: the complement of the process id, then three bits for the kind of clock.
    const SCHEDULER: libc::clockid_t = 0b010;
    read((!pid << 3) | SCHEDULER)
}

#[cfg(target_os = "macos")]
pub fn of_process(pid: libc::pid_t) -> Option<Duration> {
    let usage = usage(pid)?;
    let ticks = u128::from(usage.ri_user_time) + u128::from(usage.ri_system_time);
    let [numerator, denominator] = tick()?;
    u64::try_from(ticks * u128::from(numerator) / u128::from(denominator)).ok().map(Duration::from_nanos)
}

/// The resource usage of a process that was not reaped.
#[cfg(target_os = "macos")]
pub fn usage(pid: libc::pid_t) -> Option<libc::rusage_info_v4> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage_info_v4>::zeroed();
    // SAFETY: writes a structure of this version, or fails. Zero is a valid value of every field.
    unsafe {
        let failed = libc::proc_pid_rusage(pid, libc::RUSAGE_INFO_V4, usage.as_mut_ptr().cast()) != 0;
        (!failed).then(|| usage.assume_init())
    }
}

/// The unit of macOS's processor time in nanoseconds, as a fraction.
#[cfg(target_os = "macos")]
fn tick() -> Option<[u32; 2]> {
    unsafe extern "C" {
        /// `libc` no longer has it.
        fn mach_timebase_info(info: *mut [u32; 2]) -> libc::c_int;
    }
    let mut fraction = [0, 0];
    // SAFETY: writes the two numbers that make up the structure.
    let failed = unsafe { mach_timebase_info(&raw mut fraction) } != 0;
    (!failed && fraction[1] != 0).then_some(fraction)
}

/// A duration in the system's form.
pub fn timespec(time: Duration) -> libc::timespec {
    /// Ten days; then the caller checks again.
    const MAX_SECONDS: u64 = 10 * 24 * 60 * 60;
    let seconds = time.as_secs().min(MAX_SECONDS);
    // SAFETY: zero is a valid value of every field. Some systems have more than these two.
    let mut result: libc::timespec = unsafe { std::mem::zeroed() };
    (result.tv_sec, result.tv_nsec) = (seconds.cast_signed(), libc::c_long::from(time.subsec_nanos().cast_signed()));
    result
}

fn read(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = std::mem::MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: writes the time, or fails if there is no such clock. Zero is a valid value of every field.
    let (failed, time) = unsafe { (libc::clock_gettime(clock, time.as_mut_ptr()) != 0, time.assume_init()) };
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (!failed).then(|| Duration::new(seconds, nanoseconds))
}

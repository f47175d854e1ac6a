//! How much time an isolate's guest has taken. Asking the kernel for a thread's processor time costs as much as a short
//! call, so that is done when a thread is borrowed and given back, and when somebody wants to know.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Default)]
pub struct Meter {
    /// Nanoseconds of threads that were given back.
    cpu: AtomicU64,
    wall: AtomicU64,
    /// A thread is borrowed: its clock, that clock's time at the start, and how long it has waited since.
    borrowed: AtomicBool,
    clock: AtomicI32,
    thread: AtomicI32,
    start: AtomicU64,
    idle: AtomicU64,
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Meter {
    /// This thread now works for the isolate.
    pub fn borrow_thread(&self) {
        let mut clock = libc::CLOCK_THREAD_CPUTIME_ID;
        // SAFETY: asks for the clock of the calling thread, into a local. On failure the clock of whoever asks is read.
        unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        self.clock.store(clock, Ordering::Relaxed);
        self.thread.store(current_thread(), Ordering::Relaxed);
        self.start.store(read(clock).unwrap_or(0), Ordering::Relaxed);
        self.idle.store(0, Ordering::Relaxed);
        self.borrowed.store(true, Ordering::Release);
    }

    /// This thread has done its work for the isolate.
    pub fn give_back_thread(&self) {
        let taken = self.since_borrowed();
        self.borrowed.store(false, Ordering::Release);
        self.cpu.fetch_add(taken, Ordering::Relaxed);
    }

    /// The thread is lost to its guest: it runs when nobody else wants to.
    pub fn lower_priority(&self) {
        if self.borrowed.load(Ordering::Acquire) {
            lower_priority(self.thread.load(Ordering::Relaxed));
        }
    }

    /// What the kernel calls the thread that works for the isolate, or did last.
    pub fn thread_id(&self) -> u64 {
        u64::try_from(self.thread.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// The thread has waited actively, which is no time of the guest's.
    pub fn waited(&self, time: Duration) {
        self.idle.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    pub fn worked(&self, since: Instant) {
        self.wall.fetch_add(nanoseconds(since.elapsed()), Ordering::Relaxed);
    }

    fn since_borrowed(&self) -> u64 {
        if !self.borrowed.load(Ordering::Acquire) {
            return 0;
        }
        let now = read(self.clock.load(Ordering::Relaxed)).unwrap_or(0);
        let start = self.start.load(Ordering::Relaxed);
        now.saturating_sub(start).saturating_sub(self.idle.load(Ordering::Relaxed))
    }

    /// Nanoseconds of processor time, up to now.
    pub fn cpu_time(&self) -> u64 {
        self.cpu.load(Ordering::Relaxed) + self.since_borrowed()
    }

    /// Nanoseconds of wall-clock time, up to the end of the last job.
    pub fn wall_time(&self) -> u64 {
        self.wall.load(Ordering::Relaxed)
    }
}

/// A clock's time in nanoseconds; nothing for the clock of a thread that is gone.
fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to the timespec above.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let whole = u64::try_from(time.tv_sec).ok()?.checked_mul(1_000_000_000)?;
    (status == 0).then_some(whole.checked_add(u64::try_from(time.tv_nsec).ok()?)?)
}

/// What the kernel calls this thread.
#[cfg(target_os = "linux")]
fn current_thread() -> i32 {
    // SAFETY: has no preconditions.
    unsafe { libc::gettid() }
}

#[cfg(target_os = "linux")]
fn lower_priority(thread: i32) {
    const LOWEST: i32 = 19;
    // Linux takes a thread's id for a process's.
    let thread = libc::id_t::try_from(thread).unwrap_or(0);
    // SAFETY: changes the scheduling of one thread of this process. A failure leaves it as it is.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, LOWEST) };
}

#[cfg(not(target_os = "linux"))]
fn current_thread() -> i32 {
    0
}

#[cfg(not(target_os = "linux"))]
fn lower_priority(_thread: i32) {}

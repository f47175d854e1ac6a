//! How much time an isolate's guest has taken, by a clock that everybody can read: the time for which it ran, as in
//! isolated-vm. A thread's processor time is less where threads compete, and asking the kernel for it costs as much as a
//! short call.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Default)]
pub struct Meter {
    /// Nanoseconds for which the guest has run, up to the last time it stopped.
    cpu: AtomicU64,
    wall: AtomicU64,
    /// When it began to run, by [`now`]; 0 while it does not.
    since: AtomicU64,
    borrowed: AtomicBool,
    thread: AtomicI32,
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds since some moment before; never 0.
fn now() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    nanoseconds(START.elapsed()).max(1)
}

impl Meter {
    /// This thread now works for the isolate.
    pub fn borrow_thread(&self) {
        self.thread.store(current_thread(), Ordering::Relaxed);
        self.borrowed.store(true, Ordering::Release);
    }

    /// This thread has done its work for the isolate.
    pub fn give_back_thread(&self) {
        self.borrowed.store(false, Ordering::Release);
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

    /// The guest runs from now on, or waits. Whether it ran before. On the isolate's thread.
    pub fn set_running(&self, running: bool) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        let ran = since != 0;
        if running && !ran {
            self.since.store(now(), Ordering::Relaxed);
        } else if ran && !running {
            self.cpu.fetch_add(now().saturating_sub(since), Ordering::Relaxed);
            self.since.store(0, Ordering::Relaxed);
        }
        ran
    }

    pub fn worked(&self, since: Instant) {
        self.wall.fetch_add(nanoseconds(since.elapsed()), Ordering::Relaxed);
    }

    /// Nanoseconds for which the guest has run, up to now.
    pub fn cpu_time(&self) -> u64 {
        let since = self.since.load(Ordering::Relaxed);
        let running = if since == 0 { 0 } else { now().saturating_sub(since) };
        self.cpu.load(Ordering::Relaxed) + running
    }

    /// Nanoseconds of wall-clock time, up to the end of the last job.
    pub fn wall_time(&self) -> u64 {
        self.wall.load(Ordering::Relaxed)
    }
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

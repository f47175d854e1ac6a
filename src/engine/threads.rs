//! The threads that V8 starts when it is initialized. V8 ends the process if the system refuses one, so the number is checked before.

use std::sync::Mutex;
use std::thread::{Builder, scope};

use crate::native::lock;

/// The maximum number of V8's worker threads.
const MAX_WORKERS: usize = 16;

/// As V8's own threads have.
const STACK_SIZE: usize = 8 << 20;

/// How many worker threads V8 starts: one for each processor except one.
pub fn of_v8() -> u32 {
    workers().clamp(1, MAX_WORKERS) as u32
}

#[cfg(unix)]
fn workers() -> usize {
    // SAFETY: has no preconditions. Returns -1 if the number is unknown.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1).saturating_sub(1)
}

#[cfg(not(unix))]
fn workers() -> usize {
    std::thread::available_parallelism().map_or(0, |processors| processors.get() - 1)
}

/// Whether the system starts this many more threads for this process. Starts them, and returns when they have ended.
pub fn can_start(count: u32) -> bool {
    let gate = Mutex::new(());
    let ended = scope(|scope| {
        let closed = lock(&gate);
        let wait = || {
            let id = id();
            drop(lock(&gate));
            id
        };
        let start = |_| Builder::new().stack_size(STACK_SIZE).spawn_scoped(scope, wait).ok();
        let started: Vec<_> = (0..count).map_while(start).collect();
        drop(closed);
        started.into_iter().filter_map(|thread| thread.join().ok()).collect::<Vec<_>>()
    });
    ended.iter().for_each(|thread| await_end(*thread));
    ended.len() == count as usize
}

/// This thread's id.
#[cfg(target_os = "linux")]
fn id() -> libc::pid_t {
    // SAFETY: has no preconditions.
    unsafe { libc::gettid() }
}

#[cfg(not(target_os = "linux"))]
fn id() {}

/// Waits until the system does not count a thread any more, which is a moment after it was joined.
#[cfg(target_os = "linux")]
fn await_end(thread: libc::pid_t) {
    const ATTEMPTS: u32 = 200;
    const PAUSE: std::time::Duration = std::time::Duration::from_micros(100);
    for _ in 0..ATTEMPTS {
        // SAFETY: sends no signal, only asks whether the thread exists.
        if unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, 0) } != 0 {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(not(target_os = "linux"))]
fn await_end((): ()) {}

#[cfg(test)]
mod tests {
    use super::{can_start, of_v8};

    #[test]
    fn the_system_starts_a_few() {
        assert!((1..=16).contains(&of_v8()));
        assert!(can_start(of_v8()));
        assert!(can_start(0));
    }
}

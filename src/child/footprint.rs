//! What a child uses of the machine, as the kernel reports it. `RLIMIT_DATA` counts only memory that is writable at the moment. It counts
//! neither memory that was filled and then made read-only, nor page tables. So the parent measures at intervals.

use std::fs;
use std::path::Path;

use isolated_v8_launcher::Report;

/// The name of this layer.
pub const LAYER: &str = "footprint";

/// Bytes besides the private memory that a child may write: the executable, the addon and other mapped files, and page tables.
const AROUND: u64 = 256 << 20;

/// The same as for a control group (`bound`).
const MAX_THREADS: u64 = 256;

/// The fields of `status` that count, in kilobytes.
const FIELDS: [&str; 3] = ["VmRSS:", "VmSwap:", "VmPTE:"];

/// The maximum that a child may use.
#[derive(Clone, Copy, Debug)]
pub struct Footprint(u64);

impl Footprint {
    /// For a child that may write `data` bytes of private memory.
    pub fn new(data: u64) -> Self {
        Self(data.saturating_add(AROUND))
    }

    /// Whether a process that was not reaped uses too much.
    pub fn is_exceeded(self, process: libc::pid_t) -> bool {
        status(process).is_some_and(|(bytes, threads)| bytes > self.0 || threads > MAX_THREADS)
    }

    /// Reports whether it holds for a process.
    pub fn report(self, process: libc::pid_t, report: &mut Report) {
        match status(process) {
            Some(_) => {
                let most = self.0 >> 20;
                report.add(LAYER, true, format!("killed above {most} MB or {MAX_THREADS} threads"));
            }
            None => report.add(LAYER, false, "its host cannot read /proc"),
        }
    }
}

/// Bytes and threads of a process.
///
/// The first thread may have ended before the others. The kernel then reports no memory for it, and only the others' files say what the
/// process has.
fn status(process: libc::pid_t) -> Option<(u64, u64)> {
    let (first, threads) = parse(&read(Path::new(&format!("/proc/{process}/status")))?)?;
    let bytes = first.or_else(|| of_others(process)).unwrap_or(0);
    Some((bytes, threads))
}

/// Bytes of a process, as the first of its threads says that has not ended.
fn of_others(process: libc::pid_t) -> Option<u64> {
    // A process with more is ended for them.
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten().take(MAX_THREADS as usize + 1);
    threads.filter_map(|thread| parse(&read(&thread.path().join("status"))?)?.0).next()
}

/// A file of `/proc`. A process chooses the names of its threads, which need not be UTF-8.
pub fn read(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Bytes of a process, if its thread has not ended, and threads.
fn parse(status: &str) -> Option<(Option<u64>, u64)> {
    let field = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.split_whitespace().next()?.parse::<u64>().ok()
    };
    let threads = field("Threads:")?;
    // A process that has ended has no memory fields.
    let kilobytes = FIELDS.iter().filter_map(|name| field(name)).reduce(u64::saturating_add);
    Some((kilobytes.map(|kilobytes| kilobytes.saturating_mul(1024)), threads))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Footprint, parse, status};

    #[test]
    fn what_the_kernel_says_is_added_up() {
        let text = "Name:\tx\nVmRSS:\t    20 kB\nVmPTE:\t     3 kB\nVmSwap:\t   100 kB\nThreads:\t7\n";
        assert_eq!(parse(text), Some((Some(123 << 10), 7)));
        assert_eq!(parse("Threads:\t1\n"), Some((None, 1)));
        assert_eq!(parse(""), None);
    }

    const LARGE: usize = 64 << 20;

    extern "C" fn pause(_: *mut libc::c_void) -> libc::c_int {
        loop {
            // SAFETY: has no preconditions.
            unsafe { libc::pause() };
        }
    }

    /// A process that has written [`LARGE`] bytes and whose first thread does `last`, while another thread waits.
    fn process_without_first(last: fn()) -> libc::pid_t {
        const STACK: usize = 64 << 10;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the new process makes system calls only, on memory that it has just mapped, and never returns from here.
        unsafe {
            let process = libc::fork();
            if process == 0 {
                let memory = libc::mmap(std::ptr::null_mut(), LARGE, protection, flags, -1, 0);
                memory.cast::<u8>().write_bytes(1, LARGE);
                let stack = libc::mmap(std::ptr::null_mut(), STACK, protection, flags, -1, 0);
                let thread = libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_THREAD;
                libc::clone(pause, stack.byte_add(STACK), thread, std::ptr::null_mut());
                last();
                pause(std::ptr::null_mut());
            }
            process
        }
    }

    fn assert_seen(last: fn(), changed: fn(&[u8]) -> bool) {
        let process = process_without_first(last);
        let end = Instant::now() + Duration::from_secs(10);
        let file = format!("/proc/{process}/status");
        while !std::fs::read(&file).is_ok_and(|status| changed(&status)) && Instant::now() < end {
            std::thread::yield_now();
        }
        let (is_changed, found) = (std::fs::read(&file).is_ok_and(|status| changed(&status)), status(process));
        // SAFETY: a child that was not reaped.
        unsafe {
            libc::kill(process, libc::SIGKILL);
            libc::waitpid(process, std::ptr::null_mut(), 0);
        }
        assert!(is_changed);
        assert!(found.is_some_and(|(bytes, threads)| bytes >= LARGE as u64 && threads == 2), "{found:?}");
        assert_eq!(status(process), None);
    }

    #[test]
    fn a_process_is_seen_after_its_first_thread_has_ended() {
        let last = || {
            // SAFETY: ends the thread.
            unsafe { libc::syscall(libc::SYS_exit, 0) };
        };
        assert_seen(last, |status| String::from_utf8_lossy(status).contains("State:\tZ"));
    }

    #[test]
    fn a_process_is_seen_whatever_it_calls_itself() {
        let last = || {
            // SAFETY: the name is a C string.
            unsafe { libc::prctl(libc::PR_SET_NAME, c"\xff\nVmRSS:0\n".as_ptr()) };
        };
        assert_seen(last, |status| status.starts_with(b"Name:\t\xff"));
    }

    #[test]
    fn this_process_has_more_than_nothing() {
        let own = libc::pid_t::try_from(std::process::id()).unwrap();
        assert!(status(own).is_some_and(|(bytes, threads)| bytes > 1 << 20 && threads > 0));
        assert!(Footprint(1 << 20).is_exceeded(own));
        assert!(!Footprint(1 << 50).is_exceeded(own));
        assert!(!Footprint(0).is_exceeded(-1));
    }
}

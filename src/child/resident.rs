//! What a child uses of the machine, as the kernel reports it. `RLIMIT_DATA` counts only memory that is writable at the moment. It counts
//! neither memory that was filled and then made read-only, nor page tables. So the parent measures at intervals.

use std::fs;

use isolated_v8_launcher::Report;

/// The name of this layer.
pub const LAYER: &str = "footprint";

/// Bytes beside the private memory that a child may write: the executable, the addon and other mapped files, and page tables.
const AROUND: u64 = 256 << 20;

/// The same as for a control group (`group`).
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
                report.add(LAYER, true, format!("its host ends it with more than {most} MB or {MAX_THREADS} threads"));
            }
            None => report.add(LAYER, false, "its host cannot read /proc"),
        }
    }
}

/// Bytes and threads of a process.
fn status(process: libc::pid_t) -> Option<(u64, u64)> {
    parse(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

fn parse(status: &str) -> Option<(u64, u64)> {
    let field = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.split_whitespace().next()?.parse::<u64>().ok()
    };
    let threads = field("Threads:")?;
    // A process that has ended has no memory fields.
    Some((FIELDS.iter().filter_map(|name| field(name)).sum::<u64>().saturating_mul(1024), threads))
}

#[cfg(test)]
mod tests {
    use super::{Footprint, parse, status};

    #[test]
    fn what_the_kernel_says_is_added_up() {
        let text = "Name:\tx\nVmRSS:\t    20 kB\nVmPTE:\t     3 kB\nVmSwap:\t   100 kB\nThreads:\t7\n";
        assert_eq!(parse(text), Some((123 << 10, 7)));
        assert_eq!(parse("Threads:\t1\n"), Some((0, 1)));
        assert_eq!(parse(""), None);
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

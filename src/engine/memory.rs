//! How much memory this process may have.

#[cfg(target_os = "linux")]
use std::sync::LazyLock;

/// Bytes of the machine's memory, or fewer where the process or its container has a limit.
pub fn memory() -> usize {
    [machine(), container(), process()].into_iter().flatten().min().unwrap_or(usize::MAX)
}

/// How many mappings the system gives a process, if that is not known.
#[cfg(target_os = "linux")]
const MAPPINGS: usize = 65_530;

/// How many mappings the system gives this process.
#[cfg(target_os = "linux")]
pub fn max_mappings() -> usize {
    static LIMIT: LazyLock<usize> = LazyLock::new(|| {
        let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
        limit.and_then(|limit| limit.trim_end().parse().ok()).unwrap_or(MAPPINGS)
    });
    *LIMIT
}

#[cfg(not(target_os = "linux"))]
pub fn max_mappings() -> usize {
    usize::MAX
}

#[cfg(unix)]
fn machine() -> Option<usize> {
    // SAFETY: reads constants of the system.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    usize::try_from(pages).ok()?.checked_mul(usize::try_from(size).ok()?)
}

/// The limit of the control group that a container sees as the outermost one.
#[cfg(target_os = "linux")]
fn container() -> Option<usize> {
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    files.iter().find_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok())
}

#[cfg(unix)]
fn process() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writes.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_DATA, &raw mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then(|| usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn machine() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
fn container() -> Option<usize> {
    None
}

#[cfg(not(unix))]
fn process() -> Option<usize> {
    None
}

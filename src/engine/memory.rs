//! How much memory this process may have.

#[cfg(target_os = "linux")]
use std::sync::LazyLock;
use std::sync::atomic::AtomicUsize;

/// Regions of the address space that `page_allocator` knows. Each has two mappings. V8 has far more pages of other kinds.
pub static REGIONS: AtomicUsize = AtomicUsize::new(0);

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

/// How many more mappings the system gives this process, if that is known. Takes half a microsecond for each mapping that it has.
#[cfg(target_os = "linux")]
pub fn free_mappings() -> Option<usize> {
    use std::io::Read;
    const PIECE: usize = 64 << 10;
    let mut list = std::fs::File::open("/proc/self/maps").ok()?;
    let mut piece = vec![0; PIECE];
    let mut count = 0;
    loop {
        match list.read(&mut piece).ok()? {
            0 => return Some(max_mappings().saturating_sub(count)),
            length => count += piece[..length].iter().filter(|byte| **byte == b'\n').count(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub fn free_mappings() -> Option<usize> {
    None
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

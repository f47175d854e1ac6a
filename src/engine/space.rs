//! Address space that buffers reserve for what they may become. It costs no memory, but a process has only so much of it, and the
//! system's list of its parts is limited as well: whoever uses up one or the other takes it from the host.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::value::{Budget, Charge};

/// Of all isolates together: a small part of what 47 bits address, or 39 on some ARM systems.
const MAX_SPACE: usize = if cfg!(target_arch = "x86_64") { 8 << 40 } else { 128 << 30 };

/// As many isolates can have all that one may have.
const ISOLATES: usize = 16;

/// As many buffers can have space. Each takes two parts on the system's list, which on Linux has room for 65,530.
const BUFFERS: usize = 1 << 14;

/// What there is, and what each buffer counts at the least.
struct Space {
    all: Arc<Budget>,
    least: usize,
}

static SPACE: LazyLock<Space> = LazyLock::new(|| {
    let most = limit().map_or(MAX_SPACE, |limit| MAX_SPACE.min(limit / 4));
    Space { all: Budget::new(most), least: most / BUFFERS }
});

/// A budget of address space for one isolate.
pub fn for_isolate() -> Arc<Budget> {
    Budget::new(SPACE.all.limit() / ISOLATES)
}

/// Takes space of `size` from what the isolate has.
pub fn take(own: &Arc<Budget>, size: usize) -> Option<Charge> {
    Charge::take(own, size.max(SPACE.least))
}

/// The same from what there is for all. Buffers leave a quarter to what V8 cannot do without.
pub fn take_of_all(size: usize, is_buffer: bool) -> Option<Charge> {
    let size = size.max(SPACE.least);
    if is_buffer && SPACE.all.used().saturating_add(size) > SPACE.all.limit() / 4 * 3 {
        return None;
    }
    Charge::take(&SPACE.all, size)
}

/// What V8 reserves when it starts, most of which it gives back, and what an isolate and its first pages take.
const FOR_ENGINE: usize = 52 << 30;
const FOR_ISOLATE: usize = 1 << 30;

/// Parts of the address space that are to be left to the host. An isolate takes eight.
const PARTS: usize = 1 << 10;

/// Finding out takes as long as making an isolate. As long as there is room, it is done again when so many isolates more live
/// than the fewest since, and after so many were made, whatever became of them. In between there is room for these, and for
/// some of what others take.
const MORE_ALIVE: u64 = 16;
const MORE_MADE: u32 = 64;

/// Where there is none, it is looked again this late: looking takes parts, too.
const CROWDED: Duration = Duration::from_millis(10);

/// What is known of the parts that are left.
struct Parts {
    /// Isolates made since somebody looked.
    made: u32,
    /// Somebody looks again when so many live.
    mark: u64,
    /// There was no room at that time.
    crowded: Option<Instant>,
}

static KNOWN: Mutex<Parts> = Mutex::new(Parts { made: 0, mark: 0, crowded: None });

/// The process has address space for another isolate beside those `alive`, as far as can be told. V8 ends the process when it gets none.
pub fn has_room(is_first: bool, alive: u64) -> bool {
    is_free(if is_first { FOR_ENGINE + FOR_ISOLATE } else { FOR_ISOLATE }) && has_parts(alive)
}

fn has_parts(alive: u64) -> bool {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.made += 1;
    let look = match known.crowded {
        Some(since) => since.elapsed() >= CROWDED,
        None => known.made >= MORE_MADE || alive >= known.mark,
    };
    if look {
        let crowded = (!can_split(PARTS)).then(Instant::now);
        *known = Parts { made: 0, mark: u64::MAX, crowded };
    }
    known.mark = known.mark.min(alive + MORE_ALIVE);
    known.crowded.is_none()
}

#[cfg(unix)]
fn is_free(size: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: reserves pages wherever there is room, which nobody has access to, and frees them again.
    unsafe {
        let pages = libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0);
        pages != libc::MAP_FAILED && libc::munmap(pages, size) == 0
    }
}

/// The system has room for so many more parts of the address space on its list.
#[cfg(target_os = "linux")]
fn can_split(parts: usize) -> bool {
    const PAGE: usize = 64 << 10;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: reserves pages wherever there is room, makes every second one readable, which makes parts of them, and frees them all.
    unsafe {
        let pages = libc::mmap(std::ptr::null_mut(), parts * PAGE, libc::PROT_NONE, flags, -1, 0);
        if pages == libc::MAP_FAILED {
            return false;
        }
        let split = |part: usize| libc::mprotect(pages.add(part * PAGE), PAGE, libc::PROT_READ) == 0;
        let all = (1..parts).step_by(2).all(split);
        libc::munmap(pages, parts * PAGE) == 0 && all
    }
}

#[cfg(not(target_os = "linux"))]
fn can_split(_parts: usize) -> bool {
    true
}

#[cfg(not(unix))]
fn is_free(_size: usize) -> bool {
    true
}

/// What the system lets this process have, where that is limited.
#[cfg(unix)]
fn limit() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writes.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then(|| usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn limit() -> Option<usize> {
    None
}

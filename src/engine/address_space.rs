//! Budgets for the address space that buffers reserve for growth. It takes no memory, but the address space of a process is limited, and so is
//! the number of its mappings. If a guest used up either one, the host would have none left.

#[cfg(target_os = "linux")]
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use super::heap;
use super::memory;
use crate::native::lock;
use crate::value::{Budget, Charge};

/// For all isolates together: a small part of a 47-bit address space, or of a 39-bit one on some ARM systems.
const MAX_SPACE: usize = if cfg!(target_arch = "x86_64") { 8 << 40 } else { 128 << 30 };

/// This many isolates can use their full budget at the same time.
const ISOLATES: usize = 16;

/// This many regions can have address space. Each takes two entries in the system's list of mappings, which on Linux has room for 65,530.
pub const REGIONS: usize = 1 << 14;

/// The space for all isolates, and the minimum that each buffer counts for.
struct Space {
    all: Arc<Budget>,
    least: usize,
}

static SPACE: LazyLock<Space> = LazyLock::new(|| {
    let most = limit().map_or(MAX_SPACE, |limit| MAX_SPACE.min(limit / 4));
    Space { all: Budget::new(most), least: most / REGIONS }
});

/// A budget of address space for one isolate.
pub fn for_isolate() -> Arc<Budget> {
    Budget::new(SPACE.all.limit() / ISOLATES)
}

/// Takes space of `size` from the isolate's budget.
pub fn take(own: &Arc<Budget>, size: usize) -> Option<Charge> {
    Charge::take(own, size.max(SPACE.least))
}

/// Takes space of `size` from the budget of all isolates. Buffers leave a quarter of it for allocations that V8 cannot do without.
pub fn take_of_all(size: usize, is_buffer: bool) -> Option<Charge> {
    let limit = SPACE.all.limit();
    let most = if is_buffer { limit / 4 * 3 } else { limit };
    Charge::take_below(&SPACE.all, most, size.max(SPACE.least))
}

/// Takes what several buffers take together, `size`, from the isolate's budget and from that of all isolates.
pub fn take_for_buffers(own: &Arc<Budget>, size: usize) -> Option<[Charge; 2]> {
    if size == 0 {
        return Some(Default::default());
    }
    Some([Charge::take(own, size)?, take_of_all(size, true)?])
}

/// The part of both charges that space of `size` takes; `None` if one of them is smaller.
pub fn split([own, all]: &mut [Charge; 2], size: usize) -> Option<[Charge; 2]> {
    let size = size.max(SPACE.least);
    Some([own.split(size)?, all.split(size)?])
}

/// What V8 reserves when it starts, most of which it releases, and what an isolate and its first pages take.
const FOR_ENGINE: usize = 52 << 30;
const FOR_ISOLATE: usize = 1 << 30;

/// V8 makes the pages for all machine code writable when it starts. Few of them are ever used, but all of them count where the data of the
/// process is limited (`ulimit -d`). Processes of `SubprocessSandbox` have a limit of 512 MB and four times `memoryLimit`.
const CODE_OF_ENGINE: usize = if cfg!(target_arch = "x86_64") { 512 << 20 } else { 160 << 20 };

/// Mappings that must remain for the host. An isolate takes eight.
const PARTS: usize = 1 << 10;

/// A list of mappings that is printed in this many bytes has fewer than `SHORT_PARTS`, since each line has at least 49.
const SHORT_LIST: u64 = 128 << 10;
const SHORT_PARTS: usize = SHORT_LIST as usize / 49;

/// The check takes as long as creating an isolate, except while the process has few mappings. While there is room, it is repeated when
/// `MORE_ALIVE` more isolates are alive than the lowest number since the last check, and after `MORE_MADE` isolates were created, whether
/// they still exist or not. Between two checks there is room for these isolates, and for some of the mappings that other code creates.
const MORE_ALIVE: u64 = 16;
const MORE_MADE: u32 = 64;

/// Each page of a heap has a mapping. The check is repeated for this many more of them.
const MORE_PAGES: usize = PARTS / 2;

/// Each buffer has two mappings. The check is repeated for this many more buffers, and buffers leave these mappings free.
const MORE_BUFFERS: usize = PARTS / 4;
const FREE_OF_BUFFERS: usize = PARTS * 4;

/// If there is no room, the next check waits this long, because a check itself uses mappings.
const RETRY_AFTER: Duration = Duration::from_millis(10);

/// What is known about the remaining mappings.
struct Parts {
    /// Isolates created since the last check.
    made: u32,
    /// The next check takes place when this many isolates are alive.
    mark: u64,
    /// Or when there are so many pages in all heaps.
    pages: usize,
    /// Or when so many buffers have been created.
    buffers: usize,
    /// There was no room at that time.
    exhausted: Option<Instant>,
}

static KNOWN: Mutex<Parts> = Mutex::new(Parts { made: 0, mark: 0, pages: 0, buffers: 0, exhausted: None });

/// Whether the process has address space for another isolate in addition to those `alive`, as far as can be determined. V8 ends the process
/// when it gets none.
pub fn has_room(alive: u64) -> bool {
    is_free(FOR_ISOLATE, false) && has_parts(alive)
}

/// Whether the process has address space for V8 and its first isolate, and may use as much memory as V8 asks for when it starts.
pub fn has_room_for_engine() -> bool {
    is_free(FOR_ENGINE + FOR_ISOLATE, false) && is_free(CODE_OF_ENGINE, true)
}

fn has_parts(alive: u64) -> bool {
    let (pages, buffers) = (heap::count_pages(), CREATED.load(Ordering::Relaxed));
    let mut known = lock(&KNOWN);
    known.made += 1;
    let look = match known.exhausted {
        Some(since) => since.elapsed() >= RETRY_AFTER,
        None => known.made >= MORE_MADE || alive >= known.mark || pages >= known.pages || buffers >= known.buffers,
    };
    if look {
        let exhausted = (!is_list_short() && !can_split(PARTS)).then(Instant::now);
        *known = Parts { made: 0, mark: u64::MAX, pages: usize::MAX, buffers: buffers + MORE_BUFFERS, exhausted };
    }
    known.mark = known.mark.min(alive + MORE_ALIVE);
    known.pages = known.pages.min(pages + MORE_PAGES);
    known.exhausted.is_none()
}

/// How many buffers have been created, or refused here.
static CREATED: AtomicUsize = AtomicUsize::new(0);

/// What is known about mappings for buffers.
struct Buffers {
    /// The next check takes place when this many have been created.
    mark: usize,
    /// There was no room at that time.
    exhausted: Option<Instant>,
}

static BUFFERS: Mutex<Buffers> = Mutex::new(Buffers { mark: MORE_BUFFERS, exhausted: None });

/// Whether the process has mappings for another buffer and for its host. The budgets are those of this library: other code may have taken mappings, such as
/// another copy of this library, whose guests may have as many buffers.
pub fn has_room_for_buffer() -> bool {
    let created = CREATED.fetch_add(1, Ordering::Relaxed) + 1;
    let mut known = lock(&BUFFERS);
    let look = match known.exhausted {
        Some(since) => since.elapsed() >= RETRY_AFTER,
        None => created >= known.mark,
    };
    if !look {
        return known.exhausted.is_none();
    }
    known.mark = created + MORE_BUFFERS;
    if known.exhausted.is_some() {
        known.exhausted = Some(Instant::now());
    }
    // Not under the lock: other threads rely on what was found before.
    drop(known);
    let has_room = is_list_short() || memory::free_mappings().is_none_or(|free| free >= FREE_OF_BUFFERS);
    lock(&BUFFERS).exhausted = (!has_room).then(Instant::now);
    has_room
}

/// This process is new, so it has few mappings.
#[cfg_attr(windows, allow(dead_code, reason = "children are such, and there are none"))]
pub fn is_new_process() {
    *lock(&KNOWN) = Parts { made: 0, mark: MORE_ALIVE, pages: MORE_PAGES, buffers: MORE_BUFFERS, exhausted: None };
}

#[cfg(unix)]
fn is_free(size: usize, writable: bool) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let access = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
    // SAFETY: reserves pages that nothing accesses, at an address that the system chooses, and frees them again.
    unsafe {
        let pages = libc::mmap(std::ptr::null_mut(), size, access, flags, -1, 0);
        pages != libc::MAP_FAILED && libc::munmap(pages, size) == 0
    }
}

/// Whether the process has so few mappings that the system's list is sure to have room for `PARTS` more. Reading a short list takes a fraction of
/// the time of `can_split`.
#[cfg(target_os = "linux")]
fn is_list_short() -> bool {
    if memory::max_mappings() < SHORT_PARTS + PARTS {
        return false;
    }
    let Ok(list) = std::fs::File::open("/proc/self/maps") else { return false };
    // The end of a list that is longer is not reached.
    std::io::copy(&mut list.take(SHORT_LIST), &mut std::io::sink())
        .is_ok_and(|length| length > 0 && length < SHORT_LIST)
}

#[cfg(not(target_os = "linux"))]
fn is_list_short() -> bool {
    true
}

/// Whether the system's list has room for this many more mappings.
#[cfg(target_os = "linux")]
fn can_split(parts: usize) -> bool {
    const PAGE: usize = 64 << 10;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: reserves pages at an address that the system chooses, makes every second one readable, which splits the mapping, and frees
    // them all.
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
fn is_free(_size: usize, _writable: bool) -> bool {
    true
}

/// The address space that the system allows this process, if that is limited.
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

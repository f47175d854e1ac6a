//! The pages of V8's heaps. A thread that runs out of memory in the middle of V8's work stops permanently, and so does its isolate. These pages
//! are then returned to the system: their memory and their addresses. V8 chooses the address of each page at random, so each has a mapping of its
//! own, of which a process has a limited number (65,530 on Linux).
//!
//! This is sound because nothing accesses them any more: the thread has stopped, V8's own threads do nothing for the isolate
//! (`native::Tasks`), and other isolates never access its pages. V8 passes free pages on to other isolates. So the heap that a page belongs
//! to is recorded where V8 creates the page, and removed where V8 adds it to the pool for all isolates and where the page allocator frees
//! it. On Linux the linker redirects the functions that create pages and add them to the pool here (`build.rs`).

use crate::engine::memory;
use crate::native::{give_back_pages, lock};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex};

/// A page of a heap, or a page of a large object.
struct Page {
    heap: usize,
    size: usize,
    /// Address of V8's description of the page.
    description: usize,
    /// It has one large object.
    is_large: bool,
}

#[derive(Default)]
struct Pages {
    by_start: HashMap<usize, Page>,
    /// Start addresses by description.
    starts: HashMap<usize, usize>,
    by_heap: HashMap<usize, Count>,
    all_large: usize,
}

/// What a heap has.
#[derive(Default)]
struct Count {
    pages: usize,
    /// Those of them that have one large object.
    large: usize,
}

impl Pages {
    fn insert(&mut self, start: usize, page: Page) {
        let count = self.by_heap.entry(page.heap).or_default();
        count.pages += 1;
        count.large += usize::from(page.is_large);
        self.all_large += usize::from(page.is_large);
        self.starts.insert(page.description, start);
        if let Some(previous) = self.by_start.insert(start, page) {
            self.forget(&previous);
        }
    }

    fn remove(&mut self, start: usize) {
        if let Some(page) = self.by_start.remove(&start) {
            self.starts.remove(&page.description);
            self.forget(&page);
        }
    }

    fn forget(&mut self, page: &Page) {
        self.all_large -= usize::from(page.is_large);
        if let Entry::Occupied(mut count) = self.by_heap.entry(page.heap) {
            count.get_mut().pages -= 1;
            count.get_mut().large -= usize::from(page.is_large);
            if count.get().pages == 0 {
                count.remove();
            }
        }
    }

    /// Whether large objects take so many mappings that an isolate with as many as `heap` has must end.
    fn has_too_many_large(&self, heap: usize) -> bool {
        if self.all_large <= MANY_LARGE {
            return false;
        }
        let most = if self.all_large <= MAX_LARGE { MANY_OF_ONE } else { MAX_OF_ONE };
        self.by_heap.get(&heap).is_some_and(|count| count.large > most)
    }

    /// The same for all pages, if other parts of this library have `others` mappings.
    fn has_too_many(&self, heap: usize, others: usize) -> bool {
        let all = self.by_start.len() + others;
        // Where guests have few pages, system calls may be filtered, and the limit is not read.
        all > MANY_LARGE
            && all > memory::max_mappings() / 8 * 7
            && self.by_heap.get(&heap).is_some_and(|count| count.pages > MANY_OF_ONE)
    }
}

/// With more large objects than this in all heaps, isolates that have `MANY_OF_ONE` of them end. A large object has 128 KB or more. Half of the
/// mappings of a process are left for hosts, and for resizable buffers.
const MANY_LARGE: usize = 1 << 15;
const MANY_OF_ONE: usize = 1 << 8;

/// The same if these do not suffice.
const MAX_LARGE: usize = MANY_LARGE / 4 * 5;
const MAX_OF_ONE: usize = 1 << 5;

/// The number of pages in all heaps.
pub fn count() -> usize {
    lock(&PAGES).by_start.len()
}

static PAGES: LazyLock<Mutex<Pages>> = LazyLock::new(Mutex::default);

/// The page belongs to `heap` from now on. Returns whether that has more pages than it may.
#[cfg_attr(
    any(not(target_os = "linux"), fuzzing),
    allow(dead_code, reason = "only the linker of the addon on Linux sends pages here")
)]
fn add(description: usize, heap: usize, start: usize, size: usize, is_large: bool) -> bool {
    let mut pages = lock(&PAGES);
    pages.insert(start, Page { heap, size, description, is_large });
    let others = memory::REGIONS.load(Ordering::Relaxed) * 2;
    pages.has_too_many(heap, others) || (is_large && pages.has_too_many_large(heap))
}

/// The page no longer belongs to a heap.
#[cfg_attr(
    any(not(target_os = "linux"), fuzzing),
    allow(dead_code, reason = "only the linker of the addon on Linux sends pages here")
)]
fn remove(description: usize) {
    let mut pages = lock(&PAGES);
    if let Some(start) = pages.starts.get(&description).copied() {
        pages.remove(start);
    }
}

/// Only `size` bytes from `start` remain of what may be a page; the rest is about to be freed.
pub fn shrink(start: usize, size: usize) {
    let mut pages = lock(&PAGES);
    if size > 0 {
        if let Some(page) = pages.by_start.get_mut(&start) {
            page.size = page.size.min(size);
        }
    } else {
        pages.remove(start);
    }
}

/// Gives the pages of `heap` back to the system. Returns the number of bytes.
///
/// # Safety
/// Nothing accesses the pages or frees them from now on.
pub(super) unsafe fn give_back(heap: usize) -> usize {
    let pages: Vec<(usize, Page)> = {
        let mut pages = lock(&PAGES);
        let given: Vec<_> = pages.by_start.extract_if(|_, page| page.heap == heap).collect();
        for (_, page) in &given {
            pages.starts.remove(&page.description);
            pages.forget(page);
        }
        given
    };
    // Without the lock, which all isolates need.
    // SAFETY: they are pages of the heap, and the caller guarantees that nothing accesses or frees them.
    pages.into_iter().map(|(start, page)| unsafe { give_back_page(start, &page) }).sum()
}

/// # Safety
/// Nothing accesses the page or frees it from now on.
unsafe fn give_back_page(start: usize, page: &Page) -> usize {
    // SAFETY: the caller guarantees that nothing accesses or frees it. It is the whole of what V8 has reserved for it.
    #[cfg(target_os = "linux")]
    if unsafe { libc::munmap(start as *mut _, page.size) } == 0 {
        return page.size;
    }
    // SAFETY: as above.
    unsafe { give_back_pages(start, page.size) }
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::{c_int, c_void};

    use crate::native;

    type Object = *mut c_void;

    unsafe extern "C" {
        #[link_name = "__real__ZN2v88internal10NormalPageC1EPNS0_4HeapEPNS0_9BaseSpaceEmmmNS0_13VirtualMemoryENS0_13ExecutabilityEPNS_4base5FlagsINS0_11MemoryChunk4FlagEmmEE"]
        fn make_page(
            page: Object,
            heap: Object,
            space: Object,
            size: usize,
            area_start: usize,
            area_end: usize,
            reservation: Object,
            executable: c_int,
            flags: Object,
        );
        #[link_name = "__real__ZN2v88internal9LargePageC1EPNS0_4HeapEPNS0_9BaseSpaceEmmmNS0_13VirtualMemoryENS0_13ExecutabilityEPNS_4base5FlagsINS0_11MemoryChunk4FlagEmmEE"]
        fn make_large_page(
            page: Object,
            heap: Object,
            space: Object,
            size: usize,
            area_start: usize,
            area_end: usize,
            reservation: Object,
            executable: c_int,
            flags: Object,
        );
        #[link_name = "__real__ZN2v88internal10MemoryPool3AddEPNS0_7IsolateEPNS0_11MutablePageE"]
        fn add_to_pool(pool: Object, isolate: Object, page: Object);
        #[link_name = "__real__ZN2v88internal10MemoryPool8AddLargeEPNS0_7IsolateERNSt4__Cr6vectorIPNS0_9LargePageENS4_9allocatorIS7_EEEE"]
        fn add_large_to_pool(pool: Object, isolate: Object, pages: *mut Vector);
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN2v88internal10NormalPageC1EPNS0_4HeapEPNS0_9BaseSpaceEmmmNS0_13VirtualMemoryENS0_13ExecutabilityEPNS_4base5FlagsINS0_11MemoryChunk4FlagEmmEE",
        ".hidden __wrap__ZN2v88internal9LargePageC1EPNS0_4HeapEPNS0_9BaseSpaceEmmmNS0_13VirtualMemoryENS0_13ExecutabilityEPNS_4base5FlagsINS0_11MemoryChunk4FlagEmmEE",
        ".hidden __wrap__ZN2v88internal10MemoryPool3AddEPNS0_7IsolateEPNS0_11MutablePageE",
        ".hidden __wrap__ZN2v88internal10MemoryPool8AddLargeEPNS0_7IsolateERNSt4__Cr6vectorIPNS0_9LargePageENS4_9allocatorIS7_EEEE"
    );

    /// `std::vector<LargePage*>`.
    #[repr(C)]
    struct Vector {
        start: *const Object,
        end: *const Object,
        _capacity: *const Object,
    }

    /// V8 aligns pages to this. The first object of each page lies within the first such unit.
    const ALIGNMENT: usize = 256 << 10;

    fn add(page: Object, heap: Object, size: usize, area_start: usize, executable: c_int, is_large: bool) {
        // Code lies in a range that the heap reserves as a whole. V8 frees pages inside it without the page allocator, which removes entries. So
        // an entry could outlive its page, and name memory of another heap.
        if executable == 0 {
            let start = area_start & !(ALIGNMENT - 1);
            let has_too_many = super::add(page as usize, heap as usize, start, size, is_large);
            if has_too_many && let Some(quota) = native::current() {
                quota.exceed();
            }
        }
    }

    /// `v8::internal::NormalPage::NormalPage`. V8 passes its `VirtualMemory` by address.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal10NormalPageC1EPNS0_4HeapEPNS0_9BaseSpaceEmmmNS0_13VirtualMemoryENS0_13ExecutabilityEPNS_4base5FlagsINS0_11MemoryChunk4FlagEmmEE(
        page: Object,
        heap: Object,
        space: Object,
        size: usize,
        area_start: usize,
        area_end: usize,
        reservation: Object,
        executable: c_int,
        flags: Object,
    ) {
        add(page, heap, size, area_start, executable, false);
        // SAFETY: forwards the call.
        unsafe { make_page(page, heap, space, size, area_start, area_end, reservation, executable, flags) };
    }

    /// `v8::internal::LargePage::LargePage`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal9LargePageC1EPNS0_4HeapEPNS0_9BaseSpaceEmmmNS0_13VirtualMemoryENS0_13ExecutabilityEPNS_4base5FlagsINS0_11MemoryChunk4FlagEmmEE(
        page: Object,
        heap: Object,
        space: Object,
        size: usize,
        area_start: usize,
        area_end: usize,
        reservation: Object,
        executable: c_int,
        flags: Object,
    ) {
        add(page, heap, size, area_start, executable, true);
        // SAFETY: forwards the call.
        unsafe { make_large_page(page, heap, space, size, area_start, area_end, reservation, executable, flags) };
    }

    /// `v8::internal::MemoryPool::Add`: any isolate may get the page.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal10MemoryPool3AddEPNS0_7IsolateEPNS0_11MutablePageE(
        pool: Object,
        isolate: Object,
        page: Object,
    ) {
        super::remove(page as usize);
        // SAFETY: forwards the call.
        unsafe { add_to_pool(pool, isolate, page) };
    }

    /// `v8::internal::MemoryPool::AddLarge`. Pages that the pool does not take are freed afterwards.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal10MemoryPool8AddLargeEPNS0_7IsolateERNSt4__Cr6vectorIPNS0_9LargePageENS4_9allocatorIS7_EEEE(
        pool: Object,
        isolate: Object,
        pages: *mut Vector,
    ) {
        // SAFETY: V8 passes a vector. Its pages are only compared by address here.
        unsafe {
            let mut page = (*pages).start;
            while page < (*pages).end {
                super::remove(*page as usize);
                page = page.add(1);
            }
        }
        // SAFETY: forwards the call.
        unsafe { add_large_to_pool(pool, isolate, pages) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    /// Memory of one page of the system, filled.
    fn filled(size: usize) -> usize {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, written only within its bounds.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            start.cast::<u8>().write_bytes(1, size);
            start as usize
        }
    }

    fn is_mapped(start: usize) -> bool {
        let mut pages = [0];
        // SAFETY: only asks for one page, and there is a byte for it.
        unsafe { libc::mincore(start as *mut _, 1, pages.as_mut_ptr()) == 0 }
    }

    #[test]
    fn frees_the_pages_of_a_heap_at_that_time() {
        const SIZE: usize = 1 << 24;
        const HEAP: usize = 0x1000;
        const OTHER: usize = 0x2000;
        let [kept, freed, moved, others, half] = std::array::from_fn(|_| filled(SIZE));
        super::add(1, HEAP, kept, SIZE, false);
        super::add(2, HEAP, freed, SIZE, false);
        super::remove(2);
        super::add(3, HEAP, moved, SIZE, false);
        super::remove(3);
        super::add(3, OTHER, moved, SIZE, false);
        super::add(4, OTHER, others, SIZE, false);
        super::add(5, HEAP, half, SIZE, false);
        super::shrink(half, SIZE / 2);
        // SAFETY: no real heap uses these pages; the test only checks whether they still exist.
        assert_eq!(unsafe { super::give_back(HEAP) }, SIZE + SIZE / 2);
        assert_eq!(
            [kept, freed, moved, others, half, half + SIZE / 2].map(is_mapped),
            [false, true, true, true, false, true]
        );
        // SAFETY: as above.
        assert_eq!(unsafe { super::give_back(HEAP) }, 0);
        // SAFETY: as above.
        assert_eq!(unsafe { super::give_back(OTHER) }, SIZE * 2);
    }

    #[test]
    fn counts_large_objects() {
        const SIZE: usize = 1 << 18;
        let mut pages = super::Pages::default();
        let large = |heap: usize, place: usize| super::Page { heap, size: SIZE, description: place, is_large: true };
        for place in 1..=super::MANY_LARGE {
            pages.insert(place * SIZE, large(1, place));
        }
        assert!(!pages.has_too_many_large(1));
        let next = super::MANY_LARGE + 1;
        pages.insert(next * SIZE, large(2, next));
        assert!(pages.has_too_many_large(1) && !pages.has_too_many_large(2));
        pages.insert(next * SIZE, large(1, next));
        assert_eq!((pages.all_large, pages.by_heap.len()), (next, 1));
        pages.remove(SIZE);
        assert!(!pages.has_too_many_large(1));
        for place in 2..=next {
            pages.remove(place * SIZE);
        }
        assert_eq!((pages.all_large, pages.by_heap.len(), pages.starts.len()), (0, 0, 0));
    }

    #[test]
    fn counts_pages() {
        const SIZE: usize = 1 << 18;
        let most = super::memory::max_mappings() / 8 * 7;
        assert!(most > super::MANY_LARGE);
        let mut pages = super::Pages::default();
        let page = |heap: usize, place: usize| super::Page { heap, size: SIZE, description: place, is_large: false };
        for place in 1..=most {
            pages.insert(place * SIZE, page(1, place));
        }
        assert!(!pages.has_too_many(1, 0) && pages.has_too_many(1, 1));
        pages.insert((most + 1) * SIZE, page(2, most + 1));
        assert!(pages.has_too_many(1, 0) && !pages.has_too_many(2, 0));
        pages.remove(SIZE);
        assert!(!pages.has_too_many(1, 0));
    }
}

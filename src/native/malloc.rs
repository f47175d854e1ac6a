//! The system's allocator as the addon's C++ code finds it: the linker sends every call of `malloc` and its kind here (`build.rs`),
//! so that large blocks count for the isolate that the thread works for. Rust code goes past it.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::ration::{Ration, Share};
use super::table::Readers;
use super::{blocks, locks, refusal, stack, table};

unsafe extern "C" {
    #[link_name = "__real_malloc"]
    pub fn malloc(size: usize) -> *mut c_void;
    #[link_name = "__real_calloc"]
    pub fn calloc(count: usize, size: usize) -> *mut c_void;
    #[link_name = "__real_realloc"]
    pub fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
    #[link_name = "__real_aligned_alloc"]
    fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    #[link_name = "__real_posix_memalign"]
    fn posix_memalign(place: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
    #[link_name = "__real_free"]
    pub fn free(block: *mut c_void);
    /// `v8::internal::AccountingAllocator::AllocateSegment`.
    #[link_name = "__real__ZN2v88internal19AccountingAllocator15AllocateSegmentEm"]
    fn allocate_segment(allocator: *mut c_void, size: usize) -> *mut c_void;
}

/// Smaller blocks do not count. V8 takes memory for handles in parts of nearly 8 KB, for its parser and compilers in parts of 8 to 32.
const LARGE: usize = 4 << 10;

core::arch::global_asm!(
    ".hidden __wrap_malloc",
    ".hidden __wrap_calloc",
    ".hidden __wrap_realloc",
    ".hidden __wrap_aligned_alloc",
    ".hidden __wrap_posix_memalign",
    ".hidden __wrap_free",
    ".hidden __wrap__ZN2v88internal19AccountingAllocator15AllocateSegmentEm"
);

/// What a block of `size` counts for; `None` if it does not count.
///
/// Does not return where its isolate cannot have it: V8 has places that write to what they get without a look, and where it looks it
/// gives up. Where other threads may wait for this one nothing is refused.
fn share(size: usize) -> Option<Share> {
    stack::check();
    let share = if size < LARGE { None } else { Share::of_current(size) }?;
    if !share.is_bearable() {
        share.refuse();
        refusal::end();
        return Share::of_current(size);
    }
    Some(share)
}

/// Larger blocks are made for one guest's value: V8's own structures are smaller, but for those of WebAssembly's modules and those that
/// all isolates share. These are under a lock when they grow.
const VERY_LARGE: usize = 1 << 20;

thread_local! {
    /// V8 takes a segment of a zone: what it parses and compiles with, on one thread.
    static SEGMENT: Cell<bool> = const { Cell::new(false) };
}

fn readers(size: usize) -> Readers {
    if locks::held() {
        Readers::Any
    } else if SEGMENT.try_with(Cell::get).unwrap_or(false) {
        Readers::Isolate
    } else if size >= VERY_LARGE {
        Readers::IsolateButForModules
    } else {
        Readers::Any
    }
}

/// Has the system take the memory of blocks back that nothing but the isolate with `ration` looks into. Its thread has stopped for good, and
/// V8's own threads do nothing for it.
pub fn give_back(ration: &Arc<Ration>) {
    // SAFETY: asks for a constant of the system.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(64 << 10);
    let mut bytes = 0;
    for (block, size) in table::private(Arc::as_ptr(ration), ration.has_modules()) {
        let (start, end) = (block.next_multiple_of(page), (block + size) / page * page);
        // SAFETY: these pages lie inside of a block that nothing looks into or frees any more.
        if start < end && unsafe { libc::madvise(start as *mut c_void, end - start, libc::MADV_DONTNEED) } == 0 {
            bytes += end - start;
        }
    }
    ration.has_returned(bytes);
}

/// Has `block` count from now on, if there is one.
fn count(block: *mut c_void, share: Option<Share>) -> *mut c_void {
    if block.is_null() {
        refusal::note();
    } else if let Some(share) = share {
        let (ration, bytes) = share.take();
        note(block, ration, bytes);
    }
    block
}

fn note(block: *mut c_void, ration: *const Ration, bytes: usize) {
    if !table::insert(block as usize, ration, bytes, readers(bytes)) {
        // SAFETY: both come from `Share::take`; nothing else has them.
        unsafe { Share::give_back(ration, bytes) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_malloc(size: usize) -> *mut c_void {
    let share = share(size);
    // SAFETY: passed on.
    count(unsafe { malloc(size) }, share)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_calloc(number: usize, size: usize) -> *mut c_void {
    let share = share(number.saturating_mul(size));
    // SAFETY: passed on.
    count(unsafe { calloc(number, size) }, share)
}

/// Never refused: V8 has its table of WebAssembly's code by it, which is one for the process and under a lock. Its serializer uses Rust's.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_realloc(block: *mut c_void, size: usize) -> *mut c_void {
    stack::check();
    let share = if size < LARGE { None } else { Share::of_current(size) };
    // Before: once it is free another thread may get it.
    let before = table::remove(block as usize);
    // SAFETY: passed on.
    let moved = unsafe { realloc(block, size) };
    match before {
        Some((ration, bytes)) if moved.is_null() && size > 0 => note(block, ration, bytes),
        // SAFETY: what the table has comes from `Share::take`.
        Some((ration, bytes)) => unsafe { Share::give_back(ration, bytes) },
        None => {}
    }
    count(moved, share)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    let share = share(size);
    // SAFETY: passed on.
    count(unsafe { aligned_alloc(alignment, size) }, share)
}

/// What V8 takes its tables of strings by.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_posix_memalign(place: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    let share = share(size);
    // SAFETY: passed on.
    let error = unsafe { posix_memalign(place, alignment, size) };
    let block = if error == 0 {
        // SAFETY: there is a block, and its address.
        unsafe { *place }
    } else {
        std::ptr::null_mut()
    };
    count(block, share);
    error
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_free(block: *mut c_void) {
    stack::check();
    blocks::freeing(block as usize);
    if let Some((ration, bytes)) = table::remove(block as usize) {
        // SAFETY: what the table has comes from `Share::take`.
        unsafe { Share::give_back(ration, bytes) };
    }
    // SAFETY: passed on.
    unsafe { free(block) };
}

/// A zone grows.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal19AccountingAllocator15AllocateSegmentEm(
    allocator: *mut c_void,
    size: usize,
) -> *mut c_void {
    let _ = SEGMENT.try_with(|segment| segment.set(true));
    // SAFETY: passed on.
    let segment = unsafe { allocate_segment(allocator, size) };
    let _ = SEGMENT.try_with(|segment| segment.set(false));
    segment
}

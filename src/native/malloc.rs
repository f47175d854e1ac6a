//! The system's allocator for the addon's C++ code. The linker redirects every call of `malloc` and related functions to this module
//! (`build.rs`), so that large blocks count for the isolate that the thread works for. Rust code bypasses it.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::quota::NativeQuota;
use super::share::Share;
use super::small_blocks::LARGE;
use super::table::Readers;
use super::{
    attempts, blocks, compilers, context, give_back_pages, locks, refusal, small_blocks, stack, table, waiters,
};

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

core::arch::global_asm!(
    ".hidden __wrap_malloc",
    ".hidden __wrap_calloc",
    ".hidden __wrap_realloc",
    ".hidden __wrap_aligned_alloc",
    ".hidden __wrap_posix_memalign",
    ".hidden __wrap_free",
    ".hidden __wrap__ZN2v88internal19AccountingAllocator15AllocateSegmentEm"
);

/// Ends a guest that must not continue, if it holds nothing that other threads wait for.
#[inline]
fn check() {
    if stack::check() {
        attempts::end_of_stack();
    }
    locks::obey_stop_request();
}

/// The share that a block of `size` takes; `None` if the block does not count.
///
/// Does not return if the isolate cannot have the block: some of V8's code writes to a block without checking it, and code that checks
/// aborts. Nothing is refused to a thread that other threads may wait for.
fn share(size: usize) -> Option<Share> {
    check();
    let counted = match size {
        LARGE.. => size,
        _ if waiters::are_made() => waiters::BLOCK,
        _ => return None,
    };
    let share = Share::of_current(counted)?;
    if !share.is_within_limit() {
        share.refuse();
        refusal::end();
        return Share::of_current(counted);
    }
    Some(share)
}

/// Larger blocks are made for one guest's value. V8's own structures are smaller, except those of WebAssembly modules and those that all
/// isolates share. The latter grow under a lock.
const VERY_LARGE: usize = 1 << 20;

fn readers(size: usize) -> Readers {
    let is_segment = context::with(|context| context.segment.get());
    if is_segment && compilers::is_compiler() {
        Readers::Isolate
    } else if locks::held() {
        Readers::Any
    } else if is_segment {
        Readers::Isolate
    } else if size >= VERY_LARGE {
        Readers::IsolateButForModules
    } else {
        Readers::Any
    }
}

/// Gives the memory of blocks back to the system if only the isolate with `quota` accesses them. Its thread has stopped permanently, and
/// V8's own threads do nothing for it.
pub fn give_back(quota: &Arc<NativeQuota>) {
    // SAFETY: reads a constant of the system.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(64 << 10);
    for part in [quota, &quota.in_background()] {
        let mut bytes = 0;
        for (block, size) in table::private(Arc::as_ptr(part), quota.has_modules()) {
            let (start, end) = (block.next_multiple_of(page), (block + size) / page * page);
            if start < end {
                // SAFETY: these pages lie inside a block that nothing accesses or frees any more.
                bytes += unsafe { give_back_pages(start, end - start) };
            }
        }
        part.has_returned(bytes);
    }
}

/// Counts `block` from now on, if it is not null.
fn count(block: *mut c_void, share: Option<Share>) -> *mut c_void {
    if block.is_null() {
        refusal::note();
    } else if let Some(share) = share {
        let (quota, bytes) = share.take();
        // SAFETY: just taken.
        unsafe { note(block, quota, bytes) };
    } else {
        small_blocks::allocated(block);
    }
    if !block.is_null() {
        attempts::allocated_block(block);
    }
    block
}

/// # Safety
///
/// As for [`table::insert`].
unsafe fn note(block: *mut c_void, quota: *const NativeQuota, bytes: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { table::insert(block as usize, quota, bytes, readers(bytes)) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_malloc(size: usize) -> *mut c_void {
    let share = share(size);
    // SAFETY: forwards the call.
    count(unsafe { malloc(size) }, share)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_calloc(number: usize, size: usize) -> *mut c_void {
    let share = share(number.saturating_mul(size));
    // SAFETY: forwards the call.
    count(unsafe { calloc(number, size) }, share)
}

/// Never refused: V8 grows its table of WebAssembly code with it, which is process-wide and under a lock. V8's serializer uses Rust's
/// allocator instead.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_realloc(block: *mut c_void, size: usize) -> *mut c_void {
    check();
    let share = if size < LARGE { None } else { Share::of_current(size) };
    // Before the call, because another thread may get the block as soon as it is free.
    let before = table::remove(block as usize);
    if before.is_none() {
        small_blocks::freeing(block);
    }
    // SAFETY: forwards the call.
    let moved = unsafe { realloc(block, size) };
    match before {
        // SAFETY: the values in the table come from `Share::take`.
        Some((quota, bytes)) if moved.is_null() && size > 0 => unsafe { note(block, quota, bytes) },
        // SAFETY: as above.
        Some((quota, bytes)) => unsafe { Share::give_back(quota, bytes) },
        None if moved.is_null() && size > 0 => small_blocks::allocated(block),
        None => {}
    }
    if !moved.is_null() || size == 0 {
        attempts::freeing_block(block);
    }
    count(moved, share)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    let share = share(size);
    // SAFETY: forwards the call.
    count(unsafe { aligned_alloc(alignment, size) }, share)
}

/// V8 allocates its string tables with this function.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_posix_memalign(place: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    let share = share(size);
    // SAFETY: forwards the call.
    let error = unsafe { posix_memalign(place, alignment, size) };
    let block = if error == 0 {
        // SAFETY: on success, `place` holds the address of the block.
        unsafe { *place }
    } else {
        std::ptr::null_mut()
    };
    count(block, share);
    error
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_free(block: *mut c_void) {
    check();
    blocks::freeing(block as usize);
    attempts::freeing_block(block);
    if let Some((quota, bytes)) = table::remove(block as usize) {
        // SAFETY: the values in the table come from `Share::take`.
        unsafe { Share::give_back(quota, bytes) };
    } else {
        small_blocks::freeing(block);
    }
    // SAFETY: forwards the call.
    unsafe { free(block) };
}

/// Called when a zone grows.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal19AccountingAllocator15AllocateSegmentEm(
    allocator: *mut c_void,
    size: usize,
) -> *mut c_void {
    compilers::check(size);
    attempts::check(size);
    context::with(|context| context.segment.set(true));
    // SAFETY: forwards the call.
    let segment = unsafe { allocate_segment(allocator, size) };
    context::with(|context| context.segment.set(false));
    if !segment.is_null() {
        attempts::allocated(allocator, segment);
    }
    segment
}

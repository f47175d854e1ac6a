//! The system's allocator for Rust code, which does not count for any isolate.

use std::alloc::{GlobalAlloc, Layout};

#[cfg(not(all(target_os = "linux", not(any(test, fuzzing)))))]
pub use libc::{calloc, free, malloc, realloc};

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use super::malloc::{calloc, free, malloc, realloc};

/// Makes the C library return its free memory to the system. glibc keeps what lies below any block that is in use.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: has no preconditions.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Larger ranges are made read-only when their memory is returned. The system has few entries for ranges of different access.
#[cfg(target_os = "linux")]
const LARGE: usize = 1 << 20;

/// Returns the memory of these pages to the system; they stay mapped and read as zeros. Returns the number of bytes. A limit of the
/// process for its data (`ulimit -d`) counts writable pages even if they have no memory, so large ranges become read-only.
///
/// # Safety
/// Nothing writes to these pages from now on.
#[cfg(target_os = "linux")]
pub unsafe fn give_back_pages(start: usize, size: usize) -> usize {
    let start = start as *mut libc::c_void;
    // SAFETY: guaranteed by the caller.
    unsafe {
        if libc::madvise(start, size, libc::MADV_DONTNEED) != 0 {
            return 0;
        }
        if size >= LARGE {
            // If that fails, they still count.
            libc::mprotect(start, size, libc::PROT_READ);
        }
    }
    size
}

/// Elsewhere they keep their memory.
///
/// # Safety
/// The same.
#[cfg(not(target_os = "linux"))]
pub unsafe fn give_back_pages(_start: usize, _size: usize) -> usize {
    0
}

/// The alignment that every allocator guarantees on 64-bit systems.
const ALIGNED: usize = 16;

/// `std::alloc::System`, bypassing the linker's redirection.
pub struct System;

fn is_plain(layout: Layout) -> bool {
    cfg!(all(target_os = "linux", not(any(test, fuzzing))))
        && layout.align() <= ALIGNED
        && layout.align() <= layout.size()
}

// SAFETY: the same as `std::alloc::System`, which allocates and frees memory with the same functions of the C library.
unsafe impl GlobalAlloc for System {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_plain(layout) {
            // SAFETY: has no preconditions.
            return unsafe { malloc(layout.size()) }.cast();
        }
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { std::alloc::System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_plain(layout) {
            // SAFETY: has no preconditions.
            return unsafe { calloc(layout.size(), 1) }.cast();
        }
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { std::alloc::System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if is_plain(layout) {
            // SAFETY: the block was allocated by `malloc`.
            return unsafe { free(pointer.cast()) };
        }
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { std::alloc::System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_plain(layout) && layout.align() <= size {
            // SAFETY: the block was allocated by `malloc`.
            return unsafe { realloc(pointer.cast(), size) }.cast();
        }
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { std::alloc::System.realloc(pointer, layout, size) }
    }
}

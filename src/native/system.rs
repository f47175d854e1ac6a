//! The system's allocator as Rust code has it, which does not count for any isolate.

use std::alloc::{GlobalAlloc, Layout};

#[cfg(not(all(target_os = "linux", not(any(test, fuzzing)))))]
pub use libc::{calloc, free, malloc, realloc};

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use super::malloc::{calloc, free, malloc, realloc};

/// Has the C library give what is free in it back to the system. glibc keeps what lies below any block that is in use.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: has no preconditions.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// What every allocator aligns to on 64-bit systems.
const ALIGNED: usize = 16;

/// `std::alloc::System`, past the linker's detour.
pub struct System;

fn is_plain(layout: Layout) -> bool {
    cfg!(all(target_os = "linux", not(any(test, fuzzing))))
        && layout.align() <= ALIGNED
        && layout.align() <= layout.size()
}

// SAFETY: as `std::alloc::System`, which takes and frees memory by the same functions of the C library.
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
            // SAFETY: the block is one of `malloc`'s.
            return unsafe { free(pointer.cast()) };
        }
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { std::alloc::System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_plain(layout) && layout.align() <= size {
            // SAFETY: the block is one of `malloc`'s.
            return unsafe { realloc(pointer.cast(), size) }.cast();
        }
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { std::alloc::System.realloc(pointer, layout, size) }
    }
}

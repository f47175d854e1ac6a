//! Blocks of C++ code that are too small to count one by one. Each thread adds up what it allocates and frees for an isolate, and passes the
//! sum on to the isolate's quota. Nothing is refused because of it: V8 may free a block where the thread works for no isolate, so the sum
//! is not exact. It is part of the memory of lost isolates.

use std::ffi::c_void;

use super::{context, quota};

/// Blocks of this size count one by one. V8 allocates memory for handles in parts of nearly 8 KB, and for its parser and compilers in parts of
/// 8 to 32 KB.
pub const LARGE: usize = 4 << 10;

/// A thread passes its sum on when it reaches this.
const PART: usize = 64 << 10;

/// The bytes of a small block; `None` for others, and if the thread works for no isolate.
#[inline]
fn size(block: *mut c_void) -> Option<isize> {
    if block.is_null() || context::with(|context| context.quota.current.get().is_null()) {
        return None;
    }
    // SAFETY: it is a block of the allocator.
    let size = unsafe { libc::malloc_usable_size(block) };
    if size < LARGE { isize::try_from(size).ok() } else { None }
}

/// A block was allocated that does not count in the table.
#[inline]
pub fn allocated(block: *mut c_void) {
    if let Some(size) = size(block) {
        add(size);
    }
}

/// A block is about to be freed that does not count in the table.
#[inline]
pub fn freeing(block: *mut c_void) {
    if let Some(size) = size(block) {
        add(-size);
    }
}

/// Adds to the sum of the isolate that the thread works for.
pub fn add(bytes: isize) {
    let sum = context::with(|context| {
        let sum = context.quota.small.get() + bytes;
        context.quota.small.set(sum);
        sum
    });
    if sum.unsigned_abs() >= PART {
        quota::pass_on_small();
    }
}

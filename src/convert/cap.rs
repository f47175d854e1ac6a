//! A ceiling on what V8's serializer may allocate. V8 asks for its buffer through Rust's allocator and takes a refusal
//! as "out of memory", which becomes an ordinary exception; there is no other way to bound a clone that repeats a long
//! string a million times.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

use crate::native::{System, refusal};

thread_local! {
    /// The largest block this thread may allocate.
    static CEILING: Cell<usize> = const { Cell::new(usize::MAX) };
    /// A block was refused.
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Blocks below this size are never refused: Rust code that allocates them does not expect a refusal.
const SMALL: usize = 1 << 20;

struct Capped;

fn allowed(size: usize) -> bool {
    let allowed = size < SMALL || CEILING.try_with(|ceiling| size <= ceiling.get()).unwrap_or(true);
    if !allowed {
        let _ = REFUSED.try_with(|refused| refused.set(true));
    }
    allowed
}

/// What the caller gets, who may end without it.
fn given(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        refusal::note();
    }
    block
}

// SAFETY: every request is passed on to the system's allocator unchanged, or refused with null, which the contract of
// `GlobalAlloc` allows.
unsafe impl GlobalAlloc for Capped {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !allowed(layout.size()) {
            return given(std::ptr::null_mut());
        }
        // SAFETY: the caller keeps the contract of `alloc`.
        given(unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`; all blocks are the system's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !allowed(layout.size()) {
            return given(std::ptr::null_mut());
        }
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        given(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !allowed(size) {
            return given(std::ptr::null_mut());
        }
        // SAFETY: the caller keeps the contract of `realloc`; all blocks are the system's.
        given(unsafe { System.realloc(pointer, layout, size) })
    }
}

#[global_allocator]
static ALLOCATOR: Capped = Capped;

/// The ceiling that was in force before, and will be when this is dropped.
#[must_use]
pub struct Outer(usize);

impl Drop for Outer {
    fn drop(&mut self) {
        CEILING.with(|ceiling| ceiling.set(self.0));
    }
}

fn set(bytes: usize) -> Outer {
    Outer(CEILING.with(|ceiling| ceiling.replace(bytes)))
}

/// Runs V8's serializer with blocks of at most `bytes`. `None` when it wanted a larger one.
pub fn with_ceiling<T>(bytes: usize, serialize: impl FnOnce() -> T) -> Option<T> {
    let _outer = set(bytes.max(SMALL));
    REFUSED.with(|refused| refused.set(false));
    let result = serialize();
    (!REFUSED.with(|refused| refused.replace(false))).then_some(result)
}

/// No ceiling for as long as the result lives: for what V8 calls, perhaps in the middle of the serializer's work. Rust
/// code does not expect a refusal.
pub fn lift() -> Outer {
    set(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{lift, with_ceiling};

    #[test]
    fn refuses_above_the_ceiling_only_within() {
        let mut vector: Vec<u8> = Vec::new();
        assert!(with_ceiling(2 << 20, || vector.try_reserve(3 << 20)).is_none());
        assert_eq!(with_ceiling(2 << 20, || vector.try_reserve(1 << 20)), Some(Ok(())));
        assert!(vector.try_reserve(3 << 20).is_ok());
    }

    #[test]
    fn is_lifted_for_callbacks() {
        let ended = with_ceiling(2 << 20, || {
            let outer = lift();
            assert!(Vec::<u8>::new().try_reserve(3 << 20).is_ok());
            drop(outer);
            assert!(Vec::<u8>::new().try_reserve(3 << 20).is_err());
        });
        assert!(ended.is_none());
    }
}

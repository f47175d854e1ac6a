//! A limit on what V8's serializer may allocate. V8 requests its buffer from Rust's allocator and treats a refusal as "out of memory",
//! which becomes an ordinary exception. There is no other way to limit a clone that repeats a long string a million times.

use std::alloc::{GlobalAlloc, Layout};

use crate::native::{System, context, refusal};

/// Blocks below this size are never refused: Rust code that allocates them does not expect a refusal.
const SMALL: usize = 1 << 20;

struct Capped;

fn allowed(size: usize) -> bool {
    let allowed = size < SMALL || context::with(|context| size <= context.ceiling.get());
    if !allowed {
        context::with(|context| context.capped.set(true));
    }
    allowed
}

/// Returns the block to the caller, which may end without it.
fn given(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        refusal::note();
    }
    block
}

// SAFETY: every request is forwarded to the system's allocator unchanged, or refused with null, which the contract of `GlobalAlloc` allows.
unsafe impl GlobalAlloc for Capped {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !allowed(layout.size()) {
            return given(std::ptr::null_mut());
        }
        // SAFETY: the caller keeps the contract of `alloc`.
        given(unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`; all blocks come from the system's allocator.
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
        // SAFETY: the caller keeps the contract of `realloc`; all blocks come from the system's allocator.
        given(unsafe { System.realloc(pointer, layout, size) })
    }
}

#[global_allocator]
static ALLOCATOR: Capped = Capped;

/// The previous ceiling, which is restored when this is dropped.
#[must_use]
pub struct Outer {
    before: usize,
    now: usize,
}

impl Drop for Outer {
    fn drop(&mut self) {
        // Whatever has set another one since then has restored this one.
        if self.before != self.now {
            context::with(|context| context.ceiling.set(self.before));
        }
    }
}

fn set(bytes: usize) -> Outer {
    Outer { before: context::with(|context| context.ceiling.replace(bytes)), now: bytes }
}

/// Runs V8's serializer with blocks of at most `bytes`. `None` if it requested a larger one.
pub fn with_ceiling<T>(bytes: usize, serialize: impl FnOnce() -> T) -> Option<T> {
    let _outer = set(bytes.max(SMALL));
    context::with(|context| context.capped.set(false));
    let result = serialize();
    (!context::with(|context| context.capped.replace(false))).then_some(result)
}

/// Lifts the ceiling until the result is dropped. For functions that V8 calls, possibly in the middle of the serializer's work: Rust code
/// does not expect a refusal.
pub fn lift() -> Outer {
    set(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{lift, with_ceiling};

    #[test]
    fn refuses_above_the_ceiling_only_inside_the_scope() {
        let mut vector: Vec<u8> = Vec::new();
        assert!(with_ceiling(2 << 20, || vector.try_reserve(3 << 20)).is_none());
        assert_eq!(with_ceiling(2 << 20, || vector.try_reserve(1 << 20)), Some(Ok(())));
        assert!(vector.try_reserve(3 << 20).is_ok());
    }

    #[test]
    fn does_not_apply_to_callbacks() {
        let ended = with_ceiling(2 << 20, || {
            let outer = lift();
            assert!(Vec::<u8>::new().try_reserve(3 << 20).is_ok());
            drop(outer);
            assert!(Vec::<u8>::new().try_reserve(3 << 20).is_err());
        });
        assert!(ended.is_none());
    }
}

//! Blocks of memory whose end somebody waits for. It is asked whenever C++ code frees something, so it takes next to no time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

const BUCKETS: usize = 1 << 14;

/// How many blocks are watched, by their addresses.
static WATCHED: [AtomicU32; BUCKETS] = [const { AtomicU32::new(0) }; BUCKETS];

/// And all together.
static COUNT: AtomicU32 = AtomicU32::new(0);

static LISTENER: OnceLock<fn(usize)> = OnceLock::new();

fn bucket(address: usize) -> &'static AtomicU32 {
    // The top bits of a product depend on all bits.
    &WATCHED[((address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> (usize::BITS - BUCKETS.trailing_zeros())]
}

/// From now on `listener`, always the same, is called before the block at `address` is freed, and perhaps for others.
pub fn watch(address: usize, listener: fn(usize)) {
    LISTENER.get_or_init(|| listener);
    bucket(address).fetch_add(1, Ordering::Release);
    COUNT.fetch_add(1, Ordering::Release);
}

/// A block is not watched any more.
pub fn forget(address: usize) {
    bucket(address).fetch_sub(1, Ordering::Release);
    COUNT.fetch_sub(1, Ordering::Release);
}

/// A block is about to be freed.
#[cfg_attr(any(test, fuzzing, not(target_os = "linux")), allow(dead_code, reason = "for the allocator of the addon"))]
pub fn freeing(address: usize) {
    if COUNT.load(Ordering::Acquire) > 0
        && bucket(address).load(Ordering::Acquire) > 0
        && let Some(listener) = LISTENER.get()
    {
        listener(address);
    }
}

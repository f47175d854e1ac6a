//! Watches blocks of memory to report when they are freed. It is consulted whenever C++ code frees something, so it takes very little time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

const BUCKETS: usize = 1 << 14;

/// Number of watched blocks, by a hash of their address.
static WATCHED: [AtomicU32; BUCKETS] = [const { AtomicU32::new(0) }; BUCKETS];

/// Number of all watched blocks.
static COUNT: AtomicU32 = AtomicU32::new(0);

static LISTENER: OnceLock<fn(usize)> = OnceLock::new();

fn bucket(address: usize) -> &'static AtomicU32 {
    // The top bits of a product depend on all bits.
    &WATCHED[((address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> (usize::BITS - BUCKETS.trailing_zeros())]
}

/// From now on, `listener` is called before the block at `address` is freed, and possibly for other blocks. It must always be the same
/// function.
pub fn watch(address: usize, listener: fn(usize)) {
    LISTENER.get_or_init(|| listener);
    bucket(address).fetch_add(1, Ordering::Release);
    COUNT.fetch_add(1, Ordering::Release);
}

/// The block is no longer watched.
pub fn forget(address: usize) {
    bucket(address).fetch_sub(1, Ordering::Release);
    COUNT.fetch_sub(1, Ordering::Release);
}

/// The block is about to be freed.
#[cfg_attr(any(test, fuzzing, not(target_os = "linux")), allow(dead_code, reason = "for the allocator of the addon"))]
pub fn freeing(address: usize) {
    if COUNT.load(Ordering::Acquire) > 0
        && bucket(address).load(Ordering::Acquire) > 0
        && let Some(listener) = LISTENER.get()
    {
        listener(address);
    }
}

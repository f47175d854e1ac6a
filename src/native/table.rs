//! Which blocks count for whom, by their addresses. It is asked whenever C++ code frees something, so it takes no lock and next to
//! no time; and it allocates nothing, since it is asked by the allocator.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::ration::Ration;

/// A line of the processor's cache has as many addresses.
const BUCKET: usize = 8;
const BUCKETS: usize = 1 << 15;

/// An entry that is being written or read.
const BUSY: usize = 1;

struct Entry {
    bytes: AtomicUsize,
    ration: AtomicPtr<Ration>,
}

#[repr(align(64))]
struct Bucket([AtomicUsize; BUCKET]);

/// 0 is free.
static ADDRESSES: [Bucket; BUCKETS] = [const { Bucket([const { AtomicUsize::new(0) }; BUCKET]) }; BUCKETS];
static ENTRIES: [[Entry; BUCKET]; BUCKETS] =
    [const { [const { Entry { bytes: AtomicUsize::new(0), ration: AtomicPtr::new(ptr::null_mut()) } }; BUCKET] };
        BUCKETS];

static COUNT: AtomicUsize = AtomicUsize::new(0);

fn bucket(address: usize) -> usize {
    // The top bits of a product depend on all bits.
    ((address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> (usize::BITS - BUCKETS.trailing_zeros())
}

/// Notes that a block counts for `ration`. False if there is no room.
pub fn insert(address: usize, ration: *const Ration, bytes: usize) -> bool {
    let bucket = bucket(address);
    for (place, entry) in ADDRESSES[bucket].0.iter().zip(&ENTRIES[bucket]) {
        if place.compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            entry.bytes.store(bytes, Ordering::Relaxed);
            entry.ration.store(ration.cast_mut(), Ordering::Relaxed);
            place.store(address, Ordering::Release);
            COUNT.fetch_add(1, Ordering::Relaxed);
            return true;
        }
    }
    false
}

/// What was noted of a block, which is forgotten.
pub fn remove(address: usize) -> Option<(*const Ration, usize)> {
    if address == 0 || COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let bucket = bucket(address);
    for (place, entry) in ADDRESSES[bucket].0.iter().zip(&ENTRIES[bucket]) {
        if place.load(Ordering::Relaxed) == address
            && place.compare_exchange(address, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
        {
            let found = (entry.ration.load(Ordering::Relaxed).cast_const(), entry.bytes.load(Ordering::Relaxed));
            place.store(0, Ordering::Release);
            COUNT.fetch_sub(1, Ordering::Relaxed);
            return Some(found);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{BUCKET, bucket, insert, remove};

    #[test]
    fn knows_what_was_noted_once() {
        let other = std::ptr::dangling();
        assert!(insert(0x1000, other, 5));
        assert_eq!(remove(0x2000), None);
        assert_eq!(remove(0), None);
        assert_eq!(remove(0x1000), Some((other, 5)));
        assert_eq!(remove(0x1000), None);
    }

    #[test]
    fn a_full_bucket_takes_no_more() {
        let first = bucket(0x10);
        let alike: Vec<usize> =
            (2..).map(|n| n << 4).filter(|address| bucket(*address) == first).take(BUCKET + 1).collect();
        let taken = alike.iter().filter(|address| insert(**address, std::ptr::null(), 1)).count();
        assert_eq!(taken, BUCKET);
        assert_eq!(alike.iter().filter_map(|address| remove(*address)).count(), BUCKET);
    }
}

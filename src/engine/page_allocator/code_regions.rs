//! The regions of WebAssembly code, for signal handlers, which cannot take a lock.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Each is the number of its first page, and the number of its pages in the lower bits; 0 if there is none. Only those that were used take
/// memory.
static REGIONS: [AtomicU64; MAX_COUNT] = [const { AtomicU64::new(0) }; MAX_COUNT];

/// As many as Linux has mappings for a process: several times what isolates may reserve together (`engine::address_space`).
const MAX_COUNT: usize = 1 << 16;

/// The entries from here on have never been used.
static END: AtomicUsize = AtomicUsize::new(0);

const PAGE_BITS: u32 = 12;
const COUNT_BITS: u32 = 24;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

fn packed(start: usize, size: usize) -> u64 {
    ((start >> PAGE_BITS) as u64) << COUNT_BITS | ((size >> PAGE_BITS) as u64).min(COUNT)
}

/// One thread at a time, with the lock of `regions`. False if there are too many: guests in this region are not recognized.
#[must_use]
pub fn add(start: usize, size: usize) -> bool {
    let free = REGIONS.iter().position(|region| region.load(Ordering::Relaxed) == 0);
    if let Some(index) = free {
        REGIONS[index].store(packed(start, size), Ordering::Release);
        END.fetch_max(index + 1, Ordering::Release);
    }
    free.is_some()
}

/// As [`add`], one thread at a time.
pub fn remove(start: usize, size: usize) {
    let region = packed(start, size);
    if let Some(place) = REGIONS.iter().find(|place| place.load(Ordering::Relaxed) == region) {
        place.store(0, Ordering::Release);
    }
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there no thread can be suspended"))]
pub fn contain(address: usize) -> bool {
    let page = (address >> PAGE_BITS) as u64;
    REGIONS[..END.load(Ordering::Acquire)].iter().any(|region| {
        let region = region.load(Ordering::Acquire);
        page.wrapping_sub(region >> COUNT_BITS) < (region & COUNT)
    })
}

#[cfg(test)]
mod tests {
    use super::super::regions;
    use super::{add, contain, remove};
    use crate::engine::address_space;

    #[test]
    fn contain_their_pages() {
        const START: usize = 0x7fff_0000_1000;
        let _one_at_a_time = regions();
        for start in [START, START + 0x4000] {
            assert!(add(start, 0x2000));
        }
        let inside = |offsets: [usize; 5]| offsets.map(|offset| contain(START + offset));
        assert_eq!(inside([0, 0x1fff, 0x2000, 0x4000, 0x6000]), [true, true, false, true, false]);
        assert!(!contain(START - 1));
        remove(START, 0x2000);
        assert_eq!(inside([0, 0x1fff, 0x2000, 0x4000, 0x6000]), [false, false, false, true, false]);
        remove(START + 0x4000, 0x2000);
        assert!(!contain(START + 0x4000));
    }

    #[test]
    fn contain_all_that_isolates_may_reserve() {
        const START: usize = 0x7ffe_0000_0000;
        let _one_at_a_time = regions();
        let starts = || (0..2 * address_space::REGIONS).map(|index| START + (index << 16));
        assert!(starts().all(|start| add(start, 0x2000)));
        assert!(starts().rev().take(10).all(contain));
        starts().for_each(|start| remove(start, 0x2000));
    }
}

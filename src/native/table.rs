//! Records which isolate each block counts for, by address. It is consulted whenever C++ code frees something, so it takes no lock and very
//! little time, unless guests have very many blocks. It allocates nothing with the functions that call it.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering};

use super::lock;
use super::quota::NativeQuota;

/// A processor's cache line holds this many addresses.
const BUCKET: usize = 8;
const BUCKETS: usize = 1 << 15;

/// An entry that is being written or read.
const BUSY: usize = 1;

/// Set in an entry's number of bytes. With `PRIVATE`, only its isolate accesses the block. With `PRIVATE_BUT_FOR_MODULES`, only its isolate
/// does unless that has WebAssembly modules.
const PRIVATE: usize = 1 << 63;
const PRIVATE_BUT_FOR_MODULES: usize = 1 << 62;
const FLAGS: usize = PRIVATE | PRIVATE_BUT_FOR_MODULES;

/// Which code may access a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readers {
    Any,
    /// The isolate's thread, and V8's own threads that work for it.
    Isolate,
    /// The same, unless the block is part of a WebAssembly module.
    IsolateButForModules,
}

struct Entry {
    bytes: AtomicUsize,
    quota: AtomicPtr<NativeQuota>,
}

/// Addresses and entries lie together, because each bucket that is used for the first time makes the system provide a page.
#[repr(align(64))]
struct Bucket {
    /// 0 is free.
    addresses: [AtomicUsize; BUCKET],
    entries: [Entry; BUCKET],
}

impl Bucket {
    const fn new() -> Self {
        Self {
            addresses: [const { AtomicUsize::new(0) }; BUCKET],
            entries: [const { Entry { bytes: AtomicUsize::new(0), quota: AtomicPtr::new(ptr::null_mut()) } }; BUCKET],
        }
    }

    fn places(&self) -> impl Iterator<Item = (&AtomicUsize, &Entry)> {
        self.addresses.iter().zip(&self.entries)
    }
}

static TABLE: [Bucket; BUCKETS] = [const { Bucket::new() }; BUCKETS];

/// Entries of each bucket. Most blocks that are freed are small and have none, and this fits into a processor's cache, unlike the addresses.
static TAKEN: [AtomicU8; BUCKETS] = [const { AtomicU8::new(0) }; BUCKETS];

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A quota by its address, and the number of bytes with flags.
type Spilled = (usize, usize);

/// Blocks whose buckets are full. Otherwise guests that have filled the table could use memory that nothing counts. Its own parts are small: Rust
/// code may not allocate large ones everywhere.
static SPILLED: Mutex<BTreeMap<usize, Spilled>> = Mutex::new(BTreeMap::new());

/// How many of them each bucket has.
static SPILLS: [AtomicU32; BUCKETS] = [const { AtomicU32::new(0) }; BUCKETS];

fn bucket(address: usize) -> usize {
    // The top bits of a product depend on all bits.
    ((address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> (usize::BITS - BUCKETS.trailing_zeros())
}

/// Records that a block counts for `quota`.
///
/// # Safety
///
/// Code that [`remove`]s the record takes `quota` and `bytes` for what [`Share::take`] has returned, and gives that back.
///
/// [`Share::take`]: super::share::Share::take
pub unsafe fn insert(address: usize, quota: *const NativeQuota, bytes: usize, readers: Readers) {
    let flags = match readers {
        Readers::Any => 0,
        Readers::Isolate => PRIVATE,
        Readers::IsolateButForModules => PRIVATE_BUT_FOR_MODULES,
    };
    COUNT.fetch_add(1, Ordering::Relaxed);
    let bucket = bucket(address);
    for (place, entry) in TABLE[bucket].places() {
        if place.compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            entry.bytes.store(bytes | flags, Ordering::Relaxed);
            entry.quota.store(quota.cast_mut(), Ordering::Relaxed);
            place.store(address, Ordering::Release);
            TAKEN[bucket].fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
    SPILLS[bucket].fetch_add(1, Ordering::Relaxed);
    lock(&SPILLED).insert(address, (quota.expose_provenance(), bytes | flags));
}

/// Removes and returns what was recorded for a block.
pub fn remove(address: usize) -> Option<(*const NativeQuota, usize)> {
    if address == 0 || COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let bucket = bucket(address);
    // Code that frees a block has its address from the thread that has recorded it, and so sees these counts.
    if TAKEN[bucket].load(Ordering::Relaxed) == 0 && SPILLS[bucket].load(Ordering::Relaxed) == 0 {
        return None;
    }
    for (place, entry) in TABLE[bucket].places() {
        if place.load(Ordering::Relaxed) == address
            && place.compare_exchange(address, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
        {
            let bytes = entry.bytes.load(Ordering::Relaxed) & !FLAGS;
            let found = (entry.quota.load(Ordering::Relaxed).cast_const(), bytes);
            place.store(0, Ordering::Release);
            TAKEN[bucket].fetch_sub(1, Ordering::Relaxed);
            COUNT.fetch_sub(1, Ordering::Relaxed);
            return Some(found);
        }
    }
    // The thread that frees a block has got its address after the block was recorded.
    if SPILLS[bucket].load(Ordering::Relaxed) == 0 {
        return None;
    }
    let (quota, bytes) = { lock(&SPILLED).remove(&address) }?;
    SPILLS[bucket].fetch_sub(1, Ordering::Relaxed);
    COUNT.fetch_sub(1, Ordering::Relaxed);
    Some((ptr::with_exposed_provenance(quota), bytes & !FLAGS))
}

/// The blocks that count for `quota` and that only its isolate accesses. No code allocates or frees blocks for that quota any more.
pub fn private(quota: *const NativeQuota, has_modules: bool) -> impl Iterator<Item = (usize, usize)> {
    let wanted = if has_modules { PRIVATE } else { FLAGS };
    TABLE.iter().flat_map(Bucket::places).filter_map(move |(place, entry)| {
        let address = place.load(Ordering::Acquire);
        // Entries of the quota do not change. Those that change meanwhile belong to others.
        let found = (entry.quota.load(Ordering::Acquire).cast_const(), entry.bytes.load(Ordering::Acquire));
        let is_known = address > BUSY && place.load(Ordering::Acquire) == address;
        (is_known && found.0 == quota && found.1 & wanted != 0).then_some((address, found.1 & !FLAGS))
    })
}

#[cfg(test)]
mod tests {
    use super::{BUCKET, NativeQuota, Readers, bucket, private, remove};

    fn insert(address: usize, quota: *const NativeQuota, bytes: usize, readers: Readers) {
        // SAFETY: only the tests remove these records, and use neither.
        unsafe { super::insert(address, quota, bytes, readers) };
    }

    #[test]
    fn removes_an_entry_once() {
        let other = std::ptr::dangling();
        insert(0x1000, other, 5, Readers::Isolate);
        assert_eq!(remove(0x2000), None);
        assert_eq!(remove(0), None);
        assert_eq!(remove(0x1000), Some((other, 5)));
        assert_eq!(remove(0x1000), None);
    }

    #[test]
    fn a_full_bucket_has_room_for_more() {
        let first = bucket(0x10);
        let alike: Vec<usize> =
            (2..).map(|n| n << 4).filter(|address| bucket(*address) == first).take(BUCKET * 3).collect();
        let quota = std::ptr::without_provenance(0x76);
        for address in &alike {
            insert(*address, quota, *address, Readers::Isolate);
        }
        for address in alike.iter().rev() {
            assert_eq!(remove(*address), Some((quota, *address)));
            assert_eq!(remove(*address), None);
        }
    }

    #[test]
    fn distinguishes_private_blocks() {
        let quota = std::ptr::without_provenance(0x77);
        let readers = [Readers::Any, Readers::Isolate, Readers::IsolateButForModules];
        for (address, readers) in [0x5000, 0x6000, 0x7000].into_iter().zip(readers) {
            insert(address, quota, address + 1, readers);
        }
        let find = |has_modules| {
            let mut found: Vec<_> = private(quota, has_modules).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(find(true), [(0x6000, 0x6001)]);
        assert_eq!(find(false), [(0x6000, 0x6001), (0x7000, 0x7001)]);
        assert_eq!(private(std::ptr::without_provenance(0x78), false).count(), 0);
        assert_eq!([0x5000, 0x6000, 0x7000].map(remove), [0x5001, 0x6001, 0x7001].map(|bytes| Some((quota, bytes))));
    }
}

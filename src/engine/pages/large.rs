//! Large strings and arrays of V8's heaps. A thread that runs out of memory in the middle of V8's work stops for good with its isolate,
//! and most of its heap is then the string that V8 was reading, or the array that it was writing. The system gets their memory back.
//!
//! That is sound for these two kinds of objects. V8's own threads may still collect the heap's garbage. They read of a string no more
//! than what lies before its characters, and take the zeros in an array for the number zero.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::OWNER;
use crate::value::Budget;

/// V8 aligns the parts of its heaps to this. A larger part has one object.
const ALIGNMENT: usize = 256 << 10;

/// Smaller ones are not looked at.
const MIN_SIZE: usize = 1 << 20;

/// A part of a heap.
struct Part {
    /// The address of its isolate's budget.
    owner: usize,
    size: usize,
}

/// By their starts.
static PARTS: Mutex<BTreeMap<usize, Part>> = Mutex::new(BTreeMap::new());

static COUNT: AtomicUsize = AtomicUsize::new(0);

fn lock() -> MutexGuard<'static, BTreeMap<usize, Part>> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tagged address of the map of V8's arrays (`FixedArray`), which is one for the process and lies in the heap that never changes; 0 as
/// long as it is not known.
static ARRAY_MAP: AtomicUsize = AtomicUsize::new(0);

/// Learns how arrays are told from other objects.
pub fn learn_array(scope: &v8::PinScope<'_, '_>) {
    if ARRAY_MAP.load(Ordering::Relaxed) == 0 {
        let array = v8::PrimitiveArray::new(scope, 1);
        let handle: *const v8::PrimitiveArray = &raw const *array;
        // SAFETY: what a `v8::Local` refers to is a handle: the tagged address of an object, which begins with that of its map.
        let map = unsafe {
            let object = handle.cast::<usize>().read();
            ((object - TAG) as *const usize).read()
        };
        ARRAY_MAP.store(map, Ordering::Relaxed);
    }
}

/// `v8::internal::kHeapObjectTag`, and the bits that it is one of.
const TAG: usize = 0b01;
#[cfg(target_os = "linux")]
const TAGS: usize = 0b11;

/// V8 has got memory that can be read and written.
pub(super) fn note(start: usize, size: usize, alignment: usize) {
    if size < MIN_SIZE || alignment != ALIGNMENT || start == 0 {
        return;
    }
    let address = |owner: &super::Owner| Arc::as_ptr(&owner.memory) as usize;
    let owner = OWNER.try_with(|owner| owner.borrow().as_ref().map(address)).ok().flatten();
    if let Some(owner) = owner
        && lock().insert(start, Part { owner, size }).is_none()
    {
        COUNT.fetch_add(1, Ordering::Release);
    }
}

/// Only `size` bytes from `start` on are left; the rest is about to be freed.
pub(super) fn shrink(start: usize, size: usize) {
    if COUNT.load(Ordering::Acquire) == 0 {
        return;
    }
    let mut parts = lock();
    if size == 0 {
        if parts.remove(&start).is_some() {
            COUNT.fetch_sub(1, Ordering::Release);
        }
    } else if let Some(part) = parts.get_mut(&start) {
        part.size = part.size.min(size);
    }
}

/// The thread of the isolate with the budget `memory` stops here for good. Returns how many bytes the system has got back.
pub fn abandon(memory: &Arc<Budget>) -> usize {
    let owner = Arc::as_ptr(memory) as usize;
    let parts = lock();
    // Nobody frees one of them meanwhile, since the list is locked and has it.
    parts.iter().filter(|(_, part)| part.owner == owner).map(|(start, part)| give_back(*start, part.size)).sum()
}

#[cfg(target_os = "linux")]
fn give_back(start: usize, size: usize) -> usize {
    /// What lies before the characters or elements, and more.
    const KEPT: usize = 64 << 10;
    // SAFETY: the part is there, and longer than that.
    if !unsafe { is_plain(start, size) } {
        return 0;
    }
    // SAFETY: these pages have characters or elements that nobody reads any more but who can do with zeros.
    let failed = unsafe { libc::madvise((start + KEPT) as *mut libc::c_void, size - KEPT, libc::MADV_DONTNEED) } != 0;
    if failed { 0 } else { size - KEPT }
}

#[cfg(not(target_os = "linux"))]
fn give_back(_start: usize, _size: usize) -> usize {
    0
}

/// Whether the object in this part of a heap is an array, or a string with characters of its own.
///
/// # Safety
/// The part can be read, and is one of V8's with one object.
#[cfg(target_os = "linux")]
unsafe fn is_plain(start: usize, size: usize) -> bool {
    /// Where the object begins: `MemoryChunkLayout::ObjectStartOffsetInDataPage`.
    const OBJECT: usize = 16;
    /// `Internals::kMapInstanceTypeOffset`.
    const INSTANCE_TYPE: usize = 12;
    /// `Internals::kFirstNonstringType`, `kStringEncodingMask`, and `kStringRepresentationMask`, which is 0 for characters of its own.
    const FIRST_OTHER: u16 = 0x80;
    const ONE_BYTE: u16 = 0x8;
    const REPRESENTATION: u16 = 0x7;
    /// Where a string has its length, and its first character.
    const LENGTH: usize = 12;
    const CHARACTERS: usize = 16;

    // SAFETY: the first words of the part are there.
    let map = unsafe { ((start + OBJECT) as *const usize).read_volatile() };
    // What is being made has none.
    if map & TAGS != TAG {
        return false;
    }
    if map == ARRAY_MAP.load(Ordering::Relaxed) {
        return true;
    }
    // SAFETY: an object begins with the tagged address of its map, and those of all objects that can be so large are never freed.
    let instance_type = unsafe { ((map - TAG + INSTANCE_TYPE) as *const u16).read_volatile() };
    // SAFETY: as above.
    let length = unsafe { ((start + OBJECT + LENGTH) as *const u32).read_volatile() } as usize;
    let width = if instance_type & ONE_BYTE != 0 { 1 } else { 2 };
    instance_type < FIRST_OTHER && instance_type & REPRESENTATION == 0 && OBJECT + CHARACTERS + length * width <= size
}

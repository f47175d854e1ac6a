//! The slots of an isolate to which handles elsewhere refer.

use crate::native::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

pub struct Slots {
    /// Identifies the isolate as the owner of slots.
    owner: u64,
    /// Live handles.
    handles: AtomicU32,
    /// Slots whose last handle is gone; the thread that works for the isolate frees them.
    released: Mutex<Vec<u32>>,
    has_released: AtomicBool,
}

static NEXT_OWNER_ID: AtomicU64 = AtomicU64::new(1);

/// An id for an owner of slots.
pub fn next_owner_id() -> u64 {
    NEXT_OWNER_ID.fetch_add(1, Ordering::Relaxed)
}

impl Default for Slots {
    fn default() -> Self {
        let (released, has_released) = (Mutex::default(), AtomicBool::new(false));
        Self { owner: next_owner_id(), handles: AtomicU32::new(0), released, has_released }
    }
}

impl Slots {
    pub fn owner_id(&self) -> u64 {
        self.owner
    }

    pub fn handles(&self) -> u32 {
        self.handles.load(Ordering::Relaxed)
    }

    pub fn add_handle(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    pub fn release(&self, slot: u32) {
        self.handles.fetch_sub(1, Ordering::Relaxed);
        lock(&self.released).push(slot);
        self.has_released.store(true, Ordering::Release);
    }

    /// The slots that were released since the last call.
    pub fn take_released(&self) -> Vec<u32> {
        if !self.has_released.load(Ordering::Relaxed) || !self.has_released.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        std::mem::take(&mut *lock(&self.released))
    }
}

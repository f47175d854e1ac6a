//! The slots of an isolate to which handles elsewhere refer.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
pub struct Slots {
    /// Live handles.
    handles: AtomicU32,
    /// Slots whose last handle is gone; the thread that borrows the isolate frees them.
    released: Mutex<Vec<u32>>,
    has_released: AtomicBool,
}

impl Slots {
    pub fn handles(&self) -> u32 {
        self.handles.load(Ordering::Relaxed)
    }

    pub fn add_handle(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    pub fn release(&self, slot: u32) {
        self.handles.fetch_sub(1, Ordering::Relaxed);
        self.released.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
        self.has_released.store(true, Ordering::Release);
    }

    /// The slots that were released since the last call.
    pub fn take_released(&self) -> Vec<u32> {
        if !self.has_released.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        std::mem::take(&mut *self.released.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

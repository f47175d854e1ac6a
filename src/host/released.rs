//! Items that isolates have released. The environment's thread frees them on a turn of its event loop, or earlier, when it handles such items
//! anyway.

use crate::native::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

pub struct Released<T> {
    items: Mutex<Vec<T>>,
    /// There are items.
    is_any: AtomicBool,
    /// An event for the event loop is pending. One is enough, however often the thread frees items before the event arrives.
    is_notified: AtomicBool,
}

impl<T> Default for Released<T> {
    fn default() -> Self {
        Self { items: Mutex::default(), is_any: AtomicBool::new(false), is_notified: AtomicBool::new(false) }
    }
}

impl<T> Released<T> {
    /// Adds an item. Returns true if the event loop must be sent an event.
    pub fn push(&self, item: T) -> bool {
        let mut items = lock(&self.items);
        items.push(item);
        self.is_any.store(true, Ordering::Release);
        !self.is_notified.swap(true, Ordering::AcqRel)
    }

    /// The event has arrived: items that are released from now on need another.
    pub fn arrived(&self) {
        self.is_notified.store(false, Ordering::Release);
    }

    pub fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Acquire)
    }

    pub fn take(&self) -> Vec<T> {
        let mut items = lock(&self.items);
        self.is_any.store(false, Ordering::Release);
        std::mem::take(&mut *items)
    }
}

//! One isolate at a time is made into a snapshot: V8 crashes when two are, on whatever threads.

use std::sync::{Condvar, Mutex, PoisonError};

/// The isolate whose turn it is.
static OWNER: Mutex<Option<u64>> = Mutex::new(None);
static FREE: Condvar = Condvar::new();

/// The turn of an isolate, until it is dropped or given back.
pub struct Turn(u64);

impl Turn {
    /// Waits for it.
    pub fn take(id: u64) -> Self {
        let owner = OWNER.lock().unwrap_or_else(PoisonError::into_inner);
        let mut owner = FREE.wait_while(owner, |owner| owner.is_some()).unwrap_or_else(PoisonError::into_inner);
        *owner = Some(id);
        Self(id)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        give_back(self.0);
    }
}

/// Gives back the turn of an isolate, if it has it. For threads that will not come back to do so themselves.
pub fn give_back(id: u64) {
    let mut owner = OWNER.lock().unwrap_or_else(PoisonError::into_inner);
    if *owner == Some(id) {
        *owner = None;
        FREE.notify_one();
    }
}

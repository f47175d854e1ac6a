//! Mutexes whose contents stay valid when a thread panics.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, even if a thread has panicked while it held the lock.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

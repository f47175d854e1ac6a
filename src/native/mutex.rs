//! Mutexes whose contents stay valid when a thread panics. A thread that has locked one counts as a thread that holds a lock (`locks`).

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::locks::LockScope;

/// A locked mutex. V8 may take memory meanwhile, for example for a handle that is stored under the lock. What that leads to waits until the
/// thread holds no lock: an isolate that exceeds its memory is stopped after that, because stopping it takes locks as well.
pub struct Guard<'mutex, T: ?Sized> {
    // Dropped in this order.
    value: MutexGuard<'mutex, T>,
    scope: LockScope,
}

/// Locks `mutex`, even if a thread has panicked while it held the lock.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> Guard<'_, T> {
    // Before the lock, so that the thread never has the lock without the count.
    let scope = LockScope::enter();
    Guard { value: mutex.lock().unwrap_or_else(PoisonError::into_inner), scope }
}

impl<T> Guard<'_, T> {
    /// Unlocks the mutex until `condition` is notified, or for a moment.
    pub fn wait(self, condition: &Condvar) -> Self {
        let Self { value, scope } = self;
        Self { value: condition.wait(value).unwrap_or_else(PoisonError::into_inner), scope }
    }

    /// The same, for at most `limit`.
    pub fn wait_for(self, condition: &Condvar, limit: Duration) -> Self {
        let Self { value, scope } = self;
        let (value, _) = condition.wait_timeout(value, limit).unwrap_or_else(PoisonError::into_inner);
        Self { value, scope }
    }
}

impl<T: ?Sized> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    use super::super::locks;
    use super::lock;

    #[test]
    fn a_locked_mutex_counts_as_a_lock() {
        let (outer, inner, condition) = (Mutex::new(1), Mutex::new(2), Condvar::new());
        assert!(!locks::held());
        let first = lock(&outer);
        let mut second = lock(&inner).wait_for(&condition, Duration::ZERO);
        *second += *first;
        assert!(locks::held());
        drop(first);
        assert!(locks::held());
        drop(second);
        assert!(!locks::held());
        assert_eq!(*lock(&inner), 3);
    }
}

//! A share of an isolate's quota: memory that is checked against the quota, and then taken from it.

use std::sync::Arc;

use super::quota::{NativeQuota, current};
use super::{locks, refusal};

/// A part of an isolate's quota.
pub struct Share {
    quota: Arc<NativeQuota>,
    bytes: usize,
}

impl Share {
    /// The share that the isolate with `quota` must take for a block of `bytes`.
    pub fn of(quota: &Arc<NativeQuota>, bytes: usize) -> Self {
        Self { quota: Arc::clone(quota), bytes }
    }

    /// The share that the thread's isolate must take for a block of `bytes`; `None` if the thread works for no isolate.
    pub fn of_current(bytes: usize) -> Option<Self> {
        current().map(|quota| Self { quota, bytes })
    }

    pub fn is_within_limit(&self) -> bool {
        locks::held() || self.quota.can_allocate(self.bytes)
    }

    /// Refuses the memory and ends the isolate: the guest never sees how V8 handles the refusal.
    pub fn refuse(self) {
        refusal::note();
        self.quota.exceed();
    }

    /// Takes the share until the result is dropped.
    pub fn hold(self) -> ShareGuard {
        self.quota.take(self.bytes);
        ShareGuard(self)
    }

    /// Takes the share for an existing block. [`Share::give_back`] must be called when the block is freed.
    pub fn take(self) -> (*const NativeQuota, usize) {
        self.quota.take(self.bytes);
        (Arc::into_raw(self.quota), self.bytes)
    }

    /// # Safety
    /// The arguments are a result of `take`, and are passed only once.
    pub unsafe fn give_back(quota: *const NativeQuota, bytes: usize) {
        // SAFETY: `take` has left one reference for this call.
        unsafe { Arc::from_raw(quota) }.give_back(bytes);
    }
}

/// A share that was taken.
pub struct ShareGuard(Share);

impl Drop for ShareGuard {
    fn drop(&mut self) {
        self.0.quota.give_back(self.0.bytes);
    }
}

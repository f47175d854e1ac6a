//! A limit on bytes that several parties share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A budget of bytes, such as those that an isolate may hold outside V8's heap.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    refused: AtomicBool,
    overdrawn: AtomicBool,
    /// Bytes of others, which are free of charge, counted once for every buffer that shares them.
    shared: AtomicUsize,
}

impl Budget {
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicUsize::new(0),
            refused: AtomicBool::new(false),
            overdrawn: AtomicBool::new(false),
            shared: AtomicUsize::new(0),
        })
    }

    /// Takes `bytes` from the budget. False if it does not have them.
    pub fn take(&self, bytes: usize) -> bool {
        self.take_below(self.limit, bytes)
    }

    /// Takes `bytes` if no more than `limit` are in use then. False if there would be.
    fn take_below(&self, limit: usize, bytes: usize) -> bool {
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|total| *total <= limit || self.overdrawn.load(Ordering::Relaxed))
            })
            .is_ok();
        self.refused.store(!taken, Ordering::Relaxed);
        taken
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Records that a request that would have drawn on the budget was refused for another reason.
    pub fn refuse(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }

    /// Whether there is no limit at the moment.
    pub fn is_overdrawn(&self) -> bool {
        self.overdrawn.load(Ordering::Relaxed)
    }

    /// Whether the last request was refused. Returns true once for each refusal.
    pub fn take_refusal(&self) -> bool {
        self.refused.swap(false, Ordering::Relaxed)
    }

    /// As [`Self::take_refusal`], without an effect on later calls.
    pub fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    pub fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Runs `work` without a limit: V8 ends the process if it cannot get the buffers of a snapshot.
    pub fn overdraw<T>(&self, work: impl FnOnce() -> T) -> T {
        self.overdrawn.store(true, Ordering::Relaxed);
        let result = work();
        self.overdrawn.store(false, Ordering::Relaxed);
        result
    }

    /// Whether the budget has `bytes` left.
    pub fn has(&self, bytes: usize) -> bool {
        self.used().checked_add(bytes).is_some_and(|total| total <= self.limit)
    }

    /// Counts a new buffer that shares memory of others.
    pub fn share(&self, bytes: usize) {
        self.shared.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts such a buffer as gone.
    pub fn unshare(&self, bytes: usize) {
        self.shared.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes of others that buffers share.
    pub fn shared(&self) -> usize {
        self.shared.load(Ordering::Relaxed)
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// Bytes taken from a budget, returned when this is dropped.
#[derive(Debug, Default)]
pub struct Charge(Option<(Arc<Budget>, usize)>);

impl Charge {
    /// `None` if the budget does not have `bytes`.
    pub fn take(budget: &Arc<Budget>, bytes: usize) -> Option<Self> {
        Self::take_below(budget, budget.limit, bytes)
    }

    /// `None` if more than `limit` bytes of the budget would be in use.
    pub fn take_below(budget: &Arc<Budget>, limit: usize, bytes: usize) -> Option<Self> {
        budget.take_below(limit, bytes).then(|| Self(Some((Arc::clone(budget), bytes))))
    }

    /// A part of it as a charge of its own; `None` if it is smaller than `bytes`.
    pub fn split(&mut self, bytes: usize) -> Option<Self> {
        let (budget, all) = self.0.as_mut()?;
        *all = all.checked_sub(bytes)?;
        Some(Self(Some((Arc::clone(budget), bytes))))
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some((budget, bytes)) = &self.0 {
            budget.give_back(*bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Charge};

    #[test]
    fn refuses_over_the_limit_and_recovers() {
        let budget = Budget::new(10);
        assert!(budget.take(7));
        assert!(!budget.take(4));
        assert!(!budget.take(usize::MAX));
        budget.give_back(7);
        assert!(budget.take(10));
        assert_eq!(budget.used(), 10);
        assert!(!budget.has(1));
        assert!(budget.overdraw(|| budget.take(5)));
        assert!(!budget.take(1));
        assert_eq!(budget.used(), 15);
    }

    #[test]
    fn a_charge_is_returned() {
        let budget = Budget::new(10);
        let charge = Charge::take(&budget, 8);
        assert!(charge.is_some());
        assert!(Charge::take(&budget, 3).is_none());
        assert!(Charge::take_below(&budget, 9, 2).is_none());
        assert!(Charge::take_below(&budget, 9, 1).is_some());
        drop(charge);
        assert!(Charge::take(&budget, 10).is_some());
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn parts_of_a_charge_are_returned_on_their_own() {
        let budget = Budget::new(10);
        let mut charge = Charge::take(&budget, 8).unwrap();
        let part = charge.split(5);
        assert!(part.is_some() && charge.split(4).is_none());
        assert_eq!(budget.used(), 8);
        drop(charge);
        assert_eq!(budget.used(), 5);
        drop(part);
        assert_eq!(budget.used(), 0);
        assert!(Charge::default().split(0).is_none());
    }
}

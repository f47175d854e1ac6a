//! What full collections of V8's heap say about a guest's memory limit. One that V8 does in steps keeps everything that was allocated since
//! its first step, so what it leaves beyond the limit may be garbage.

use std::sync::atomic::{AtomicBool, Ordering};

/// Garbage that a collection in steps may leave beyond the limit: a part of the limit, and at least this much.
const GARBAGE_SHARE: usize = 2;
const MIN_GARBAGE: usize = 16 << 20;

#[derive(Default)]
pub struct FullCollections {
    /// V8 marks in steps.
    in_steps: AtomicBool,
    /// The last one has left what may be garbage.
    left_garbage: AtomicBool,
}

impl FullCollections {
    /// V8 begins to mark in steps.
    pub fn begin_steps(&self) {
        self.in_steps.store(true, Ordering::Relaxed);
    }

    /// A collection has ended, after which `used` bytes are in use. Whether the guest needs more than its `limit`. If not, although `used` is
    /// beyond it, another collection must follow.
    pub fn end(&self, used: usize, limit: usize) -> bool {
        let beyond = used.saturating_sub(limit);
        let in_steps = self.in_steps.swap(false, Ordering::Relaxed);
        let may_be_garbage = beyond > 0
            && in_steps
            && beyond <= (limit / GARBAGE_SHARE).max(MIN_GARBAGE)
            && !self.left_garbage.load(Ordering::Relaxed);
        self.left_garbage.store(may_be_garbage, Ordering::Relaxed);
        beyond > 0 && !may_be_garbage
    }
}

#[cfg(test)]
mod tests {
    use super::FullCollections;

    const MB: usize = 1 << 20;

    #[test]
    fn only_one_in_steps_may_leave_garbage() {
        let collections = FullCollections::default();
        assert!(!collections.end(10 * MB, 32 * MB));
        assert!(collections.end(33 * MB, 32 * MB));
        collections.begin_steps();
        assert!(!collections.end(48 * MB, 32 * MB));
        collections.begin_steps();
        assert!(collections.end(33 * MB, 32 * MB));
        collections.begin_steps();
        assert!(collections.end(49 * MB, 32 * MB));
    }

    #[test]
    fn one_that_helps_makes_up_for_those_before() {
        let collections = FullCollections::default();
        for _ in 0..2 {
            collections.begin_steps();
            assert!(!collections.end(40 * MB, 32 * MB));
            assert!(!collections.end(10 * MB, 32 * MB));
        }
    }
}

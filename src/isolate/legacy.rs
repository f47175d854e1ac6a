//! What an isolate has sent and nobody has read yet, once it has ended, or the call that sent it has been stopped.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes of larger messages that are read all the same: the last words of a guest, which take nobody's time. All that it has sent
/// may be as much as its memory limit.
const SPARED: usize = 256 << 10;

/// Bytes of a message that always is.
const SMALL: usize = 4_096;

#[derive(Debug, Default)]
pub struct Legacy {
    ended: AtomicBool,
    /// It ended of itself: all that it has sent is still to arrive.
    complete: AtomicBool,
    spared: AtomicUsize,
}

impl Legacy {
    /// That of what has been stopped.
    pub fn of_stopped() -> Self {
        Self { ended: AtomicBool::new(true), ..Self::default() }
    }

    /// What comes to its end now does so of itself.
    pub fn complete(&self) {
        self.complete.store(true, Ordering::Release);
    }

    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// What is large is not wanted any more.
    pub fn is_over(&self) -> bool {
        self.ended.load(Ordering::Acquire) && !self.complete.load(Ordering::Acquire)
    }

    /// Whether a message of so many bytes is still to be read. Asked once for each.
    pub fn spares(&self, bytes: impl FnOnce() -> usize) -> bool {
        if !self.is_over() {
            return true;
        }
        let bytes = bytes();
        let room = |spared: usize| spared.checked_add(bytes).filter(|spared| *spared <= SPARED);
        bytes <= SMALL || self.spared.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{Legacy, SMALL, SPARED};

    #[test]
    fn spares_little() {
        let legacy = Legacy::default();
        assert!(legacy.spares(|| usize::MAX));
        legacy.end();
        assert!(!legacy.spares(|| usize::MAX));
        assert!(legacy.spares(|| SPARED - SMALL));
        assert!(!legacy.spares(|| SMALL + 1));
        assert!(legacy.spares(|| SMALL));
    }

    #[test]
    fn spares_everything_of_what_ends_of_itself() {
        let legacy = Legacy::default();
        legacy.complete();
        legacy.end();
        assert!(!legacy.is_over());
        assert!(legacy.spares(|| usize::MAX));
    }
}

//! Which unread messages of an isolate are still read after it has ended, or after the call that sent them was stopped.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes of messages larger than [`SMALL`] that are still read: a guest's last messages, which take little time to read. All of its unread
/// messages together may take as much as its memory limit.
const SPARED: usize = 256 << 10;

/// Messages of up to this many bytes are always read.
const SMALL: usize = 4_096;

#[derive(Debug, Default)]
pub struct Legacy {
    ended: AtomicBool,
    /// It ended by itself: all of its messages will still be read.
    complete: AtomicBool,
    spared: AtomicUsize,
}

impl Legacy {
    /// For a call that was stopped.
    pub fn of_stopped() -> Self {
        Self { ended: AtomicBool::new(true), ..Self::default() }
    }

    /// The end that follows is not a stop: the isolate ends by itself.
    pub fn complete(&self) {
        self.complete.store(true, Ordering::Release);
    }

    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Whether large messages are no longer read.
    pub fn is_over(&self) -> bool {
        self.ended.load(Ordering::Acquire) && !self.complete.load(Ordering::Acquire)
    }

    /// Whether a message of so many bytes is still read. Must be called once for each message.
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

//! Decides which messages of an isolate a host still reads after the isolate has ended, or after the call that sent them was stopped.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes of messages larger than [`SMALL`] that are still read: a guest's last messages, which take little time to read. All of its unread
/// messages together may take as much as its memory limit.
const MAX_ADMITTED: usize = 256 << 10;

/// Messages of up to this many bytes are always read.
const SMALL: usize = 4_096;

#[derive(Debug, Default)]
pub struct Undelivered {
    ended: AtomicBool,
    /// It ended by itself: all of its messages will still be read.
    complete: AtomicBool,
    admitted: AtomicUsize,
}

impl Undelivered {
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

    /// Whether the isolate ends, or has ended, by itself.
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    /// Whether large messages are no longer read.
    pub fn is_over(&self) -> bool {
        self.ended.load(Ordering::Acquire) && !self.is_complete()
    }

    /// Whether a message of this many bytes is still read. Must be called once for each message.
    pub fn admits(&self, bytes: impl FnOnce() -> usize) -> bool {
        if !self.is_over() {
            return true;
        }
        let bytes = bytes();
        let room = |admitted: usize| admitted.checked_add(bytes).filter(|admitted| *admitted <= MAX_ADMITTED);
        bytes <= SMALL || self.admitted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_ADMITTED, SMALL, Undelivered};

    #[test]
    fn admits_little() {
        let undelivered = Undelivered::default();
        assert!(undelivered.admits(|| usize::MAX));
        undelivered.end();
        assert!(!undelivered.admits(|| usize::MAX));
        assert!(undelivered.admits(|| MAX_ADMITTED - SMALL));
        assert!(!undelivered.admits(|| SMALL + 1));
        assert!(undelivered.admits(|| SMALL));
    }

    #[test]
    fn admits_everything_of_isolates_that_end_themselves() {
        let undelivered = Undelivered::default();
        undelivered.complete();
        undelivered.end();
        assert!(!undelivered.is_over());
        assert!(undelivered.admits(|| usize::MAX));
    }
}

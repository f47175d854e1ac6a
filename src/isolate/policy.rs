//! What holds for all isolates of the process where nothing else is said. Any environment may change it, at any time: calls
//! that begin afterwards see it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::engine;

/// Microseconds; 0 is no limit.
static TIMEOUT: AtomicU64 = AtomicU64::new(0);
static DEADLINE: AtomicU64 = AtomicU64::new(0);
static TERMINATION_GRACE: AtomicU64 = AtomicU64::new(1_000_000);

/// Bytes; 0 is what the machine's memory says.
static LOST_MEMORY_LIMIT: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long a guest that was told to stop may take before it is given up.
    pub termination_grace: Duration,
    /// Of calls that say nothing of a timeout.
    pub timeout: Option<Duration>,
    /// Of calls that say nothing of a deadline.
    pub deadline: Option<Duration>,
    /// Bytes that lost isolates may take before no others are made.
    pub lost_memory_limit: usize,
}

impl Policy {
    pub fn current() -> Self {
        Self {
            termination_grace: termination_grace(),
            timeout: read(&TIMEOUT),
            deadline: read(&DEADLINE),
            lost_memory_limit: lost_memory_limit(),
        }
    }

    /// From now on.
    pub fn set(self) {
        TERMINATION_GRACE.store(microseconds(self.termination_grace), Ordering::Relaxed);
        TIMEOUT.store(self.timeout.map_or(0, microseconds), Ordering::Relaxed);
        DEADLINE.store(self.deadline.map_or(0, microseconds), Ordering::Relaxed);
        LOST_MEMORY_LIMIT.store(self.lost_memory_limit, Ordering::Relaxed);
    }
}

pub fn termination_grace() -> Duration {
    Duration::from_micros(TERMINATION_GRACE.load(Ordering::Relaxed))
}

pub(super) fn lost_memory_limit() -> usize {
    match LOST_MEMORY_LIMIT.load(Ordering::Relaxed) {
        0 => {
            static DEFAULT: OnceLock<usize> = OnceLock::new();
            *DEFAULT.get_or_init(|| engine::memory() / 2)
        }
        bytes => bytes,
    }
}

fn read(setting: &AtomicU64) -> Option<Duration> {
    let microseconds = setting.load(Ordering::Relaxed);
    (microseconds > 0).then(|| Duration::from_micros(microseconds))
}

/// A limit that is less than one is not none.
fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).max(1)
}

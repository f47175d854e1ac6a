//! Defaults for all isolates of the process. Any environment may change them, at any time; calls that begin afterwards use them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use crate::engine;

/// In microseconds; 0 is no limit.
static TIMEOUT: AtomicU64 = AtomicU64::new(0);
static DEADLINE: AtomicU64 = AtomicU64::new(0);
static TERMINATION_GRACE: AtomicU64 = AtomicU64::new(1_000_000);

/// In bytes; 0 is a default that depends on the machine's memory.
static LOST_MEMORY_LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Whether sync calls run on the caller's thread where that is possible.
static ON_CALLER: AtomicBool = AtomicBool::new(true);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long a guest may take to stop before it is abandoned.
    pub termination_grace: Duration,
    /// For calls that set no timeout.
    pub timeout: Option<Duration>,
    /// For calls that set no deadline.
    pub deadline: Option<Duration>,
    /// Bytes that lost isolates may take before no more isolates are created.
    pub lost_memory_limit: usize,
    /// Sync calls run on the caller's thread where that is possible.
    pub on_caller: bool,
}

impl Policy {
    pub fn current() -> Self {
        Self {
            termination_grace: termination_grace(),
            timeout: read(&TIMEOUT),
            deadline: read(&DEADLINE),
            lost_memory_limit: lost_memory_limit(),
            on_caller: on_caller(),
        }
    }

    /// Applies from now on.
    pub fn set(self) {
        TERMINATION_GRACE.store(microseconds(self.termination_grace), Ordering::Relaxed);
        TIMEOUT.store(self.timeout.map_or(0, microseconds), Ordering::Relaxed);
        DEADLINE.store(self.deadline.map_or(0, microseconds), Ordering::Relaxed);
        LOST_MEMORY_LIMIT.store(self.lost_memory_limit, Ordering::Relaxed);
        ON_CALLER.store(self.on_caller, Ordering::Relaxed);
    }
}

/// Timeout and deadline of calls that set none.
pub fn limits() -> [Option<Duration>; 2] {
    [&TIMEOUT, &DEADLINE].map(read)
}

/// See [`Policy::on_caller`]. An environment variable turns it off for the test suite, once.
pub fn on_caller() -> bool {
    static TESTED: Once = Once::new();
    TESTED.call_once(|| {
        if std::env::var_os("ISOLATED_V8_SYNC_CALLS").is_some_and(|value| value == "thread") {
            ON_CALLER.store(false, Ordering::Relaxed);
        }
    });
    ON_CALLER.load(Ordering::Relaxed) && engine::knows_code_of_v8()
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

/// A limit below one microsecond must not become 0, which is no limit.
fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).max(1)
}

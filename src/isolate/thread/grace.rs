//! The grace period: how long a guest that must stop may keep running. By wall-clock time alone, guests would be abandoned whose threads
//! got no processor on an overloaded machine.

use std::time::{Duration, Instant};

use crate::engine::GuestThread;
use crate::isolate::policy;

/// Wall-clock time, as a multiple of the grace period, after which CPU time no longer matters.
const MAX_GRACES: u32 = 4;

/// Before it is abandoned, a guest must have had at least the grace period divided by this in CPU time.
const MIN_SHARE: u32 = 4;

/// A guest that has run for this long should have handled an interrupt.
const INTERRUPT: Duration = Duration::from_millis(5);
const MAX_INTERRUPT: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug)]
pub struct Grace {
    since: Instant,
    /// CPU time of the guest's thread at that moment.
    before: Option<Duration>,
    /// How long the guest had waited for V8's own threads.
    waited: Duration,
}

impl Grace {
    pub fn begin(thread: &GuestThread) -> Self {
        Self { since: Instant::now(), before: thread.processor_time(), waited: thread.waited() }
    }

    /// CPU time of the thread since then. If it is unknown, the thread counts as having run all the time.
    fn ran(&self, thread: &GuestThread) -> Duration {
        match (self.before, thread.processor_time()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.since.elapsed(),
        }
    }

    pub fn is_over(&self, thread: &GuestThread) -> bool {
        let (waited, grace) = (self.since.elapsed(), policy::termination_grace());
        // A guest that waits for V8's own threads, such as those that compile for it, needs no processor.
        let ran = || self.ran(thread) + thread.waited().saturating_sub(self.waited);
        waited >= grace * MAX_GRACES || (waited >= grace && ran() >= grace / MIN_SHARE)
    }

    /// Whether the guest does not handle the interrupt and must be terminated from outside.
    pub fn interrupt_was_missed(&self, thread: &GuestThread) -> bool {
        self.since.elapsed() >= MAX_INTERRUPT || self.ran(thread) >= INTERRUPT
    }
}

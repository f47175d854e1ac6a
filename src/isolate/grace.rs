//! How long a guest may take to stop when it was told to. The wall clock alone would condemn guests whose threads got no
//! processor, on a machine with more to do than it can.

use std::time::{Duration, Instant};

use super::policy;
use super::remote::Remote;

/// Time of the wall clock, as a multiple of the grace, after which nothing else counts.
const MAX_GRACES: u32 = 4;

/// Of its grace a guest must have had this part of a processor before it is given up.
const MIN_SHARE: u32 = 4;

/// A guest that has run for so long would have taken an interrupt.
const INTERRUPT: Duration = Duration::from_millis(5);
const MAX_INTERRUPT: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug)]
pub struct Grace {
    since: Instant,
    /// Processor time that the guest's thread had had by then.
    before: Option<Duration>,
}

impl Grace {
    pub fn begin(remote: &Remote) -> Self {
        Self { since: Instant::now(), before: remote.seat.processor_time() }
    }

    /// Processor time that the thread has had since then. A thread whose time is not known counts as one that ran all along.
    fn ran(&self, remote: &Remote) -> Duration {
        match (self.before, remote.seat.processor_time()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.since.elapsed(),
        }
    }

    pub fn is_over(&self, remote: &Remote) -> bool {
        let (waited, grace) = (self.since.elapsed(), policy::termination_grace());
        waited >= grace * MAX_GRACES || (waited >= grace && self.ran(remote) >= grace / MIN_SHARE)
    }

    /// The guest takes no interrupt: it is to be terminated from outside.
    pub fn interrupt_was_missed(&self, remote: &Remote) -> bool {
        self.since.elapsed() >= MAX_INTERRUPT || self.ran(remote) >= INTERRUPT
    }
}

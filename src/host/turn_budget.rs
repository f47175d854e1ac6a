//! Limits the time for which events are handled on one turn of the event loop, and how much of it each isolate gets.

use std::time::{Duration, Instant};

/// How long events are handled before other work gets a turn of the event loop.
const TURN: Duration = Duration::from_millis(8);

/// How long events of one isolate are handled before other isolates get their turn.
const SHARE: Duration = Duration::from_millis(1);

/// How a turn of the event loop is shared among isolates.
pub struct TurnBudget {
    until: Instant,
    now: Instant,
    /// The isolate of the last event, and when its turn started.
    origin: u64,
    since: Instant,
}

impl TurnBudget {
    pub fn begin() -> Self {
        let now = Instant::now();
        Self { until: now + TURN, now, origin: 0, since: now }
    }

    /// An event from `origin` was handled. Returns whether its share is used up.
    pub fn is_used_up_by(&mut self, origin: u64) -> bool {
        if self.origin != origin {
            (self.origin, self.since) = (origin, self.now);
        }
        self.now = Instant::now();
        self.now - self.since >= SHARE
    }

    pub fn is_over(&self) -> bool {
        self.now >= self.until
    }
}

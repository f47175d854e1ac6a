//! For how long a debugger has paused the guest.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::native::lock;

#[derive(Default)]
pub struct Pauses(Mutex<Times>);

#[derive(Clone, Copy, Default)]
struct Times {
    /// All pauses that are over.
    over: Duration,
    /// When the current one began.
    since: Option<Instant>,
}

impl Pauses {
    pub fn begin(&self) {
        lock(&self.0).since = Some(Instant::now());
    }

    pub fn end(&self) {
        let mut times = lock(&self.0);
        if let Some(since) = times.since.take() {
            times.over += since.elapsed();
        }
    }

    /// The time of all pauses so far, including the current one.
    pub fn total(&self) -> Duration {
        let times = *lock(&self.0);
        times.over + times.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

//! A unit of work for one isolate: what to do, under which limits, on whose behalf, and who gets the outcome.

use std::sync::Arc;
use std::time::Duration;

use super::Guest;
use crate::value::{Answer, Chain, Outcome};

/// A scope without a context: what every job starts in.
pub type IsolateScope<'s, 'i> = v8::PinScope<'s, 'i, ()>;

/// The work itself. Runs on the thread that has borrowed the isolate.
pub type Work = Box<dyn FnOnce(&mut IsolateScope<'_, '_>, &Arc<Guest>) -> Outcome + Send>;

/// How long a job may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Time the guest itself runs; stands still while it waits for a host.
    pub timeout: Option<Duration>,
    /// Wall-clock time from the moment the job starts.
    pub deadline: Option<Duration>,
}

pub struct Job {
    pub limits: Limits,
    pub chain: Chain,
    pub answer: Arc<dyn Answer>,
    pub work: Work,
    /// The caller waits: starts before queued tasks, and nested while the isolate waits.
    pub sync: bool,
    /// The guest has posted it to itself: no call of a host waits for it, although one may wait for what it brings about.
    pub loose: bool,
    /// V8 has asked for it: runs under the limits of the last call that had any.
    pub background: bool,
}

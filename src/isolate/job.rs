//! A unit of work for one isolate: what to do, under which limits, on behalf of which call, and where the outcome goes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock::Alarm;
use super::policy;
use crate::value::{Chain, Charge, Completion, Outcome};

/// A scope without a context, in which every job starts.
pub type IsolateScope<'s, 'i> = v8::PinScope<'s, 'i, ()>;

/// The work itself. Runs on the thread that has entered the isolate. `Guest::work` creates it from work that needs the guest.
pub type Work = Box<dyn FnOnce(&mut IsolateScope<'_, '_>) -> Outcome + Send>;

/// Long enough to be no limit, short enough for `Instant` arithmetic.
const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 86_400);

/// How long a job may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Time that the guest itself runs; paused while it waits for a host.
    pub timeout: Option<Duration>,
    pub deadline: Option<Deadline>,
}

impl Limits {
    pub fn new(timeout: Option<Duration>, deadline: Option<Duration>) -> Self {
        Self { timeout: timeout.map(|timeout| timeout.min(MAX_DURATION)), deadline: deadline.map(Deadline::after) }
    }

    /// The limits of a call that sets none.
    pub fn standard() -> Self {
        let [timeout, deadline] = policy::limits();
        Self::new(timeout, deadline)
    }

    pub fn is_some(&self) -> bool {
        self.timeout.is_some() || self.deadline.is_some()
    }

    /// These limits, but no wider than `outer`, the limits of the call on whose behalf the work is done.
    pub fn within(self, outer: Self) -> Self {
        let timeout = self.timeout.into_iter().chain(outer.timeout).min();
        let deadline = self.deadline.into_iter().chain(outer.deadline).min_by_key(|deadline| deadline.time);
        Self { timeout, deadline }
    }

    /// The same limits for something that begins now.
    pub fn renewed(self) -> Self {
        Self { deadline: self.deadline.map(|deadline| Deadline::after(deadline.limit)), ..self }
    }
}

/// Wall-clock time that a call may take, waiting included.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// As the caller has set it.
    pub limit: Duration,
    pub time: Instant,
}

impl Deadline {
    /// Counts from now.
    pub fn after(limit: Duration) -> Self {
        Self { limit, time: Instant::now() + limit.min(MAX_DURATION) }
    }
}

/// What a job is for, which decides when it may start and what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The caller waits. The job starts before queued tasks, and nested while the isolate waits.
    Call,
    /// Starts when all earlier jobs have ended.
    Task,
    /// The callback of a timer. Starts like a task.
    Timer,
    /// A task that the guest has posted to itself: no call of a host waits for it, although one may wait for its effects. Its limits count
    /// from its start.
    Detached,
    /// A task of V8's platform. Runs under the limits of the last call that had any.
    Background,
    /// A task of V8's platform that works on the heap only, for an isolate that sync calls enter. It waits for a pause between them.
    Heap,
}

/// When V8 has posted a task that marks or sweeps its heap of C++ objects. It cancels the earlier ones, but does not take them back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    Prompt,
    Delayed,
}

pub struct Job {
    pub kind: Kind,
    /// If it is such a task.
    pub sweep: Option<Sweep>,
    pub limits: Limits,
    pub chain: Chain,
    pub completion: Arc<dyn Completion>,
    pub work: Work,
    /// The charge to the sender, until the job is over or abandoned.
    pub charge: Charge,
    /// Answers at the deadline if the job has not begun by then.
    pub(super) overdue: Option<Alarm>,
}

impl Job {
    pub fn new(kind: Kind, completion: Arc<dyn Completion>, work: Work) -> Self {
        let (limits, chain, charge) = (Limits::default(), Chain::default(), Charge::default());
        Self { kind, sweep: None, limits, chain, completion, work, charge, overdue: None }
    }

    pub fn sweeping(self, sweep: Option<Sweep>) -> Self {
        Self { sweep, ..self }
    }

    pub fn limited(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    pub fn in_chain(self, chain: Chain) -> Self {
        Self { chain, ..self }
    }

    pub fn charged(self, charge: Charge) -> Self {
        Self { charge, ..self }
    }

    /// Drops the job of an isolate whose guest may still run. V8's inspector keeps the addresses of its tasks, such as that of a heap snapshot, which a pause
    /// of the guest runs early. So tasks of V8 stay in memory.
    pub(super) fn discard(self) {
        if matches!(self.kind, Kind::Background | Kind::Heap) {
            std::mem::forget(self.work);
        }
    }
}

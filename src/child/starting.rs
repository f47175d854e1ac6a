//! A child that is being started, and why.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cause::Cause;
use super::execution::{Execution, ProcessTemplate};
use super::running::Running;
use crate::value::{Completion, ErrorClass, Fault};

/// How long the system may take to start a child.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// How long after a start has begun other executions may rely on it. A start that takes longer may be stuck.
const PROMPT: Duration = Duration::from_millis(100);

pub struct Starting {
    pub number: u64,
    pub template: Arc<ProcessTemplate>,
    since: Instant,
    /// The execution that it is for. Without one, the child will wait for one.
    pub order: Option<Order>,
    /// They receive the report of its confinement; each with how many of its template must be ready then.
    pub checks: Vec<(usize, Arc<dyn Completion>)>,
}

/// An execution that waits to begin.
pub struct Order {
    pub id: u64,
    pub execution: Box<Execution>,
    pub began: Instant,
    /// The child was not started for it.
    pub waited: bool,
}

impl Starting {
    pub fn new(number: u64, template: Arc<ProcessTemplate>) -> Self {
        Self { number, template, since: Instant::now(), order: None, checks: Vec::new() }
    }

    pub fn is_to_wait(&self) -> bool {
        self.order.is_none()
    }

    /// Whether another execution of this template may use it.
    pub fn is_free(&self, template: &ProcessTemplate) -> bool {
        self.is_to_wait() && self.since.elapsed() < PROMPT && self.template.serves(template)
    }

    /// When its start or its execution times out.
    pub fn alarm(&self) -> Instant {
        let late = self.since + START_TIMEOUT;
        self.order.as_ref().and_then(Order::deadline).map_or(late, |deadline| deadline.min(late))
    }

    /// Ends what is due. False if nothing is left of it.
    pub fn expire(&mut self, now: Instant) -> bool {
        if self.since + START_TIMEOUT <= now {
            self.fail(&Cause::NotStarted);
            return false;
        }
        !self.end_order(&Cause::Deadline, |order| order.deadline().is_some_and(|deadline| deadline <= now))
            || !self.checks.is_empty()
    }

    /// Ends the execution, if it has one that matches. Returns whether it had.
    pub fn end_order(&mut self, cause: &Cause, which: impl FnOnce(&Order) -> bool) -> bool {
        let Some(order) = self.order.take_if(|order| which(order)) else { return false };
        let running = Box::new(Running::new(self.number, order.id, *order.execution, order.began, false));
        running.complete(cause.end(), None, Duration::ZERO, "");
        true
    }

    fn fail(&mut self, cause: &Cause) {
        self.end_order(cause, |_| true);
        self.refuse(&Fault::coded(ErrorClass::Error, &cause.message(), cause.code()));
    }

    /// There is no such child.
    pub fn refuse(&mut self, fault: &Fault) {
        if let Some(order) = self.order.take() {
            order.execution.requester.completion.complete(Err(fault.clone()));
        }
        for (_, check) in self.checks.drain(..) {
            check.complete(Err(fault.clone()));
        }
    }
}

impl Order {
    fn deadline(&self) -> Option<Instant> {
        self.began.checked_add(self.execution.timeout)
    }
}

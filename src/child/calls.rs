//! The tool calls whose answers a child awaits.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::commands;
use super::frame::Order;
use crate::isolate::{max_answers, next_owner_id};
use crate::value::{Charge, Completion, Fault, Outcome, Owner, Value};

/// The maximum number of calls that a guest of this process may await at a time.
const MAX_CALLS: usize = 10_000;

/// The calls of one child. To its host it is what an isolate is: the origin of messages that stay in order.
pub struct Calls {
    id: u64,
    process: u64,
    /// The maximum number of bytes of answers that are queued for the thread that sends them.
    limit: usize,
    waiting: AtomicUsize,
    bytes: AtomicUsize,
    over: AtomicBool,
    /// The execution was stopped, so calls that wait for the host do not begin.
    stopped: AtomicBool,
}

impl Calls {
    pub fn new(process: u64, limit: usize) -> Arc<Self> {
        Arc::new(Self {
            id: next_owner_id(),
            process,
            limit,
            waiting: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
        })
    }

    pub fn is_full(&self) -> bool {
        self.waiting.load(Ordering::Acquire) >= MAX_CALLS
    }

    /// Returns the answer that `call` waits for.
    pub fn begin(self: &Arc<Self>, call: u32, charge: Charge) -> Arc<dyn Completion> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        Arc::new(Pending { calls: Arc::clone(self), call, completed: AtomicBool::new(false), _charge: charge })
    }

    /// The sending thread has taken an answer of `bytes` bytes from the queue.
    pub fn taken(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// Drops all later answers: nothing waits for them.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// The same for an execution that has not ended by itself: the calls that have not begun never do.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.end();
    }
}

impl Owner for Calls {
    fn id(&self) -> u64 {
        self.id
    }

    /// It holds no values of the host.
    fn release(&self, _slot: u32) {}

    fn max_answers(&self) -> usize {
        max_answers(self.limit)
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

struct Pending {
    calls: Arc<Calls>,
    call: u32,
    completed: AtomicBool,
    /// For the params, which the host's function may hold until it answers.
    _charge: Charge,
}

impl Completion for Pending {
    fn complete(&self, outcome: Outcome) {
        if self.completed.swap(true, Ordering::AcqRel) {
            return;
        }
        let Calls { process, limit, waiting, bytes, over, .. } = &*self.calls;
        waiting.fetch_sub(1, Ordering::AcqRel);
        if over.load(Ordering::Acquire) {
            return;
        }
        let size = outcome.as_ref().map_or_else(Fault::byte_size, Value::byte_size);
        if size > *limit || bytes.load(Ordering::Acquire) > *limit {
            return commands::reply(*process, None);
        }
        let frame = Order::Reply(self.call, outcome).encode();
        bytes.fetch_add(frame.len(), Ordering::AcqRel);
        commands::reply(*process, Some(frame));
    }

    fn is_complete(&self) -> bool {
        self.completed.load(Ordering::Acquire) || self.calls.over.load(Ordering::Acquire)
    }

    fn is_wanted(&self) -> bool {
        !self.completed.load(Ordering::Acquire) && !self.calls.stopped.load(Ordering::Acquire)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.complete(Err(Fault::promise_abandoned()));
    }
}

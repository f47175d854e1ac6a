//! The execution that a child runs, as its parent sees it.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::calls::Calls;
use super::execution::{Execution, ProcessTemplate, Requester};
use super::frame::{End, GROWTH, Limits, Message, Task};
use super::time;
use crate::ops::{self, op};
use crate::protocol::LEVELS;
use crate::sandbox::{ExecutionResult, Logs};
use crate::value::{Budget, Callable, Chain, Charge, Code, Completion, NoCompletion, Owner, Request, Text, Value};

/// Half of the maximum number of messages that wait for their host.
const MAX_UNSERVED: usize = 250;

/// How early a child may claim its deadline: its timer starts when it has read its task.
const EARLY: Duration = Duration::from_millis(100);

/// The execution that a child runs.
pub struct Running {
    pub id: u64,
    pub requester: Requester,
    pub deadline: Instant,
    began: Instant,
    /// Processor time that the process had used when it was sent its task. What it uses before that is not counted.
    pub before: Duration,
    logs: Logs,
    pub memory: usize,
    /// What is accepted from the process.
    pub limits: Limits,
    last_call: u32,
    pub calls: Arc<Calls>,
    /// Bounds the memory of messages that the host has not yet served.
    budget: Arc<Budget>,
    pub start: Start,
    /// How many other processes must be ready.
    pub pool: usize,
    /// A message that waits until the host has room.
    held: Option<Message>,
}

/// How far the execution has got.
pub struct Start {
    /// The guest may have run.
    pub begun: bool,
    /// The task, until it is sent. If another process may take it over, it is kept longer: until this process begins.
    pub task: Option<Task>,
    /// Another process may take over the task until this one has begun.
    pub may_retry: bool,
}

/// An execution that starts again, under the same number and deadline.
pub struct Retry {
    pub id: u64,
    pub execution: Execution,
    pub began: Instant,
    /// They wait for the report of the child's confinement.
    pub checks: Vec<Arc<dyn Completion>>,
}

/// What happened to a message.
pub enum Step {
    Done,
    /// It is kept until its host has room, and so is everything behind it.
    Held,
    /// No child sends this.
    Violated(&'static str),
}

impl Running {
    /// `waited`: the child `process` had waited for an execution, so it may have died while it waited. A new child that dies would die again.
    pub fn new(process: u64, id: u64, execution: Execution, began: Instant, waited: bool) -> Self {
        let Execution { mut task, again, pool, timeout, logging, requester, template } = execution;
        let memory = usize::try_from(template.memory).unwrap_or(usize::MAX);
        let limits = Limits::new(memory, task.max_output, task.max_length, requester.tools.len());
        let deadline = began + timeout;
        let left = deadline.saturating_duration_since(Instant::now());
        task.deadline = (time::now() + left).as_micros() as f64;
        Self {
            id,
            requester,
            deadline,
            began,
            before: Duration::MAX,
            logs: Logs::new(logging),
            memory,
            limits,
            last_call: 0,
            calls: Calls::new(process, memory),
            // Room for one message of the largest kind.
            budget: Budget::new(memory.saturating_mul(2)),
            start: Start { begun: false, task: Some(task), may_retry: waited && !again },
            pool,
            held: None,
        }
    }

    /// Whether another process can take over the task.
    pub fn is_unbegun(&self) -> bool {
        self.start.may_retry && !self.start.begun
    }

    /// Whether the process may claim this code. A deadline must have been reached.
    pub fn may_claim(&self, code: Code) -> bool {
        code != Code::Deadline || self.deadline <= Instant::now() + EARLY
    }

    pub fn is_stalled(&self) -> bool {
        self.held.is_some()
    }

    pub fn take_held(&mut self) -> Option<Message> {
        self.held.take()
    }

    fn hold(&mut self, message: Message) -> Step {
        self.held = Some(message);
        Step::Held
    }

    /// The maximum number of characters of a log line.
    pub fn max_length(&self) -> usize {
        self.logs.logging.max_length
    }

    /// Keeps a line if there is room for it.
    pub fn keep(&self, level: &str, line: Vec<u16>) -> bool {
        let room = self.logs.has_room();
        if room {
            self.logs.push(level, line);
        }
        room
    }

    /// Keeps a line of the guest's, and passes it to the listener.
    pub fn log(&mut self, index: u8, text: Text) -> Step {
        let Some(level) = LEVELS.get(usize::from(index)) else { return Step::Violated("an unknown level") };
        let Some(listener) = &self.logs.logging.listener else {
            self.keep(level, units(&text));
            return Step::Done;
        };
        let Some(charge) = self.admit(text.byte_len()) else { return self.hold(Message::Log(index, text)) };
        // Lines that are not kept are not passed on.
        if self.keep(level, units(&text)) {
            let args = vec![Value::String(Text::from(*level)), Value::String(text)];
            self.request(op::CALL, listener, args, Arc::new(NoCompletion), charge);
        }
        Step::Done
    }

    /// Calls a tool in the host.
    pub fn call(&mut self, call: u32, tool: u32, params: Text) -> Step {
        if self.last_call.checked_add(1) != Some(call) {
            return Step::Violated("a call out of turn");
        }
        if self.calls.is_full() {
            return Step::Violated("more calls than a guest may wait for");
        }
        let Some(function) = self.requester.tools.get(tool as usize) else {
            return Step::Violated("a call of nothing");
        };
        let kept = Charge::take(&self.budget, params.byte_len().saturating_mul(GROWTH));
        let Some((kept, unserved)) = kept.zip(self.admit(0)) else {
            return self.hold(Message::Call(call, tool, params));
        };
        self.last_call = call;
        let completion = self.calls.begin(call, kept);
        self.request(op::CALL_AWAITED, function, vec![Value::String(params)], completion, unserved);
        Step::Done
    }

    /// Takes room for another message of `bytes` bytes, if there is any.
    fn admit(&self, bytes: usize) -> Option<Charge> {
        // The number of messages is limited too: each may take the host long.
        Charge::take(&self.budget, bytes.saturating_add(self.memory / MAX_UNSERVED))
    }

    fn request(
        &self,
        op: u32,
        function: &Arc<Callable>,
        args: Vec<Value>,
        completion: Arc<dyn Completion>,
        charge: Charge,
    ) {
        let slot = Arc::clone(&function.slot);
        match Arc::clone(slot.owner()).as_host() {
            Some(host) => {
                let chain = Chain::of_request(self.requester.request);
                let requester: Weak<dyn Owner> = Arc::<Calls>::downgrade(&self.calls);
                host.request(Request { op, slot, args, requester: Some(requester), chain, completion, charge });
            }
            None => completion.complete(Err(ops::malformed())),
        }
    }

    /// Turns this back into the execution that it came from.
    pub fn retry(self: Box<Self>, template: ProcessTemplate, task: Task, checks: Vec<Arc<dyn Completion>>) -> Retry {
        self.calls.stop();
        let Self { id, deadline, began, requester, logs: Logs { logging, .. }, pool, .. } = *self;
        let timeout = deadline.saturating_duration_since(began);
        let execution = Execution { template, again: true, pool, task, timeout, logging, requester };
        Retry { id, execution, began, checks }
    }

    /// `cpu` is the processor time that the process has used since it was sent its task, `layers` its confinement.
    pub fn complete(self: Box<Self>, end: End, signal: Option<i32>, cpu: Duration, layers: &str) {
        if end.code.is_some_and(Code::is_stop) {
            self.calls.stop();
        } else {
            self.calls.end();
        }
        let End { ok, value, code, name, stack, details, figures: [heap, lost] } = end;
        let (lines, dropped) = self.logs.take();
        let result = ExecutionResult {
            ok,
            value,
            code,
            name,
            stack,
            details,
            cpu: cpu.as_nanos(),
            wall: self.began.elapsed().as_nanos(),
            heap_peak: heap,
            host_calls: self.last_call,
            lost: lost.max(f64::from(dropped)),
            signal,
            layers: Some(Text::from(layers)),
            lines,
        };
        // After what the process has sent before.
        self.requester.completion.comes_from(&(self.calls as Arc<dyn Owner>));
        self.requester.completion.complete(Ok(result.into()));
    }
}

fn units(text: &Text) -> Vec<u16> {
    match text {
        Text::Latin1(bytes) => bytes.iter().map(|byte| u16::from(*byte)).collect(),
        Text::Utf16(units) => units.to_vec(),
    }
}

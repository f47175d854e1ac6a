//! The execution that a child is busy with, as its parent has it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::calls::{Calls, GROWTH};
use super::execution::{Job, Sort};
use super::frame::{End, Message, Task};
use super::time;
use crate::ops::{self, op};
use crate::sandbox::console::{LEVELS, Logs};
use crate::sandbox::{self, Logging};
use crate::value::{Answer, Budget, Callable, Chain, Charge, Nobody, Request, Text, Value};

/// Half of the messages that may wait for their host.
const MOST_UNSERVED: usize = 250;

/// The execution that a child is busy with.
pub struct Running {
    pub id: u64,
    pub owner: u64,
    pub deadline: Instant,
    began: Instant,
    /// Processor time that the process had had by then.
    pub before: Duration,
    request: i64,
    tools: Vec<Arc<Callable>>,
    listener: Option<Arc<Callable>>,
    pub most_length: usize,
    logs: Logs,
    pub memory: usize,
    /// Bytes that the message of its end may take.
    pub most_result: usize,
    answer: Arc<dyn Answer>,
    last_call: u32,
    pub calls: Arc<Calls>,
    /// What the host has yet to serve takes no more than this.
    budget: Arc<Budget>,
    /// The guest may have run.
    pub begun: bool,
    /// What another child can do as long as this one has not begun, and how many are to be ready.
    pub unbegun: Option<(Task, usize)>,
    /// A message whose turn comes when the host has room.
    held: Option<Message>,
}

/// An execution that begins once more, under the same number and deadline.
pub struct Retry {
    pub id: u64,
    pub job: Job,
    pub began: Instant,
    /// Who has asked what confines the child.
    pub surveyors: Vec<Arc<dyn Answer>>,
}

/// What has become of a message.
pub enum Step {
    Done,
    /// It is kept until its host has room, and so is everything behind it.
    Held,
    /// No child says that.
    Violated(&'static str),
}

impl Running {
    /// The job as the child is told, and what is kept of it here.
    pub fn new(process: u64, id: u64, job: Job, began: Instant, before: Duration) -> (Self, Task) {
        let Job { mut task, timeout, tools, mut logging, owner, request, answer, sort, .. } = job;
        let memory = usize::try_from(sort.memory).unwrap_or(usize::MAX);
        // Heap and buffers; the session measures otherwise than this, by less than half.
        let most_result = memory.min(sandbox::most_clone(task.max_output as usize)).saturating_mul(2);
        let deadline = began + timeout;
        let left = deadline.saturating_duration_since(Instant::now());
        task.deadline = (time::now() + left).as_micros() as f64;
        let running = Self {
            id,
            owner,
            deadline,
            began,
            before,
            request,
            tools,
            listener: logging.listener.take(),
            most_length: logging.most_length,
            logs: Logs::new(logging),
            memory,
            most_result,
            answer,
            last_call: 0,
            calls: Calls::new(process, memory),
            // Room for one message of the largest kind.
            budget: Budget::new(memory.saturating_mul(2)),
            begun: false,
            unbegun: None,
            held: None,
        };
        (running, task)
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

    /// Keeps a line if there is room for it.
    pub fn keep(&self, level: &str, line: Vec<u16>) -> bool {
        let room = self.logs.has_room();
        if room {
            self.logs.push(level, line);
        }
        room
    }

    /// Keeps a line of the guest's, and tells who listens.
    pub fn log(&mut self, index: u8, text: Text) -> Step {
        let Some(level) = LEVELS.get(usize::from(index)) else { return Step::Violated("an unknown level") };
        let Some(listener) = &self.listener else {
            self.keep(level, units(&text));
            return Step::Done;
        };
        let Some(charge) = self.admit(text.byte_len()) else { return self.hold(Message::Log(index, text)) };
        // What is not kept is not told.
        if self.keep(level, units(&text)) {
            let args = vec![Value::String(Text::from(*level)), Value::String(text)];
            self.ask(op::CALL, listener, args, Arc::new(Nobody), charge);
        }
        Step::Done
    }

    /// Has the host call a tool.
    pub fn call(&mut self, call: u32, tool: u32, params: Text) -> Step {
        if self.last_call.checked_add(1) != Some(call) {
            return Step::Violated("a call out of turn");
        }
        if self.calls.is_crowded() {
            return Step::Violated("more calls than a guest may wait for");
        }
        let Some(function) = self.tools.get(tool as usize) else { return Step::Violated("a call of nothing") };
        let kept = Charge::take(&self.budget, params.byte_len().saturating_mul(GROWTH));
        let Some((kept, unserved)) = kept.zip(self.admit(0)) else {
            return self.hold(Message::Call(call, tool, params));
        };
        self.last_call = call;
        let answer = self.calls.begin(call, kept);
        self.ask(op::CALL_AWAITED, function, vec![Value::String(params)], answer, unserved);
        Step::Done
    }

    /// Room for another message of so many bytes, if there is.
    fn admit(&self, bytes: usize) -> Option<Charge> {
        // Messages are few, too: each may take the host long.
        Charge::take(&self.budget, bytes.saturating_add(self.memory / MOST_UNSERVED))
    }

    fn ask(&self, op: u32, function: &Arc<Callable>, args: Vec<Value>, answer: Arc<dyn Answer>, charge: Charge) {
        let slot = Arc::clone(&function.slot);
        match Arc::clone(slot.owner()).as_host() {
            Some(host) => {
                let chain = Chain::of_request(self.request);
                host.ask(Request { op, slot, args, asker: None, chain, answer, charge });
            }
            None => answer.answer(Err(ops::malformed())),
        }
    }

    /// The job that this was.
    pub fn retry(self: Box<Self>, sort: Sort, task: Task, pool: usize, surveyors: Vec<Arc<dyn Answer>>) -> Retry {
        self.calls.end();
        let Self { id, owner, deadline, began, request, tools, listener, logs, answer, .. } = *self;
        let logging = Logging { listener, ..logs.into_logging() };
        let timeout = deadline.saturating_duration_since(began);
        let job = Job { sort, again: true, pool, task, timeout, tools, logging, owner, request, answer };
        Retry { id, job, began, surveyors }
    }

    pub fn answer(self: Box<Self>, end: End, signal: Option<i32>) {
        self.calls.end();
        let End { ok, value, code, name, stack, figures: [cpu, heap, lost] } = end;
        let optional = |text: Option<Text>| text.map_or(Value::Undefined, Value::String);
        let (lines, dropped) = self.logs.take();
        let mut list = vec![
            Value::Boolean(ok),
            value,
            optional(code.map(|code| Text::from(code.name()))),
            optional(name),
            optional(stack),
            Value::Number(cpu),
            Value::Number(self.began.elapsed().as_nanos() as f64),
            Value::Number(heap),
            Value::Number(f64::from(self.last_call)),
            Value::Number(lost.max(f64::from(dropped))),
            signal.map_or(Value::Undefined, |signal| Value::Number(f64::from(signal))),
        ];
        list.extend(lines.into_iter().map(Value::String));
        self.answer.answer(Ok(Value::List(list)));
    }
}

fn units(text: &Text) -> Vec<u16> {
    match text {
        Text::Latin1(bytes) => bytes.iter().map(|byte| u16::from(*byte)).collect(),
        Text::Utf16(units) => units.to_vec(),
    }
}

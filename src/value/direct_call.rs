//! A call of a host by a guest that runs on the host's own thread. Nothing is sent: both look at the same record in turn.

use std::cell::Cell;
use std::mem;

use super::{Awaited, Outcome, Payload, Text, Value};

/// The record is used for one call after another. It begins with a line of the processor's cache, so that its place in memory does not matter.
#[derive(Default)]
#[repr(align(64))]
pub struct DirectCall {
    pub op: u32,
    /// The guest may see the locations of the host's code.
    pub shows_stacks: bool,
    /// The host, and the number of its slot. The guest holds the slot until it has the answer.
    pub host: u64,
    pub slot: u32,
    /// How the result of a Reference's function is transferred.
    pub bits: u32,
    /// A primitive.
    pub receiver: Option<Value>,
    /// Primitives, and small payloads without a table.
    pub args: Vec<Value>,
    /// The asynchronous call on whose behalf the guest asks; 0 for none.
    pub request: i64,
    /// The isolate that asks.
    pub requester: u64,
    state: Cell<State>,
    outcome: Cell<Option<Outcome>>,
    /// Memory for a short argument and a short result.
    pub argument_memory: Cell<Vec<u8>>,
    pub result_memory: Cell<Vec<u8>>,
    /// Memory for a short list as an argument, and for a small object as the result.
    pub argument_payload: Cell<Option<Box<Payload>>>,
    pub result_payload: Cell<Option<Box<Payload>>>,
}

/// The largest memory that is kept, in bytes.
const MAX_MEMORY: usize = 256;
const MAX_PAYLOAD: usize = 4096;

/// Keeps the memory of a short text for another one.
#[inline]
fn keep(memory: &Cell<Vec<u8>>, value: &mut Value) {
    if let Value::String(Text::Latin1(bytes)) = value
        && bytes.capacity() <= MAX_MEMORY
    {
        memory.set(mem::take(bytes));
    }
}

/// The same with the memory of a small value without a table.
#[inline]
fn keep_payload(memory: &Cell<Option<Box<Payload>>>, payload: Box<Payload>) {
    if payload.table.is_empty() && payload.bytes.capacity() <= MAX_PAYLOAD {
        memory.set(Some(payload));
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// The guest no longer waits.
    Over,
    /// There is an outcome.
    Answered,
    /// The host has called nothing: it needs a request.
    Refused,
}

impl DirectCall {
    pub const MAX_ARGS: usize = 10;

    /// Prepares it for another call.
    #[inline]
    pub fn reset(&mut self) {
        self.receiver = None;
        for value in &mut self.args {
            match value {
                Value::Number(_) => {}
                Value::Payload(_) => {
                    if let Value::Payload(payload) = mem::replace(value, Value::Undefined) {
                        keep_payload(&self.argument_payload, payload);
                    }
                }
                _ => keep(&self.argument_memory, value),
            }
        }
        self.args.clear();
        self.state.set(State::Open);
        self.outcome.take();
    }

    /// Answers it; `None` if it must be a request.
    #[inline]
    pub fn answer(&self, outcome: Option<Outcome>) {
        if !self.is_over() {
            self.state.set(if outcome.is_some() { State::Answered } else { State::Refused });
            self.outcome.set(outcome);
        }
    }

    /// The guest has read this result.
    #[inline]
    pub fn keep_result(&self, mut value: Value) {
        if let Value::Payload(payload) = value {
            keep_payload(&self.result_payload, payload);
            return;
        }
        keep(&self.result_memory, &mut value);
    }

    /// Whether nothing waits for the answer any more.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.state.get() == State::Over
    }

    /// Whether it must be a request.
    #[inline]
    pub fn is_refused(&self) -> bool {
        self.state.get() == State::Refused
    }
}

impl Awaited for DirectCall {
    #[inline]
    fn take(&self) -> Option<Outcome> {
        match self.state.get() {
            State::Answered => {
                self.state.set(State::Over);
                self.outcome.take()
            }
            State::Refused => Some(Ok(Value::Undefined)),
            State::Open | State::Over => None,
        }
    }

    fn give_up(&self) {
        self.state.set(State::Over);
    }
}

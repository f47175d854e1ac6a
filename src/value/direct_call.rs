//! A call of a host by a guest that runs on the host's own thread. Nothing is sent: both look at the same record in turn.

use std::cell::{Cell, RefCell};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use super::{Awaited, Fault, Outcome, Payload, Text, Value};

/// An argument of a call.
#[derive(Clone)]
pub enum Argument {
    Number(f64),
    /// A short text in `bytes` of the memory, one byte per character.
    OneByte(Range<usize>),
    /// A short text in its `units`.
    TwoByte(Range<usize>),
    /// A small object without a table in its `bytes`, serialized.
    Small(Range<usize>),
    /// Another primitive, or a small payload without a table: its place in its `values`.
    Value(usize),
}

/// What the arguments of a call refer to.
#[derive(Default)]
pub struct ArgumentMemory {
    pub bytes: Vec<u8>,
    pub units: Vec<u16>,
    pub values: Vec<Value>,
}

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
    pub args: Vec<Argument>,
    pub memory: ArgumentMemory,
    /// The asynchronous call on whose behalf the guest asks; 0 for none.
    pub request: i64,
    /// The isolate that asks.
    pub requester: u64,
    state: Cell<State>,
    number: Cell<f64>,
    /// The characters of a short text, or a small object without a table.
    result: RefCell<Vec<u8>>,
    outcome: Cell<Option<Outcome>>,
}

/// The largest memory that is kept for another call.
const MAX_KEPT: usize = 4096;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// The guest no longer waits.
    Over,
    /// The result is in `number`.
    Number,
    /// The result is a short text in `result`, one byte per character.
    Text,
    /// The result is a small object in `result`, serialized.
    Small,
    /// There is an outcome.
    Answered,
    /// The host has called nothing: it needs a request.
    Refused,
}

/// What the host has answered.
pub enum Answer {
    Number(f64),
    /// See [`DirectCall::with_result`].
    Text,
    Small,
    Value(Value),
    /// The call must be a request.
    Refused,
}

/// What the host gives as an answer.
pub enum Answered {
    Number(f64),
    /// Written by [`DirectCall::write_result`].
    Text,
    Small,
    Outcome(Outcome),
    /// It needs a request.
    Refused,
}

impl DirectCall {
    pub const MAX_ARGS: usize = 10;

    /// Characters of a short text.
    pub const MAX_TEXT: usize = 255;

    /// Prepares it for another call.
    #[inline]
    pub fn reset(&mut self) {
        self.receiver = None;
        self.args.clear();
        self.memory.bytes.clear();
        self.memory.units.clear();
        if !self.memory.values.is_empty() {
            self.memory.values.clear();
        }
        if matches!(self.state.replace(State::Open), State::Answered | State::Over) {
            self.outcome.take();
        }
        if self.memory.bytes.capacity() > MAX_KEPT {
            self.memory.bytes = Vec::new();
        }
        if self.result.get_mut().capacity() > MAX_KEPT {
            self.result.take();
        }
    }

    #[inline]
    pub fn push_one_byte(&mut self, characters: &[u8]) {
        let start = self.memory.bytes.len();
        self.memory.bytes.extend_from_slice(characters);
        self.args.push(Argument::OneByte(start..self.memory.bytes.len()));
    }

    #[inline]
    pub fn push_two_byte(&mut self, characters: &[u16]) {
        let start = self.memory.units.len();
        self.memory.units.extend_from_slice(characters);
        self.args.push(Argument::TwoByte(start..self.memory.units.len()));
    }

    pub fn push_value(&mut self, value: Value) {
        self.args.push(Argument::Value(self.memory.values.len()));
        self.memory.values.push(value);
    }

    /// Bytes that the arguments take.
    pub fn byte_size(&self) -> usize {
        let values: usize = self.memory.values.iter().map(Value::byte_size).sum();
        self.args.len() * size_of::<Value>() + self.memory.bytes.len() + self.memory.units.len() * 2 + values
    }

    /// The arguments as values, of which those in the memory are taken.
    pub fn take_values(&mut self) -> Vec<Value> {
        let mut values = mem::take(&mut self.memory.values);
        self.values_with(|place| Some(mem::replace(values.get_mut(place)?, Value::Undefined)))
    }

    /// The arguments as values.
    pub fn copied_values(&self) -> Vec<Value> {
        self.values_with(|place| self.memory.values.get(place).cloned())
    }

    fn values_with(&self, mut value: impl FnMut(usize) -> Option<Value>) -> Vec<Value> {
        let bytes = |range: &Range<usize>| self.memory.bytes.get(range.clone()).unwrap_or_default().to_vec();
        let value_of = |argument: &Argument| match argument {
            Argument::Number(number) => Value::Number(*number),
            Argument::OneByte(range) => Value::String(Text::Latin1(bytes(range))),
            Argument::TwoByte(range) => {
                Value::String(Text::from_utf16(self.memory.units.get(range.clone()).unwrap_or_default().to_vec()))
            }
            Argument::Small(range) => Value::Payload(Box::new(Payload::without_table(bytes(range)))),
            Argument::Value(place) => value(*place).unwrap_or(Value::Undefined),
        };
        self.args.iter().map(value_of).collect()
    }

    /// Writes a result for [`Answered::Text`] or [`Answered::Small`].
    #[inline]
    pub fn write_result<T>(&self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        match self.result.try_borrow_mut() {
            Ok(mut result) => write(&mut result),
            // Nothing reads a result while another one is written.
            Err(_) => write(&mut Vec::new()),
        }
    }

    /// Reads a result.
    #[inline]
    pub fn with_result<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        match self.result.try_borrow() {
            Ok(result) => read(&result),
            Err(_) => read(&[]),
        }
    }

    /// Takes a result out of its memory.
    pub fn take_result(&self) -> Payload {
        Payload::without_table(self.result.take())
    }

    #[inline]
    pub fn answer(&self, answered: Answered) {
        if self.is_over() {
            return;
        }
        self.state.set(match answered {
            Answered::Number(number) => {
                self.number.set(number);
                State::Number
            }
            Answered::Text => State::Text,
            Answered::Small => State::Small,
            Answered::Outcome(outcome) => {
                self.outcome.set(Some(outcome));
                State::Answered
            }
            Answered::Refused => State::Refused,
        });
    }

    /// Whether nothing waits for the answer any more.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.state.get() == State::Over
    }
}

impl Payload {
    /// A value that refers to nothing.
    pub fn without_table(bytes: Vec<u8>) -> Self {
        Self { bytes: Arc::new(bytes), table: Vec::new(), moved: false }
    }
}

impl Awaited for DirectCall {
    type Answer = Answer;

    #[inline]
    fn take(&self) -> Option<Result<Answer, Fault>> {
        let state = self.state.get();
        if state == State::Open || state == State::Over {
            return None;
        }
        Some(Ok(match state {
            State::Number => Answer::Number(self.number.get()),
            State::Text => Answer::Text,
            State::Small => Answer::Small,
            State::Answered => match self.outcome.take()? {
                Ok(value) => Answer::Value(value),
                Err(fault) => return Some(Err(fault)),
            },
            State::Open | State::Over | State::Refused => Answer::Refused,
        }))
    }

    fn give_up(&self) {
        self.state.set(State::Over);
    }
}

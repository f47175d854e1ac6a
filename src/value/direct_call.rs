//! A call of a host by a guest that runs on the host's own thread. Nothing is sent: both look at the same record in turn.

use std::cell::Cell;
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
    result: Cell<Vec<u8>>,
    other: Cell<Option<Outcome>>,
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
    /// There is another value, or a fault.
    Other,
    /// The host has called nothing: it needs a request.
    Refused,
}

/// What the host answers.
pub enum Answer {
    Number(f64),
    /// Written by [`DirectCall::write_result`], and read by [`DirectCall::with_result`].
    Text,
    /// The same.
    Small,
    Value(Value),
    /// The host has called nothing: the call must be a request.
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
        if matches!(self.state.replace(State::Open), State::Other | State::Over) {
            self.other.take();
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

    /// Takes the arguments as values.
    pub fn take_values(&mut self) -> Vec<Value> {
        let mut values = mem::take(&mut self.memory.values);
        let mut value = |place: usize| Some(mem::replace(values.get_mut(place)?, Value::Undefined));
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

    /// Writes a result for [`Answer::Text`] or [`Answer::Small`].
    #[inline]
    pub fn write_result<T>(&self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let mut result = self.result.take();
        let written = write(&mut result);
        self.result.set(result);
        written
    }

    /// Reads a result.
    #[inline]
    pub fn with_result<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        let result = self.result.take();
        let value = read(&result);
        self.result.set(result);
        value
    }

    /// Takes a result out of its memory.
    pub fn take_result(&self) -> Payload {
        Payload::without_table(self.result.take())
    }

    #[inline]
    pub fn answer(&self, answer: Result<Answer, Fault>) {
        if self.is_over() {
            return;
        }
        let other = match answer {
            Ok(Answer::Number(number)) => {
                self.number.set(number);
                return self.state.set(State::Number);
            }
            Ok(Answer::Text) => return self.state.set(State::Text),
            Ok(Answer::Small) => return self.state.set(State::Small),
            Ok(Answer::Refused) => return self.state.set(State::Refused),
            Ok(Answer::Value(value)) => Ok(value),
            Err(fault) => Err(fault),
        };
        self.other.set(Some(other));
        self.state.set(State::Other);
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
        Some(match self.state.get() {
            State::Open | State::Over => return None,
            State::Number => Ok(Answer::Number(self.number.get())),
            State::Text => Ok(Answer::Text),
            State::Small => Ok(Answer::Small),
            State::Other => self.other.take()?.map(Answer::Value),
            State::Refused => Ok(Answer::Refused),
        })
    }

    fn give_up(&self) {
        self.state.set(State::Over);
    }
}

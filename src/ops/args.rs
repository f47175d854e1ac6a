//! Arguments of an operation, in the order of the operation table. The surface has checked them. A wrong argument here is a bug of the
//! surface, and becomes an error, never a panic.

use std::sync::Arc;
use std::time::Duration;

use crate::isolate::{Limits, Settings, default_limits};
use crate::protocol;
use crate::value::{Callable, Fault, Handle, Reference, Text, Value};

/// Memory limit in bytes of an isolate for which no limit was given.
pub const DEFAULT_MEMORY: usize = 128 << 20;
const MIN_MEMORY: usize = (protocol::MIN_MEMORY as usize) << 20;

pub struct Args(std::vec::IntoIter<Value>);

impl Args {
    pub fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    /// The next argument; `undefined` if there is none.
    pub fn value(&mut self) -> Value {
        self.0.next().unwrap_or(Value::Undefined)
    }

    /// All remaining arguments.
    pub fn rest(self) -> Vec<Value> {
        self.0.collect()
    }

    /// The next argument as a number; 0 for `undefined`.
    pub fn number(&mut self) -> Result<f64, Fault> {
        number(self.value())
    }

    pub fn boolean(&mut self) -> bool {
        matches!(self.value(), Value::Boolean(true))
    }

    pub fn text(&mut self) -> Result<Text, Fault> {
        optional_text(self.value())?.ok_or_else(malformed)
    }

    pub fn optional_text(&mut self) -> Result<Option<Text>, Fault> {
        optional_text(self.value())
    }

    pub fn optional_function(&mut self) -> Result<Option<Arc<Callable>>, Fault> {
        optional_function(self.value())
    }

    /// `timeout` and `deadline` in milliseconds. If one is absent or zero, the engine's default for calls applies. A negative number means
    /// no limit.
    pub fn limits(&mut self) -> Result<Limits, Fault> {
        let [timeout, deadline] = default_limits();
        let timeout = limit(self.number()?, timeout);
        let deadline = limit(self.number()?, deadline);
        Ok(Limits::new(timeout, deadline))
    }

    /// A memory limit in megabytes. Without a limit of its own, an isolate gets no more memory than its creator, which has `settings`.
    pub fn memory_limit(&mut self, settings: &Settings) -> Result<usize, Fault> {
        // The cast saturates.
        Ok(match (self.number()? as usize).saturating_mul(1 << 20) {
            0 => DEFAULT_MEMORY.min(settings.memory_limit),
            bytes => bytes.max(MIN_MEMORY),
        })
    }
}

/// Arguments with names: each is at the index that the protocol declares for its name.
pub struct Record(Vec<Value>);

impl Record {
    pub fn new(values: Vec<Value>) -> Self {
        Self(values)
    }

    /// A field, which is taken out; `undefined` if there is none.
    pub fn value(&mut self, index: u32) -> Value {
        self.0.get_mut(index as usize).map_or(Value::Undefined, |value| std::mem::replace(value, Value::Undefined))
    }

    /// 0 for `undefined`.
    pub fn number(&mut self, index: u32) -> Result<f64, Fault> {
        number(self.value(index))
    }

    pub fn text(&mut self, index: u32) -> Result<Text, Fault> {
        self.optional_text(index)?.ok_or_else(malformed)
    }

    pub fn optional_text(&mut self, index: u32) -> Result<Option<Text>, Fault> {
        optional_text(self.value(index))
    }

    pub fn optional_function(&mut self, index: u32) -> Result<Option<Arc<Callable>>, Fault> {
        optional_function(self.value(index))
    }

    pub fn list(&mut self, index: u32) -> Result<Vec<Value>, Fault> {
        match self.value(index) {
            Value::List(values) => Ok(values),
            _ => Err(malformed()),
        }
    }

    /// A number of milliseconds.
    pub fn duration(&mut self, index: u32) -> Result<Duration, Fault> {
        Duration::try_from_secs_f64(self.number(index)? / 1_000.0).map_err(|_| malformed())
    }
}

fn number(value: Value) -> Result<f64, Fault> {
    match value {
        Value::Number(number) => Ok(number),
        Value::Undefined => Ok(0.0),
        _ => Err(malformed()),
    }
}

fn optional_text(value: Value) -> Result<Option<Text>, Fault> {
    match value {
        Value::String(text) => Ok(Some(text)),
        Value::Undefined => Ok(None),
        _ => Err(malformed()),
    }
}

fn optional_function(value: Value) -> Result<Option<Arc<Callable>>, Fault> {
    match value {
        Value::Function(function) => Ok(Some(function)),
        Value::Undefined => Ok(None),
        _ => Err(malformed()),
    }
}

fn limit(number: f64, default: Option<Duration>) -> Option<Duration> {
    if number == 0.0 { default } else { milliseconds(number) }
}

/// `None` if the number is not a positive duration.
pub fn milliseconds(number: f64) -> Option<Duration> {
    (number > 0.0).then(|| Duration::try_from_secs_f64(number / 1_000.0).ok()).flatten()
}

/// The surface passed something that the table does not allow.
pub fn malformed() -> Fault {
    Fault::invalid("Malformed operation")
}

/// The reference that an operation applies to.
pub fn reference_of(target: Option<Value>) -> Result<Arc<Reference>, Fault> {
    match target {
        Some(Value::Handle(Handle::Reference(reference))) => Ok(reference),
        _ => Err(malformed()),
    }
}

//! Arguments of an operation, in the order of the operation table. The surface has checked them. A wrong argument here is a bug of the
//! surface, and becomes an error, never a panic.

use std::sync::Arc;
use std::time::Duration;

use crate::isolate::{Limits, Policy};
use crate::value::{Callable, Fault, Handle, Reference, Text, Value};

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
        match self.value() {
            Value::Number(number) => Ok(number),
            Value::Undefined => Ok(0.0),
            _ => Err(malformed()),
        }
    }

    pub fn boolean(&mut self) -> bool {
        matches!(self.value(), Value::Boolean(true))
    }

    pub fn text(&mut self) -> Result<Text, Fault> {
        match self.value() {
            Value::String(text) => Ok(text),
            _ => Err(malformed()),
        }
    }

    pub fn optional_text(&mut self) -> Result<Option<Text>, Fault> {
        match self.value() {
            Value::String(text) => Ok(Some(text)),
            Value::Undefined => Ok(None),
            _ => Err(malformed()),
        }
    }

    pub fn optional_function(&mut self) -> Result<Option<Arc<Callable>>, Fault> {
        match self.value() {
            Value::Function(function) => Ok(Some(function)),
            Value::Undefined => Ok(None),
            _ => Err(malformed()),
        }
    }

    /// `timeout` and `deadline` in milliseconds. If one is absent or zero, the engine's default for calls applies. A negative number means
    /// no limit.
    pub fn limits(&mut self) -> Result<Limits, Fault> {
        let Policy { timeout, deadline, .. } = Policy::current();
        let timeout = limit(self.number()?, timeout);
        let deadline = limit(self.number()?, deadline);
        Ok(Limits::new(timeout, deadline))
    }
}

fn limit(number: f64, unsaid: Option<Duration>) -> Option<Duration> {
    if number == 0.0 { unsaid } else { milliseconds(number) }
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

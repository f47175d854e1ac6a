//! Arguments of an operation, in the order of the table. The surface has checked them; what is wrong here is a bug of
//! the surface and becomes an error, never a panic.

use std::sync::Arc;
use std::time::Duration;

use crate::isolate::{Limits, Policy};
use crate::value::{Callable, Fault, Handle, Reference, Text, Value};

pub struct Args(std::vec::IntoIter<Value>);

impl Args {
    pub fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    /// The next argument; `undefined` where there is none.
    pub fn value(&mut self) -> Value {
        self.0.next().unwrap_or(Value::Undefined)
    }

    /// All that are left.
    pub fn rest(self) -> Vec<Value> {
        self.0.collect()
    }

    /// The next one as a number; 0 for `undefined`.
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

    /// `timeout` and `deadline` in milliseconds. None or zero is what the engine has for calls that say nothing, less is no limit.
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

/// None for no time at all.
pub fn milliseconds(number: f64) -> Option<Duration> {
    (number > 0.0).then(|| Duration::try_from_secs_f64(number / 1_000.0).ok()).flatten()
}

/// The surface passed something the table does not foresee.
pub fn malformed() -> Fault {
    Fault::invalid("Malformed operation")
}

/// The reference an operation is about.
pub fn reference_of(target: Option<Value>) -> Result<Arc<Reference>, Fault> {
    match target {
        Some(Value::Handle(Handle::Reference(reference))) => Ok(reference),
        _ => Err(malformed()),
    }
}

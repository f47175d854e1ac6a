//! How an execution ended, as its host gets it: a list, which `RESULT` declares.

use crate::ops::Record;
use crate::protocol::result;
use crate::value::{Code, Details, ErrorFault, Fault, Outcome, Text, Value};

/// How an execution ended.
pub struct ExecutionResult {
    pub ok: bool,
    /// The result, or the message of a failure.
    pub value: Value,
    /// A failure's code, name and stack frames.
    pub code: Option<Code>,
    pub name: Option<Text>,
    pub stack: Option<Text>,
    pub details: Option<Box<Details>>,
    /// Processor time and wall-clock time, in nanoseconds.
    pub cpu: u128,
    pub wall: u128,
    /// Bytes.
    pub heap_peak: f64,
    pub host_calls: u32,
    /// Log lines that were not kept.
    pub lost: f64,
    /// The signal that ended the process of the execution, and the active layers of its confinement.
    pub signal: Option<i32>,
    pub layers: Option<Text>,
    pub lines: Vec<Text>,
}

impl From<ExecutionResult> for Value {
    fn from(ended: ExecutionResult) -> Self {
        let text = |text: Option<Text>| text.map_or(Value::Undefined, Value::String);
        let mut list = vec![Value::Undefined; result::LOGS as usize];
        for (index, value) in [
            (result::OK, Value::Boolean(ended.ok)),
            (result::VALUE, ended.value),
            (result::CODE, text(ended.code.map(|code| Text::from(code.name())))),
            (result::NAME, text(ended.name)),
            (result::STACK, text(ended.stack)),
            (result::CPU, Value::Number(ended.cpu as f64)),
            (result::WALL, Value::Number(ended.wall as f64)),
            (result::HEAP_PEAK, Value::Number(ended.heap_peak)),
            (result::HOST_CALLS, Value::Number(f64::from(ended.host_calls))),
            (result::LOST, Value::Number(ended.lost)),
            (result::SIGNAL, ended.signal.map_or(Value::Undefined, |signal| Value::Number(f64::from(signal)))),
            (result::LAYERS, text(ended.layers)),
            (result::DETAILS, ended.details.map_or(Value::Undefined, |details| details.into_value())),
        ] {
            list[index as usize] = value;
        }
        list.extend(ended.lines.into_iter().map(Value::String));
        Value::List(list)
    }
}

impl ExecutionResult {
    /// An execution that returned this value, or failed, of which nothing else is known yet.
    pub fn of(outcome: Outcome) -> Self {
        let (ok, value, code, name, stack, details) = match outcome {
            Ok(value) => (true, value, None, None, None, None),
            Err(Fault::Thrown(value)) => {
                (false, Value::String(Text::from(beginning(&value.describe()))), None, None, None, None)
            }
            Err(Fault::Error(error)) => {
                let ErrorFault { class, name, message, stack, code, details } = *error;
                let name = name.unwrap_or_else(|| Text::from(class.name()));
                (false, Value::String(message), code, Some(name), Some(stack), details)
            }
            Err(Fault::Stopped) => {
                let message = Value::String(Text::from("Execution was terminated"));
                (false, message, Some(Code::Disposed), Some(Text::from("Error")), None, None)
            }
        };
        Self {
            ok,
            value,
            code,
            name,
            stack,
            details,
            cpu: 0,
            wall: 0,
            heap_peak: 0.0,
            host_calls: 0,
            lost: 0.0,
            signal: None,
            layers: None,
            lines: Vec::new(),
        }
    }

    /// The result that [`Value::from`] made a list of, without its log lines.
    pub fn read(list: Value) -> Option<Self> {
        let Value::List(list) = list else { return None };
        let mut record = Record::new(list);
        let Value::Boolean(ok) = record.value(result::OK) else { return None };
        Some(Self {
            ok,
            value: record.value(result::VALUE),
            code: record.optional_text(result::CODE).ok()?.and_then(|code| Code::named(&code.to_string())),
            name: record.optional_text(result::NAME).ok()?,
            stack: record.optional_text(result::STACK).ok()?,
            details: Details::from_value(record.value(result::DETAILS)),
            cpu: record.number(result::CPU).ok()? as u128,
            wall: record.number(result::WALL).ok()? as u128,
            heap_peak: record.number(result::HEAP_PEAK).ok()?,
            host_calls: record.number(result::HOST_CALLS).ok()? as u32,
            lost: record.number(result::LOST).ok()?,
            signal: None,
            layers: None,
            lines: Vec::new(),
        })
    }
}

/// The maximum number of characters of a thrown value in messages, the same as for an error's message.
const MAX_THROWN: usize = 1 << 20;

fn beginning(text: &str) -> &str {
    text.char_indices().nth(MAX_THROWN).map_or(text, |(end, _)| &text[..end])
}

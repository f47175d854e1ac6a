//! The frames that parent and child exchange. A frame is its length (4 bytes, little-endian, of all that follows), its kind (one byte) and
//! its contents. A child gets [`Order`]s and sends [`Message`]s.
//!
//! The parent trusts nothing that a child sends. [`Limits`] has the maximum of every field of every message, and the parent enforces them
//! while it reads. A child keeps to the same limits ([`End::fitted`]), so anything that exceeds one was not sent by our code.

use isolated_v8_launcher::{Report, handover};

use super::codec::{Reader, Writer};
use crate::protocol::{self, MAX_DETAILS};
use crate::sandbox::{self, Sources, UserCode};
use crate::value::{Code, Details, DetailsRoom, ErrorClass, Outcome, Text, Value};

mod kind {
    pub const RUN: u8 = 1;
    pub const ANSWER: u8 = 2;
    pub const SNAPSHOT: u8 = 3;
    pub const AWAITED: u8 = 4;

    pub const READY: u8 = 16;
    pub const LOG: u8 = 17;
    pub const CALL: u8 = 18;
    pub const END: u8 = 19;
    pub const BEGUN: u8 = 21;
}

/// Bytes of the length before a frame's contents.
pub const HEADER: usize = 4;

/// The one execution that a child runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub code: Text,
    /// Where the code begins, as its author counts.
    pub line: i32,
    pub column: i32,
    /// The deadline, in microseconds of the machine's monotonic clock.
    pub deadline: f64,
    pub max_output: f64,
    pub max_lines: u32,
    pub max_length: u32,
    /// The modules that can be imported, and the code as a module.
    pub modules: Option<(Sources, UserCode)>,
    /// The tools: the names under which the guest finds each, and its index.
    pub tools: Vec<(Text, Text, u32)>,
}

/// To the child.
#[derive(Debug)]
pub enum Order {
    /// The sealed snapshot that executions start from (`crate::engine::Snapshot`). Only as the first order.
    Snapshot(Vec<u8>),
    /// An execution waits for the child to be ready. The parent sends no code until it has checked the child's confinement.
    Awaited,
    Run(Task),
    /// The outcome of a call.
    Reply(u32, Outcome),
}

/// From the child.
#[derive(Debug)]
pub enum Message {
    /// The child continues as the process with this id. Only as the first message.
    Moved(u32),
    /// The child is ready for a task, and reports which layers of its confinement hold.
    Ready(Report),
    /// The guest is about to run.
    Begun,
    /// A line for the log, and the index of its level.
    Log(u8, Text),
    /// The guest calls a tool: the call's number, the tool's index, and its params as JSON.
    Call(u32, u32, Text),
    End(Box<End>),
}

/// How an execution has ended.
#[derive(Debug)]
pub struct End {
    pub ok: bool,
    /// The result, or the message of a failure.
    pub value: Value,
    pub code: Option<Code>,
    pub name: Option<Text>,
    pub stack: Option<Text>,
    pub details: Option<Box<Details>>,
    /// The heap's peak in bytes, and the number of lines that were not kept. The parent measures the rest itself.
    pub figures: [f64; 2],
}

fn framed(kind: u8, write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer(vec![0; HEADER]);
    writer.byte(kind);
    write(&mut writer);
    let mut frame = writer.0;
    let length = u32::try_from(frame.len() - HEADER).unwrap_or(u32::MAX);
    frame[..HEADER].copy_from_slice(&length.to_le_bytes());
    frame
}

impl Task {
    fn write(&self, writer: &mut Writer) {
        writer.text(&self.code);
        for number in [self.line, self.column] {
            writer.number(f64::from(number));
        }
        writer.number(self.deadline);
        writer.number(self.max_output);
        writer.count(self.max_lines as usize);
        writer.count(self.max_length as usize);
        writer.optional_text(self.modules.as_ref().map(|(sources, _)| &sources.index));
        if let Some((sources, main)) = &self.modules {
            writer.text(&sources.text);
            writer.text(&main.text);
            [main.line, main.column].into_iter().for_each(|number| writer.number(f64::from(number)));
        }
        writer.count(self.tools.len());
        for (namespace, method, index) in &self.tools {
            writer.text(namespace);
            writer.text(method);
            writer.count(*index as usize);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let code = reader.text()?;
        let (line, column) = (reader.number()? as i32, reader.number()? as i32);
        let (deadline, max_output) = (reader.number()?, reader.number()?);
        let (max_lines, max_length) = (reader.count()?, reader.count()?);
        let modules = match reader.optional_text()? {
            Some(index) => {
                let (text, main) = (reader.text()?, reader.text()?);
                let (line, column) = (reader.number()? as i32, reader.number()? as i32);
                Some((Sources { index, text }, UserCode { text: main, line, column }))
            }
            None => None,
        };
        let mut tools = Vec::new();
        for _ in 0..reader.count()? {
            tools.push((reader.text()?, reader.text()?, reader.count()?));
        }
        Some(Self { code, line, column, deadline, max_output, max_lines, max_length, modules, tools })
    }
}

/// The bytes of an [`Order::Snapshot`] before the `length` bytes of the snapshot, which end the frame.
pub fn snapshot_head(length: usize) -> Vec<u8> {
    const KIND_AND_COUNT: usize = 5;
    let mut writer = Writer::default();
    writer.count(length.saturating_add(KIND_AND_COUNT));
    writer.byte(kind::SNAPSHOT);
    writer.count(length);
    writer.0
}

impl Order {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Order::Snapshot(sealed) => [snapshot_head(sealed.len()).as_slice(), sealed].concat(),
            Order::Awaited => framed(kind::AWAITED, |_| {}),
            Order::Run(task) => framed(kind::RUN, |writer| task.write(writer)),
            Order::Reply(call, outcome) => framed(kind::ANSWER, |writer| {
                writer.count(*call as usize);
                writer.outcome(outcome);
            }),
        }
    }

    /// Decodes the contents of a frame, including its kind.
    pub fn decode(contents: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(contents);
        let order = match reader.byte()? {
            kind::SNAPSHOT => Order::Snapshot(reader.bytes()?.to_vec()),
            kind::AWAITED => Order::Awaited,
            kind::RUN => Order::Run(Task::read(&mut reader)?),
            kind::ANSWER => Order::Reply(reader.count()?, reader.outcome()?),
            _ => return None,
        };
        reader.is_empty().then_some(order)
    }
}

/// Whether these are the contents of a [`Message::End`].
pub fn is_end(contents: &[u8]) -> bool {
    contents.first() == Some(&kind::END)
}

impl Message {
    /// Encodes a message. A value that cannot leave its process makes the execution fail.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Message::Moved(process) => handover::message(*process).to_vec(),
            Message::Ready(report) => framed(kind::READY, |writer| writer.bytes(report.encode().as_bytes())),
            Message::Begun => framed(kind::BEGUN, |_| {}),
            Message::Log(level, text) => framed(kind::LOG, |writer| {
                writer.byte(*level);
                writer.text(text);
            }),
            Message::Call(call, tool, params) => framed(kind::CALL, |writer| {
                writer.count(*call as usize);
                writer.count(*tool as usize);
                writer.text(params);
            }),
            Message::End(end) => framed(kind::END, |writer| end.write(writer)),
        }
    }

    /// Decodes the contents of a frame, including its kind. Refuses bytes that [`Message::encode`] does not make, and fields beyond the
    /// limits.
    pub fn decode(contents: &[u8], limits: &Limits) -> Option<Self> {
        let (kind, contents) = contents.split_first()?;
        let mut reader = Reader::limited(contents, limits.memory(*kind));
        let message = match *kind {
            handover::KIND => Message::Moved(reader.count()?),
            kind::READY => {
                let text = std::str::from_utf8(reader.bytes()?).ok()?;
                Message::Ready(Report::decode(text)?)
            }
            kind::BEGUN => Message::Begun,
            kind::LOG => {
                let level = reader.byte().filter(|level| *level < LEVELS)?;
                Message::Log(level, reader.text().filter(|text| text.len() <= limits.line)?)
            }
            kind::CALL => {
                let (call, tool) = (reader.count()?, reader.count().filter(|tool| *tool < limits.tools)?);
                Message::Call(call, tool, reader.text().filter(|params| params.byte_len() <= limits.params)?)
            }
            kind::END => Message::End(Box::new(End::read(&mut reader, limits)?)),
            _ => return None,
        };
        reader.is_empty().then_some(message)
    }
}

impl End {
    fn write(&self, writer: &mut Writer) {
        let start = writer.0.len();
        writer.byte(u8::from(self.ok));
        let (mut value, mut end) = (&self.value, None);
        if let Err(crate::value::Fault::Error(refusal)) = writer.value(value) {
            writer.0.truncate(start);
            writer.byte(0);
            let refused = end.insert((Value::String(refusal.message), Text::from(refusal.class.name())));
            value = &refused.0;
            // Writing a text never fails.
            let _ = writer.value(value);
            writer.optional_text(Some(&Text::from(Code::Transfer.name())));
            writer.optional_text(Some(&refused.1));
            writer.optional_text(None);
            writer.details(None);
        } else {
            writer.optional_text(self.code.map(|code| Text::from(code.name())).as_ref());
            writer.optional_text(self.name.as_ref());
            writer.optional_text(self.stack.as_ref());
            writer.details(self.details.as_deref());
        }
        self.figures.iter().for_each(|figure| writer.number(*figure));
    }

    /// The same end within the limits. Texts are truncated; a value that is too large becomes a failure.
    pub fn fitted(self, limits: &Limits) -> Self {
        let size = if self.ok { self.value.byte_size() } else { 0 };
        if size > limits.result {
            let message = format!("Result takes {size} bytes in the host, more than {}", limits.result);
            return Self {
                ok: false,
                value: Value::String(Text::from(message)),
                code: Some(Code::Limit),
                name: Some(Text::from(ErrorClass::RangeError.name())),
                stack: None,
                details: None,
                figures: self.figures,
            };
        }
        let cut = |text: Text| if text.len() > limits.text { text.beginning(limits.text) } else { text };
        let value = match self.value {
            Value::String(text) if !self.ok => Value::String(cut(text)),
            value => value,
        };
        let code = self.code.filter(|code| is_of_child(*code));
        let [heap, lost] = self.figures;
        let figures = [heap.min(limits.heap), lost];
        let (name, stack) = (self.name.map(cut), self.stack.map(cut));
        Self { ok: self.ok, value, code, name, stack, details: self.details, figures }
    }

    fn read(reader: &mut Reader<'_>, limits: &Limits) -> Option<Self> {
        let ok = reader.boolean()?;
        let fits = |text: &Text| text.len() <= limits.text;
        let value = if ok { reader.value()? } else { reader.string().filter(fits).map(Value::String)? };
        let code = reader.optional_code()?;
        let mut text = || reader.optional_text().filter(|text| text.as_ref().is_none_or(fits));
        let (name, stack) = (text()?, text()?);
        let details = reader.details(&mut DetailsRoom::default())?;
        let mut figures = [0.0; 2];
        for (figure, most) in figures.iter_mut().zip([limits.heap, f64::from(u32::MAX)]) {
            *figure = reader.number().filter(|number| (0.0..=most).contains(number) && number.fract() == 0.0)?;
        }
        // A result has no fields of a failure, and a child may not claim every code.
        let whole = if ok {
            (&code, &name, &stack) == (&None, &None, &None) && details.is_none() && value.byte_size() <= limits.result
        } else {
            code.is_none_or(is_of_child)
        };
        whole.then_some(Self { ok, value, code, name, stack, details, figures })
    }
}

/// Whether a child may claim this code. Only the host can know the others: it ends processes, and sees how they end. It checks a claimed
/// deadline against its own clock (`Running::may_claim`).
pub fn is_of_child(code: Code) -> bool {
    matches!(
        code,
        Code::Deadline | Code::Memory | Code::Limit | Code::Transfer | Code::Unsupported | Code::InvalidArgument
    )
}

/// The levels of log lines.
const LEVELS: u8 = protocol::LEVELS.len() as u8;

/// The maximum number of bytes of a READY frame.
const MAX_REPORT: usize = 64 << 10;

/// The maximum number of UTF-16 code units of a failure's name, message and stack: what sessions keep (`convert::fault`), plus a location.
const MAX_TEXT: usize = (1 << 20) + (4 << 10);

/// Bytes of a frame besides the text or value in it.
const AROUND: usize = 1 << 10;

/// Bytes that a host allocates per byte of JSON: `{}` and a comma become an object of 64 bytes.
pub const GROWTH: usize = 16;

/// The maximum number of bytes of a call's params, however much memory there is.
const MAX_PARAMS: usize = 8 << 20;

/// The maximum of each field of a [`Message`], by field:
///
/// | Message | Field | Maximum |
/// |---|---|---|
/// | `Moved` | process | a child of the same parent that was not reaped, and only before `Ready` |
/// | `Ready` | layers | [`MAX_REPORT`] bytes; `Report::decode` bounds their number and texts |
/// | `Log` | level | [`LEVELS`] |
/// | | text | `line` code units |
/// | `Call` | call | the number after that of the call before |
/// | | tool | `tools` |
/// | | params | `params` bytes |
/// | `End` | value | `result` bytes in the host's memory, one buffer in its table |
/// | | message, name, stack | `text` code units each |
/// | | details | what [`Details::add`], [`DetailsRoom`] and [`crate::value::is_cause`] permit |
/// | | code | those of [`is_of_child`] |
/// | | heap | `heap` bytes |
/// | | lines not kept | 2^32 - 1 |
///
/// `Running` limits how many lines and calls a host keeps at a time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub line: usize,
    pub tools: u32,
    pub params: usize,
    pub result: usize,
    pub text: usize,
    pub heap: f64,
}

impl Limits {
    /// For a child without an execution: it may only say that it moves, and that it is ready.
    pub const IDLE: Self = Self { line: 0, tools: 0, params: 0, result: 0, text: 0, heap: 0.0 };

    /// For an execution: the bytes of memory that it may use, the bytes of JSON that it may return, the characters of a log line, and the
    /// number of tools.
    pub fn new(memory: usize, max_output: f64, line: u32, tools: usize) -> Self {
        // `console` adds three dots to a line that it cuts.
        const DOTS: usize = 3;
        Self {
            line: (line as usize).saturating_add(DOTS),
            tools: u32::try_from(tools).unwrap_or(u32::MAX),
            params: (memory / GROWTH).min(MAX_PARAMS),
            // Heap and buffers. The session measures a result differently, but by less than half.
            result: memory.min(sandbox::max_clone(max_output as usize)).saturating_mul(2),
            text: MAX_TEXT,
            // V8 exceeds its limit a little during a collection.
            heap: memory.saturating_mul(2) as f64,
        }
    }

    /// The maximum number of bytes of a frame's contents, including its kind.
    pub fn frame(&self, kind: u8) -> usize {
        match kind {
            kind::LOG => self.line.saturating_mul(2).saturating_add(AROUND),
            kind::CALL => self.params.saturating_add(AROUND),
            kind::END => self.memory(kind::END),
            _ => MAX_REPORT,
        }
    }

    /// The maximum number of bytes of memory that a frame's contents may take in this process.
    fn memory(&self, kind: u8) -> usize {
        const TEXTS: usize = 3;
        // Two bytes per character, and the names of causes.
        const DETAILS: usize = 4 * MAX_DETAILS as usize;
        match kind {
            kind::LOG => self.line.saturating_mul(2),
            kind::CALL => self.params,
            kind::END => self.result.max(self.text.saturating_mul(2 * TEXTS)).saturating_add(DETAILS + AROUND),
            _ => MAX_REPORT,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{End, Limits, Message, is_of_child};
    use crate::value::{Code, Payload, TableEntry, Text, Value};

    const HEADER: usize = 4;

    fn limits() -> Limits {
        Limits::new(8 << 20, 1e9, 100, 2)
    }

    fn decoded(message: &Message) -> Option<Message> {
        Message::decode(&message.encode()[HEADER..], &limits())
    }

    fn end(ok: bool, value: Value) -> End {
        End { ok, value, code: None, name: None, stack: None, details: None, figures: [0.0; 2] }
    }

    fn buffers(rows: usize, bytes: usize) -> Value {
        let table = (0..rows).map(|_| TableEntry::Buffer(vec![0; bytes].into())).collect();
        Value::Payload(Box::new(Payload { bytes: Arc::new(vec![255, 15, 95, 48]), table, moved: false }))
    }

    #[test]
    fn what_a_child_has_fitted_is_read() {
        let long = || Text::from("x".repeat(3 << 20));
        let texts = End { name: Some(long()), stack: Some(long()), ..end(false, Value::String(long())) };
        let figures = End { figures: [1e12, 3.0], ..end(true, Value::Null) };
        let code = End { code: Some(Code::Disposed), ..end(false, Value::String(Text::from("x"))) };
        let ends = [
            texts,
            figures,
            code,
            end(true, buffers(1, 15 << 20)),
            end(true, buffers(1, 17 << 20)),
            end(true, Value::String(long())),
        ];
        for end in ends {
            let fitted = end.fitted(&limits());
            let read = decoded(&Message::End(Box::new(fitted)));
            assert!(matches!(read, Some(Message::End(_))));
        }
    }

    #[test]
    fn a_value_that_takes_too_much_is_a_failure() {
        let fitted = end(true, buffers(1, 17 << 20)).fitted(&limits());
        assert_eq!((fitted.ok, fitted.code), (false, Some(Code::Limit)));
        assert!(end(true, buffers(1, 15 << 20)).fitted(&limits()).ok);
    }

    #[test]
    fn fields_beyond_their_limits_are_refused() {
        let text = |length: usize| Text::from("x".repeat(length));
        let log = |length| Message::Log(0, text(length));
        assert!(decoded(&log(103)).is_some() && decoded(&log(104)).is_none());
        assert!(decoded(&Message::Log(5, text(1))).is_none());
        let call = |tool, length| Message::Call(1, tool, text(length));
        assert!(decoded(&call(1, 512 << 10)).is_some());
        assert!(decoded(&call(2, 2)).is_none() && decoded(&call(1, (512 << 10) + 1)).is_none());
        for (rows, bytes) in [(2, 0), (100_000, 0), (1, 17 << 20)] {
            assert!(decoded(&Message::End(Box::new(end(true, buffers(rows, bytes))))).is_none());
        }
        assert!(decoded(&Message::End(Box::new(end(true, buffers(1, 1_000))))).is_some());
        for figures in
            [[-1.0, 0.0], [0.5, 0.0], [f64::NAN, 0.0], [1e302, 0.0], [0.0, f64::INFINITY], [0.0, 4294967296.0]]
        {
            assert!(
                decoded(&Message::End(Box::new(End { figures, ..end(true, Value::Null) }))).is_none(),
                "{figures:?}"
            );
        }
        for code in [Code::Timeout, Code::Disposed, Code::Crash, Code::Aborted, Code::Unresponsive] {
            assert!(!is_of_child(code));
            let end = End { code: Some(code), ..end(false, Value::String(text(1))) };
            assert!(decoded(&Message::End(Box::new(end))).is_none(), "{code:?}");
        }
        assert!(Message::decode(&log(1).encode()[HEADER..], &Limits::IDLE).is_none());
    }
}

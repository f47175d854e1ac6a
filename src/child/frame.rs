//! What parent and child say to each other: frames, each its length (4 bytes, little-endian, of all that follows), its kind (one
//! byte) and its contents. A child gets [`Order`]s and sends [`Message`]s.

use isolated_v8_launcher::{Report, handover};

use super::codec::{Reader, Writer};
use crate::sandbox::{Body, Sources};
use crate::value::{Code, Outcome, Text, Value};

mod kind {
    pub const RUN: u8 = 1;
    pub const ANSWER: u8 = 2;
    pub const SNAPSHOT: u8 = 3;

    pub const READY: u8 = 16;
    pub const LOG: u8 = 17;
    pub const CALL: u8 = 18;
    pub const END: u8 = 19;
    pub const BEGUN: u8 = 21;
}

const HEADER: usize = 4;

/// The one execution that a child is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub code: Text,
    /// Where the code begins, as its author counts.
    pub line: i32,
    pub column: i32,
    /// When it is over, in microseconds of the machine's monotonic clock.
    pub deadline: f64,
    pub max_output: f64,
    pub most_lines: u32,
    pub most_length: u32,
    /// What can be imported, and the code as a module.
    pub modules: Option<(Sources, Body)>,
    /// Where tools are found inside, and which ones they are.
    pub tools: Vec<(Text, Text, u32)>,
}

/// To the child.
#[derive(Debug)]
pub enum Order {
    /// What executions start from, sealed (`crate::engine::Snapshot`). Only as the first.
    Snapshot(Vec<u8>),
    Run(Task),
    /// What came out of a call.
    Answer(u32, Outcome),
}

/// From the child.
#[derive(Debug)]
pub enum Message {
    /// It goes on as the process with this id. Nothing has come before.
    Moved(u32),
    /// It can run something; which layers of its confinement hold.
    Ready(Report),
    /// The guest is about to run.
    Begun,
    /// A line for the log, and the index of its level.
    Log(u8, Text),
    /// The guest calls a tool: the call's number, which one, and its params as JSON.
    Call(u32, u32, Text),
    End(Box<End>),
}

/// How an execution has ended.
#[derive(Debug)]
pub struct End {
    pub ok: bool,
    /// Of a failure the message.
    pub value: Value,
    pub code: Option<Code>,
    pub name: Option<Text>,
    pub stack: Option<Text>,
    /// Nanoseconds on a processor, bytes of heap at its peak, lines that were not kept.
    pub figures: [f64; 3],
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
        writer.count(self.most_lines as usize);
        writer.count(self.most_length as usize);
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
        let (most_lines, most_length) = (reader.count()?, reader.count()?);
        let modules = match reader.optional_text()? {
            Some(index) => {
                let (text, main) = (reader.text()?, reader.text()?);
                let (line, column) = (reader.number()? as i32, reader.number()? as i32);
                Some((Sources { index, text }, Body { text: main, line, column }))
            }
            None => None,
        };
        let mut tools = Vec::new();
        for _ in 0..reader.count()? {
            tools.push((reader.text()?, reader.text()?, reader.count()?));
        }
        Some(Self { code, line, column, deadline, max_output, most_lines, most_length, modules, tools })
    }
}

/// What an [`Order::Snapshot`] has before so many bytes, with which it ends.
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
            Order::Run(task) => framed(kind::RUN, |writer| task.write(writer)),
            Order::Answer(call, outcome) => framed(kind::ANSWER, |writer| {
                writer.count(*call as usize);
                writer.outcome(outcome);
            }),
        }
    }

    /// Of the contents of a frame, its kind included.
    pub fn decode(contents: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(contents);
        let order = match reader.byte()? {
            kind::SNAPSHOT => Order::Snapshot(reader.bytes()?.to_vec()),
            kind::RUN => Order::Run(Task::read(&mut reader)?),
            kind::ANSWER => Order::Answer(reader.count()?, reader.outcome()?),
            _ => return None,
        };
        reader.is_empty().then_some(order)
    }
}

impl Message {
    /// A value that cannot leave its process is a failure of the execution's.
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

    /// Of the contents of a frame, its kind included. Any bytes are refused that [`Message::encode`] has not made.
    pub fn decode(contents: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(contents);
        let message = match reader.byte()? {
            handover::KIND => Message::Moved(reader.count()?),
            kind::READY => {
                let text = std::str::from_utf8(reader.bytes()?).ok()?;
                Message::Ready(Report::decode(text)?)
            }
            kind::BEGUN => Message::Begun,
            kind::LOG => Message::Log(reader.byte()?, reader.text()?),
            kind::CALL => Message::Call(reader.count()?, reader.count()?, reader.text()?),
            kind::END => Message::End(Box::new(End::read(&mut reader)?)),
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
            // A text never fails.
            let _ = writer.value(value);
            writer.optional_text(Some(&Text::from(Code::Transfer.name())));
            writer.optional_text(Some(&refused.1));
            writer.optional_text(None);
        } else {
            writer.optional_text(self.code.map(|code| Text::from(code.name())).as_ref());
            writer.optional_text(self.name.as_ref());
            writer.optional_text(self.stack.as_ref());
        }
        self.figures.iter().for_each(|figure| writer.number(*figure));
    }

    /// Only the host tells such ends of processes, which have no say in them.
    pub fn is_of_host(&self) -> bool {
        matches!(self.code, Some(Code::Aborted | Code::Crash | Code::Protocol | Code::SystemCall))
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (ok, value) = (reader.boolean()?, reader.value()?);
        let (code, name, stack) = (reader.optional_code()?, reader.optional_text()?, reader.optional_text()?);
        let mut figures = [0.0; 3];
        for figure in &mut figures {
            *figure = reader.number().filter(|number| number.is_finite() && *number >= 0.0)?;
        }
        // A message is text, and a result has nothing that belongs to a failure.
        let whole =
            if ok { (&code, &name, &stack) == (&None, &None, &None) } else { matches!(value, Value::String(_)) };
        whole.then_some(Self { ok, value, code, name, stack, figures })
    }
}

/// Bytes that frames of each kind may have, their kind included.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    pub ready: usize,
    pub log: usize,
    pub call: usize,
    pub end: usize,
}

impl Caps {
    /// Whatever comes is taken, as a child does of its parent.
    pub const NONE: Self = Self { ready: usize::MAX, log: usize::MAX, call: usize::MAX, end: usize::MAX };

    fn of(&self, kind: u8) -> usize {
        match kind {
            kind::LOG => self.log,
            kind::CALL => self.call,
            kind::END | kind::RUN | kind::ANSWER | kind::SNAPSHOT => self.end,
            _ => self.ready,
        }
    }
}

/// Finds the frames in what comes in piece by piece.
#[derive(Default)]
pub struct Splitter {
    bytes: Vec<u8>,
    /// Where the next frame begins.
    start: usize,
}

/// A frame is larger than its kind may be, or has no contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oversized;

impl Splitter {
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Nothing of a next frame has come.
    pub fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// Gives back what the frames so far have taken.
    pub fn shrink(&mut self) {
        self.push(&[]);
        self.bytes.shrink_to_fit();
    }

    /// The contents of the next frame, once it is complete. Told to be too large as soon as its kind is known.
    pub fn next(&mut self, caps: &Caps) -> Result<Option<&[u8]>, Oversized> {
        let rest = &self.bytes[self.start..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_le_bytes(*header) as usize;
        if length == 0 {
            return Err(Oversized);
        }
        let Some(kind) = rest.first() else { return Ok(None) };
        if length > caps.of(*kind) {
            return Err(Oversized);
        }
        if rest.len() < length {
            return Ok(None);
        }
        let begin = self.start + HEADER;
        self.start = begin + length;
        Ok(Some(&self.bytes[begin..self.start]))
    }
}

//! Neutral values, faults and numbers as bytes. Reading never panics, and never allocates more than the bytes present justify.

use std::sync::Arc;

use crate::value::{
    BigInt, Code, Details, DetailsRoom, ErrorClass, ErrorFault, Fault, Outcome, Payload, TableEntry, Text, Value,
    is_cause,
};

/// The first byte of a value.
mod tag {
    pub const UNDEFINED: u8 = 0;
    pub const NULL: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const TRUE: u8 = 3;
    pub const NUMBER: u8 = 4;
    pub const BIGINT: u8 = 5;
    pub const STRING: u8 = 6;
    pub const PAYLOAD: u8 = 7;
}

/// The first byte of an outcome that is not a value.
mod fault {
    pub const THROWN: u8 = 16;
    pub const ERROR: u8 = 17;
    pub const STOPPED: u8 = 18;
}

/// The maximum number of words of a BigInt: V8 makes none of more than 2^30 bits.
const MAX_WORDS: u32 = 1 << 24;

#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Neither side accepts a length above 4 GiB.
    pub fn count(&mut self, count: usize) {
        self.0.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    }

    pub fn number(&mut self, number: f64) {
        self.0.extend_from_slice(&number.to_bits().to_le_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    pub fn text(&mut self, text: &Text) {
        match text {
            Text::Latin1(bytes) => {
                self.byte(1);
                self.bytes(bytes);
            }
            Text::Utf16(units) => {
                self.byte(2);
                self.count(units.len());
                self.0.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
            }
        }
    }

    pub fn optional_text(&mut self, text: Option<&Text>) {
        match text {
            Some(text) => self.text(text),
            None => self.byte(0),
        }
    }

    /// Refuses values that belong to one process.
    pub fn value(&mut self, value: &Value) -> Result<(), Fault> {
        match value {
            Value::Undefined => self.byte(tag::UNDEFINED),
            Value::Null => self.byte(tag::NULL),
            Value::Boolean(value) => self.byte(if *value { tag::TRUE } else { tag::FALSE }),
            Value::Number(number) => {
                self.byte(tag::NUMBER);
                self.number(*number);
            }
            Value::BigInt(bigint) => {
                self.byte(tag::BIGINT);
                self.byte(u8::from(bigint.negative));
                self.count(bigint.words.len());
                self.0.extend(bigint.words.iter().flat_map(|word| word.to_le_bytes()));
            }
            Value::String(text) => {
                self.byte(tag::STRING);
                self.text(text);
            }
            Value::Payload(payload) => {
                self.byte(tag::PAYLOAD);
                self.bytes(&payload.bytes);
                self.count(payload.table.len());
                for entry in &payload.table {
                    match entry {
                        TableEntry::Buffer(buffer) => {
                            buffer.read(|bytes| self.bytes(bytes)).ok_or_else(Fault::environment_gone)?;
                        }
                        TableEntry::Shared(_) => return Err(refused("A SharedArrayBuffer")),
                        TableEntry::Value(_) => return Err(refused("A handle or a function")),
                    }
                }
            }
            Value::Handle(_)
            | Value::Function(_)
            | Value::Promise(_)
            | Value::Dereference(_)
            | Value::CopyInto { .. }
            | Value::List(_) => return Err(refused("A handle, function or promise")),
        }
        Ok(())
    }

    /// Writes an outcome. If its value is refused, writes the refusal instead.
    pub fn outcome(&mut self, outcome: &Outcome) {
        let start = self.0.len();
        let refusal = match outcome {
            Ok(value) => self.value(value).err(),
            Err(Fault::Thrown(value)) => {
                self.byte(fault::THROWN);
                self.value(value).err()
            }
            Err(Fault::Error(error)) => {
                self.error(error);
                None
            }
            Err(Fault::Stopped) => {
                self.byte(fault::STOPPED);
                None
            }
        };
        if let Some(Fault::Error(error)) = refusal {
            self.0.truncate(start);
            self.error(&error);
        }
    }

    fn error(&mut self, ErrorFault { class, name, message, stack, code, details }: &ErrorFault) {
        self.byte(fault::ERROR);
        self.text(&Text::from(class.name()));
        self.optional_text(name.as_ref());
        self.text(message);
        self.text(stack);
        self.optional_text(code.map(|code| Text::from(code.name())).as_ref());
        self.details(details.as_deref());
    }

    pub fn details(&mut self, details: Option<&Details>) {
        self.byte(u8::from(details.is_some()));
        let Some(Details { properties, cause }) = details else { return };
        self.count(properties.len());
        for (key, value) in properties {
            self.text(key);
            // Writing a primitive value never fails.
            let _ = self.value(value);
        }
        self.byte(u8::from(cause.is_some()));
        if let Some(cause) = cause {
            self.outcome(&Err(cause.clone()));
        }
    }
}

fn refused(what: &str) -> Fault {
    Fault::refused(&format!("{what} cannot go to another process"))
}

/// The maximum number of rows in the table of a child's payload. A result's buffers are copied into its bytes. The one row is for a value
/// that is itself a buffer, or a view on one. An empty row takes 4 bytes here, and 300 in a host.
const MAX_ROWS: u32 = 1;

/// The bytes left to read, and how many bytes of memory reading them may use. Each method returns `None` if a [`Writer`] does not write
/// these bytes, or if the result would take more memory.
pub struct Reader<'a> {
    bytes: &'a [u8],
    room: usize,
    rows: u32,
}

impl<'a> Reader<'a> {
    /// Reads the bytes of a trusted process.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, room: usize::MAX, rows: u32::MAX }
    }

    pub fn limited(bytes: &'a [u8], room: usize) -> Self {
        Self { bytes, room, rows: MAX_ROWS }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    /// Takes memory for what is read next.
    fn need(&mut self, bytes: usize) -> Option<()> {
        self.room = self.room.checked_sub(bytes)?;
        Some(())
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.bytes.split_off_first().copied()
    }

    pub fn boolean(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub fn count(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub fn number(&mut self) -> Option<f64> {
        Some(f64::from_bits(u64::from_le_bytes(self.take(8)?.try_into().ok()?)))
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.count()?).ok()?;
        self.need(count)?;
        self.take(count)
    }

    pub fn text(&mut self) -> Option<Text> {
        self.optional_text()?
    }

    pub fn optional_text(&mut self) -> Option<Option<Text>> {
        match self.byte()? {
            0 => Some(None),
            1 => Some(Some(Text::Latin1(self.bytes()?.into()))),
            2 => {
                let count = usize::try_from(self.count()?).ok()?;
                self.need(count.checked_mul(2)?)?;
                let (units, _) = self.take(count.checked_mul(2)?)?.as_chunks::<2>();
                // Stored as one-byte characters where possible, as everywhere.
                Some(Some(Text::from_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit)).collect())))
            }
            _ => None,
        }
    }

    /// A value that is a string.
    pub fn string(&mut self) -> Option<Text> {
        self.byte().filter(|tag| *tag == tag::STRING)?;
        self.text()
    }

    pub fn value(&mut self) -> Option<Value> {
        let tag = self.byte()?;
        self.value_of(tag)
    }

    fn value_of(&mut self, tag: u8) -> Option<Value> {
        Some(match tag {
            tag::UNDEFINED => Value::Undefined,
            tag::NULL => Value::Null,
            tag::FALSE => Value::Boolean(false),
            tag::TRUE => Value::Boolean(true),
            tag::NUMBER => Value::Number(self.number()?),
            tag::BIGINT => {
                let negative = self.boolean()?;
                let count = self.count().filter(|count| *count <= MAX_WORDS)?;
                let size = usize::try_from(count).ok()? * 8;
                self.need(size)?;
                let (words, _) = self.take(size)?.as_chunks::<8>();
                let words = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
                Value::BigInt(Box::new(BigInt { negative, words }))
            }
            tag::STRING => Value::String(self.text()?),
            tag::PAYLOAD => {
                let bytes = Arc::new(self.bytes()?.to_vec());
                let count = self.count().filter(|count| *count <= self.rows)?;
                // No capacity in advance: each row requires bytes that are present.
                let mut table = Vec::new();
                for _ in 0..count {
                    table.push(TableEntry::Buffer(self.bytes()?.to_vec().into()));
                }
                Value::Payload(Box::new(Payload { bytes, table, moved: false }))
            }
            _ => return None,
        })
    }

    pub fn outcome(&mut self) -> Option<Outcome> {
        let tag = self.byte()?;
        match tag {
            fault::THROWN | fault::ERROR | fault::STOPPED => self.fault(tag, &mut DetailsRoom::default()).map(Err),
            tag => self.value_of(tag).map(Ok),
        }
    }

    fn fault(&mut self, tag: u8, room: &mut DetailsRoom) -> Option<Fault> {
        Some(match tag {
            fault::THROWN => Fault::Thrown(self.value()?),
            fault::ERROR => {
                let class = ErrorClass::named(&known_name(&self.text()?)?);
                let (name, message, stack) = (self.optional_text()?, self.text()?, self.text()?);
                let code = self.optional_code()?;
                let details = self.details(room)?;
                Fault::Error(Box::new(ErrorFault { class, name, message, stack, code, details }))
            }
            fault::STOPPED => Fault::Stopped,
            _ => return None,
        })
    }

    /// The details of an error. Those of its causes take from the same room.
    pub fn details(&mut self, room: &mut DetailsRoom) -> Option<Option<Box<Details>>> {
        if !self.boolean()? {
            return Some(None);
        }
        let mut details = Details::default();
        for _ in 0..self.count()? {
            let (key, value) = (self.text()?, self.value()?);
            details.add(key, value, room).then_some(())?;
        }
        if self.boolean()? {
            let tag = self.byte().filter(|tag| *tag == fault::THROWN || room.take_cause())?;
            details.cause = Some(self.fault(tag, room).filter(is_cause)?);
        }
        Some(Some(Box::new(details)))
    }

    /// One of our codes, or none.
    pub fn optional_code(&mut self) -> Option<Option<Code>> {
        match self.optional_text()? {
            None => Some(None),
            Some(text) => Code::named(&known_name(&text)?).map(Some),
        }
    }
}

/// The name of a class or a code. `None` for a text that is longer than any of them.
fn known_name(text: &Text) -> Option<String> {
    const MAX: usize = 64;
    (text.len() <= MAX).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Reader, Writer};
    use crate::value::{
        BigInt, Code, Details, DetailsRoom, ErrorClass, ErrorFault, Fault, Handle, Outcome, Payload, TableEntry, Text,
        Value,
    };

    fn through(outcome: &Outcome) -> Outcome {
        let mut writer = Writer::default();
        writer.outcome(outcome);
        let mut reader = Reader::new(&writer.0);
        let read = reader.outcome();
        assert!(reader.is_empty());
        // Truncated input is always detected.
        for length in 0..writer.0.len() {
            assert!(Reader::new(&writer.0[..length]).outcome().is_none(), "{length} bytes of {outcome:?}");
        }
        match read {
            Some(outcome) => outcome,
            None => Err(Fault::Stopped),
        }
    }

    #[test]
    fn values_come_back_as_they_went() {
        let buffer = TableEntry::Buffer(vec![1, 2, 3].into());
        let payload = Payload { bytes: Arc::new(vec![255, 16, 111]), table: vec![buffer], moved: false };
        let values = [
            Value::Undefined,
            Value::Null,
            Value::Boolean(true),
            Value::Boolean(false),
            Value::Number(-0.5),
            Value::Number(f64::NAN),
            Value::BigInt(Box::new(BigInt { negative: true, words: [1, u64::MAX].into() })),
            Value::String(Text::from("")),
            Value::String(Text::from("ÿ")),
            Value::String(Text::from_utf16(vec![0xd800, 0x41])),
            Value::Payload(Box::new(payload)),
        ];
        for value in values {
            let text = format!("{value:?}");
            assert_eq!(format!("{:?}", through(&Ok(value.clone()))), format!("Ok({text})"));
            assert_eq!(format!("{:?}", through(&Err(Fault::Thrown(value)))), format!("Err(Thrown({text}))"));
        }
    }

    fn with_details(cause: Fault) -> Fault {
        let mut details = Details { cause: Some(cause), ..Details::default() };
        let room = &mut DetailsRoom::default();
        for value in [Value::Boolean(true), Value::Number(2.5), Value::String(Text::from("ENOENT"))] {
            assert!(details.add(Text::from("code"), value, room));
        }
        match Fault::error("with details") {
            Fault::Error(error) => Fault::Error(Box::new(ErrorFault { details: details.unless_empty(), ..*error })),
            other => other,
        }
    }

    #[test]
    fn details_beyond_the_limits_are_refused() {
        let read = |details: &Details| {
            let mut writer = Writer::default();
            writer.details(Some(details));
            Reader::new(&writer.0).details(&mut DetailsRoom::default()).is_some()
        };
        let of = |count: usize, key: &str, value: &Value| Details {
            properties: vec![(Text::from(key), value.clone()); count],
            cause: None,
        };
        let text = |length| Value::String(Text::from("x".repeat(length)));
        assert!(read(&of(32, "a", &Value::Null)) && read(&of(1, "a", &text(8_192))));
        assert!(
            !read(&of(33, "a", &Value::Null)) && !read(&of(1, "a", &text(8_193))) && !read(&of(17, "a", &text(8_192)))
        );
        for key in ["stack", "__proto__", "constructor"] {
            assert!(!read(&of(1, key, &Value::Null)), "{key}");
        }
        for code in ["ERR_ISOLATE_TIMEOUT", "ERR_INVALID_ARG"] {
            assert!(!read(&of(1, "code", &Value::String(Text::from(code)))), "{code}");
        }
        let payload = Payload { bytes: Arc::new(vec![255, 16, 111]), table: Vec::new(), moved: false };
        assert!(!read(&of(1, "a", &Value::Payload(Box::new(payload.clone())))));
        let causes = |count| (0..count).fold(Fault::error("last"), |cause, _| with_details(cause));
        let chain = |count| Details { properties: Vec::new(), cause: Some(causes(count)) };
        assert!(read(&chain(7)) && !read(&chain(8)));
        let caused = |cause: Fault| read(&Details { properties: Vec::new(), cause: Some(cause) });
        assert!(caused(Fault::Thrown(text(8_192))) && !caused(Fault::Thrown(text(8_193))));
        assert!(!caused(Fault::Thrown(Value::Payload(Box::new(payload)))) && !caused(Fault::Stopped));
        for part in 0..3 {
            let caused = |length: usize| {
                let mut texts = [const { Text::Latin1(Vec::new()) }; 3];
                texts[part] = Text::from("x".repeat(length));
                let [name, message, stack] = texts;
                let (class, name) = (ErrorClass::Error, Some(name));
                caused(Fault::Error(Box::new(ErrorFault { class, name, message, stack, code: None, details: None })))
            };
            assert!(caused(8_192) && !caused(8_193), "{part}");
        }
    }

    #[test]
    fn faults_come_back_as_they_went() {
        let faults = [
            Fault::error("plain"),
            Fault::coded(ErrorClass::RangeError, "with a code", Code::Limit),
            Fault::timeout(Text::from("\n    at f")),
            with_details(with_details(Fault::Thrown(Value::Null))),
            Fault::Stopped,
        ];
        for fault in faults {
            assert_eq!(format!("{:?}", through(&Err(fault.clone()))), format!("Err({fault:?})"));
        }
    }

    #[test]
    fn what_belongs_to_a_process_is_refused() {
        let outcome = through(&Ok(Value::Handle(Handle::Ivm)));
        assert!(matches!(outcome, Err(Fault::Error(error)) if error.code == Some(Code::Transfer)));
    }
}

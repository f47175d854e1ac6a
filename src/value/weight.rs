//! About what a host's engine takes for a value, told from its bytes: an empty object of three bytes becomes one of dozens. Whoever holds
//! such a value for a guest charges it by this.

use super::{Entry, Payload, Value};

const OBJECT: usize = 64;
const STRING: usize = 24;
const ELEMENT: usize = 8;
const PROPERTY: usize = 24;
const ENTRY: usize = 48;
const VIEW: usize = 128;
const ERROR: usize = 256;
const REGEXP: usize = 512;
/// A primitive that takes memory of its own.
const BOX: usize = 24;

/// For each byte of what is not understood.
const UNKNOWN: usize = 24;

impl Value {
    /// Bytes that the value takes in a host, about.
    pub fn weight(&self) -> usize {
        match self {
            Value::Payload(payload) => payload.weight(),
            Value::List(values) => values.iter().map(Value::weight).sum(),
            value => value.byte_size(),
        }
    }
}

impl Payload {
    fn weight(&self) -> usize {
        let table: usize = self
            .table
            .iter()
            .map(|entry| match entry {
                Entry::Buffer(buffer) => OBJECT + buffer.len(),
                Entry::Shared(_) => OBJECT,
                Entry::Value(value) => value.weight(),
            })
            .sum();
        Walk { bytes: &self.bytes, weight: table }.weigh()
    }
}

/// A walk over V8's format, token by token, without regard to what lies in what.
struct Walk<'bytes> {
    bytes: &'bytes [u8],
    weight: usize,
}

impl Walk<'_> {
    fn weigh(mut self) -> usize {
        while let Some(rest) = self.token() {
            self.weight = self.weight.saturating_add(rest);
        }
        self.weight.saturating_add(self.bytes.len().saturating_mul(UNKNOWN))
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.bytes = self.bytes.get(count..)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn next_is(&mut self, byte: u8) -> bool {
        let found = self.bytes.first() == Some(&byte);
        if found {
            self.bytes = &self.bytes[1..];
        }
        found
    }

    fn varint(&mut self) -> Option<usize> {
        let mut value = 0;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Something whose length comes first, and then its bytes.
    fn sized(&mut self, own: usize) -> Option<usize> {
        let length = self.varint()?;
        self.skip(length)?;
        Some(own + length)
    }

    /// The weight of the next token. `None` at the end, or before what is none.
    fn token(&mut self) -> Option<usize> {
        let before = self.bytes;
        let weight = self.read();
        if weight.is_none() {
            self.bytes = before;
        }
        weight
    }

    fn read(&mut self) -> Option<usize> {
        Some(match self.byte()? {
            0xff | b'?' => self.varint().map(|_| 0)?,
            // Padding, and the end of an error.
            0 | b'.' => 0,
            b'_' | b'0' | b'T' | b'F' | b'-' => ELEMENT,
            b'I' | b'U' | b'^' => self.varint().map(|_| ELEMENT)?,
            b'N' => self.skip(8).map(|()| BOX)?,
            b'D' => self.skip(8).map(|()| OBJECT)?,
            b'n' => self.skip(8).map(|()| OBJECT + BOX)?,
            b'Z' | b'z' => {
                let bytes = self.varint()? >> 1;
                self.skip(bytes)?;
                OBJECT + bytes
            }
            b'"' | b'S' | b'c' => self.sized(STRING)?,
            b'o' => OBJECT,
            b'A' | b'a' => self.varint().map(|_| OBJECT)?,
            b'{' => self.varint()?.saturating_mul(PROPERTY),
            b'@' | b'$' => {
                let properties = self.varint()?;
                self.varint()?;
                properties.saturating_mul(ENTRY)
            }
            b';' | b'\'' => OBJECT,
            b':' | b',' => self.varint()?.saturating_mul(ENTRY),
            // A string object, or the stack of an error; the string follows.
            b'y' | b'x' | b's' => OBJECT,
            b'B' | b'C' => self.sized(OBJECT)?,
            b'~' => {
                let length = self.varint()?;
                self.varint()?;
                self.skip(length)?;
                OBJECT + length
            }
            b't' | b'u' | b'\\' => self.varint().map(|_| OBJECT)?,
            b'V' => {
                self.byte()?;
                for _ in 0..3 {
                    self.varint()?;
                }
                VIEW
            }
            b'R' => {
                let source = self.read()?;
                self.varint()?;
                REGEXP + source
            }
            b'r' => {
                if self.bytes.first().is_some_and(|class| b"ERFSTU".contains(class)) {
                    self.byte()?;
                }
                let message = if self.next_is(b'm') { self.read()? } else { 0 };
                // The cause follows as any value.
                self.next_is(b'c');
                ERROR + message
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ELEMENT, ERROR, OBJECT, PROPERTY, STRING, UNKNOWN};
    use crate::value::{Entry, Payload, Value};

    fn weight(bytes: &[u8], table: Vec<Entry>) -> usize {
        Value::Payload(Box::new(Payload { bytes: Arc::new(bytes.to_vec()), table, moved: false })).weight()
    }

    #[test]
    fn of_objects_is_a_multiple_of_their_bytes() {
        let empty = b"o{\0".repeat(1000);
        assert_eq!(weight(&empty, vec![]), 1000 * OBJECT);
        assert_eq!(weight(b"\xff\x10o\"\x01aI\x02{\x01", vec![]), OBJECT + STRING + 1 + ELEMENT + PROPERTY);
    }

    #[test]
    fn of_texts_and_buffers_is_theirs() {
        let text = [b"\"\xe8\x07".as_slice(), &[b'o'; 1000]].concat();
        assert_eq!(weight(&text, vec![]), STRING + 1000);
        assert_eq!(weight(b"t\0", vec![Entry::Buffer(vec![0; 5000].into())]), 2 * OBJECT + 5000);
        assert_eq!(weight(&[b"B\xe8\x07".as_slice(), &[b'A'; 1000]].concat(), vec![]), OBJECT + 1000);
    }

    #[test]
    fn of_errors() {
        assert_eq!(weight(b"rRm\"\x01aco{\0s\"\x01b.", vec![]), ERROR + 2 * (STRING + 1) + 2 * OBJECT);
    }

    #[test]
    fn of_what_is_not_understood_is_the_most() {
        assert_eq!(weight(b"o!!!", vec![]), OBJECT + 3 * UNKNOWN);
        // A length beyond the end, and numbers without one.
        assert_eq!(weight(b"\"\xff\xff\xff\xff\x0f", vec![]), 6 * UNKNOWN);
        assert!(weight(&[0xff; 20], vec![]) >= 20 * UNKNOWN);
    }
}

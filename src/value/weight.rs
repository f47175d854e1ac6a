//! Estimates the memory that a value will take in a heap, from its serialized bytes: an empty object has three of these and takes dozens in a
//! heap. What a host keeps for a guest is charged by this estimate, and what a guest sends to another guest is limited by it.

use super::{Payload, TableEntry, Value};

// The same figures as `WEIGHT` in `surface/host/wire/reading-limits.js`, which `bench/heap-cost.mjs` measures. Names of properties count as
// strings here, since the walk does not know which names it has seen.
const OBJECT: usize = 72;
const STRING: usize = 56;
const BIGINT: usize = 32;
const ELEMENT: usize = 12;
/// A number that is not a small integer.
const NUMBER: usize = 16;
const PROPERTY: usize = 16;
/// A property of an object that has at least `MIN_TABLE` of them.
const TABLE_PROPERTY: usize = 90;
const MIN_TABLE: usize = 16;
const SPARSE_TABLE: usize = 300;
const SPARSE: usize = 96;
const MAP_TABLE: usize = 224;
const SET_TABLE: usize = 208;
/// A key or a value of a `Map`.
const MAP_ITEM: usize = 65;
const SET_ITEM: usize = 120;
const DATE: usize = 40;
const BUFFER: usize = 288;
const RESIZABLE_BUFFER: usize = 2336;
const VIEW: usize = 160;
const ERROR: usize = 420;
const REGEXP: usize = 512;

/// V8 reads a sparse array of at most this many elements as one that has all of them, with this many bytes for each.
const MAX_FILLED: usize = 33_000_000;
const FILLED: usize = 8;

/// The weight of each byte that is not part of a known token.
const UNKNOWN: usize = 24;

impl Value {
    /// The approximate bytes that the value takes in a host.
    pub fn weight(&self) -> usize {
        self.weight_in(Heap::Host)
    }

    /// The approximate bytes that the value takes in an isolate.
    pub fn weight_in_isolate(&self) -> usize {
        self.weight_in(Heap::Isolate)
    }

    fn weight_in(&self, heap: Heap) -> usize {
        match self {
            Value::Payload(payload) => payload.weight_in(heap),
            Value::List(values) => values.iter().map(|value| value.weight_in(heap)).fold(0, usize::saturating_add),
            value => value.byte_size(),
        }
    }
}

/// Whose heap a value is read into: our codec's or V8's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heap {
    Host,
    Isolate,
}

impl Payload {
    fn weight_in(&self, heap: Heap) -> usize {
        let table: usize = self
            .table
            .iter()
            .map(|entry| match entry {
                TableEntry::Buffer(buffer) => BUFFER + buffer.len(),
                TableEntry::Shared(_) => BUFFER,
                TableEntry::Value(value) => value.weight_in(heap),
            })
            .sum();
        Walk { bytes: &self.bytes, weight: table, heap }.weigh()
    }
}

/// A walk over V8's format, token by token, regardless of nesting.
struct Walk<'bytes> {
    bytes: &'bytes [u8],
    weight: usize,
    heap: Heap,
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

    /// A token that consists of a length and then its bytes.
    fn sized(&mut self, own: usize) -> Option<usize> {
        let length = self.varint()?;
        self.skip(length)?;
        Some(own + length)
    }

    /// The weight of the next token. `None` at the end, or if the next bytes are not a token.
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
            b'N' => self.skip(8).map(|()| ELEMENT + NUMBER)?,
            b'D' => self.skip(8).map(|()| OBJECT + DATE)?,
            b'n' => self.skip(8).map(|()| OBJECT + NUMBER)?,
            // A primitive, and an object that wraps one.
            code @ (b'Z' | b'z') => {
                let bytes = self.varint()? >> 1;
                self.skip(bytes)?;
                BIGINT + bytes + if code == b'z' { OBJECT } else { ELEMENT }
            }
            b'"' | b'S' | b'c' => self.sized(STRING)?,
            // Properties that are indices come first, and have a table of their own.
            b'o' if self.bytes.first().is_some_and(|next| b"IUN".contains(next)) => OBJECT + SPARSE_TABLE,
            b'o' => OBJECT,
            b'A' => self.varint().map(|_| OBJECT)?,
            b'a' => {
                let length = self.varint()?;
                let filled = self.heap == Heap::Isolate && length <= MAX_FILLED;
                OBJECT + SPARSE_TABLE + if filled { length * FILLED } else { 0 }
            }
            b'{' => {
                let count = self.varint()?;
                count.saturating_mul(if count < MIN_TABLE { PROPERTY } else { TABLE_PROPERTY })
            }
            b'@' | b'$' => {
                let properties = self.varint()?;
                self.varint()?;
                properties.saturating_mul(SPARSE)
            }
            b';' => OBJECT + MAP_TABLE,
            b'\'' => OBJECT + SET_TABLE,
            b':' => self.varint()?.saturating_mul(MAP_ITEM),
            b',' => self.varint()?.saturating_mul(SET_ITEM),
            // A string object, or the stack of an error; the string follows.
            b'y' | b'x' | b's' => OBJECT,
            b'B' | b'C' => self.sized(OBJECT + BUFFER)?,
            b'~' => {
                let length = self.varint()?;
                self.varint()?;
                self.skip(length)?;
                OBJECT + RESIZABLE_BUFFER + length
            }
            b't' | b'u' | b'\\' => self.varint().map(|_| OBJECT)?,
            b'V' => {
                self.byte()?;
                for _ in 0..3 {
                    self.varint()?;
                }
                OBJECT + VIEW
            }
            b'R' => {
                let source = self.read()?;
                self.varint()?;
                OBJECT + REGEXP + source
            }
            b'r' => {
                if self.bytes.first().is_some_and(|class| b"ERFSTU".contains(class)) {
                    self.byte()?;
                }
                let message = if self.next_is(b'm') { self.read()? } else { 0 };
                // The cause follows as any value.
                self.next_is(b'c');
                OBJECT + ERROR + message
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        BUFFER, ELEMENT, ERROR, FILLED, MAP_ITEM, MAP_TABLE, OBJECT, PROPERTY, SPARSE, SPARSE_TABLE, STRING, UNKNOWN,
    };
    use crate::value::{Payload, TableEntry, Value};

    fn weight(bytes: &[u8], table: Vec<TableEntry>) -> usize {
        Value::Payload(Box::new(Payload { bytes: Arc::new(bytes.to_vec()), table, moved: false })).weight()
    }

    #[test]
    fn objects_count_a_multiple_of_their_bytes() {
        let empty = b"o{\0".repeat(1000);
        assert_eq!(weight(&empty, vec![]), 1000 * OBJECT);
        assert_eq!(weight(b"\xff\x10o\"\x01aI\x02{\x01", vec![]), OBJECT + STRING + 1 + ELEMENT + PROPERTY);
    }

    #[test]
    fn strings_and_buffers_count_their_bytes() {
        let text = [b"\"\xe8\x07".as_slice(), &[b'o'; 1000]].concat();
        assert_eq!(weight(&text, vec![]), STRING + 1000);
        assert_eq!(weight(b"t\0", vec![TableEntry::Buffer(vec![0; 5000].into())]), OBJECT + BUFFER + 5000);
        assert_eq!(weight(&[b"B\xe8\x07".as_slice(), &[b'A'; 1000]].concat(), vec![]), OBJECT + BUFFER + 1000);
    }

    #[test]
    fn collections_include_their_tables() {
        assert_eq!(weight(b";I\x02T:\x02", vec![]), OBJECT + MAP_TABLE + 2 * MAP_ITEM + 2 * ELEMENT);
        assert_eq!(weight(b"a\x09I\x02T@\x01\x09", vec![]), OBJECT + SPARSE_TABLE + SPARSE + 2 * ELEMENT);
    }

    #[test]
    fn indices_have_tables() {
        assert_eq!(weight(b"oI\x80\x89\x7aI\x02{\x01", vec![]), OBJECT + SPARSE_TABLE + 2 * ELEMENT + PROPERTY);
        // An isolate makes room for all elements of a sparse array.
        let sparse = |bytes: &[u8]| Payload { bytes: Arc::new(bytes.to_vec()), table: Vec::new(), moved: false };
        let in_isolate = |bytes| Value::Payload(Box::new(sparse(bytes))).weight_in_isolate();
        assert_eq!(in_isolate(b"a\x80\x89\x7a@\0\x80\x89\x7a"), OBJECT + SPARSE_TABLE + 2_000_000 * FILLED);
        assert_eq!(in_isolate(b"a\xff\xff\xff\xff\x0f"), OBJECT + SPARSE_TABLE);
    }

    #[test]
    fn errors_count_their_parts() {
        assert_eq!(weight(b"rRm\"\x01aco{\0s\"\x01b.", vec![]), ERROR + 2 * (STRING + 1) + 3 * OBJECT);
    }

    #[test]
    fn unknown_bytes_count_the_maximum() {
        assert_eq!(weight(b"o!!!", vec![]), OBJECT + 3 * UNKNOWN);
        // A length beyond the end, and numbers without one.
        assert_eq!(weight(b"\"\xff\xff\xff\xff\x0f", vec![]), 6 * UNKNOWN);
        assert!(weight(&[0xff; 20], vec![]) >= 20 * UNKNOWN);
    }
}

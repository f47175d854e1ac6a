//! Messages of V8's inspector as JSON. V8 writes a binary form of JSON (CBOR), and converts it itself unless its client uses the binary form,
//! too. But it ends the process if a message nests deeper than 300 levels, as values of guests may. So sessions use the binary form, and
//! this file converts it, whatever its depth.

use crate::value::Text;

/// A message to V8 that makes a session use the binary form from now on. It is an empty map, which V8 answers with an error.
pub const SWITCH: [u8; 8] = [ENVELOPE, LENGTH_32, 0, 0, 0, 2, MAP, STOP];

const ENVELOPE: u8 = 0xd8;
/// May follow [`ENVELOPE`].
const ENVELOPE_TAG: u8 = 0x18;
/// The first byte of a byte string whose length has four bytes.
const LENGTH_32: u8 = 0x5a;
const BINARY: u8 = 0xd6;
const MAP: u8 = 0xbf;
const LIST: u8 = 0x9f;
const STOP: u8 = 0xff;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
const DOUBLE: u8 = 0xfb;

/// The first three bits of other items.
mod major {
    pub const UNSIGNED: u8 = 0;
    pub const NEGATIVE: u8 = 1;
    /// UTF-16, except after [`super::BINARY`].
    pub const BYTES: u8 = 2;
    pub const UTF8: u8 = 3;
}

/// A message as JSON, which has only ASCII characters. `None` if it is not what V8 writes.
pub fn to_json(message: &[u8]) -> Option<Text> {
    let mut converter = Converter { bytes: message, json: Vec::with_capacity(message.len()), open: Vec::new() };
    loop {
        converter.item()?;
        if converter.open.is_empty() {
            return converter.bytes.is_empty().then_some(Text::Latin1(converter.json));
        }
    }
}

/// A map or list that has not ended.
struct Open {
    is_map: bool,
    /// Keys, values and elements so far.
    count: usize,
}

struct Converter<'a> {
    bytes: &'a [u8],
    json: Vec<u8>,
    open: Vec<Open>,
}

impl<'a> Converter<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes.split_off_first().copied()
    }

    /// A number after an item's first byte.
    fn number(&mut self, first: u8) -> Option<u64> {
        let size = match first & 0x1f {
            small @ 0..24 => return Some(u64::from(small)),
            size @ 24..=27 => 1 << (size - 24),
            _ => return None,
        };
        Some(self.take(size)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// The bytes of a string after its first byte.
    fn string(&mut self, first: u8) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number(first)?).ok()?;
        self.take(length)
    }

    /// Reads a value, or the beginning or the end of one.
    fn item(&mut self) -> Option<()> {
        let mut first = self.byte()?;
        if first == ENVELOPE {
            // Its length is not needed.
            let tag = self.byte()?;
            let length = if tag == ENVELOPE_TAG { self.byte()? } else { tag };
            (length == LENGTH_32).then_some(())?;
            self.take(size_of::<u32>())?;
            first = self.byte()?;
        }
        if first == STOP {
            let Open { is_map, count } = self.open.pop()?;
            (!is_map || count % 2 == 0).then_some(())?;
            self.json.push(if is_map { b'}' } else { b']' });
            return Some(());
        }
        if let Some(Open { is_map, count }) = self.open.last_mut() {
            match *count {
                0 => {}
                odd if *is_map && odd % 2 == 1 => self.json.push(b':'),
                _ => self.json.push(b','),
            }
            *count += 1;
        }
        match first {
            MAP | LIST => {
                self.json.push(if first == MAP { b'{' } else { b'[' });
                self.open.push(Open { is_map: first == MAP, count: 0 });
            }
            FALSE => self.json.extend(b"false"),
            TRUE => self.json.extend(b"true"),
            NULL => self.json.extend(b"null"),
            DOUBLE => {
                let number = f64::from_be_bytes(self.take(size_of::<f64>())?.try_into().ok()?);
                self.double(number);
            }
            BINARY => {
                let first = self.byte().filter(|first| first >> 5 == major::BYTES)?;
                let bytes = self.string(first)?;
                self.base64(bytes);
            }
            _ => match first >> 5 {
                major::UNSIGNED => {
                    let number = self.number(first)?;
                    self.json.extend(number.to_string().bytes());
                }
                major::NEGATIVE => {
                    let number = -1 - i128::from(self.number(first)?);
                    self.json.extend(number.to_string().bytes());
                }
                major::BYTES => {
                    let (units, []) = self.string(first)?.as_chunks::<2>() else { return None };
                    self.text(units.iter().map(|unit| u16::from_le_bytes(*unit)));
                }
                major::UTF8 => {
                    let bytes = self.string(first)?;
                    if bytes.is_ascii() {
                        self.text(bytes.iter().map(|byte| u16::from(*byte)));
                    } else {
                        self.text(String::from_utf8_lossy(bytes).encode_utf16());
                    }
                }
                _ => return None,
            },
        }
        Some(())
    }

    fn double(&mut self, number: f64) {
        /// Outside of this range, an exponent is shorter than all digits: up to 340, which would take 40 times the memory of the number.
        const SHORT: std::ops::Range<f64> = 1e-6..1e21;
        let text = match number {
            number if !number.is_finite() => "null".to_owned(),
            number if number == 0.0 || SHORT.contains(&number.abs()) => number.to_string(),
            number => format!("{number:e}"),
        };
        self.json.extend(text.bytes());
    }

    fn text(&mut self, units: impl Iterator<Item = u16>) {
        self.json.push(b'"');
        for unit in units {
            match u8::try_from(unit) {
                Ok(byte @ (b'"' | b'\\')) => self.json.extend([b'\\', byte]),
                Ok(byte @ b' '..=b'~') => self.json.push(byte),
                Ok(b'\n') => self.json.extend(b"\\n"),
                Ok(b'\r') => self.json.extend(b"\\r"),
                Ok(b'\t') => self.json.extend(b"\\t"),
                _ => self.json.extend(format!("\\u{unit:04x}").bytes()),
            }
        }
        self.json.push(b'"');
    }

    fn base64(&mut self, bytes: &[u8]) {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        self.json.push(b'"');
        for chunk in bytes.chunks(3) {
            let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
            let bits = at(0) << 16 | at(1) << 8 | at(2);
            for digit in 0..4_usize {
                let value = bits >> (18 - 6 * digit) & 0x3f;
                self.json.push(if digit > chunk.len() { b'=' } else { DIGITS[value as usize] });
            }
        }
        self.json.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use super::{MAP, STOP, to_json};

    fn json(items: &[&[u8]]) -> Option<String> {
        let message = [&[0xd8, 0x5a, 0, 0, 0, 9, MAP], items.concat().as_slice(), &[STOP]].concat();
        // Truncated messages are always detected.
        for length in 0..message.len() {
            assert!(to_json(&message[..length]).is_none(), "{length}");
        }
        to_json(&message).map(|text| text.to_string())
    }

    #[test]
    fn items_are_converted() {
        let found = json(&[
            b"\x61a\x05\x61b\x38\x2a\x61c\x1a\x7f\xff\xff\xff",
            b"\x61d\xfb\x3f\xf8\0\0\0\0\0\0\x61e\xfb\x7f\xf0\0\0\0\0\0\0\x61f\xfb\x7e\x37\xe4\x3c\x88\0\x75\x9c",
            b"\x61g\x9f\xf4\xf5\xf6\xd8\x18\x5a\0\0\0\x03\xbf\xff\xff",
            b"\x61h\x44\xe9\0\x3d\xd8\x61i\x66\"\\\n\x07\xc3\xa9\x61j\xd6\x44abcd",
        ]);
        let expected = concat!(
            r#"{"a":5,"b":-43,"c":2147483647,"d":1.5,"e":null,"f":1e300,"g":[false,true,null,{}],"#,
            r#""h":"\u00e9\ud83d","i":"\"\\\n\u0007\u00e9","j":"YWJjZA=="}"#
        );
        assert_eq!(found.as_deref(), Some(expected));
    }

    #[test]
    fn numbers_take_little_text() {
        for number in [5e-324, -5e-324, 1e-6, 123.456, 0.1, f64::MAX, f64::MIN_POSITIVE, 0.0, 1e20] {
            let item = [b"\x61a\xfb".as_slice(), &number.to_be_bytes()].concat();
            let found = json(&[&item]).unwrap();
            assert!(found.len() < 32, "{found}");
            let text = found.trim_start_matches("{\"a\":").trim_end_matches('}');
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), number.to_bits());
        }
    }

    #[test]
    fn any_depth_is_converted() {
        const DEPTH: usize = 100_000;
        let lists = [vec![0x9f; DEPTH], vec![STOP; DEPTH]].concat();
        let found = to_json(&[b"\xbf\x61a".as_slice(), &lists, &[STOP]].concat()).unwrap().to_string();
        assert_eq!(found, format!("{{\"a\":{}{}}}", "[".repeat(DEPTH), "]".repeat(DEPTH)));
    }

    #[test]
    fn what_v8_does_not_write_is_refused() {
        for items in [b"\x61a".as_slice(), b"\x61a\x43abc", b"\x61a\x1c", b"\x61a\xd6\x61a", b"\x61a\xf7", b"\xff\xff"]
        {
            assert!(to_json(&[&[MAP], items, &[STOP]].concat()).is_none(), "{items:?}");
        }
    }
}

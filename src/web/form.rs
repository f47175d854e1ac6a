//! The names and values of `application/x-www-form-urlencoded`.

use percent_encoding::percent_decode;
use url::form_urlencoded::byte_serialize;

use super::arguments::{ascii, string, utf8};
use crate::convert::{self, Exchange};
use crate::isolate::GuestRealm;
use crate::value::{Fault, Text};

/// Bytes to decode or encode between two checks whether the guest must stop.
const CHUNK: usize = 1 << 18;

/// `decodeForm(text)`: the decoded name or value.
pub fn decode<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    args: &v8::FunctionCallbackArguments<'s>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let limit = at.limit();
    let encoded = utf8(scope, args.get(0), limit)?.ok_or_else(|| convert::too_large(limit))?;
    if !encoded.contains(['+', '%']) {
        return Ok(args.get(0));
    }
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while !rest.is_empty() {
        at.guest.check_stopping()?;
        let chunk;
        (chunk, rest) = rest.split_at(chunk_end(rest));
        unescape(chunk, &mut decoded);
    }
    drop(encoded);
    let mut units: Vec<u16> = Vec::with_capacity(decoded.len());
    for part in decoded.utf8_chunks() {
        at.guest.check_stopping()?;
        units.extend(part.valid().encode_utf16());
        if !part.invalid().is_empty() {
            units.push(REPLACEMENT);
        }
    }
    drop(decoded);
    string(scope, at, Text::from_utf16(units))
}

/// Replaces bytes that are no UTF-8.
const REPLACEMENT: u16 = char::REPLACEMENT_CHARACTER as u16;

/// Where the first chunk of a text ends, which is not within an escape.
fn chunk_end(text: &[u8]) -> usize {
    if text.len() <= CHUNK {
        return text.len();
    }
    (1..=2).find(|back| text[CHUNK - back] == b'%').map_or(CHUNK, |back| CHUNK - back)
}

/// Appends the bytes of a text with escapes.
fn unescape(text: &[u8], bytes: &mut Vec<u8>) {
    for (index, part) in text.split(|byte| *byte == b'+').enumerate() {
        if index > 0 {
            bytes.push(b' ');
        }
        bytes.extend(percent_decode(part));
    }
}

/// `encodeForm(text)`
pub fn encode<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    args: &v8::FunctionCallbackArguments<'s>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let limit = at.limit();
    let plain = utf8(scope, args.get(0), limit)?.ok_or_else(|| convert::too_large(limit))?;
    let mut encoded = String::new();
    for chunk in plain.as_bytes().chunks(CHUNK) {
        at.guest.check_stopping()?;
        for part in byte_serialize(chunk) {
            if encoded.len() + part.len() > limit {
                return Err(convert::too_large(limit));
            }
            encoded.push_str(part);
        }
    }
    drop(plain);
    string(scope, at, ascii(encoded))
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, chunk_end, unescape};

    fn unescaped(text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        unescape(text.as_bytes(), &mut bytes);
        bytes
    }

    #[test]
    fn only_whole_escapes_count() {
        for (text, expected) in [
            ("a+b", "a b"),
            ("%41%4a%4A", "AJJ"),
            ("%", "%"),
            ("%4", "%4"),
            ("%%41", "%A"),
            ("%4g+", "%4g "),
            ("%E3%80%80", "\u{3000}"),
        ] {
            assert_eq!(unescaped(text), expected.as_bytes(), "{text}");
        }
    }

    #[test]
    fn chunks_end_between_escapes() {
        for (end, expected) in [("%41", CHUNK), ("%4", CHUNK - 2), ("%", CHUNK - 1), ("", CHUNK)] {
            let mut text = "x".repeat(CHUNK - end.len()) + end;
            text.push_str("1y");
            assert_eq!(chunk_end(text.as_bytes()), expected, "{end}");
        }
        assert_eq!(chunk_end(b"%4"), 2);
    }
}

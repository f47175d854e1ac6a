//! Text as both engines store it: one byte per character if that suffices, else UTF-16 code units. Lone surrogates are kept, so engines
//! exchange text without loss.

use std::fmt;

/// An immutable JavaScript string outside any engine.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Text {
    /// Every code unit is below 256.
    Latin1(Vec<u8>),
    /// UTF-16 code units, perhaps with lone surrogates.
    Utf16(Vec<u16>),
}

/// Code units that are checked together.
const CHUNK: usize = 1 << 10;

impl Text {
    /// Bytes that a long text needs behind its characters so that an isolate can use its memory for a string.
    pub const SPARE: usize = 16;

    /// Wraps code units; narrows them to bytes if each fits into one.
    pub fn from_utf16(units: Vec<u16>) -> Self {
        // Without an exit inside a chunk, the compiler checks many units at a time.
        if units.chunks(CHUNK).all(|chunk| chunk.iter().fold(0, |all, unit| all | unit) < 256) {
            // The check above makes the narrowing exact.
            Text::Latin1(units.iter().map(|unit| *unit as u8).collect())
        } else {
            Text::Utf16(units)
        }
    }

    /// Length in UTF-16 code units, as JavaScript's `length`.
    pub fn len(&self) -> usize {
        match self {
            Text::Latin1(bytes) => bytes.len(),
            Text::Utf16(units) => units.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `units` code units.
    pub fn beginning(&self, units: usize) -> Self {
        match self {
            Text::Latin1(bytes) => Text::Latin1(bytes.iter().take(units).copied().collect()),
            Text::Utf16(all) => Text::from_utf16(all.iter().take(units).copied().collect()),
        }
    }

    /// Bytes that the characters take in memory.
    pub fn byte_len(&self) -> usize {
        match self {
            Text::Latin1(bytes) => bytes.len(),
            Text::Utf16(units) => units.len() * 2,
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        if text.is_ascii() {
            Text::Latin1(text.as_bytes().to_vec())
        } else {
            Text::from_utf16(text.encode_utf16().collect())
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        if text.is_ascii() { Text::Latin1(text.into_bytes()) } else { Text::from(text.as_str()) }
    }
}

impl fmt::Display for Text {
    /// Lone surrogates become U+FFFD.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Text::Latin1(bytes) => bytes.iter().try_for_each(|byte| fmt::Write::write_char(formatter, *byte as char)),
            Text::Utf16(units) => char::decode_utf16(units.iter().copied())
                .try_for_each(|unit| fmt::Write::write_char(formatter, unit.unwrap_or(char::REPLACEMENT_CHARACTER))),
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn narrows_if_possible() {
        assert_eq!(Text::from("ÿ"), Text::Latin1(vec![0xff]));
        assert_eq!(Text::from("Ā"), Text::Utf16(vec![0x100]));
        assert_eq!(Text::from_utf16(vec![0x41, 0xff]), Text::Latin1(vec![0x41, 0xff]));
    }

    #[test]
    fn keeps_lone_surrogates() {
        let text = Text::from_utf16(vec![0xd800, 0x41]);
        assert_eq!(text, Text::Utf16(vec![0xd800, 0x41]));
        assert_eq!(text.to_string(), "\u{fffd}A");
    }
}

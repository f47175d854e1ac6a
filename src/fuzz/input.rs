//! Choices that are read from the fuzzer's bytes. After the last byte, all bytes are zeros.

use crate::value::Text;

pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit.max(1)
    }

    pub fn pick<'t, T>(&mut self, list: &'t [T]) -> Option<&'t T> {
        list.get(self.below(list.len()))
    }

    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    /// The first byte is the count.
    pub fn some_bytes(&mut self) -> &'a [u8] {
        let count = usize::from(self.byte());
        self.bytes(count)
    }

    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    pub fn word(&mut self) -> u64 {
        let mut word = [0; 8];
        let bytes = self.bytes(8);
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }

    pub fn text(&mut self) -> Text {
        let wide = self.byte() & 1 == 1;
        let bytes = self.some_bytes();
        if wide {
            let (units, _) = bytes.as_chunks::<2>();
            Text::from_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit)).collect())
        } else {
            Text::Latin1(bytes.into())
        }
    }
}

//! Splits a stream of bytes into frames.

use std::mem;
use std::ops::Range;

use super::frame::HEADER;

/// Finds the frames in bytes that arrive piece by piece.
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

    /// Whether no byte of a next frame has arrived.
    pub fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// The bytes of the next frame's contents that have arrived, and how many it will have, once that is known.
    pub fn partial(&self) -> Option<(usize, usize)> {
        let (header, rest) = self.bytes[self.start..].split_first_chunk::<HEADER>()?;
        Some((rest.len(), u32::from_le_bytes(*header) as usize))
    }

    /// All bytes, and where in them the last frame's contents are, which have `length` bytes. What comes after them is dropped.
    pub fn take_last(&mut self, length: usize) -> (Vec<u8>, Range<usize>) {
        let end = mem::take(&mut self.start);
        (mem::take(&mut self.bytes), end - length..end)
    }

    /// Frees the memory of earlier frames.
    pub fn shrink(&mut self) {
        self.push(&[]);
        self.bytes.shrink_to_fit();
    }

    /// The contents of the next frame, once it is complete. `cap` returns the maximum number of bytes of a kind; a larger frame is refused
    /// as soon as its kind is known.
    pub fn next(&mut self, cap: impl Fn(u8) -> usize) -> Result<Option<&[u8]>, Oversized> {
        let rest = &self.bytes[self.start..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_le_bytes(*header) as usize;
        if length == 0 {
            return Err(Oversized);
        }
        let Some(kind) = rest.first() else { return Ok(None) };
        if length > cap(*kind) {
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

//! What a child writes to its standard output and error: lines, of which some are kept.

use std::fs::File;
use std::io::Read;

/// Bytes that may wait for the end of their line, or for somebody who wants them.
const MOST_WAITING: usize = 64 << 10;

#[derive(Default)]
pub struct Output {
    waiting: Vec<u8>,
}

impl Output {
    /// Takes what is there; more than can wait is lost. False when there will not be more.
    pub fn read(&mut self, pipe: &mut File) -> bool {
        let mut piece = [0; MOST_WAITING];
        match pipe.read(&mut piece) {
            Ok(0) => false,
            Ok(count) => {
                let room = MOST_WAITING.saturating_sub(self.waiting.len());
                self.waiting.extend_from_slice(&piece[..count.min(room)]);
                true
            }
            Err(error) => matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted),
        }
    }

    /// The next line that is not empty, as far as `most` characters and one more. `last`: what has no end yet counts as well.
    pub fn line(&mut self, most: usize, last: bool) -> Option<String> {
        loop {
            let end = match self.waiting.iter().position(|byte| *byte == b'\n') {
                Some(end) => end + 1,
                None if last || self.waiting.len() >= MOST_WAITING => self.waiting.len(),
                None => return None,
            };
            if end == 0 {
                return None;
            }
            let bytes: Vec<u8> = self.waiting.drain(..end).collect();
            let line: String =
                String::from_utf8_lossy(&bytes).trim_end().chars().take(most.saturating_add(1)).collect();
            if !line.is_empty() {
                return Some(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_WAITING, Output};

    #[test]
    fn lines_end_where_they_end() {
        let mut output = Output { waiting: b"one\n\n  \ntwo  \r\nthree".to_vec() };
        assert_eq!(output.line(10, false).as_deref(), Some("one"));
        assert_eq!(output.line(1, false).as_deref(), Some("tw"));
        assert_eq!(output.line(10, false), None);
        assert_eq!(output.line(10, true).as_deref(), Some("three"));
        assert_eq!(output.line(10, true), None);
    }

    #[test]
    fn a_line_without_an_end_has_one() {
        let mut output = Output { waiting: vec![0xff; MOST_WAITING] };
        assert_eq!(output.line(3, false).map(|line| line.chars().count()), Some(4));
        assert!(output.waiting.is_empty());
    }
}

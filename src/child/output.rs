//! What a child writes to its standard output and error: lines, of which some are kept.

use std::fs::File;
use std::io::Read;

/// The maximum number of bytes that wait for the end of their line, or to be fetched.
const MAX_WAITING: usize = 64 << 10;

#[derive(Default)]
pub struct Output {
    waiting: Vec<u8>,
    /// Where the next line begins.
    start: usize,
}

impl Output {
    /// Reads what is available, and drops what exceeds the maximum. False at the end of the output.
    pub fn read(&mut self, pipe: &mut File) -> bool {
        let mut piece = [0; MAX_WAITING];
        match pipe.read(&mut piece) {
            Ok(0) => false,
            Ok(count) => {
                self.waiting.drain(..self.start);
                self.start = 0;
                let room = MAX_WAITING.saturating_sub(self.waiting.len());
                self.waiting.extend_from_slice(&piece[..count.min(room)]);
                true
            }
            Err(error) => matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted),
        }
    }

    /// The next line that is not empty, truncated to `most` characters and one more. If `last`, an unfinished line counts too.
    pub fn line(&mut self, most: usize, last: bool) -> Option<String> {
        loop {
            let rest = &self.waiting[self.start..];
            let length = match rest.iter().position(|byte| *byte == b'\n') {
                Some(end) => end + 1,
                None if last || rest.len() >= MAX_WAITING => rest.len(),
                None => return None,
            };
            if length == 0 {
                return None;
            }
            self.start += length;
            let line: String =
                String::from_utf8_lossy(&rest[..length]).trim_end().chars().take(most.saturating_add(1)).collect();
            if !line.is_empty() {
                return Some(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::{MAX_WAITING, Output};

    #[test]
    fn lines_end_where_they_end() {
        let mut output = Output { waiting: b"one\n\n  \ntwo  \r\nthree".to_vec(), start: 0 };
        assert_eq!(output.line(10, false).as_deref(), Some("one"));
        assert_eq!(output.line(1, false).as_deref(), Some("tw"));
        assert_eq!(output.line(10, false), None);
        assert_eq!(output.line(10, true).as_deref(), Some("three"));
        assert_eq!(output.line(10, true), None);
    }

    #[test]
    fn a_line_without_an_end_has_one() {
        let mut output = Output { waiting: vec![0xff; MAX_WAITING], start: 0 };
        assert_eq!(output.line(3, false).map(|line| line.chars().count()), Some(4));
        assert_eq!(output.line(3, true), None);
    }

    #[test]
    fn what_was_read_makes_room() {
        let (read, mut write) = std::io::pipe().unwrap();
        let mut pipe = File::from(std::os::fd::OwnedFd::from(read));
        let mut output = Output::default();
        let piece = "line\n".repeat(MAX_WAITING / 10) + "rest";
        for round in 0..5 {
            write.write_all(piece.as_bytes()).unwrap();
            assert!(output.read(&mut pipe));
            if round > 0 {
                assert_eq!(output.line(100, false).as_deref(), Some("restline"));
            }
            let lines = std::iter::from_fn(|| output.line(100, false)).count();
            assert_eq!(lines, MAX_WAITING / 10 - usize::from(round > 0));
        }
    }

    #[test]
    fn many_lines_take_no_longer_than_one() {
        let began = std::time::Instant::now();
        for _ in 0..200 {
            let mut output = Output { waiting: vec![b'\n'; MAX_WAITING], start: 0 };
            assert_eq!(output.line(10, true), None);
        }
        // Moving the rest after each line would take half a minute.
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
    }
}

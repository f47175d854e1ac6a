//! Custom sections that V8 reads into trees and tables, whose nodes are too small to count.
//!
//! V8 reads all names of functions when it needs the first one, such as for the stack of an error. It holds a lock meanwhile, so a guest on the
//! thread of its host cannot be left. Hints for branches are read with the module.

use super::reader::Reader;

/// V8 also reads names of functions that the module does not have. Two million names take a second.
pub const MAX_NAMES: usize = 1_000_000;

/// Bytes for each name; 64 were measured.
const NAME_BYTES: usize = 64;

/// Bytes for each function with hints, and for each hint.
const HINTED_BYTES: usize = 96;
const HINT_BYTES: usize = 48;

/// The subsection that names functions.
const FUNCTIONS: u8 = 1;

/// The smallest entry has an index and the length of an empty name.
const MIN_NAME: usize = 2;

/// What V8 reads from custom sections.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Custom {
    /// The most names of functions in a section.
    pub names: usize,
    /// Bytes for hints.
    hints: usize,
}

impl Custom {
    pub fn read(&mut self, section: &[u8]) {
        let reader = &mut Reader::new(section);
        match reader.size().and_then(|length| reader.take(length)) {
            Some(b"name") => self.names = self.names.max(names(reader).unwrap_or(0)),
            Some(b"metadata.code.branch_hint") => {
                // An error may follow what V8 has read.
                let _ = self.read_hints(reader);
            }
            _ => {}
        }
    }

    /// Bytes that V8 takes for all of it.
    pub fn bytes(&self) -> usize {
        self.names.saturating_mul(NAME_BYTES).saturating_add(self.hints)
    }

    fn read_hints(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        for _ in 0..reader.size()? {
            reader.number()?;
            self.hints += HINTED_BYTES;
            for _ in 0..reader.size()? {
                // Where the branch is, the size of the hint, and the hint.
                reader.skip_numbers(2)?;
                reader.byte()?;
                self.hints += HINT_BYTES;
            }
        }
        Some(())
    }
}

/// How many names of functions V8 reads at most.
fn names(reader: &mut Reader<'_>) -> Option<usize> {
    loop {
        let kind = reader.byte()?;
        let size = reader.size()?;
        if kind == FUNCTIONS {
            // V8 does not stop at the end of the subsection.
            let count = reader.size()?;
            return Some(count.min(reader.left() / MIN_NAME));
        }
        reader.take(size)?;
    }
}

#[cfg(test)]
mod tests {
    use super::{Custom, HINT_BYTES, HINTED_BYTES};

    fn read(name: &[u8], rest: &[u8]) -> Custom {
        let mut custom = Custom::default();
        custom.read(&[&[name.len() as u8], name, rest].concat());
        custom
    }

    #[test]
    fn counts_the_names_of_functions() {
        let names = [3, 0, 1, b'a', 1, 0, 2, 0];
        // The name of the module comes first.
        let rest = [&[0, 2, 1, b'm', 1, names.len() as u8][..], &names].concat();
        assert_eq!(read(b"name", &rest).names, 3);
        assert_eq!(read(b"other", &rest), Custom::default());
        // Names of locals.
        assert_eq!(read(b"name", &[2, 2, 9, 9]).names, 0);
    }

    #[test]
    fn bounds_the_count_by_the_bytes_of_the_section() {
        let mut rest = vec![1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f];
        rest.extend([0; 100]);
        assert_eq!(read(b"name", &rest).names, 50);
        assert_eq!(read(b"name", &[1, 0]).names, 0);
        Custom::default().read(b"");
    }

    #[test]
    fn counts_hints_for_branches() {
        let hints = |rest: &[u8]| read(b"metadata.code.branch_hint", rest).bytes();
        // Two functions, the second one with two hints.
        assert_eq!(hints(&[2, 0, 0, 1, 2, 5, 1, 0, 9, 1, 1]), 2 * HINTED_BYTES + 2 * HINT_BYTES);
        assert_eq!(hints(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0, 2]), 2 * HINTED_BYTES);
    }
}

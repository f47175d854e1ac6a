//! What a module asks of V8, read from its sections before V8 sees it.

use super::code;
use super::reader::Reader;
use super::types::Types;

const HEADER: [u8; 8] = *b"\0asm\x01\0\0\0";

const TYPES: u8 = 1;
const FUNCTIONS: u8 = 3;
const CODE: u8 = 10;

/// Bytes that V8 takes for an entry of a section while the module lives, by the sections' numbers.
const ENTRY_BYTES: [usize; 14] = [0, 0, 96, 128, 64, 64, 64, 64, 0, 128, 0, 64, 0, 64];

#[derive(Default)]
pub struct Module {
    pub types: Types,
    pub functions: usize,
    /// Bytes that V8 takes for what the sections list, beside the module itself.
    pub entries: usize,
    /// Bytes that V8 takes for the function that takes most when it is optimized, and which of those with code that is.
    pub largest: (usize, usize),
}

impl Module {
    /// Reads a module that may have types of `most_types` bytes. A function is looked at more closely where it may cost more than
    /// `most_code`.
    pub fn read(bytes: &[u8], most_types: usize, most_code: usize) -> Self {
        let mut module = Self::default();
        let mut reader = Reader::new(bytes);
        if reader.take(HEADER.len()) == Some(&HEADER[..]) {
            while module.read_section(&mut reader, most_types, most_code).is_some() {}
        }
        module
    }

    fn read_section(&mut self, reader: &mut Reader<'_>, most_types: usize, most_code: usize) -> Option<()> {
        let number = reader.byte()?;
        let size = reader.size()?;
        let section = reader.take_most(size);
        if number == TYPES {
            self.types.read(section, most_types);
            return Some(());
        }
        let mut section = Reader::new(section);
        let count = section.size().unwrap_or(0).min(section.left());
        if let Some(bytes) = ENTRY_BYTES.get(usize::from(number)) {
            self.entries = self.entries.saturating_add(count.saturating_mul(*bytes));
        }
        match number {
            FUNCTIONS => self.functions = self.functions.saturating_add(count),
            CODE => self.read_code(&mut section, count, most_code),
            _ => {}
        }
        Some(())
    }

    fn read_code(&mut self, section: &mut Reader<'_>, count: usize, most: usize) {
        for index in 0..count {
            let Some(size) = section.size() else { return };
            let cost = code::cost(section.take_most(size), self.types.arity, most);
            if cost > self.largest.0 {
                self.largest = (cost, index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER, Module};

    fn module(sections: &[&[u8]]) -> Module {
        Module::read(&[&HEADER[..], &sections.concat()].concat(), 1 << 20, 0)
    }

    #[test]
    fn reads_sections() {
        let read = module(&[&[1, 4, 1, 0x60, 0, 0], &[3, 3, 2, 0, 0], &[10, 7, 2, 2, 0, 0x0b, 2, 0, 0x0b]]);
        assert_eq!((read.types.groups.len(), read.functions), (1, 2));
        assert!(read.largest.0 > 0);
    }

    #[test]
    fn takes_counts_for_no_more_than_there_is() {
        assert_eq!(module(&[&[3, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0x3f, 0]]).functions, 1);
        assert_eq!(module(&[&[3]]).functions, 0);
        assert_eq!(Module::read(b"\0asm", 1, 1).functions, 0);
    }
}

//! What a module requires of V8, read from its sections before V8 compiles it.

use super::code::{self, Parts};
use super::custom::Custom;
use super::instructions;
use super::reader::Reader;
use super::types::Types;

const HEADER: [u8; 8] = *b"\0asm\x01\0\0\0";

const CUSTOM: u8 = 0;
const TYPES: u8 = 1;
const IMPORTS: u8 = 2;
const FUNCTIONS: u8 = 3;
const TABLES: u8 = 4;
const CODE: u8 = 10;

/// Bytes that V8 uses per section entry while the module lives, indexed by section number.
const ENTRY_BYTES: [usize; 14] = [0, 0, 96, 128, 64, 64, 64, 64, 0, 128, 0, 64, 0, 64];

/// Bytes for each element in a table's initial size.
const ELEMENT_BYTES: usize = 32;

#[derive(Default)]
pub struct Module {
    pub types: Types,
    pub functions: usize,
    pub custom: Custom,
    /// Bytes that V8 uses for the entries of the sections, in addition to the module itself.
    pub entries: usize,
    /// The most bytes that V8 uses to optimize one function, and the index of that function among those with code.
    pub largest: (usize, usize),
}

impl Module {
    /// Reads a module that may have types of `max_types` bytes. Functions that may cost more than `max_code` are examined more closely.
    pub fn read(bytes: &[u8], max_types: usize, max_code: usize) -> Self {
        let mut module = Self::default();
        let mut reader = Reader::new(bytes);
        if reader.take(HEADER.len()) == Some(&HEADER[..]) {
            while module.read_section(&mut reader, max_types, max_code).is_some() {}
        }
        module
    }

    fn read_section(&mut self, reader: &mut Reader<'_>, max_types: usize, max_code: usize) -> Option<()> {
        let number = reader.byte()?;
        let size = reader.size()?;
        let section = reader.take_most(size);
        if number == TYPES {
            self.types.read(section, max_types);
            return Some(());
        }
        if number == CUSTOM {
            self.custom.read(section);
            return Some(());
        }
        let mut section = Reader::new(section);
        let count = section.size().unwrap_or(0).min(section.left());
        if let Some(bytes) = ENTRY_BYTES.get(usize::from(number)) {
            self.entries = self.entries.saturating_add(count.saturating_mul(*bytes));
        }
        match number {
            IMPORTS => {
                let parts = &mut self.types.parts;
                // After an import that is not understood, functions would get wrong numbers, so all numbers are discarded.
                if read_imports(&mut section, count, parts).is_none() {
                    parts.of_types.clear();
                    parts.of_functions.clear();
                    parts.arity = parts.arity.max(parts.most);
                }
            }
            FUNCTIONS => {
                self.functions = self.functions.saturating_add(count);
                let Parts { of_types, of_functions, .. } = &mut self.types.parts;
                let types = (0..count).map_while(|_| section.size());
                of_functions.extend(types.map_while(|index| of_types.get(index)));
            }
            TABLES => {
                // V8 stops reading at a table that is not understood.
                let sizes = (0..count).map_while(|_| table_size(&mut section));
                let elements = sizes.fold(0_usize, usize::saturating_add);
                self.entries = self.entries.saturating_add(elements.saturating_mul(ELEMENT_BYTES));
            }
            CODE => self.read_code(&mut section, count, max_code),
            _ => {}
        }
        Some(())
    }

    fn read_code(&mut self, section: &mut Reader<'_>, count: usize, most: usize) {
        for index in 0..count {
            let Some(size) = section.size() else { return };
            let cost = code::cost(section.take_most(size), &self.types.parts, most);
            if cost > self.largest.0 {
                self.largest = (cost, index);
            }
        }
    }
}

/// Adds the parts of the imported functions.
fn read_imports(section: &mut Reader<'_>, count: usize, parts: &mut Parts) -> Option<()> {
    for _ in 0..count {
        for _ in 0..2 {
            let length = section.size()?;
            section.take(length)?;
        }
        match section.byte()? {
            0 => parts.of_functions.push(*parts.of_types.get(section.size()?)?),
            1 => {
                instructions::skip_value_type(section)?;
                skip_limits(section)?;
            }
            2 => {
                skip_limits(section)?;
            }
            3 => {
                instructions::skip_value_type(section)?;
                section.byte()?;
            }
            4 => section.skip_numbers(2)?,
            _ => return None,
        }
    }
    Some(())
}

/// Skips the limits of a table or memory, and returns the lower one.
fn skip_limits(section: &mut Reader<'_>) -> Option<usize> {
    const WITH_MAXIMUM: u8 = 1;
    const WITH_PAGE_SIZE: u8 = 8;

    let flags = section.byte()?;
    let size = section.size()?;
    for flag in [WITH_MAXIMUM, WITH_PAGE_SIZE] {
        if flags & flag != 0 {
            section.skip_number()?;
        }
    }
    Some(size)
}

/// Initial number of elements of a table.
fn table_size(section: &mut Reader<'_>) -> Option<usize> {
    const WITH_VALUE: u8 = 0x40;

    let has_value = section.peek() == Some(WITH_VALUE);
    if has_value {
        section.take(2)?;
    }
    instructions::skip_value_type(section)?;
    let size = skip_limits(section)?;
    if has_value {
        instructions::skip_expression(section)?;
    }
    Some(size)
}

#[cfg(test)]
mod tests {
    use super::{ELEMENT_BYTES, HEADER, Module};

    fn module(sections: &[&[u8]]) -> Module {
        Module::read(&[&HEADER[..], &sections.concat()].concat(), 1 << 20, 0)
    }

    #[test]
    fn reads_sections() {
        let read = module(&[&[1, 4, 1, 0x60, 0, 0], &[3, 3, 2, 0, 0], &[10, 7, 2, 2, 0, 0x0b, 2, 0, 0x0b]]);
        assert_eq!((read.types.groups.len(), read.functions), (1, 2));
        assert!(read.largest.0 > 0);
        let named = module(&[&[0, 10, 4, b'n', b'a', b'm', b'e', 1, 3, 1, 0, 0], &[0, 2, 1, b'x'], &[3, 2, 1, 0]]);
        assert_eq!((named.custom.names, named.functions), (1, 1));
    }

    #[test]
    fn counts_elements_of_tables() {
        // (table 1000 funcref (ref.null func)), (table 5 10 (ref null 0))
        let tables = module(&[&[4, 16, 2, 0x40, 0, 0x70, 0, 0xe8, 7, 0xd0, 0x70, 0x0b, 0x63, 0, 1, 5, 10]]);
        assert!((1_005 * ELEMENT_BYTES..1_015 * ELEMENT_BYTES).contains(&tables.entries));
    }

    #[test]
    fn bounds_counts_by_the_remaining_bytes() {
        assert_eq!(module(&[&[3, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0x3f, 0]]).functions, 1);
        assert_eq!(module(&[&[3]]).functions, 0);
        assert_eq!(Module::read(b"\0asm", 1, 1).functions, 0);
    }
}

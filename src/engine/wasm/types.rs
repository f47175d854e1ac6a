//! The type section of a module in terms of V8's canonical types: groups of types are equal if they have the same structure, even in
//! different modules.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use super::code::Parts;
use super::reader::Reader;

/// Bytes that V8 uses for a type for the lifetime of the process: entries in four tables, and one in each isolate that uses it.
pub const TYPE_BYTES: usize = 256;

/// Additional bytes for each parameter, result or field.
const PART_BYTES: usize = 8;

/// V8 accepts no more groups in a module, and no more fields in a structure.
const MAX_GROUPS: usize = 1_000_000;
const MAX_PARTS: usize = 10_000;

/// Types that refer to each other, which V8 adds together.
pub struct Group {
    /// Equal for groups that V8 treats as the same.
    pub key: u128,
    pub bytes: usize,
}

impl Group {
    /// One type with this many parameters, created without a module.
    pub fn of_one(text: &[u8], parts: usize) -> Self {
        Self { key: key(text), bytes: TYPE_BYTES + parts * PART_BYTES }
    }
}

#[derive(Default)]
pub struct Types {
    pub groups: Vec<Group>,
    /// Bytes that V8 may use for the part of the section that was not understood.
    pub unknown: usize,
    pub parts: Parts,
    /// Keys by type index. Equal for types that V8 treats as the same.
    keys: Vec<u128>,
}

/// Secret from guests, which could otherwise construct groups with equal keys.
static SEEDS: LazyLock<[RandomState; 2]> = LazyLock::new(|| [RandomState::new(), RandomState::new()]);

/// A key for a group or type described by `bytes`.
fn key(bytes: &[u8]) -> u128 {
    let [high, low] = SEEDS.each_ref().map(|seed| u128::from(seed.hash_one(bytes)));
    high << 64 | low
}

const GROUP: u8 = 0x4e;
const SUBTYPES: [u8; 2] = [0x50, 0x4f];
/// Prefixes of a type: shared, with a descriptor, and describing another type. A type index follows the latter two.
const SHARED: u8 = 0x65;
const DESCRIPTORS: [u8; 2] = [0x4d, 0x4c];
/// Prefixes of a reference and of a heap type.
const REFERENCES: [u8; 2] = [0x64, 0x63];
const EXACT: u8 = 0x62;

impl Types {
    /// Reads a section. Stops when the types take more than `most` bytes.
    pub fn read(&mut self, section: &[u8], most: usize) {
        let mut reader = Reader::new(section);
        let mut total = 0;
        let count = reader.number().unwrap_or(0);
        for _ in 0..count {
            let left = reader.left();
            if self.groups.len() > MAX_GROUPS || self.read_group(&mut reader, most).is_none() || total > most {
                // V8 may understand more than this reader, so the rest, including this group, is counted. A type takes at least two bytes.
                self.unknown += (left / 2 + 1).saturating_mul(TYPE_BYTES);
                self.parts.most = MAX_PARTS;
                self.parts.arity = MAX_PARTS;
                return;
            }
            total += self.groups.last().map_or(0, |group| group.bytes);
        }
    }

    fn read_group(&mut self, reader: &mut Reader<'_>, most: usize) -> Option<()> {
        let mut size = 1;
        if reader.peek() == Some(GROUP) {
            reader.byte();
            size = reader.size()?;
        }
        // Checked before anything is allocated for them.
        if size > reader.left() || size.saturating_mul(TYPE_BYTES) > most {
            return None;
        }
        let mut group =
            GroupReader { first: self.keys.len(), size, keys: &self.keys, text: Vec::new(), parts: 0, arity: 0 };
        let of_types = &mut self.parts.of_types;
        let read = (0..size).try_for_each(|_| {
            let before = group.parts;
            group.definition(reader)?;
            of_types.push(group.parts - before);
            (group.parts.saturating_mul(PART_BYTES) <= most).then_some(())
        });
        let GroupReader { text, parts, arity, .. } = group;
        self.parts.arity = self.parts.arity.max(arity);
        self.parts.most = of_types.iter().skip(self.keys.len()).copied().max().unwrap_or(0).max(self.parts.most);
        read?;
        let key = key(&text);
        self.keys.extend((0..size as u128).map(|index| key.wrapping_add(index)));
        self.groups.push(Group { key, bytes: size * TYPE_BYTES + parts * PART_BYTES });
        Some(())
    }
}

struct GroupReader<'a> {
    first: usize,
    size: usize,
    /// Keys of the types before the group.
    keys: &'a [u128],
    /// Describes the group independently of the module.
    text: Vec<u8>,
    parts: usize,
    arity: usize,
}

impl GroupReader<'_> {
    fn definition(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        if let Some(prefix) = reader.peek().filter(|byte| SUBTYPES.contains(byte)) {
            reader.byte();
            self.text.push(prefix);
            let count = reader.size().filter(|count| *count <= 1)?;
            self.text.push(u8::from(count == 1));
            if count == 1 {
                self.index(reader)?;
            }
        }
        while let Some(prefix) = reader.peek().filter(|byte| *byte == SHARED || DESCRIPTORS.contains(byte)) {
            reader.byte();
            self.text.push(prefix);
            if prefix != SHARED {
                self.index(reader)?;
            }
        }
        let kind = reader.byte()?;
        self.text.push(kind);
        match kind {
            0x60 => {
                let parameters = self.values(reader)?;
                let results = self.values(reader)?;
                self.arity = self.arity.max(parameters.saturating_add(results));
            }
            0x5f => {
                let fields = self.count(reader)?;
                (0..fields).try_for_each(|_| self.field(reader))?;
            }
            0x5e => self.field(reader)?,
            // A continuation.
            0x5d => self.heap_type(reader)?,
            _ => return None,
        }
        Some(())
    }

    fn count(&mut self, reader: &mut Reader<'_>) -> Option<usize> {
        let count = reader.size().filter(|count| *count <= MAX_PARTS)?;
        self.text.extend_from_slice(&count.to_le_bytes());
        self.parts = self.parts.saturating_add(count.min(reader.left()));
        Some(count)
    }

    fn values(&mut self, reader: &mut Reader<'_>) -> Option<usize> {
        let count = self.count(reader)?;
        (0..count).try_for_each(|_| self.value(reader))?;
        Some(count)
    }

    fn field(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        self.value(reader)?;
        self.text.push(reader.byte()?);
        Some(())
    }

    fn value(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let kind = reader.byte()?;
        self.text.push(kind);
        if REFERENCES.contains(&kind) { self.heap_type(reader) } else { Some(()) }
    }

    fn heap_type(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        while let Some(prefix) = reader.peek().filter(|byte| [SHARED, EXACT].contains(byte)) {
            reader.byte();
            self.text.push(prefix);
        }
        let number = reader.signed()?;
        match usize::try_from(number) {
            Ok(index) => self.refer_to(index),
            Err(_) => {
                self.text.extend_from_slice(&number.to_le_bytes());
                Some(())
            }
        }
    }

    fn index(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let index = reader.size()?;
        self.refer_to(index)
    }

    fn refer_to(&mut self, index: usize) -> Option<()> {
        if let Some(key) = self.keys.get(index) {
            self.text.push(1);
            self.text.extend_from_slice(&key.to_le_bytes());
            return Some(());
        }
        let relative = index.checked_sub(self.first).filter(|relative| *relative < self.size)?;
        self.text.push(2);
        self.text.extend_from_slice(&relative.to_le_bytes());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{TYPE_BYTES, Types};

    fn read(section: &[u8]) -> Types {
        let mut types = Types::default();
        types.read(section, 1 << 20);
        types
    }

    fn keys(section: &[u8]) -> Vec<u128> {
        let types = read(section);
        assert_eq!(types.unknown, 0);
        types.groups.iter().map(|group| group.key).collect()
    }

    #[test]
    fn recognizes_equal_types_of_other_modules() {
        // (func (param i32)), (func (result (ref 0)))
        let one = keys(&[2, 0x60, 1, 0x7f, 0, 0x60, 0, 1, 0x64, 0]);
        // (func), (func (param i32)), (func (result (ref 1)))
        let other = keys(&[3, 0x60, 0, 0, 0x60, 1, 0x7f, 0, 0x60, 0, 1, 0x64, 1]);
        assert_eq!(one, other[1..]);
        // (func (result (ref 0))) refers to another type.
        assert_ne!(keys(&[2, 0x60, 0, 0, 0x60, 0, 1, 0x64, 0])[1], one[1]);
    }

    #[test]
    fn reads_groups() {
        // (rec (struct (field (ref null 1))) (array (mut (ref 0))))
        let section = [1, 0x4e, 2, 0x5f, 1, 0x63, 1, 0, 0x5e, 0x64, 0, 1];
        let types = read(&section);
        assert_eq!((types.groups.len(), types.unknown), (1, 0));
        assert!(types.groups[0].bytes >= 2 * TYPE_BYTES);
        // (func), and the same at indices 1 and 2
        let moved = [2, 0x60, 0, 0, 0x4e, 2, 0x5f, 1, 0x63, 2, 0, 0x5e, 0x64, 1, 1];
        assert_eq!(keys(&moved)[1], keys(&section)[0]);
    }

    #[test]
    fn counts_unknown_types() {
        assert_eq!(read(&[2, 0x60, 0, 0, 0x11, 0, 0, 0]).unknown, 3 * TYPE_BYTES);
        assert_eq!(read(&[1, 0x60, 1, 0x64, 5, 0]).groups.len(), 0);
        // A group that is too large for its section.
        assert!(read(&[1, 0x4e, 0xff, 0xff, 3, 0x60, 0, 0]).unknown > 0);
        // If only the last type of a group is not understood, the whole group is counted.
        let mut group = vec![1, 0x4e, 101];
        group.extend([0x5f, 0].repeat(100));
        group.push(0x11);
        assert!(read(&group).unknown > 100 * TYPE_BYTES);
    }

    #[test]
    fn reads_long_forms_of_numbers() {
        // (rec (struct) (sub (struct))), with two bytes for the number of supertypes
        assert_eq!(
            keys(&[1, 0x4e, 2, 0x5f, 0, 0x50, 0x80, 0, 0x5f, 0]),
            keys(&[1, 0x4e, 2, 0x5f, 0, 0x50, 0, 0x5f, 0])
        );
    }

    #[test]
    fn bounds_its_memory() {
        // Empty groups.
        let mut section = vec![0x80, 0xda, 0xc4, 9];
        section.extend([0x4e, 0].repeat(2_000_000));
        assert!(read(&section).groups.len() <= 1_000_001);
        // A group with many parameters is cut off where it has too many.
        let mut group = vec![1, 0x4e, 100];
        group.extend([&[0x60, 0xe8, 7][..], &[0x64, 0].repeat(1_000), &[0]].concat().repeat(100));
        let types = read(&group);
        assert_eq!((types.groups.len(), types.unknown), (1, 0));
        let mut types = Types::default();
        types.read(&group, 100_000);
        assert!(types.groups.is_empty() && types.unknown > 100_000 * 8);
    }
}

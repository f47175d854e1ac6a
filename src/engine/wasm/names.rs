//! The names of functions that a module lists. V8 puts all of them into a search tree when it needs the first one, such as for the stack of an
//! error. The nodes of the tree are too small to count. V8 holds a lock meanwhile, so a guest on the thread of its host cannot be left.

use super::reader::Reader;

/// V8 puts more names than a module may have functions into the tree as well, which takes a second for two million.
pub const MAX_COUNT: usize = 1_000_000;

/// Bytes for each name; 64 were measured.
pub const BYTES: usize = 64;

const NAME: &[u8] = b"name";

/// The subsection that names functions.
const FUNCTIONS: u8 = 1;

/// The smallest entry has an index and the length of an empty name.
const MIN_ENTRY: usize = 2;

/// How many names V8 reads at most from a custom section.
pub fn count(section: &[u8]) -> usize {
    find(&mut Reader::new(section)).unwrap_or(0)
}

fn find(reader: &mut Reader<'_>) -> Option<usize> {
    let length = reader.size()?;
    if reader.take(length)? != NAME {
        return None;
    }
    loop {
        let kind = reader.byte()?;
        let size = reader.size()?;
        if kind == FUNCTIONS {
            // V8 does not stop at the end of the subsection.
            let count = reader.size()?;
            return Some(count.min(reader.left() / MIN_ENTRY));
        }
        reader.take(size)?;
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    fn section(name: &[u8], rest: &[u8]) -> Vec<u8> {
        [&[name.len() as u8], name, rest].concat()
    }

    #[test]
    fn counts_the_names_of_functions() {
        let names = [3, 0, 1, b'a', 1, 0, 2, 0];
        // The name of the module comes first.
        let rest = [&[0, 2, 1, b'm', 1, names.len() as u8][..], &names].concat();
        assert_eq!(count(&section(b"name", &rest)), 3);
        assert_eq!(count(&section(b"other", &rest)), 0);
        // Names of locals.
        assert_eq!(count(&section(b"name", &[2, 2, 9, 9])), 0);
    }

    #[test]
    fn bounds_the_count_by_the_bytes_of_the_section() {
        let mut rest = vec![1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f];
        rest.extend([0; 100]);
        assert_eq!(count(&section(b"name", &rest)), 50);
        assert_eq!(count(&section(b"name", &[1, 0])), 0);
        assert_eq!(count(b""), 0);
    }
}

//! Reads the binary format of WebAssembly.

/// A position in a byte slice. Methods return `None` if the bytes end too early or are not in the format.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next two bytes, which are not taken; the second one is 0 if there is none.
    pub fn first_two(&self) -> Option<(u8, u8)> {
        Some((self.peek()?, self.bytes.get(self.at + 1).copied().unwrap_or(0)))
    }

    pub fn byte(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    /// Takes `count` bytes, or all remaining ones if there are fewer.
    pub fn take_most(&mut self, count: usize) -> &'a [u8] {
        let count = count.min(self.left());
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        taken
    }

    /// An unsigned number in LEB128.
    pub fn number(&mut self) -> Option<u32> {
        let mut value = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).ok();
            }
        }
        None
    }

    /// An unsigned number, as a count or size.
    pub fn size(&mut self) -> Option<usize> {
        self.number().and_then(|number| usize::try_from(number).ok())
    }

    /// A signed number of 33 bits in LEB128.
    pub fn signed(&mut self) -> Option<i64> {
        let mut value = 0_i64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let unused = 64 - shift - 7;
                return Some(value << unused >> unused);
            }
        }
        None
    }

    /// Skips a number of at most 64 bits in LEB128.
    pub fn skip_number(&mut self) -> Option<()> {
        (0..10).find_map(|_| match self.byte() {
            Some(byte) if byte & 0x80 != 0 => None,
            end => Some(end.map(drop)),
        })?
    }

    pub fn skip_numbers(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.skip_number())
    }
}

#[cfg(test)]
mod tests {
    use super::Reader;

    #[test]
    fn reads_numbers() {
        let mut reader = Reader::new(&[0xe5, 0x8e, 0x26, 0x7f, 0xc0, 0xbb, 0x78, 0x80, 0x80, 5, 0xff]);
        assert_eq!(reader.number(), Some(624_485));
        assert_eq!(reader.signed(), Some(-1));
        assert_eq!(reader.signed(), Some(-123_456));
        assert_eq!(reader.skip_number(), Some(()));
        assert_eq!(reader.left(), 1);
        assert_eq!(reader.skip_number(), None);
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x1f]).number(), None);
        assert_eq!(Reader::new(&[0x80; 10]).number(), None);
    }

    #[test]
    fn stops_at_the_end_of_the_input() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert_eq!(reader.take(usize::MAX), None);
        assert_eq!(reader.take(2), Some(&[1, 2][..]));
        assert_eq!(reader.take_most(9), [3]);
        assert_eq!(reader.byte(), None);
    }
}

//! Tags for data that V8 produces and later gets back from outside. V8 checks little of such data in a release build. So the
//! data leaves the addon with a tag, and is accepted only with the same tag: from this build, for this V8 with these flags, and complete.
//!
//! There are two separate checks. What the data was made from is compared by SHA-256, because tenants may choose it. Whether the data is
//! intact is compared by a checksum: code that can change the data is trusted like the host, because V8 runs what the data contains.

use sha2::{Digest as _, Sha256};

/// Magic, then V8's version and flags.
const HEAD: usize = 8;
const WORD: usize = 8;

/// SHA-256 of input that tenants may choose. No other input may produce the same digest.
pub struct Digest(Sha256);

impl Digest {
    /// `kind` distinguishes inputs that have the same bytes but different meanings.
    pub fn new(kind: u8) -> Self {
        let mut hasher = Sha256::new();
        hasher.update([kind]);
        Self(hasher)
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(bytes);
        self
    }

    /// UTF-16, as the bytes of little-endian units.
    pub fn units(mut self, units: &[u16]) -> Self {
        let mut bytes = [0; 4 << 10];
        for part in units.chunks(bytes.len() / 2) {
            let (pairs, _) = bytes.as_chunks_mut::<2>();
            for (pair, unit) in pairs.iter_mut().zip(part) {
                *pair = unit.to_le_bytes();
            }
            self.0.update(&bytes[..part.len() * 2]);
        }
        self
    }

    pub fn finish(self) -> [u64; 4] {
        let digest = self.0.finalize();
        let (words, _) = digest.as_chunks::<WORD>();
        let mut facts = [0; 4];
        for (fact, word) in facts.iter_mut().zip(words) {
            *fact = u64::from_le_bytes(*word);
        }
        facts
    }
}

/// Detects damage only: anyone can compute other bytes with the same checksum.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<WORD>();
    let hash = words.iter().fold(seed(bytes.len()), |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
}

/// With a small seed, an equal first word would make the hash zero, and it would stay zero for all following zeros.
fn seed(length: usize) -> u64 {
    mix(0x6a09_e667_f3bc_c908, length as u64)
}

/// A checksum of several parts: no part can end with what another one begins with.
pub fn checksum_of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> u64 {
    parts.fold(0, |hash, part| mix(hash, checksum(part)))
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// `contents` with a tag, which also holds `facts`. The tag depends on V8's version, its flags and the features of the processor.
pub fn seal<const N: usize>(magic: [u8; 4], facts: [u64; N], contents: &[u8]) -> Vec<u8> {
    seal_for(v8::script_compiler::cached_data_version_tag(), magic, facts, contents)
}

/// The same for a V8 that is identified by `version`.
pub fn seal_for<const N: usize>(version: u32, magic: [u8; 4], facts: [u64; N], contents: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(HEAD + (N + 1) * WORD + contents.len());
    sealed.extend_from_slice(&head(version, magic));
    for fact in facts {
        sealed.extend_from_slice(&fact.to_le_bytes());
    }
    let check = check(&sealed, contents);
    sealed.extend_from_slice(&check.to_le_bytes());
    sealed.extend_from_slice(contents);
    sealed
}

/// How sealed data for a V8 that is identified by `version` begins.
pub fn head(version: u32, magic: [u8; 4]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&magic);
    head[4..].copy_from_slice(&version.to_le_bytes());
    head
}

/// The facts and the contents, if this build made them and they are intact.
pub fn open<const N: usize>(magic: [u8; 4], sealed: &[u8]) -> Option<([u64; N], &[u8])> {
    open_for(v8::script_compiler::cached_data_version_tag(), magic, sealed)
}

/// The same for a V8 that is identified by `version`.
pub fn open_for<const N: usize>(version: u32, magic: [u8; 4], sealed: &[u8]) -> Option<([u64; N], &[u8])> {
    let (tag, rest) = sealed.split_at_checked(HEAD + N * WORD)?;
    let (found, contents) = rest.split_first_chunk::<WORD>()?;
    if tag[..HEAD] != head(version, magic) || u64::from_le_bytes(*found) != check(tag, contents) {
        return None;
    }
    let mut facts = [0; N];
    let (words, _) = tag[HEAD..].as_chunks::<WORD>();
    for (fact, word) in facts.iter_mut().zip(words) {
        *fact = u64::from_le_bytes(*word);
    }
    Some((facts, contents))
}

fn check(tag: &[u8], contents: &[u8]) -> u64 {
    checksum(tag).rotate_left(1) ^ checksum(contents)
}

#[cfg(test)]
mod tests {
    use super::{Digest, checksum, open, seal};

    #[test]
    fn the_checksum_depends_on_every_byte() {
        let bytes: Vec<u8> = (0..21).map(|byte| byte * 3).collect();
        for length in 0..bytes.len() {
            let one = &bytes[..length];
            assert_ne!(checksum(one), checksum(&[one, &[0]].concat()));
            for index in 0..length {
                let mut other = one.to_vec();
                other[index] ^= 1;
                assert_ne!(checksum(one), checksum(&other), "byte {index} of {length}");
            }
        }
    }

    #[test]
    fn digests_are_sha_256_of_the_kind_and_the_bytes() {
        // printf '\001abc' | sha256sum, in words
        let expected = [0xe500_6d42_4c83_181e, 0x2cd6_ccb3_4c44_8877, 0xc4b0_5b09_0c42_1b77, 0x0d57_c422_c1a8_40e0];
        assert_eq!(Digest::new(1).bytes(b"abc").finish(), expected);
        let units: Vec<u16> = (0..10_000).map(|unit| unit * 7).collect();
        let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        assert_eq!(Digest::new(1).units(&units).finish(), Digest::new(1).bytes(&bytes).finish());
        assert_ne!(Digest::new(1).bytes(&bytes).finish(), Digest::new(2).bytes(&bytes).finish());
        assert_ne!(Digest::new(1).bytes(&bytes).finish(), Digest::new(1).bytes(&bytes[1..]).finish());
    }

    #[test]
    fn refuses_changed_bytes() {
        let sealed = seal(*b"test", [7, 8], b"some contents");
        assert_eq!(open(*b"test", &sealed), Some(([7, 8], &b"some contents"[..])));
        assert_eq!(open::<2>(*b"tset", &sealed), None);
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert_eq!(open::<2>(*b"test", &changed), None, "byte {index}");
            assert_eq!(open::<2>(*b"test", &sealed[..index]), None, "{index} bytes");
        }
    }

    #[test]
    fn refuses_shorter_and_longer_small_numbers_and_zeros() {
        for contents in [&b""[..], &[1], &[2, 0], &[3, 0, 0], &[0; 8], &[8, 0, 0, 0, 0, 0, 0, 0], &[16; 16], &[0; 64]] {
            let sealed = seal(*b"test", [0, 0], contents);
            for length in (0..sealed.len()).chain(sealed.len() + 1..sealed.len() + 20) {
                let mut changed = sealed.clone();
                changed.resize(length, 0);
                assert_eq!(open::<2>(*b"test", &changed), None, "{length} bytes instead of {}", sealed.len());
            }
        }
    }
}

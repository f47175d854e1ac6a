//! Tags on what V8 has made and will get back from outside. V8 checks little of it in a release build, so data goes out
//! with a tag of ours and comes back only with the same one: from this build, for this V8 with these flags, and whole.

/// Magic, then V8's version and flags.
const HEAD: usize = 8;
const WORD: usize = 8;

/// Not a cryptographic one: against accidents, not against a host that attacks itself.
pub fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<WORD>();
    let hash = words.iter().fold(seed(bytes.len()), |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
}

/// As [`hash`], of UTF-16.
pub fn hash_units(units: &[u16]) -> u64 {
    let (words, rest) = units.as_chunks::<{ WORD / 2 }>();
    let word = |units: &[u16; WORD / 2]| units.iter().rev().fold(0, |word, unit| word << 16 | u64::from(*unit));
    let hash = words.iter().fold(seed(units.len()), |hash, units| mix(hash, word(units)));
    rest.iter().fold(hash, |hash, unit| mix(hash, u64::from(*unit)))
}

/// A small one would become zero by a word that is the same, and stay so for all zeros that follow.
fn seed(length: usize) -> u64 {
    mix(0x6a09_e667_f3bc_c908, length as u64)
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// `contents` with a tag, which holds `facts` as well.
pub fn seal<const N: usize>(magic: [u8; 4], facts: [u64; N], contents: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(HEAD + (N + 1) * WORD + contents.len());
    sealed.extend_from_slice(&magic);
    sealed.extend_from_slice(&v8::script_compiler::cached_data_version_tag().to_le_bytes());
    for fact in facts {
        sealed.extend_from_slice(&fact.to_le_bytes());
    }
    let check = check(&sealed, contents);
    sealed.extend_from_slice(&check.to_le_bytes());
    sealed.extend_from_slice(contents);
    sealed
}

/// The facts and the contents, if this build made them and they are whole.
pub fn open<const N: usize>(magic: [u8; 4], sealed: &[u8]) -> Option<([u64; N], &[u8])> {
    let (tag, rest) = sealed.split_at_checked(HEAD + N * WORD)?;
    let (found, contents) = rest.split_first_chunk::<WORD>()?;
    let version = v8::script_compiler::cached_data_version_tag().to_le_bytes();
    if tag[..4] != magic || tag[4..HEAD] != version || u64::from_le_bytes(*found) != check(tag, contents) {
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
    hash(tag).rotate_left(1) ^ hash(contents)
}

#[cfg(test)]
mod tests {
    use super::{hash, hash_units, open, seal};

    #[test]
    fn hashes_every_unit_in_its_place() {
        let text: Vec<u16> = (0..21).map(|unit| unit * 3).collect();
        for length in 0..text.len() {
            let one = &text[..length];
            let bytes: Vec<u8> = one.iter().map(|unit| *unit as u8).collect();
            assert_ne!(hash_units(one), hash_units(&text[..=length]));
            assert_ne!(hash(&bytes), hash(&[&bytes[..], &[0]].concat()));
            for index in 0..length {
                let (mut other, mut bytes_other) = (one.to_vec(), bytes.clone());
                other[index] ^= 0x100;
                bytes_other[index] ^= 1;
                assert_ne!(hash_units(one), hash_units(&other), "unit {index} of {length}");
                assert_ne!(hash(&bytes), hash(&bytes_other), "byte {index} of {length}");
            }
        }
    }

    #[test]
    fn refuses_what_was_changed() {
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
    fn refuses_less_and_more_of_small_numbers_and_zeros() {
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

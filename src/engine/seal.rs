//! Tags on what V8 has made and will get back from outside. V8 checks little of it in a release build, so data goes out
//! with a tag of ours and comes back only with the same one: from this build, for this V8 with these flags, and whole.

/// Magic, then V8's version and flags.
const HEAD: usize = 8;
const WORD: usize = 8;

/// Not a cryptographic one: against accidents, not against a host that attacks itself.
pub fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<WORD>();
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
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
    use super::{open, seal};

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
}

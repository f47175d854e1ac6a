//! Compilation caches. V8 checks little of what it is given in a release build, so data goes out with a tag of ours and
//! comes back only with the same one.

use std::sync::Arc;

use crate::value::{Entry, Handle, Payload, Value};

const MAGIC: [u8; 4] = *b"iv8c";
const TAG: usize = 16;

/// Magic, V8's version and flags, and a hash of the contents.
fn tag(contents: &[u8]) -> [u8; TAG] {
    // FNV-1a: against accidents, not against a host that attacks itself.
    let hash = contents
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mut tag = [0; TAG];
    tag[..4].copy_from_slice(&MAGIC);
    tag[4..8].copy_from_slice(&v8::script_compiler::cached_data_version_tag().to_le_bytes());
    tag[8..].copy_from_slice(&hash.to_le_bytes());
    tag
}

/// Contents with their tag.
pub fn seal(contents: &[u8]) -> Vec<u8> {
    [&tag(contents), contents].concat()
}

/// The contents, if this build made them and they are whole.
pub fn open(sealed: &[u8]) -> Option<&[u8]> {
    let (found, contents) = sealed.split_at_checked(TAG)?;
    (found == tag(contents)).then_some(contents)
}

/// The bytes of an `ArrayBuffer` that the surface passed, perhaps as an `ExternalCopy`.
pub fn buffer_of(value: Value) -> Option<Arc<Vec<u8>>> {
    let value = match value {
        Value::Handle(Handle::ExternalCopy(copy)) => copy.deliver(false).ok()?,
        value => value,
    };
    let Value::Payload(payload) = value else { return None };
    match payload.table.into_iter().next() {
        Some(Entry::Buffer(bytes)) => Some(bytes),
        _ => None,
    }
}

/// An `ArrayBuffer` for the surface.
pub fn to_value(bytes: &Arc<Vec<u8>>) -> Value {
    Value::Payload(Box::new(Payload::buffer(Arc::clone(bytes))))
}

#[cfg(test)]
mod tests {
    use super::{open, seal};

    #[test]
    fn refuses_what_was_changed() {
        let sealed = seal(b"code");
        assert_eq!(open(&sealed), Some(&b"code"[..]));
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert_eq!(open(&changed), None, "byte {index}");
            assert_eq!(open(&sealed[..index]), None, "{index} bytes");
        }
    }
}

//! Tagged compilation caches, and the buffers that carry tagged data.

use std::sync::Arc;

use crate::engine;
use crate::value::{Bytes, Handle, Payload, TableEntry, Text, Value};

const MAGIC: [u8; 4] = *b"iv8c";

/// Identifies the code that a cache belongs to: a SHA-256 of its text and of whether it is a module. V8 itself compares only the length of
/// the text, and runs what the cache contains. It takes the code's name and position from the call that uses the cache, so they are not
/// part of the identity.
#[derive(Clone, Copy)]
pub struct Identity([u64; 4]);

impl Identity {
    /// Reads all of `code`.
    pub fn new(code: &Text, is_module: bool) -> Self {
        let digest = |is_wide| engine::Digest::new(u8::from(is_module) << 1 | u8::from(is_wide));
        Self(match code {
            Text::Latin1(bytes) => digest(false).bytes(bytes).finish(),
            Text::Utf16(units) => digest(true).units(units).finish(),
        })
    }
}

/// Contents with their tag.
pub fn seal(identity: Identity, contents: &[u8]) -> Vec<u8> {
    engine::seal(MAGIC, identity.0, contents)
}

/// A compilation cache that a caller has passed.
pub struct Cache {
    sealed: Arc<Vec<u8>>,
    /// Where the contents begin, if this build made them from the same code and they are intact.
    start: Option<usize>,
}

impl Cache {
    /// Reads all of the cache.
    pub fn open(value: Value, identity: Identity) -> Option<Self> {
        let sealed = buffer_of(value)?;
        let start = engine::open(MAGIC, &sealed)
            .filter(|(made_of, _)| *made_of == identity.0)
            .map(|(_, contents)| sealed.len() - contents.len());
        Some(Self { sealed, start })
    }

    /// V8's data; `None` if it cannot be trusted.
    pub fn contents(&self) -> Option<&[u8]> {
        self.sealed.get(self.start?..)
    }
}

/// Length of a cache's contents, if they belong to this code.
#[cfg(any(test, fuzzing))]
pub fn contents_of(value: Value, code: &Text) -> Option<usize> {
    Cache::open(value, Identity::new(code, false))?.contents().map(<[u8]>::len)
}

/// The bytes of an `ArrayBuffer` that the surface passed, possibly as an `ExternalCopy`.
pub fn buffer_of(value: Value) -> Option<Arc<Vec<u8>>> {
    let value = match value {
        Value::Handle(Handle::ExternalCopy(copy)) => copy.open(false).ok()?,
        value => value,
    };
    let Value::Payload(payload) = value else { return None };
    match payload.table.into_iter().next() {
        Some(TableEntry::Buffer(Bytes::Own(bytes))) => Some(bytes),
        Some(TableEntry::Buffer(lent)) => lent.read(|bytes| Arc::new(bytes.to_vec())),
        _ => None,
    }
}

/// An `ArrayBuffer` for the surface.
pub fn to_value(bytes: &Arc<Vec<u8>>) -> Value {
    Value::Payload(Box::new(Payload::buffer(Arc::clone(bytes))))
}

#[cfg(test)]
mod tests {
    use super::{Cache, Identity, seal, to_value};
    use crate::value::Text;

    #[test]
    fn is_valid_for_its_own_code_only() {
        let identity = |code: &str, is_module| Identity::new(&Text::from(code), is_module);
        let made_of = identity("one", false);
        let sealed = to_value(&seal(made_of, b"contents").into());
        let opens = |identity| Cache::open(sealed.clone(), identity).is_some_and(|cache| cache.contents().is_some());
        assert!(opens(made_of));
        for (code, is_module) in [("two", false), ("one\0", false), ("one", true), ("öne", false), ("→ne", false)] {
            assert!(!opens(identity(code, is_module)));
        }
    }
}

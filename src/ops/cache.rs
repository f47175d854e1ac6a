//! Compilation caches, tagged, and the buffers that tagged data travels in.

use std::sync::Arc;

use crate::engine;
use crate::value::{Entry, Handle, Payload, Value};

const MAGIC: [u8; 4] = *b"iv8c";

/// Contents with their tag.
pub fn seal(contents: &[u8]) -> Vec<u8> {
    engine::seal(MAGIC, [], contents)
}

/// A compilation cache that somebody has passed.
pub struct Cache {
    sealed: Arc<Vec<u8>>,
    /// Where the contents begin, if this build made them and they are whole.
    start: Option<usize>,
}

impl Cache {
    /// Reads through all of it.
    pub fn open(value: Value) -> Option<Self> {
        let sealed = buffer_of(value)?;
        let start = engine::open::<0>(MAGIC, &sealed).map(|(_, contents)| sealed.len() - contents.len());
        Some(Self { sealed, start })
    }

    /// What V8 has made; `None` if that cannot be trusted.
    pub fn contents(&self) -> Option<&[u8]> {
        self.sealed.get(self.start?..)
    }
}

/// The bytes of an `ArrayBuffer` that the surface passed, perhaps as an `ExternalCopy`.
pub fn buffer_of(value: Value) -> Option<Arc<Vec<u8>>> {
    let value = match value {
        Value::Handle(Handle::ExternalCopy(copy)) => copy.open(false).ok()?,
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

//! Startup snapshots that users create: a heap that contains their code. Isolates start from it instead of from the built-in snapshot.

use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use super::seal;
use crate::native::lock;

const MAGIC: [u8; 4] = *b"iv8s";

/// A snapshot that may be passed to V8. Isolates share its bytes, which V8 reads for as long as such an isolate lives.
#[derive(Clone)]
pub struct Snapshot {
    sealed: Arc<Vec<u8>>,
    offset: usize,
    size: Size,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Snapshot({} bytes)", self.sealed.len())
    }
}

impl Eq for Snapshot {}

impl PartialEq for Snapshot {
    /// Identity of the bytes, not equality of their contents.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.sealed, &other.sealed)
    }
}

/// How much more memory realms that start from a snapshot use than other realms, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub heap: usize,
    pub buffers: usize,
    /// Address space that buffers reserve for growth.
    pub space: usize,
}

/// A snapshot whose tag was verified, so that not every isolate checks all bytes again. Shared bytes do not change.
struct Known {
    sealed: Weak<Vec<u8>>,
    source: u64,
    offset: usize,
    size: Size,
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

impl Snapshot {
    /// A snapshot that V8 has written, with a tag. `source` identifies the bootstrap code in it.
    pub(super) fn seal(contents: &[u8], source: u64, size: Size) -> Arc<Vec<u8>> {
        let sealed =
            Arc::new(seal::seal(MAGIC, [source, size.heap as u64, size.buffers as u64, size.space as u64], contents));
        remember(&sealed, source, sealed.len() - contents.len(), size);
        sealed
    }

    /// `None` for anything that this build has not made, or that has changed since.
    pub(super) fn open(sealed: Arc<Vec<u8>>, source: u64) -> Option<Self> {
        let known = lock(&KNOWN);
        let is_it =
            |known: &&Known| known.source == source && std::ptr::eq(known.sealed.as_ptr(), Arc::as_ptr(&sealed));
        if let Some(known) = known.iter().find(is_it) {
            return Some(Self { offset: known.offset, size: known.size, sealed });
        }
        drop(known);
        let ([made_with, sizes @ ..], contents) = seal::open::<4>(MAGIC, &sealed)?;
        // V8 reads words. No allocator is known that does not align them.
        if made_with != source || !contents.as_ptr().cast::<u64>().is_aligned() {
            return None;
        }
        let offset = sealed.len() - contents.len();
        let [heap, buffers, space] = sizes.map(usize::try_from);
        let size = Size { heap: heap.ok()?, buffers: buffers.ok()?, space: space.ok()? };
        remember(&sealed, source, offset, size);
        Some(Self { sealed, offset, size })
    }

    /// The bytes in the form that leaves the addon, also for other processes.
    pub fn sealed(&self) -> &Arc<Vec<u8>> {
        &self.sealed
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// For V8, which must be done with the data before the last clone of this snapshot is dropped.
    pub(super) fn data(&self) -> v8::StartupData {
        let contents = &self.sealed[self.offset..];
        // SAFETY: the bytes are neither moved nor changed while they are shared. The code that makes an isolate keeps a clone until the
        // isolate is disposed (`isolate::run`).
        let contents: &'static [u8] = unsafe { std::slice::from_raw_parts(contents.as_ptr(), contents.len()) };
        v8::StartupData::from(contents)
    }
}

fn remember(sealed: &Arc<Vec<u8>>, source: u64, offset: usize, size: Size) {
    let mut known = lock(&KNOWN);
    known.retain(|known| known.sealed.strong_count() > 0);
    known.push(Known { sealed: Arc::downgrade(sealed), source, offset, size });
}

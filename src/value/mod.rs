//! The neutral value, which travels between engines. Nothing here depends on V8 or Node-API.
//!
//! Primitives and strings travel as they are. Everything else that can be cloned is a [`Payload`]: bytes in V8's own serialization format,
//! and a table of what bytes cannot hold (buffers, shared memory, handles).

pub mod block_pool;
mod budget;
mod bytes;
mod chain;
mod completion;
mod details;
mod direct_call;
mod fault;
mod handle;
mod module;
mod owner;
mod rows;
mod spin;
mod text;
mod weight;

use std::sync::Arc;

pub use budget::{Budget, Charge};
pub use bytes::{Bytes, HostBlock, HostMemory, HostMemoryUse};
pub use chain::Chain;
pub use completion::{
    Awaited, ChargedSettlement, Completion, Moment, NoCompletion, Reply, Settlement, Wake, Wrapper, charged,
};
pub use details::{Details, DetailsRoom, is_cause};
pub use direct_call::{Answer, Argument, DirectCall};
pub use fault::{Code, ErrorClass, ErrorFault, Fault, Outcome};
pub use handle::{Callable, CallbackMode, ContextHandle, ExternalCopy, Handle, IsolateHandle, Reference, TypeOf};
pub use module::{ModuleHandle, ModuleRequest};
pub use owner::{Host, KeepAlive, Owner, Request, Slot};
pub use rows::Rows;
pub use spin::{processors, spin};
pub use text::Text;

/// A value outside any engine.
#[derive(Clone, Debug)]
pub enum Value {
    Undefined,
    Null,
    Boolean(bool),
    Number(f64),
    BigInt(Box<BigInt>),
    String(Text),
    /// A structured clone.
    Payload(Box<Payload>),
    /// An `ivm` object.
    Handle(Handle),
    /// A function that is called in the isolate or host where it lives.
    Function(Arc<Callable>),
    /// A promise, which settles later, wherever it was created.
    Promise(Arc<Settlement>),
    /// Becomes the referenced value itself on arrival in its isolate (`derefInto`).
    Dereference(Arc<Reference>),
    /// Becomes a copy of the value on arrival (`copyInto`).
    CopyInto {
        copy: Arc<ExternalCopy>,
        /// Moves the buffers into the isolate; the copy cannot be used again.
        transfer_in: bool,
        /// Refuses a value that would probably exceed the isolate's memory limit. Otherwise the isolate ends.
        checked: bool,
    },
    /// Several results of one operation, for the surface that requested it; never enters an isolate.
    List(Vec<Value>),
}

/// A BigInt of any size: sign and magnitude, least significant word first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BigInt {
    pub negative: bool,
    pub words: Box<[u64]>,
}

/// A structured clone: V8's serialization format at version 16, and what the bytes refer to by index.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    pub bytes: Arc<Vec<u8>>,
    pub table: Vec<TableEntry>,
    /// Buffers were moved into it and can be moved on.
    pub moved: bool,
}

/// One row of a [`Payload`]'s table.
#[derive(Clone, Debug)]
pub enum TableEntry {
    /// The contents of an `ArrayBuffer`.
    Buffer(Bytes),
    /// Memory that both sides see.
    Shared(Arc<SharedMemory>),
    /// A handle or function inside the clone.
    Value(Value),
}

/// Memory of a `SharedArrayBuffer`, with what keeps it alive.
pub struct SharedMemory {
    pointer: *mut u8,
    length: usize,
    /// Identifies the buffer to the side that created it, which gets its own object back.
    pub origin: Option<(u64, u32)>,
    _pin: Box<dyn Send + Sync>,
}

// SAFETY: the memory is shared by definition; this type only carries its address and keeps it pinned. All access to the contents happens
// inside engines, under JavaScript's shared memory model.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// # Safety
    /// `pointer` must be valid for `length` bytes for as long as `pin` lives.
    pub unsafe fn new(pointer: *mut u8, length: usize, origin: Option<(u64, u32)>, pin: Box<dyn Send + Sync>) -> Self {
        Self { pointer, length, origin, _pin: pin }
    }

    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    pub fn len(&self) -> usize {
        self.length
    }
}

impl std::fmt::Debug for SharedMemory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SharedMemory({} bytes)", self.length)
    }
}

impl Value {
    /// The number, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A short text for messages.
    pub fn describe(&self) -> String {
        match self {
            Value::Undefined => "undefined".to_owned(),
            Value::Null => "null".to_owned(),
            Value::Boolean(value) => value.to_string(),
            Value::Number(number) => number.to_string(),
            Value::BigInt(_) => "BigInt".to_owned(),
            Value::String(text) => text.to_string(),
            Value::Function(_) => "function".to_owned(),
            _ => "object".to_owned(),
        }
    }
}

impl Value {
    /// Bytes that the value takes outside any heap, itself included.
    pub fn byte_size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Value::Undefined | Value::Null | Value::Boolean(_) | Value::Number(_) => 0,
                Value::String(text) => text.byte_len(),
                Value::BigInt(bigint) => bigint.words.len() * 8,
                Value::Payload(payload) => payload.byte_size(),
                Value::Handle(Handle::ExternalCopy(copy)) | Value::CopyInto { copy, .. } => HANDLE + copy.byte_size(),
                Value::Promise(settlement) => HANDLE + settlement.byte_size(),
                Value::Handle(_) | Value::Dereference(_) => HANDLE,
                Value::Function(callable) => HANDLE + callable.name.byte_len(),
                Value::List(values) => values.iter().map(Value::byte_size).sum(),
            }
    }

    /// Bytes that are freed if this value is dropped: not those of a copy that others hold, too.
    pub fn own_byte_size(&self) -> usize {
        match self {
            Value::Handle(Handle::ExternalCopy(copy)) | Value::CopyInto { copy, .. } if Arc::strong_count(copy) > 1 => {
                HANDLE
            }
            _ => self.byte_size(),
        }
    }
}

/// The approximate bytes of a handle or function, including its slot at its owner.
const HANDLE: usize = 256;

impl Payload {
    /// The bytes at the start of each payload: V8's tag for its version, and the version.
    pub const VERSION: [u8; 2] = [0xff, 16];
    /// The bytes of a payload that consists of row 0 of its table alone, an `ArrayBuffer` or a `SharedArrayBuffer`.
    pub const ONLY_BUFFER: [u8; 4] = [Self::VERSION[0], Self::VERSION[1], b't', 0];
    pub const ONLY_SHARED: [u8; 4] = [Self::VERSION[0], Self::VERSION[1], b'u', 0];

    /// Whether moving the value out leaves nothing: it is an `ArrayBuffer` or a view on one, or buffers were moved into it.
    pub fn can_move(&self) -> bool {
        // V8's tags for a buffer in the table, and for one among the bytes.
        self.moved || matches!(self.bytes.get(2), Some(b't' | b'B'))
    }

    /// The payload of an `ArrayBuffer`.
    pub fn buffer(bytes: Arc<Vec<u8>>) -> Self {
        let table = vec![TableEntry::Buffer(Bytes::Own(bytes))];
        Self { bytes: Arc::new(Self::ONLY_BUFFER.to_vec()), table, moved: false }
    }

    pub fn byte_size(&self) -> usize {
        let buffers: usize = self
            .table
            .iter()
            .map(|entry| match entry {
                TableEntry::Buffer(buffer) => buffer.len(),
                TableEntry::Shared(_) => HANDLE,
                TableEntry::Value(value) => value.byte_size(),
            })
            .sum();
        self.bytes.len() + buffers
    }
}

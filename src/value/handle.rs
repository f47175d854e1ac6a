//! Handles: names for things that live in one isolate or host and can be passed around.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::protocol::{MAX_COPIES, callback, kind};

use super::{Budget, Charge, Code, ErrorClass, Fault, ModuleHandle, Owner, Rows, Slot, TableEntry, Text, Value};
use crate::native::lock;

/// An `ivm` object in transit.
#[derive(Clone, Debug)]
pub enum Handle {
    Isolate(IsolateHandle),
    Context(Arc<ContextHandle>),
    Script(Arc<Slot>),
    Module(Arc<ModuleHandle>),
    /// Modules to instantiate; the layer above defines its type.
    Linker(Arc<dyn Any + Send + Sync>),
    Reference(Arc<Reference>),
    ExternalCopy(Arc<ExternalCopy>),
    /// A session of an isolate's inspector. It stays in the realm that opened it.
    Session(Arc<Slot>),
    /// The module itself.
    Ivm,
    /// Its `lib`.
    Lib,
}

impl Handle {
    /// The surface's number for the kind.
    pub fn kind(&self) -> u32 {
        match self {
            Self::Isolate(_) => kind::ISOLATE,
            Self::Context(_) => kind::CONTEXT,
            Self::Script(_) => kind::SCRIPT,
            Self::Module(_) => kind::MODULE,
            Self::Linker(_) => kind::LINKER,
            Self::Reference(_) => kind::REFERENCE,
            Self::ExternalCopy(_) => kind::EXTERNAL_COPY,
            Self::Session(_) => kind::SESSION,
            Self::Ivm => kind::IVM,
            Self::Lib => kind::LIB,
        }
    }
}

/// An isolate itself.
#[derive(Clone)]
pub struct IsolateHandle(pub Arc<dyn Owner>);

impl fmt::Debug for IsolateHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Isolate({})", self.0.id())
    }
}

/// The values of `Reference.typeof`. Symbols and BigInts count as objects, as in isolated-vm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeOf {
    Null,
    Undefined,
    Number,
    String,
    Boolean,
    Object,
    Function,
}

impl TypeOf {
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Undefined => "undefined",
            Self::Number => "number",
            Self::String => "string",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Function => "function",
        }
    }

    /// The type of this name; `Object` for any other name.
    pub fn named(name: &str) -> Self {
        match name {
            "null" => Self::Null,
            "undefined" => Self::Undefined,
            "number" => Self::Number,
            "string" => Self::String,
            "boolean" => Self::Boolean,
            "function" => Self::Function,
            _ => Self::Object,
        }
    }
}

/// A reference to a value, which stays where it is.
#[derive(Debug)]
pub struct Reference {
    pub slot: Arc<Slot>,
    pub type_of: TypeOf,
    /// Getters may run (`accessors: true`).
    pub accessors: bool,
    /// `get` may walk the prototype chain (`unsafeInherit: true`).
    pub inherit: bool,
}

/// A context and its global object.
#[derive(Debug)]
pub struct ContextHandle {
    pub slot: Arc<Slot>,
    pub global: Arc<Reference>,
}

/// How a callback runs in its home realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackMode {
    /// The caller waits for the result.
    Sync,
    /// The caller gets a promise.
    Async,
    /// The caller gets `undefined` at once.
    Ignored,
    /// The caller waits until the promise that the function returns has settled.
    Awaited,
}

impl CallbackMode {
    /// `Sync` for a number that the surface does not use.
    pub fn from_number(number: u32) -> Self {
        match number {
            callback::ASYNC => Self::Async,
            callback::IGNORED => Self::Ignored,
            callback::AWAITED => Self::Awaited,
            _ => Self::Sync,
        }
    }

    /// The surface's number for the mode.
    pub fn number(self) -> u32 {
        match self {
            Self::Sync => callback::SYNC,
            Self::Async => callback::ASYNC,
            Self::Ignored => callback::IGNORED,
            Self::Awaited => callback::AWAITED,
        }
    }
}

/// A function that other realms can call.
#[derive(Debug)]
pub struct Callable {
    pub slot: Arc<Slot>,
    pub name: Text,
    pub length: u32,
    pub mode: CallbackMode,
}

/// A value outside all heaps, ready to be copied into any of them.
#[derive(Debug)]
pub struct ExternalCopy {
    value: Mutex<Option<Value>>,
    size: usize,
    /// Copies in each other, this one included.
    depth: u32,
    /// Rows of the value.
    rows: Rows,
    /// [`Value::byte_size`] of the value when the copy was made.
    bytes: usize,
    /// Created by a guest: the first guest that holds it is charged for it.
    of_guest: bool,
    charge: OnceLock<Charge>,
}

/// The charge to a guest for a copy, in addition to its bytes: there is an object for it on each side.
const COST_OF_COPY: usize = 512;

/// Bytes of all [`ExternalCopy`] values alive in the process.
static TOTAL_EXTERNAL_SIZE: AtomicUsize = AtomicUsize::new(0);

impl ExternalCopy {
    /// A copy of a value of this library.
    pub fn new(value: Value) -> Arc<Self> {
        Self::create(value, 1, false)
    }

    /// A copy that a host creates.
    pub fn of_host(value: Value) -> Result<Arc<Self>, Fault> {
        let depth = depth_around(&value)?;
        Ok(Self::create(value, depth, false))
    }

    /// A copy that a guest creates.
    pub fn of_guest(value: Value) -> Result<Arc<Self>, Fault> {
        let depth = depth_around(&value)?;
        Ok(Self::create(value, depth, true))
    }

    fn create(value: Value, depth: u32, of_guest: bool) -> Arc<Self> {
        // Only strings count, as in isolated-vm.
        let size = match &value {
            Value::String(text) => text.byte_len(),
            _ => 0,
        };
        TOTAL_EXTERNAL_SIZE.fetch_add(size, Ordering::Relaxed);
        let (rows, bytes) = (Rows::of(&value), value.byte_size());
        Arc::new(Self { value: Mutex::new(Some(value)), size, depth, rows, bytes, of_guest, charge: OnceLock::new() })
    }

    /// The value for a realm that copies it in. With `transfer_in`, its buffers are moved there, which leaves the copy empty. A value
    /// without buffers can be copied again.
    pub fn open(&self, transfer_in: bool) -> Result<Value, Fault> {
        let mut value = lock(&self.value);
        let moves = transfer_in && matches!(&*value, Some(Value::Payload(payload)) if payload.can_move());
        let opened = if moves { value.take() } else { value.clone() };
        opened.ok_or_else(|| Fault::coded(ErrorClass::Error, "Array buffer is invalid", Code::Released))
    }

    /// Bytes of the value; 0 if it was released.
    pub fn byte_size(&self) -> usize {
        lock(&self.value).as_ref().map_or(0, Value::byte_size)
    }

    /// Bytes of the value, also after it was released.
    pub fn created_bytes(&self) -> usize {
        self.bytes
    }

    /// Rows of the value.
    pub fn rows(&self) -> Rows {
        self.rows
    }

    /// A guest begins to hold it and is charged on `budget`. False if that has no room.
    pub fn charge_to(&self, budget: &Arc<Budget>) -> bool {
        if !self.of_guest || self.charge.get().is_some() {
            return true;
        }
        let Some(charge) = Charge::take(budget, self.byte_size().saturating_add(COST_OF_COPY)) else { return false };
        // Another guest may have been faster; then that guest is charged.
        let _ = self.charge.set(charge);
        true
    }

    /// A host holds it: from now on, no guest is charged.
    pub fn claim(&self) {
        let _ = self.charge.set(Charge::default());
    }

    pub fn total_size() -> usize {
        TOTAL_EXTERNAL_SIZE.load(Ordering::Relaxed)
    }
}

/// The depth of a copy of this value. What is done to one, such as dropping it, recurses into those in its table.
fn depth_around(value: &Value) -> Result<u32, Fault> {
    let of_copy = |value: &Value| match value {
        Value::Handle(Handle::ExternalCopy(copy)) | Value::CopyInto { copy, .. } => copy.depth,
        _ => 0,
    };
    let of_row = |row: &TableEntry| if let TableEntry::Value(value) = row { of_copy(value) } else { 0 };
    let inner = match value {
        Value::Payload(payload) => payload.table.iter().map(of_row).max().unwrap_or(0),
        value => of_copy(value),
    };
    let depth = inner + 1;
    if depth > MAX_COPIES {
        return Err(Fault::beyond(&format!("Copies are nested too deeply: the limit is {MAX_COPIES} levels")));
    }
    Ok(depth)
}

impl Drop for ExternalCopy {
    fn drop(&mut self) {
        TOTAL_EXTERNAL_SIZE.fetch_sub(self.size, Ordering::Relaxed);
    }
}

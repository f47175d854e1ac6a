//! Reads payloads into an isolate, with V8's own deserializer.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;

use super::exchange::{Exchange, HostMemoryHolder};
use super::fault::fault_from_caught;
use super::plain_value::plain_to_v8;
use super::text::take_or_collect;
use crate::value::{Budget, Bytes, Code, ErrorClass, Fault, HostBlock, Payload, SharedMemory, TableEntry, Value};

/// Builds the payload's value in the current realm.
pub fn payload_to_v8<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    exchange: &dyn Exchange,
    payload: Payload,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let Payload { bytes, table, .. } = payload;
    let value = match table.is_empty().then(|| plain_to_v8(scope, exchange.known_names(), &bytes)).flatten() {
        Some(value) => Ok(value),
        None => read_by_v8(scope, exchange, &bytes, table),
    };
    exchange.keep(bytes);
    value
}

fn read_by_v8<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    exchange: &dyn Exchange,
    bytes: &[u8],
    table: Vec<TableEntry>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let context = scope.get_current_context();
    let mut buffers = Vec::new();
    let mut others = Vec::with_capacity(table.len());
    for (index, entry) in table.into_iter().enumerate() {
        match entry {
            TableEntry::Buffer(bytes) => {
                buffers.push((index, adopt_buffer(scope, bytes, exchange)?));
                others.push(None);
            }
            entry => others.push(Some(entry)),
        }
    }
    v8::tc_scope!(let scope, scope);
    let raised = RefCell::default();
    let delegate = Delegate { exchange, entries: RefCell::new(others), raised: &raised };
    let deserializer = v8::ValueDeserializer::new(scope, Box::new(delegate), bytes);
    for (index, buffer) in buffers {
        let id = u32::try_from(index).map_err(|_| Fault::beyond("Too many buffers"))?;
        v8::ValueDeserializerHelper::transfer_array_buffer(&deserializer, id, buffer);
    }
    let value = (v8::ValueDeserializerHelper::read_header(&deserializer, context) == Some(true))
        .then(|| deserializer.read_value(context))
        .flatten();
    match value {
        Some(value) => Ok(value),
        None => Err(match (raised.take(), fault_from_caught(scope)) {
            (_, Some(Fault::Stopped)) => Fault::Stopped,
            (Some(fault), _) => fault,
            // V8 does not say that it has no memory for a buffer.
            (None, Some(caught)) if exchange.budget().was_refused() && caught.message() == unreadable().message() => {
                no_room()
            }
            (None, caught) => caught.unwrap_or_else(unreadable),
        }),
    }
}

/// A buffer of the isolate around bytes that came from outside, charged to its budget.
fn adopt_buffer<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    bytes: Bytes,
    exchange: &dyn Exchange,
) -> Result<v8::Local<'s, v8::ArrayBuffer>, Fault> {
    let length = bytes.len();
    if length == 0 {
        return Ok(v8::ArrayBuffer::new(scope, 0));
    }
    let budget = exchange.budget();
    if !take_or_collect(scope, &budget, length) {
        return Err(no_room());
    }
    let Some(mut memory) = Memory::of(bytes, exchange) else {
        budget.give_back(length);
        return Err(Fault::environment_gone());
    };
    let data = memory.pointer().cast::<c_void>();
    let owner = Box::into_raw(Box::new((memory, budget)));
    // SAFETY: `data` points to `length` bytes that live until `free_buffer` drops the box.
    let store = unsafe { v8::ArrayBuffer::new_backing_store_from_ptr(data, length, free_buffer, owner.cast()) };
    Ok(v8::ArrayBuffer::with_backing_store(scope, &store.make_shared()))
}

/// The memory behind a buffer of the isolate.
enum Memory {
    Own(Vec<u8>),
    /// Fields are dropped in order: the memory is returned before the host stops waiting for it.
    Host(HostBlock, #[allow(dead_code, reason = "held for its destructor")] HostMemoryHolder),
}

impl Memory {
    /// Moves the bytes if this is the last reference to them. Otherwise copies them, because the guest may write to its own bytes.
    fn of(bytes: Bytes, exchange: &dyn Exchange) -> Option<Self> {
        match bytes {
            Bytes::Own(bytes) => {
                let mut bytes = Arc::unwrap_or_clone(bytes);
                // Memory that was used before may be larger than what the budget is charged.
                bytes.shrink_to_fit();
                Some(Self::Own(bytes))
            }
            Bytes::Host(memory) => match Arc::try_unwrap(memory) {
                Ok(memory) => {
                    // Before the memory is taken, because from then on the host waits for the isolate's thread.
                    let holder = exchange.hold_host_memory()?;
                    let block = memory.take(holder.isolate.clone())?;
                    Some(Self::Host(block, holder))
                }
                Err(memory) => Bytes::Host(memory).read(|bytes| Self::Own(bytes.to_vec())),
            },
        }
    }

    fn pointer(&mut self) -> *mut u8 {
        match self {
            Self::Own(bytes) => bytes.as_mut_ptr(),
            Self::Host(block, _) => block.pointer,
        }
    }
}

unsafe extern "C" fn free_buffer(_data: *mut c_void, length: usize, owner: *mut c_void) {
    // SAFETY: `owner` is the box that `adopt_buffer` leaked; V8 calls this once.
    let owner = unsafe { Box::from_raw(owner.cast::<(Memory, Arc<Budget>)>()) };
    owner.1.give_back(length);
}

fn adopt_shared<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    memory: Arc<SharedMemory>,
    budget: Arc<Budget>,
) -> v8::Local<'s, v8::SharedArrayBuffer> {
    let (data, length) = (memory.pointer().cast::<c_void>(), memory.len());
    budget.share(length);
    let owner = Box::into_raw(Box::new((memory, budget))).cast::<c_void>();
    // SAFETY: the memory is valid for `length` bytes while its `SharedMemory` lives, which `free_shared` ends.
    let store = unsafe { v8::SharedArrayBuffer::new_backing_store_from_ptr(data, length, free_shared, owner) };
    v8::SharedArrayBuffer::with_backing_store(scope, &store.make_shared())
}

unsafe extern "C" fn free_shared(_data: *mut c_void, _length: usize, owner: *mut c_void) {
    // SAFETY: `owner` is the box that `adopt_shared` leaked; V8 calls this once.
    let owner = unsafe { Box::from_raw(owner.cast::<(Arc<SharedMemory>, Arc<Budget>)>()) };
    owner.1.unshare(owner.0.len());
}

struct Delegate<'a> {
    exchange: &'a dyn Exchange,
    entries: RefCell<Vec<Option<TableEntry>>>,
    /// The fault that ended the reading, if it did not come from V8.
    raised: &'a RefCell<Option<Fault>>,
}

impl Delegate<'_> {
    fn entry(&self, index: u32) -> Option<TableEntry> {
        self.entries.borrow().get(index as usize).cloned().flatten()
    }

    /// Reports the fault to V8 as an exception, and to the caller as it is.
    fn refuse(&self, scope: &mut v8::PinScope<'_, '_>, fault: Fault) {
        if let Some(message) = v8::String::new(scope, &fault.message()) {
            let error = v8::Exception::error(scope, message);
            scope.throw_exception(error);
        }
        self.raised.replace(Some(fault));
    }
}

fn no_room() -> Fault {
    Fault::beyond("Array buffer allocation failed")
}

fn unreadable() -> Fault {
    Fault::coded(ErrorClass::Error, "Unable to deserialize cloned data.", Code::Transfer)
}

impl v8::ValueDeserializerImpl for Delegate<'_> {
    fn read_host_object<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        deserializer: &dyn v8::ValueDeserializerHelper,
    ) -> Option<v8::Local<'s, v8::Object>> {
        let mut index = 0;
        let entry = deserializer.read_uint32(&mut index).then(|| self.entry(index)).flatten();
        let Some(TableEntry::Value(value)) = entry else {
            self.refuse(scope, unreadable());
            return None;
        };
        // V8 forbids running JavaScript while it reads, but creating a handle's object runs some.
        let adopted = {
            v8::allow_javascript_execution_scope!(let scope, scope);
            match value {
                // Cannot happen for data that our own codecs write: only handles are host objects.
                Value::Payload(_) => Err(unreadable()),
                value => self.exchange.adopt(scope, value),
            }
        };
        match adopted.map(v8::Local::<v8::Object>::try_from) {
            Ok(Ok(object)) => Some(object),
            Ok(Err(_)) => {
                self.refuse(scope, unreadable());
                None
            }
            Err(fault) => {
                self.refuse(scope, fault);
                None
            }
        }
    }

    fn get_shared_array_buffer_from_id<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        id: u32,
    ) -> Option<v8::Local<'s, v8::SharedArrayBuffer>> {
        let Some(TableEntry::Shared(memory)) = self.entry(id) else {
            self.refuse(scope, unreadable());
            return None;
        };
        if !self.exchange.remember(&memory) {
            self.refuse(scope, Fault::coded(ErrorClass::Error, "The shared memory is gone.", Code::Environment));
            return None;
        }
        Some(adopt_shared(scope, memory, self.exchange.budget()))
    }
}

//! Writes V8 values out of an isolate, with V8's own serializer.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::exchange::Exchange;
use super::fault::fault_from_caught;
use super::host_object::{self, Sought};
use super::primitive::primitive_from_v8;
use super::text::{block_room, too_large};
use super::{bounds, cap, short_list};
use crate::protocol::{MAX_INLINE, message};
use crate::value::{Bytes, Fault, Payload, Rows, TableEntry, Value};

/// Clones a value out of its isolate, as `structuredClone` would.
pub fn clone_from_v8<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    exchange: &dyn Exchange,
    value: v8::Local<'s, v8::Value>,
) -> Result<Value, Fault> {
    move_from_v8(scope, exchange, value, &[])
}

/// Like [`clone_from_v8`], but the buffers in `moved` are transferred and detached. They must be attached, and each must occur only once.
pub fn move_from_v8<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    exchange: &dyn Exchange,
    value: v8::Local<'s, v8::Value>,
    moved: &[v8::Local<'s, v8::ArrayBuffer>],
) -> Result<Value, Fault> {
    let limit = exchange.limit();
    if let Some(primitive) = primitive_from_v8(scope, value, limit)? {
        return Ok(primitive);
    }
    if value.is_symbol() {
        return Err(Fault::refused(message::UNSUPPORTED_TYPE));
    }
    if moved.is_empty()
        && let Some(payload) = short_list::payload(scope, exchange.plain_lists(), value)
    {
        return if payload.byte_size() > limit { Err(too_large(limit)) } else { Ok(Value::Payload(Box::new(payload))) };
    }
    let value = bounds::within(scope, value);
    v8::tc_scope!(let scope, scope);
    let context = scope.get_current_context();
    let table = RefCell::default();
    let refused = Cell::new(false);
    let raised = RefCell::default();
    let delegate = Delegate { exchange, table: &table, refused: &refused, raised: &raised };
    let serializer = v8::ValueSerializer::new(scope, Box::new(delegate));
    for (index, buffer) in moved.iter().enumerate() {
        let id = u32::try_from(index).map_err(|_| too_large(limit))?;
        v8::ValueSerializerHelper::transfer_array_buffer(&serializer, id, *buffer);
        // Filled in when no more guest code runs.
        table.borrow_mut().push(TableEntry::Buffer(Bytes::default()));
    }
    if moved.is_empty()
        && let Some(buffer) = whole_buffer(scope, value)
    {
        // Its contents go directly into the table. This avoids copying them through the serializer's growing buffer.
        v8::ValueSerializerHelper::transfer_array_buffer(&serializer, 0, buffer);
        let bytes = contents(&buffer, limit)?;
        table.borrow_mut().push(TableEntry::Buffer(bytes.into()));
    }
    // SAFETY: the exchange outlives this function, which sets the previous one again, unless the guest is left and writes no more values.
    let before = unsafe { host_object::seek(scope, Sought::handles(exchange.may_have_handles())) };
    let written = cap::with_ceiling(limit, || {
        v8::ValueSerializerHelper::write_header(&serializer);
        serializer.write_value(context, value)
    });
    // SAFETY: its own caller keeps it valid.
    unsafe { host_object::seek(scope, before) };
    let Some(written) = written else { return Err(too_large(limit)) };
    if let Some(fault) = raised.take() {
        return Err(fault);
    }
    if written != Some(true) {
        return Err(match fault_from_caught(scope) {
            // Not thrown by the guest, whose getters also run here.
            Some(Fault::Error(error)) if refused.get() => Fault::refused(&error.message.to_string()),
            Some(fault) => fault,
            None => Fault::refused("The value could not be cloned."),
        });
    }
    let bytes = serializer.release();
    drop(serializer);
    let mut table = table.into_inner();
    empty(moved, &mut table, limit)?;
    let payload = Payload { bytes: Arc::new(bytes), table, moved: !moved.is_empty() };
    let value = Value::Payload(Box::new(payload));
    // First, since it takes the same time for each row, whatever a copy has inside.
    Rows::of(&value).check()?;
    if value.byte_size() > limit { Err(too_large(limit)) } else { Ok(value) }
}

/// The buffer that the value is, or that it is a view on, if it is not small. The whole buffer is sent, as V8's serializer does. A detached
/// buffer is copied as such, though V8 rejects it inside other values.
fn whole_buffer<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    value: v8::Local<'s, v8::Value>,
) -> Option<v8::Local<'s, v8::ArrayBuffer>> {
    let buffer = if let Ok(view) = v8::Local::<v8::ArrayBufferView>::try_from(value) {
        let buffer = view.buffer(scope)?;
        // A view on shared memory, which is not copied.
        if v8::Local::<v8::Value>::from(buffer).is_shared_array_buffer() {
            return None;
        }
        buffer
    } else {
        v8::Local::<v8::ArrayBuffer>::try_from(value).ok()?
    };
    // The contents of a small one are copied in less time than a row of the table takes.
    let is_small = buffer.byte_length() <= MAX_INLINE as usize && !buffer.was_detached();
    (!is_small && !buffer.get_backing_store().is_resizable_by_user_javascript()).then_some(buffer)
}

/// Moves the contents of `buffers` to the first rows of `table`: either all of them or none.
fn empty(buffers: &[v8::Local<'_, v8::ArrayBuffer>], table: &mut [TableEntry], limit: usize) -> Result<(), Fault> {
    let refused = || Fault::refused(message::DETACHED);
    let mut total = 0_usize;
    for (buffer, row) in buffers.iter().zip(table) {
        total = total.saturating_add(buffer.byte_length());
        if total > limit {
            return Err(too_large(limit));
        }
        if buffer.was_detached() || !buffer.is_detachable() {
            return Err(refused());
        }
        *row = TableEntry::Buffer(contents(buffer, limit)?.into());
    }
    for buffer in buffers {
        if buffer.detach(None) != Some(true) {
            return Err(refused());
        }
    }
    Ok(())
}

fn contents(buffer: &v8::ArrayBuffer, limit: usize) -> Result<Vec<u8>, Fault> {
    let length = buffer.byte_length();
    let mut bytes = block_room(length, limit)?;
    if let Some(data) = buffer.data() {
        // SAFETY: a fixed, attached buffer of `length` bytes; this thread holds the isolate, so no guest code writes to it during the copy,
        // and the vector has room for it.
        unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr().cast::<u8>(), bytes.as_mut_ptr(), length);
            bytes.set_len(length);
        }
    }
    Ok(bytes)
}

/// Whether a shared buffer belongs to a `WebAssembly.Memory`. V8 reveals that only in its serializer. For such a buffer, and for the
/// memory, it writes more data than it can read back after the buffer has become one of ordinary memory.
fn of_wasm(scope: &mut v8::PinScope<'_, '_>, buffer: v8::Local<'_, v8::SharedArrayBuffer>) -> bool {
    let context = scope.get_current_context();
    let serializer = v8::ValueSerializer::new(scope, Box::new(Alone));
    v8::ValueSerializerHelper::write_header(&serializer);
    let written = serializer.write_value(context, buffer.into());
    written != Some(true) || serializer.release() != Payload::ONLY_SHARED
}

/// Accepts only a shared buffer, and writes nothing else.
struct Alone;

impl v8::ValueSerializerImpl for Alone {
    fn throw_data_clone_error<'s>(&self, _scope: &mut v8::PinScope<'s, '_>, _message: v8::Local<'s, v8::String>) {}

    fn get_shared_array_buffer_id<'s>(
        &self,
        _scope: &mut v8::PinScope<'s, '_>,
        _buffer: v8::Local<'s, v8::SharedArrayBuffer>,
    ) -> Option<u32> {
        Some(0)
    }
}

struct Delegate<'a> {
    exchange: &'a dyn Exchange,
    table: &'a RefCell<Vec<TableEntry>>,
    /// The thrown error says that the value cannot be cloned.
    refused: &'a Cell<bool>,
    /// The fault of a handle.
    raised: &'a RefCell<Option<Fault>>,
}

impl Delegate<'_> {
    fn push(&self, entry: TableEntry) -> Option<u32> {
        let mut table = self.table.borrow_mut();
        table.push(entry);
        u32::try_from(table.len() - 1).ok()
    }
}

impl v8::ValueSerializerImpl for Delegate<'_> {
    fn throw_data_clone_error<'s>(&self, scope: &mut v8::PinScope<'s, '_>, message: v8::Local<'s, v8::String>) {
        self.refused.set(true);
        let error = v8::Exception::type_error(scope, message);
        scope.throw_exception(error);
    }

    fn has_custom_host_object(&self, _isolate: &v8::Isolate) -> bool {
        true
    }

    fn is_host_object<'s>(&self, scope: &mut v8::PinScope<'s, '_>, object: v8::Local<'s, v8::Object>) -> Option<bool> {
        Some(self.exchange.is_handle(scope, object))
    }

    fn write_host_object<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'s, v8::Object>,
        serializer: &dyn v8::ValueSerializerHelper,
    ) -> Option<bool> {
        let message = match self.exchange.identify(scope, object) {
            Ok(Some(value)) => {
                serializer.write_uint32(self.push(TableEntry::Value(value))?);
                return Some(true);
            }
            // Objects with V8's own internal fields, such as a WebAssembly.Memory.
            Ok(None) => "#<Object> could not be cloned.".to_owned(),
            Err(fault) => {
                let message = fault.message();
                self.raised.replace(Some(fault));
                message
            }
        };
        let message = v8::String::new(scope, &message)?;
        self.throw_data_clone_error(scope, message);
        None
    }

    fn get_shared_array_buffer_id<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        buffer: v8::Local<'s, v8::SharedArrayBuffer>,
    ) -> Option<u32> {
        if of_wasm(scope, buffer) {
            let message = v8::String::new(scope, "A SharedArrayBuffer of WebAssembly could not be shared.")?;
            self.throw_data_clone_error(scope, message);
            return None;
        }
        match self.exchange.shared(buffer) {
            Ok(memory) => self.push(TableEntry::Shared(memory)),
            Err(message) => {
                let message = v8::String::new(scope, message)?;
                self.throw_data_clone_error(scope, message);
                None
            }
        }
    }

    fn get_wasm_module_transfer_id(
        &self,
        scope: &mut v8::PinScope<'_, '_>,
        _module: v8::Local<v8::WasmModuleObject>,
    ) -> Option<u32> {
        let message = v8::String::new(scope, "#<Module> could not be cloned.")?;
        self.throw_data_clone_error(scope, message);
        None
    }
}

//! `structuredClone`, with V8's own serializer. The clone never leaves its realm.

use std::cell::{Cell, RefCell};

use crate::convert::host_object::{self, Sought};
use crate::convert::{self, Exchange, cap};
use crate::isolate::GuestRealm;
use crate::ops;
use crate::protocol::message;
use crate::protocol::transferable::{DETACHED, KEPT, OTHER, YES};
use crate::value::Fault;

type Args<'s> = v8::FunctionCallbackArguments<'s>;
type Returned<'s> = Result<v8::Local<'s, v8::Value>, Fault>;
type Store = v8::SharedRef<v8::BackingStore>;

/// `transferable(object)`
pub fn transferable<'s>(scope: &mut v8::PinScope<'s, '_>, _at: &GuestRealm, args: &Args<'s>) -> Returned<'s> {
    let completion = match v8::Local::<v8::ArrayBuffer>::try_from(args.get(0)) {
        Err(_) => OTHER,
        Ok(buffer) if buffer.was_detached() => DETACHED,
        Ok(buffer) if !buffer.is_detachable() => KEPT,
        Ok(_) => YES,
    };
    Ok(v8::Integer::new_from_unsigned(scope, completion).into())
}

/// `clone(value, moved)`: the clone in an array, or a message that says why there is none. `moved` is a list of different buffers, which
/// are detached.
pub fn clone<'s>(scope: &mut v8::PinScope<'s, '_>, at: &GuestRealm, args: &Args<'s>) -> Returned<'s> {
    let moved = buffers(scope, args.get(1))?;
    match write(scope, at, args.get(0), &moved)? {
        Written::Refused(message) => Ok(message),
        Written::Bytes(bytes, shared) => {
            let mut stores = Vec::with_capacity(moved.len());
            for buffer in &moved {
                // Getters ran meanwhile.
                if buffer.was_detached() || !buffer.is_detachable() {
                    return refusal(scope, message::DETACHED);
                }
                stores.push(buffer.get_backing_store());
            }
            for buffer in &moved {
                if buffer.detach(None) != Some(true) {
                    return refusal(scope, "An ArrayBuffer could not be detached.");
                }
            }
            let value = read(scope, &bytes, &stores, shared)?;
            Ok(v8::Array::new_with_elements(scope, &[value]).into())
        }
    }
}

fn refusal<'s>(scope: &v8::PinScope<'s, '_>, message: &str) -> Returned<'s> {
    v8::String::new(scope, message).map(Into::into).ok_or(Fault::Stopped)
}

fn buffers<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    list: v8::Local<'s, v8::Value>,
) -> Result<Vec<v8::Local<'s, v8::ArrayBuffer>>, Fault> {
    let list = v8::Local::<v8::Array>::try_from(list).map_err(|_| ops::malformed())?;
    let mut buffers = Vec::new();
    for index in 0..list.length() {
        let element = list.get_index(scope, index).ok_or(Fault::Stopped)?;
        buffers.push(v8::Local::<v8::ArrayBuffer>::try_from(element).map_err(|_| ops::malformed())?);
    }
    Ok(buffers)
}

enum Written<'s> {
    Bytes(Vec<u8>, Vec<Store>),
    /// Why the value cannot be cloned.
    Refused(v8::Local<'s, v8::Value>),
}

fn write<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    value: v8::Local<'s, v8::Value>,
    moved: &[v8::Local<'s, v8::ArrayBuffer>],
) -> Result<Written<'s>, Fault> {
    let limit = at.limit();
    let (shared, refused) = (RefCell::default(), Cell::new(false));
    v8::tc_scope!(let scope, scope);
    let context = scope.get_current_context();
    let delegate = Writing { shared: &shared, refused: &refused };
    let serializer = v8::ValueSerializer::new(scope, Box::new(delegate));
    for (index, buffer) in (0..).zip(moved) {
        v8::ValueSerializerHelper::transfer_array_buffer(&serializer, index, *buffer);
    }
    // SAFETY: it borrows nothing.
    let before = unsafe { host_object::seek(scope, Sought::ANY) };
    let written = cap::with_ceiling(limit, || {
        v8::ValueSerializerHelper::write_header(&serializer);
        serializer.write_value(context, value)
    });
    // SAFETY: its own caller keeps it valid.
    unsafe { host_object::seek(scope, before) };
    match written {
        None => return Err(convert::too_large(limit)),
        Some(Some(true)) => {}
        Some(_) if refused.get() => {
            let message = scope.exception().ok_or(Fault::Stopped)?;
            scope.reset();
            return Ok(Written::Refused(message));
        }
        Some(_) => {
            // An error that the guest has thrown.
            let _ = scope.rethrow();
            return Err(Fault::Stopped);
        }
    }
    let bytes = serializer.release();
    drop(serializer);
    if bytes.len() > limit {
        return Err(convert::too_large(limit));
    }
    Ok(Written::Bytes(bytes, shared.into_inner()))
}

struct Writing<'a> {
    shared: &'a RefCell<Vec<Store>>,
    /// Whether the thrown value is a message that says why the value cannot be cloned.
    refused: &'a Cell<bool>,
}

/// Objects that cannot be cloned have a private property with this name, which guests do not see.
const MARK: &str = "isolated-v8: not cloned";

fn mark_key<'s>(scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Private>> {
    let name = v8::String::new(scope, MARK)?;
    Some(v8::Private::for_api(scope, Some(name)))
}

/// `mark(object)`: it cannot be cloned.
pub fn mark<'s>(scope: &mut v8::PinScope<'s, '_>, _at: &GuestRealm, args: &Args<'s>) -> Returned<'s> {
    let object = v8::Local::<v8::Object>::try_from(args.get(0)).map_err(|_| ops::malformed())?;
    let key = mark_key(scope).ok_or(Fault::Stopped)?;
    object.set_private(scope, key, object.into()).ok_or(Fault::Stopped)?;
    Ok(v8::undefined(scope).into())
}

impl v8::ValueSerializerImpl for Writing<'_> {
    fn has_custom_host_object(&self, _isolate: &v8::Isolate) -> bool {
        true
    }

    fn is_host_object<'s>(&self, scope: &mut v8::PinScope<'s, '_>, object: v8::Local<'s, v8::Object>) -> Option<bool> {
        let key = mark_key(scope)?;
        object.has_private(scope, key)
    }

    fn write_host_object<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'s, v8::Object>,
        _serializer: &dyn v8::ValueSerializerHelper,
    ) -> Option<bool> {
        let name = object.get_constructor_name();
        let name = convert::beginning(scope, name, ops::MAX_NAME);
        let message = v8::String::new(scope, &format!("#<{name}> could not be cloned."))?;
        self.throw_data_clone_error(scope, message);
        None
    }

    fn throw_data_clone_error<'s>(&self, scope: &mut v8::PinScope<'s, '_>, message: v8::Local<'s, v8::String>) {
        self.refused.set(true);
        scope.throw_exception(message.into());
    }

    fn get_shared_array_buffer_id<'s>(
        &self,
        _scope: &mut v8::PinScope<'s, '_>,
        buffer: v8::Local<'s, v8::SharedArrayBuffer>,
    ) -> Option<u32> {
        let mut shared = self.shared.borrow_mut();
        shared.push(buffer.get_backing_store());
        u32::try_from(shared.len() - 1).ok()
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

fn read<'s>(scope: &mut v8::PinScope<'s, '_>, bytes: &[u8], moved: &[Store], shared: Vec<Store>) -> Returned<'s> {
    let context = scope.get_current_context();
    v8::tc_scope!(let scope, scope);
    let deserializer = v8::ValueDeserializer::new(scope, Box::new(Reading { shared }), bytes);
    for (index, store) in (0..).zip(moved) {
        let buffer = v8::ArrayBuffer::with_backing_store(scope, store);
        v8::ValueDeserializerHelper::transfer_array_buffer(&deserializer, index, buffer);
    }
    let value = (v8::ValueDeserializerHelper::read_header(&deserializer, context) == Some(true))
        .then(|| deserializer.read_value(context))
        .flatten();
    match value {
        Some(value) => Ok(value),
        None if scope.has_terminated() => Err(Fault::Stopped),
        // V8 has just written these bytes, so the only possible failure is a lack of memory.
        None => {
            scope.reset();
            Err(Fault::range_error("Array buffer allocation failed"))
        }
    }
}

struct Reading {
    shared: Vec<Store>,
}

impl v8::ValueDeserializerImpl for Reading {
    fn get_shared_array_buffer_from_id<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        id: u32,
    ) -> Option<v8::Local<'s, v8::SharedArrayBuffer>> {
        let store = self.shared.get(id as usize)?;
        Some(v8::SharedArrayBuffer::with_backing_store(scope, store))
    }
}

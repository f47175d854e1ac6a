//! What conversions need from their isolate.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use super::known_names::KnownNames;
use super::short_list::PlainLists;
use crate::value::{Budget, Fault, Owner, SharedMemory, Value};

/// An isolate that uses memory of a host. If its thread does not stop, the host has to wait for it.
pub struct HostMemoryHolder {
    pub isolate: Weak<dyn Owner>,
    count: Arc<AtomicUsize>,
}

impl HostMemoryHolder {
    /// `count` is the number of existing ones.
    pub fn new(isolate: Weak<dyn Owner>, count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self { isolate, count: Arc::clone(count) }
    }
}

impl Drop for HostMemoryHolder {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What the conversion needs from its caller: `ivm` objects, and the isolate's limits and budgets.
pub trait Exchange {
    /// A handle, function or promise as an object of this realm.
    fn adopt<'s>(&self, scope: &mut v8::PinScope<'s, '_>, value: Value) -> Result<v8::Local<'s, v8::Value>, Fault>;
    /// Whether `object` represents a handle. Must not run JavaScript, because V8's serializer asks in the middle of its work.
    fn is_handle(&self, scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>) -> bool;
    /// Whether any object may represent a handle.
    fn may_have_handles(&self) -> &Cell<bool>;
    /// The handle that `object` represents, if it is one; a fault if the handle was released.
    fn identify(
        &self,
        scope: &mut v8::PinScope<'_, '_>,
        object: v8::Local<'_, v8::Object>,
    ) -> Result<Option<Value>, Fault>;
    /// The arrays of this realm that have nothing but elements.
    fn plain_lists(&self) -> &PlainLists;
    /// The names of objects that this isolate has received.
    fn known_names(&self) -> &KnownNames;
    /// The bytes of a value were read. Their memory may be used for the next value.
    fn keep(&self, bytes: Arc<Vec<u8>>);
    /// Maximum size in bytes of one value that leaves this isolate.
    fn limit(&self) -> usize;
    /// The budget to which this isolate's buffers are charged.
    fn budget(&self) -> Arc<Budget>;
    /// The memory of a shared buffer; always the same object for the same memory. An error, which is a message, if it must not be shared.
    fn shared(&self, buffer: v8::Local<'_, v8::SharedArrayBuffer>) -> Result<Arc<SharedMemory>, &'static str>;
    /// Remembers incoming shared memory for [`Exchange::shared`]. False if it must not be used any more.
    fn remember(&self, memory: &Arc<SharedMemory>) -> bool;
    /// Memory of a host is about to be used, for as long as the result lives. `None` if the isolate is gone.
    fn hold_host_memory(&self) -> Option<HostMemoryHolder>;
}

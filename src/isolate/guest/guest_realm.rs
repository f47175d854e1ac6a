//! The place of a conversion: a guest, one of its realms, and how the layer above represents handles there.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::realm::Realm;
use crate::convert::{Exchange, HostMemoryHolder, KnownNames, PlainLists};
use crate::isolate::blocks;
use crate::isolate::guest::Guest;
use crate::isolate::remote::Remote;
use crate::protocol::message;
use crate::value::{Budget, Fault, Owner, SharedMemory, Value};

impl Realm {
    /// The realm of the current context. A context may outlive all handles on it, because its functions and promises may be referenced
    /// elsewhere.
    pub fn current(scope: &v8::PinScope<'_, '_>, guest: &Guest) -> Result<Arc<Realm>, Fault> {
        let context = scope.get_current_context();
        let token = context.get_security_token(scope);
        let index = token.uint32_value(scope).ok_or_else(Fault::disposed_during_execution)?;
        Ok(guest.realms.get(index).unwrap_or_else(|| {
            let realm = Realm::new(scope, context);
            guest.realms.revive(index, &realm);
            realm
        }))
    }
}

/// How the layer above represents handles inside a realm.
pub trait Binding: Send + Sync {
    /// `value`, a handle, function or promise, as the realm's guest code sees it.
    fn adopt<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        at: &GuestRealm,
        value: Value,
    ) -> Result<v8::Local<'s, v8::Value>, Fault>;

    /// Whether an object belongs to the realm's surface. Runs no JavaScript.
    fn is_handle(&self, scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>) -> bool;

    /// The function of an object of the realm's surface that is a `Callback`. Runs no JavaScript.
    fn function_of<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'_, v8::Object>,
    ) -> Option<v8::Local<'s, v8::Value>>;

    /// The handle behind an object of the realm's surface.
    fn identify(
        &self,
        scope: &mut v8::PinScope<'_, '_>,
        at: &GuestRealm,
        object: v8::Local<'_, v8::Object>,
    ) -> Result<Option<Value>, Fault>;
}

/// A realm of a guest: where a conversion takes place.
#[derive(Clone)]
pub struct GuestRealm {
    pub guest: Rc<Guest>,
    pub realm: Arc<Realm>,
}

impl GuestRealm {
    fn binding(&self) -> Result<&'static dyn Binding, Fault> {
        self.guest.binding.get().copied().ok_or_else(Fault::disposed_during_execution)
    }

    /// The guest and realm of the current context.
    pub fn current(scope: &v8::PinScope<'_, '_>) -> Result<Self, Fault> {
        let guest = Guest::of(scope)?;
        let realm = Realm::current(scope, &guest)?;
        Ok(Self { guest, realm })
    }

    /// The function of a `Callback`; any other value unchanged.
    pub fn behind<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        value: v8::Local<'s, v8::Value>,
    ) -> v8::Local<'s, v8::Value> {
        let object = v8::Local::<v8::Object>::try_from(value).ok().filter(|_| self.guest.has_surface.get());
        object.and_then(|object| self.binding().ok()?.function_of(scope, object)).unwrap_or(value)
    }
}

impl Exchange for GuestRealm {
    fn adopt<'s>(&self, scope: &mut v8::PinScope<'s, '_>, value: Value) -> Result<v8::Local<'s, v8::Value>, Fault> {
        self.binding()?.adopt(scope, self, value)
    }

    fn is_handle(&self, scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>) -> bool {
        self.guest.has_surface.get() && self.binding().is_ok_and(|binding| binding.is_handle(scope, object))
    }

    fn may_have_handles(&self) -> &Cell<bool> {
        &self.guest.has_surface
    }

    fn identify(
        &self,
        scope: &mut v8::PinScope<'_, '_>,
        object: v8::Local<'_, v8::Object>,
    ) -> Result<Option<Value>, Fault> {
        // Without a surface there are no handles.
        if !self.guest.has_surface.get() {
            return Ok(None);
        }
        self.binding()?.identify(scope, self, object)
    }

    fn plain_lists(&self) -> &PlainLists {
        &self.realm.plain_lists
    }

    fn known_names(&self) -> &KnownNames {
        self.guest.known_names()
    }

    fn keep(&self, bytes: Arc<Vec<u8>>) {
        blocks::keep_shared(bytes);
    }

    fn limit(&self) -> usize {
        self.guest.max_outside
    }

    fn budget(&self) -> Arc<Budget> {
        self.guest.remote().map_or_else(|_| Budget::new(0), |remote| Arc::clone(&remote.accounts.budget))
    }

    fn shared(&self, buffer: v8::Local<'_, v8::SharedArrayBuffer>) -> Result<Arc<SharedMemory>, &'static str> {
        let store = buffer.get_backing_store();
        if store.is_resizable_by_user_javascript() {
            // Other isolates would not learn of its growth.
            return Err(message::GROWABLE);
        }
        let (pointer, length) = (store.data(), store.byte_length());
        let pointer = pointer.map_or(std::ptr::null_mut(), |pointer| pointer.as_ptr().cast::<u8>());
        // An empty buffer has no memory, so other buffers may have the same address.
        if length > 0
            && let Some(memory) = self.guest.shared_at(pointer as usize)
        {
            return Ok(memory);
        }
        if length > 0 && !self.guest.remote().is_ok_and(|remote| remote.settings.shares_memory) {
            // The host expects a copy: it may check the contents before it uses them.
            return Err("A SharedArrayBuffer of a sandbox could not be shared.");
        }
        /// Keeps the backing store alive; its reference count is atomic.
        struct Pin(#[allow(dead_code, reason = "held for its destructor")] v8::SharedRef<v8::BackingStore>);
        // SAFETY: it is only dropped. The reference count is atomic, and the store itself, which the last drop frees, is `Send`.
        unsafe impl Send for Pin {}
        // SAFETY: nothing reads the field.
        unsafe impl Sync for Pin {}
        // SAFETY: the store holds `length` bytes at `pointer` and lives as long as the pin.
        let memory = Arc::new(unsafe { SharedMemory::new(pointer, length, None, Box::new(Pin(store))) });
        if self.remember(&memory) { Ok(memory) } else { Err(message::DISPOSED) }
    }

    fn remember(&self, memory: &Arc<SharedMemory>) -> bool {
        if memory.len() > 0 {
            self.guest.remember_shared(memory);
        }
        let Ok(remote) = self.guest.remote() else { return false };
        if memory.origin.is_some() {
            remote.accounts.shares_memory.store(true, Ordering::SeqCst);
        }
        // An environment that ends first stops its isolates, then checks which of them share its memory.
        !remote.is_disposed()
    }

    fn hold_host_memory(&self) -> Option<HostMemoryHolder> {
        let remote = self.guest.remote().ok()?;
        let isolate: Weak<dyn Owner> = Arc::<Remote>::downgrade(&remote);
        Some(HostMemoryHolder::new(isolate, &remote.accounts.host_memory_holders))
    }
}

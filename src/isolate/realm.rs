//! A context of an isolate, and where conversions take place.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::guest::Guest;
use super::inspector::Agent;
use super::modules::Loaders;
use super::remote::Remote;
use crate::convert::{Borrowed, Exchange};
use crate::engine;
use crate::value::{Budget, Fault, Owner, SharedMemory, Value};

pub struct Realm {
    pub context: v8::Global<v8::Context>,
    pub loaders: Loaders,
}

impl Realm {
    /// A new context from the snapshot that the isolate started from.
    pub fn create(scope: &mut super::IsolateScope<'_, '_>, guest: &Guest) -> Arc<Realm> {
        let create = || v8::Context::new(scope, v8::ContextOptions::default());
        let context = match guest.remote() {
            Ok(remote) if remote.settings.snapshot.is_some() => {
                remote.accounts.budget.overdraw(|| engine::contain_fatal_errors(create))
            }
            _ => create(),
        };
        // Makes V8 call `codegen::on_code_generation`.
        context.set_allow_generation_from_strings(false);
        let realm = Arc::new(Realm { context: v8::Global::new(scope, context), loaders: Loaders::default() });
        let index = guest.add_realm(&realm);
        // A realm's number is its security token. It is as unique as V8's default token, and the only way to identify a context without a
        // weak handle: the crate's embedder data uses weak handles, which shared isolates refuse.
        let scope = &mut v8::ContextScope::new(scope, context);
        context.set_security_token(v8::Integer::new_from_unsigned(scope, index).into());
        if guest.agent().is_some() {
            Agent::guard_console(scope);
        }
        realm
    }

    /// The realm of the current context. A context may outlive all handles on it, because its functions and promises may be referenced
    /// elsewhere.
    pub fn current(scope: &v8::PinScope<'_, '_>, guest: &Guest) -> Result<Arc<Realm>, Fault> {
        let context = scope.get_current_context();
        let token = context.get_security_token(scope);
        let index = token.uint32_value(scope).ok_or_else(Fault::disposed_during_execution)?;
        Ok(guest.realm(index).unwrap_or_else(|| {
            let realm = Arc::new(Realm { context: v8::Global::new(scope, context), loaders: Loaders::default() });
            guest.revive_realm(index, &realm);
            realm
        }))
    }
}

/// How the layer above represents handles inside a realm.
pub trait Binding: Send + Sync {
    /// Installs the callbacks of the layers above in a new isolate.
    fn install(&self, isolate: &mut v8::Isolate);

    /// `value`, a handle, function or promise, as the realm's guest code sees it.
    fn adopt<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        at: &Place,
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
        at: &Place,
        object: v8::Local<'_, v8::Object>,
    ) -> Result<Option<Value>, Fault>;
}

/// A realm of a guest: where a conversion takes place.
#[derive(Clone)]
pub struct Place {
    pub guest: Arc<Guest>,
    pub realm: Arc<Realm>,
}

impl Place {
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
        let function = object.and_then(|object| {
            self.guest.remote().ok().and_then(|remote| remote.settings.binding.function_of(scope, object))
        });
        function.unwrap_or(value)
    }
}

impl Exchange for Place {
    fn adopt<'s>(&self, scope: &mut v8::PinScope<'s, '_>, value: Value) -> Result<v8::Local<'s, v8::Value>, Fault> {
        self.guest.remote()?.settings.binding.adopt(scope, self, value)
    }

    fn is_handle(&self, scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>) -> bool {
        self.guest.has_surface.get()
            && self.guest.remote().is_ok_and(|remote| remote.settings.binding.is_handle(scope, object))
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
        self.guest.remote()?.settings.binding.identify(scope, self, object)
    }

    fn limit(&self) -> usize {
        self.guest.remote().map_or(MIN_LIMIT, |remote| most_outside(remote.settings.memory_limit))
    }

    fn budget(&self) -> Arc<Budget> {
        self.guest.remote().map_or_else(|_| Budget::new(0), |remote| Arc::clone(&remote.accounts.budget))
    }

    fn shared(&self, buffer: v8::Local<'_, v8::SharedArrayBuffer>) -> Option<Arc<SharedMemory>> {
        let store = buffer.get_backing_store();
        if store.is_resizable_by_user_javascript() {
            return None;
        }
        let (pointer, length) = (store.data(), store.byte_length());
        let pointer = pointer.map_or(std::ptr::null_mut(), |pointer| pointer.as_ptr().cast::<u8>());
        // An empty buffer has no memory, so other buffers may have the same address.
        if length > 0
            && let Some(memory) = self.guest.shared_at(pointer as usize)
        {
            return Some(memory);
        }
        /// Keeps the backing store alive; its reference count is atomic.
        struct Pin(#[allow(dead_code, reason = "held for its destructor")] v8::SharedRef<v8::BackingStore>);
        // SAFETY: it is only dropped. The reference count is atomic, and the store itself, which the last drop frees, is `Send`.
        unsafe impl Send for Pin {}
        // SAFETY: nothing reads the field.
        unsafe impl Sync for Pin {}
        // SAFETY: the store holds `length` bytes at `pointer` and lives as long as the pin.
        let memory = Arc::new(unsafe { SharedMemory::new(pointer, length, None, Box::new(Pin(store))) });
        self.remember(&memory).then_some(memory)
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

    fn borrow_memory(&self) -> Option<Borrowed> {
        let remote = self.guest.remote().ok()?;
        let holder: Weak<dyn Owner> = Arc::<Remote>::downgrade(&remote);
        Some(Borrowed::new(holder, &remote.accounts.borrowed))
    }
}

/// A value may take more bytes outside a heap than inside: what the heap holds once is written at each reference to it.
const CLONE_PER_HEAP: usize = 4;

/// The most bytes that one value may carry out of an isolate, and that a host may hold for its guest.
pub fn most_outside(memory_limit: usize) -> usize {
    memory_limit.saturating_mul(CLONE_PER_HEAP).clamp(MIN_LIMIT, MAX_LIMIT)
}

/// Bounds of [`most_outside`].
const MIN_LIMIT: usize = 64 << 20;
const MAX_LIMIT: usize = 512 << 20;

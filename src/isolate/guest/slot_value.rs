//! The values in the slots of an isolate.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use super::modules::CompiledModule;
use super::realm::Realm;

/// The value in a slot.
#[derive(Clone)]
pub enum SlotValue {
    Context(Arc<Realm>),
    Script(Rc<CompiledScript>),
    Module(Rc<CompiledModule>),
    Value(Arc<Realm>, v8::Global<v8::Value>),
}

/// A script that any context of the isolate can run.
pub struct CompiledScript {
    pub script: v8::Global<v8::UnboundScript>,
    /// Whether the compilation cache that was provided was rejected.
    pub cache_rejected: Option<bool>,
    /// The compilation cache, if one was requested.
    pub cache: Option<Arc<Vec<u8>>>,
    /// The realm that has run it last, and may keep it bound.
    last_realm: RefCell<Weak<Realm>>,
}

impl CompiledScript {
    pub fn new(
        script: v8::Global<v8::UnboundScript>,
        cache_rejected: Option<bool>,
        cache: Option<Arc<Vec<u8>>>,
    ) -> Self {
        Self { script, cache_rejected, cache, last_realm: RefCell::default() }
    }

    /// The script, bound to the current context, which is that of `realm`. From the second run in a row on, it is the same each time: what V8
    /// learns from one run, and the code that it compiles for speed, belongs to it and to the functions that it creates.
    pub fn bind<'s>(&self, scope: &v8::PinScope<'s, '_>, realm: &Arc<Realm>) -> v8::Local<'s, v8::Script> {
        let id = self.id();
        if let Some(bound) = realm.scripts.get(scope, id) {
            return bound;
        }
        let bound = v8::Local::new(scope, &self.script).bind_to_current_context(scope);
        let before = self.last_realm.replace(Arc::downgrade(realm));
        if before.ptr_eq(&Arc::downgrade(realm)) {
            realm.scripts.keep(scope, id, bound);
        } else if let Some(before) = before.upgrade() {
            before.scripts.remove(id);
        }
        bound
    }

    /// A number that no other script of the isolate has while this one exists.
    fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl Drop for CompiledScript {
    fn drop(&mut self) {
        if let Some(realm) = self.last_realm.get_mut().upgrade() {
            realm.scripts.remove(self.id());
        }
    }
}

impl SlotValue {
    /// The function that fills the `import.meta` of `module`, if this is that module.
    pub fn meta_of<'s>(
        &self,
        scope: &v8::PinScope<'s, '_>,
        module: v8::Local<'_, v8::Module>,
    ) -> Option<v8::Local<'s, v8::Function>> {
        match self {
            SlotValue::Module(compiled) if compiled.module == module => {
                compiled.meta.as_ref().map(|meta| v8::Local::new(scope, meta))
            }
            _ => None,
        }
    }
}

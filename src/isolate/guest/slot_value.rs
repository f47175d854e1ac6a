//! The values in the slots of an isolate.

use std::rc::Rc;
use std::sync::Arc;

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

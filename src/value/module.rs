//! Modules as seen from outside their isolate: what they import, and which linker links them.

use std::sync::{Arc, Mutex};

use super::{Code, ErrorClass, Fault, Reference, Slot, Text};
use crate::native::lock;

/// One `import` or `export … from` of a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModuleRequest {
    pub specifier: Text,
    /// The import attributes after `with`, in V8's order.
    pub attributes: Vec<(Text, Text)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Link {
    Free,
    /// The linker with this number resolves the module's imports.
    Claimed(u64),
    Linked,
}

#[derive(Debug)]
struct State {
    link: Link,
    namespace: Option<Arc<Reference>>,
}

/// A module of an isolate.
#[derive(Debug)]
pub struct ModuleHandle {
    pub slot: Arc<Slot>,
    pub requests: Vec<ModuleRequest>,
    /// Its code may call `import()`.
    pub imports: bool,
    state: Mutex<State>,
}

impl ModuleHandle {
    pub fn new(slot: Arc<Slot>, requests: Vec<ModuleRequest>, imports: bool) -> Arc<Self> {
        let state = Mutex::new(State { link: Link::Free, namespace: None });
        Arc::new(Self { slot, requests, imports, state })
    }

    /// Claims the module for `linker` alone. False if there is nothing to do.
    pub fn claim(&self, linker: u64) -> Result<bool, Fault> {
        let mut state = lock(&self.state);
        match state.link {
            Link::Free => {
                state.link = Link::Claimed(linker);
                Ok(true)
            }
            Link::Claimed(by) if by != linker => {
                let message = "Module is currently being linked by another linker";
                Err(Fault::coded(ErrorClass::Error, message, Code::InvalidArgument))
            }
            Link::Claimed(_) | Link::Linked => Ok(false),
        }
    }

    /// Ends the claim of `linker`.
    pub fn unclaim(&self, linker: u64, linked: bool) {
        let mut state = lock(&self.state);
        if state.link == Link::Claimed(linker) {
            state.link = if linked { Link::Linked } else { Link::Free };
        }
    }

    /// What the module exports, once it has been evaluated.
    pub fn namespace(&self) -> Option<Arc<Reference>> {
        lock(&self.state).namespace.clone()
    }

    pub fn set_namespace(&self, namespace: Arc<Reference>) {
        lock(&self.state).namespace = Some(namespace);
    }
}

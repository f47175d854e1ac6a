//! Memory of an environment that isolates use: memory that they share with it, and memory that it has given away. A reference to a buffer
//! pins its memory until the last isolate has released it, on any thread.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use slab::Slab;

use super::environment_handle::EnvironmentHandle;
use super::js::{Js, JsResult, JsValue};
use super::reference::Reference;
use crate::isolate::Remote;
use crate::value::{Bytes, HostMemory, HostMemoryUse, SharedMemory};

/// What pins memory of an environment.
pub struct Pins {
    handle: Arc<EnvironmentHandle>,
    /// By number.
    all: RefCell<Slab<Pin>>,
}

struct Pin {
    reference: Reference,
    /// Set for memory that was given away: nothing in the environment uses it any more.
    host_memory: Option<Arc<HostMemory>>,
}

/// When dropped, tells the environment's thread that a pin is no longer needed.
struct Unpin(Weak<EnvironmentHandle>, usize);

impl Drop for Unpin {
    fn drop(&mut self) {
        if let Some(handle) = self.0.upgrade() {
            handle.unpin(self.1);
        }
    }
}

impl Pins {
    pub fn new(handle: Arc<EnvironmentHandle>) -> Self {
        Self { handle, all: RefCell::default() }
    }

    /// Pins the memory of the shared buffer that `view` is on, for as long as an isolate uses it.
    ///
    /// # Safety
    ///
    /// `memory` must be address and length of the view.
    pub unsafe fn share(
        &self,
        js: Js<'_>,
        view: JsValue<'_>,
        key: u32,
        (data, length): (*mut u8, usize),
    ) -> JsResult<Arc<SharedMemory>> {
        let (_, unpin) = self.pin(js, view)?;
        // SAFETY: the caller guarantees that this is a shared buffer's memory, which does not move; the strong reference to a view keeps
        // it alive until the pin is dropped. An environment that shuts down stops its isolates first.
        Ok(Arc::new(unsafe { SharedMemory::new(data, length, Some((self.handle.id, key)), unpin) }))
    }

    /// Gives the memory of a buffer away.
    ///
    /// # Safety
    ///
    /// Only the buffer's carrier refers to it, as `surface/host/values/moving.js` has made it.
    pub unsafe fn give_away(&self, js: Js<'_>, buffer: JsValue<'_>) -> JsResult<Bytes> {
        let (data, length) = js.buffer_memory(buffer)?;
        let (number, unpin) = self.pin(js, buffer)?;
        // SAFETY: the host gave address and length of the memory, which does not move while the buffer lives, and the reference keeps the
        // buffer alive. The caller guarantees that no JavaScript uses it. `Environment::close` revokes the memory
        // before the environment shuts down, and waits for the isolate that has taken the memory.
        let host_memory = Arc::new(unsafe { HostMemory::new(data, length, unpin) });
        if let Some(pin) = self.all.borrow_mut().get_mut(number) {
            pin.host_memory = Some(Arc::clone(&host_memory));
        }
        Ok(Bytes::Host(Arc::new(HostMemoryUse::new(host_memory))))
    }

    fn pin(&self, js: Js<'_>, value: JsValue<'_>) -> JsResult<(usize, Box<Unpin>)> {
        // First, so that code that creates many pins in one turn of the event loop holds no more memory than isolates do.
        self.release_unused(js);
        let number = self.all.borrow_mut().insert(Pin { reference: js.reference(value)?, host_memory: None });
        Ok((number, Box::new(Unpin(self.handle.me.clone(), number))))
    }

    /// Releases the pins that no isolate uses any more.
    pub fn release_unused(&self, js: Js<'_>) {
        if !self.handle.unpinned.is_any() {
            return;
        }
        for number in self.handle.unpinned.take() {
            let Some(Pin { reference, host_memory }) = self.all.borrow_mut().try_remove(number) else { continue };
            if host_memory.is_some() {
                // Frees its memory now instead of when the host collects it. If the host refuses, it is freed then.
                let _ = js.scoped(&reference, |js, buffer| js.detach(js.dereference(buffer)?));
            }
            js.delete_reference(reference);
        }
    }

    /// Called when the environment shuts down: memory that was given away and that no engine has taken yet can no longer be taken. Returns
    /// the isolates that have taken some.
    pub(super) fn revoke_host_memory(&self) -> Vec<Arc<Remote>> {
        let given_away: Vec<_> = self.all.borrow().iter().filter_map(|(_, pin)| pin.host_memory.clone()).collect();
        given_away.iter().filter_map(|host_memory| Remote::from_owner(&host_memory.revoke()?)).collect()
    }
}

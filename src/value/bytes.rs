//! The contents of an `ArrayBuffer` outside any engine.

use std::sync::{Arc, Mutex, Weak};

use super::Owner;
use crate::native::lock;

/// Contents of an `ArrayBuffer` in transit.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// The last user takes them without copying.
    Own(Arc<Vec<u8>>),
    /// They stay in the memory of a host, which has given them away. The last user can take the memory.
    Host(Arc<HostMemoryUse>),
}

impl Bytes {
    pub fn len(&self) -> usize {
        match self {
            Self::Own(bytes) => bytes.len(),
            Self::Host(memory) => memory.0.length,
        }
    }

    /// Passes the contents to `reader`. `None` if they are gone with the environment that has given them away.
    pub fn read<T>(&self, reader: impl FnOnce(&[u8]) -> T) -> Option<T> {
        match self {
            Self::Own(bytes) => Some(reader(bytes)),
            Self::Host(memory) => memory.read(reader),
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Own(Arc::new(bytes))
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Own(Arc::default())
    }
}

/// Memory that a host has given away and no longer uses. An environment that shuts down takes back what no engine uses yet, and waits for
/// the isolates that have taken some.
pub struct HostMemory {
    state: Mutex<State>,
    length: usize,
}

enum State {
    Available(HostBlock),
    /// Taken by this isolate.
    Taken(Weak<dyn Owner>),
    Gone,
}

/// A block of a host's memory.
pub struct HostBlock {
    pub pointer: *mut u8,
    length: usize,
    _pin: Box<dyn Send + Sync>,
}

// SAFETY: only the owner of this value uses the memory; the pin may be dropped on any thread.
unsafe impl Send for HostBlock {}

impl HostMemory {
    /// # Safety
    /// `pointer` must be valid for `length` bytes that nothing else uses, for as long as `pin` lives or until [`HostMemory::revoke`] has
    /// returned. If `revoke` returns an isolate, until that isolate is gone.
    pub unsafe fn new(pointer: *mut u8, length: usize, pin: Box<dyn Send + Sync>) -> Self {
        Self { state: Mutex::new(State::Available(HostBlock { pointer, length, _pin: pin })), length }
    }

    /// From now on, the memory can no longer be read or taken. Returns the isolate that has taken it.
    pub fn revoke(&self) -> Option<Arc<dyn Owner>> {
        let before = std::mem::replace(&mut *lock(&self.state), State::Gone);
        match before {
            State::Taken(holder) => holder.upgrade(),
            State::Available(_) | State::Gone => None,
        }
    }
}

/// The right to use a host's memory. Dropping it returns the memory, unless an engine has taken it.
pub struct HostMemoryUse(Arc<HostMemory>);

impl HostMemoryUse {
    pub fn new(memory: Arc<HostMemory>) -> Self {
        Self(memory)
    }

    fn read<T>(&self, reader: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let state = lock(&self.0.state);
        let State::Available(block) = &*state else { return None };
        // SAFETY: the memory is valid, since it is neither revoked nor taken, and stays valid under the lock; nothing writes to it.
        Some(reader(unsafe { std::slice::from_raw_parts(block.pointer, block.length) }))
    }

    /// Takes the memory for an engine. `None` if it is gone.
    pub fn take(self, holder: Weak<dyn Owner>) -> Option<HostBlock> {
        let mut state = lock(&self.0.state);
        match std::mem::replace(&mut *state, State::Gone) {
            State::Available(block) => {
                *state = State::Taken(holder);
                Some(block)
            }
            before => {
                *state = before;
                None
            }
        }
    }
}

impl Drop for HostMemoryUse {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        if matches!(*state, State::Available(_)) {
            let unused = std::mem::replace(&mut *state, State::Gone);
            // Dropping the pin may call code that locks the memory.
            drop(state);
            drop(unused);
        }
    }
}

impl std::fmt::Debug for HostMemoryUse {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "HostMemoryUse({} bytes)", self.0.length)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, HostMemory, HostMemoryUse};
    use crate::value::Owner;
    use std::any::Any;
    use std::sync::{Arc, Weak};

    struct Holder;

    impl Owner for Holder {
        fn id(&self) -> u64 {
            1
        }

        fn release(&self, _slot: u32) {}

        fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
            self
        }
    }

    fn memory(pin: Arc<()>) -> Arc<HostMemory> {
        let mut bytes = vec![7_u8; 16].into_boxed_slice();
        // SAFETY: the box keeps its memory where it is, and lives as long as the memory.
        Arc::new(unsafe { HostMemory::new(bytes.as_mut_ptr(), bytes.len(), Box::new((bytes, pin))) })
    }

    #[test]
    fn is_read_until_it_is_revoked() {
        let memory = memory(Arc::default());
        let bytes = Bytes::Host(Arc::new(HostMemoryUse::new(Arc::clone(&memory))));
        assert_eq!(bytes.len(), 16);
        assert_eq!(bytes.read(<[u8]>::to_vec), Some(vec![7; 16]));
        assert!(memory.revoke().is_none());
        assert_eq!(bytes.read(<[u8]>::len), None);
    }

    #[test]
    fn reports_its_taker() {
        let holder: Arc<dyn Owner> = Arc::new(Holder);
        let memory = memory(Arc::default());
        let block = HostMemoryUse::new(Arc::clone(&memory)).take(Arc::downgrade(&holder));
        assert!(block.is_some());
        assert!(memory.revoke().is_some_and(|named| Arc::ptr_eq(&named, &holder)));
        let no_owner: Weak<dyn Owner> = Weak::<Holder>::new();
        assert!(HostMemoryUse::new(memory).take(no_owner).is_none());
    }

    #[test]
    fn is_returned_if_not_taken() {
        let pin = Arc::new(());
        let memory = memory(Arc::clone(&pin));
        drop(Bytes::Host(Arc::new(HostMemoryUse::new(Arc::clone(&memory)))));
        assert_eq!(Arc::strong_count(&pin), 1);
        assert!(memory.revoke().is_none());
    }
}

//! The contents of an `ArrayBuffer` outside any engine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Contents of an `ArrayBuffer` on their way.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// Taken without copying by the last one that needs them.
    Own(Arc<Vec<u8>>),
    /// They stay where a host has them, which has given them away. The last one that needs them can take the memory.
    Lent(Arc<Loan>),
}

impl Bytes {
    pub fn len(&self) -> usize {
        match self {
            Self::Own(bytes) => bytes.len(),
            Self::Lent(loan) => loan.length,
        }
    }

    /// Shows them. `None` when they are gone with the environment that has lent them.
    pub fn read<T>(&self, reader: impl FnOnce(&[u8]) -> T) -> Option<T> {
        match self {
            Self::Own(bytes) => Some(reader(bytes)),
            Self::Lent(loan) => loan.read(reader),
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

/// Memory of a host that nobody in it has any more. An environment that goes down takes back what no engine uses yet, and waits
/// for the isolates that have got some.
pub struct Loan {
    memory: Mutex<Option<Lent>>,
    length: usize,
}

/// What a loan is of.
pub struct Lent {
    pub pointer: *mut u8,
    pub length: usize,
    _pin: Box<dyn Send + Sync>,
}

// SAFETY: nobody else has the memory, and whoever has this type has it alone; the pin may be dropped on any thread.
unsafe impl Send for Lent {}

impl Loan {
    /// # Safety
    /// `pointer` must be valid for `length` bytes that nobody else uses, for as long as `pin` lives or until [`Loan::revoke`]
    /// has returned true; when it has returned false, until those who have taken the memory are done with it.
    pub unsafe fn new(pointer: *mut u8, length: usize, pin: Box<dyn Send + Sync>) -> Self {
        Self { memory: Mutex::new(Some(Lent { pointer, length, _pin: pin })), length }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lent>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, reader: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let memory = self.lock();
        let lent = memory.as_ref()?;
        // SAFETY: the memory is valid, since the loan is neither revoked nor taken, and stays so under the lock; nobody writes.
        Some(reader(unsafe { std::slice::from_raw_parts(lent.pointer, lent.length) }))
    }

    /// The memory, for an engine. `None` when it is gone.
    pub fn take(&self) -> Option<Lent> {
        self.lock().take()
    }

    /// Nobody reads the memory any more, or takes it. False when somebody has taken it before.
    pub fn revoke(&self) -> bool {
        self.take().is_some()
    }
}

impl std::fmt::Debug for Loan {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Loan({} bytes)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Loan};
    use std::sync::Arc;

    fn loan() -> Loan {
        let mut bytes = vec![7_u8; 16].into_boxed_slice();
        // SAFETY: the box keeps its memory where it is, and lives as long as the loan.
        unsafe { Loan::new(bytes.as_mut_ptr(), bytes.len(), Box::new(bytes)) }
    }

    #[test]
    fn is_read_until_it_is_taken_or_revoked() {
        let lent = Arc::new(loan());
        let bytes = Bytes::Lent(Arc::clone(&lent));
        assert_eq!(bytes.len(), 16);
        assert_eq!(bytes.read(<[u8]>::to_vec), Some(vec![7; 16]));
        assert!(lent.revoke());
        assert_eq!(bytes.read(<[u8]>::len), None);
        assert!(lent.take().is_none());
        let lent = loan();
        assert_eq!(lent.take().map(|lent| lent.length), Some(16));
        assert!(!lent.revoke());
    }
}

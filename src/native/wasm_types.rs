//! The budgets for WebAssembly types, which V8 keeps for the life of the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of WebAssembly types that V8 keeps for the lifetime of the process. Isolates that a guest creates share the budget of the isolate
/// that creates them.
pub struct TypeBudget {
    limit: usize,
    used: AtomicUsize,
}

impl TypeBudget {
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicUsize::new(0) })
    }

    /// Takes bytes permanently; false if the budget does not have them.
    pub fn take(&self, bytes: usize) -> bool {
        let add = |used: usize| used.checked_add(bytes).filter(|total| *total <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::TypeBudget;

    #[test]
    fn types_are_limited() {
        let types = TypeBudget::new(10);
        assert_eq!([6, 5, 4, 1].map(|bytes| types.take(bytes)), [true, false, true, false]);
    }
}

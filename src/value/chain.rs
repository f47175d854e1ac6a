//! Which call a piece of work belongs to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A call and everything called on its behalf, across isolates: which host thread, if any, waits at its root.
#[derive(Clone, Default)]
pub struct Chain(Option<Arc<Root>>);

struct Root {
    environment: u64,
    active: AtomicBool,
}

impl Chain {
    /// A chain that starts with a sync call on a host thread.
    pub fn rooted(environment: u64) -> Self {
        Self(Some(Arc::new(Root { environment, active: AtomicBool::new(true) })))
    }

    /// A sync call on a host waits at the root of this chain.
    pub fn is_rooted(&self) -> bool {
        self.0.is_some()
    }

    /// The thread of `environment` waits at the root and can serve a request now.
    pub fn waits_in(&self, environment: u64) -> bool {
        self.0.as_ref().is_some_and(|root| root.environment == environment && root.active.load(Ordering::Acquire))
    }

    /// The sync call at the root has returned; nobody there serves requests of this chain any more.
    pub fn end(&self) {
        if let Some(root) = &self.0 {
            root.active.store(false, Ordering::Release);
        }
    }
}

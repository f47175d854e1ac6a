//! The call that a piece of work belongs to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A call and everything called on its behalf, across isolates: which host thread, if any, waits at its root, or which asynchronous call of
/// a host it is.
#[derive(Clone, Default)]
pub struct Chain {
    root: Option<Arc<Root>>,
    /// The host's number for the asynchronous call that began it; 0 for none.
    request: i64,
}

struct Root {
    environment: u64,
    active: AtomicBool,
}

impl Chain {
    /// A chain that starts with a sync call on a host thread.
    pub fn rooted(environment: u64) -> Self {
        Self { root: Some(Arc::new(Root { environment, active: AtomicBool::new(true) })), request: 0 }
    }

    /// A chain that starts with an asynchronous call, whose number at its host is `request`.
    pub fn of_request(request: i64) -> Self {
        Self { root: None, request }
    }

    /// The same chain, on behalf of another call of the host.
    pub fn in_async_context(self, request: i64) -> Self {
        Self { request, ..self }
    }

    pub fn request(&self) -> i64 {
        self.request
    }

    /// Whether the chain began with a sync call on a host.
    pub fn is_rooted(&self) -> bool {
        self.root.is_some()
    }

    /// The same chain without a thread that waits at the root.
    pub fn not_awaited(self) -> Self {
        let without =
            |root: Arc<Root>| Arc::new(Root { environment: root.environment, active: AtomicBool::new(false) });
        Self { root: self.root.map(without), ..self }
    }

    /// Whether the thread of `environment` waits at the root and can serve a request now.
    pub fn waits_in(&self, environment: u64) -> bool {
        self.root.as_ref().is_some_and(|root| root.environment == environment && root.active.load(Ordering::Acquire))
    }

    /// Whether a host's thread waits at the root.
    pub fn is_awaited(&self) -> bool {
        self.root.as_ref().is_some_and(|root| root.active.load(Ordering::Acquire))
    }

    /// The chain of a job that runs nested in one of the chain `below`. A host's thread that waits for that one waits for this one as well, although
    /// its own root no longer waits: it must serve the requests of both.
    pub fn nested_in(self, below: &Self) -> Self {
        if self.is_awaited() || !below.is_awaited() { self } else { Self { root: below.root.clone(), ..self } }
    }

    /// Whether nothing else knows the chain, so that no request of it exists, and none will.
    pub fn is_sole(&self) -> bool {
        self.root.as_ref().is_none_or(|root| Arc::strong_count(root) == 1)
    }

    /// The sync call at the root has returned; its thread no longer serves requests of this chain.
    pub fn end(&self) {
        if let Some(root) = &self.root {
            root.active.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Chain;

    #[test]
    fn a_nested_job_belongs_to_the_call_that_waits_for_it() {
        const ENVIRONMENT: u64 = 7;
        let [ended, awaited] = [(); 2].map(|()| Chain::rooted(ENVIRONMENT));
        ended.end();
        for of_ended in [ended.clone().in_async_context(3), Chain::of_request(3)] {
            let nested = of_ended.clone().nested_in(&awaited);
            assert!(nested.waits_in(ENVIRONMENT) && nested.request() == 3);
            assert!(!of_ended.nested_in(&ended).is_awaited());
        }
        let outlived = awaited.clone().not_awaited();
        assert!(outlived.is_rooted() && !outlived.is_awaited() && outlived.nested_in(&awaited).is_awaited());
        let other = Chain::rooted(ENVIRONMENT + 1);
        assert!(other.clone().nested_in(&awaited).waits_in(ENVIRONMENT + 1));
        let nested = ended.nested_in(&awaited);
        awaited.end();
        assert!(!nested.is_awaited() && nested.is_rooted() && nested.nested_in(&other).waits_in(ENVIRONMENT + 1));
    }
}

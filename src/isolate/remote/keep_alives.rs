//! What keeps the event loop of an isolate's host alive.

use std::sync::{Mutex, Weak};

use slab::Slab;

use crate::native::lock;
use crate::value::{Host, KeepAlive};

pub struct KeepAlives {
    host: Option<Weak<dyn Host>>,
    /// For what a running job will still cause, and from the isolate's stop until it is gone.
    running: Mutex<Option<KeepAlive>>,
    /// While the guest waits for something, or still processes what has arrived.
    waiting: Mutex<Slab<KeepAlive>>,
}

impl KeepAlives {
    pub fn new(host: Option<Weak<dyn Host>>) -> Self {
        Self { host, running: Mutex::default(), waiting: Mutex::default() }
    }

    fn make(&self) -> Option<KeepAlive> {
        self.host.as_ref().and_then(KeepAlive::with)
    }

    /// Keeps the host alive from now on.
    pub fn begin_running(&self) {
        let keep_alive = self.make();
        let before = std::mem::replace(&mut *lock(&self.running), keep_alive);
        drop(before);
    }

    /// Ends [`KeepAlives::begin_running`], unless `keep` is true at that moment.
    pub fn end_running(&self, keep: impl FnOnce() -> bool) {
        let mut running = lock(&self.running);
        let keep_alive = if keep() { None } else { running.take() };
        drop(running);
        drop(keep_alive);
    }

    /// Keeps the host alive until [`KeepAlives::end`].
    pub fn begin(&self) -> Option<usize> {
        let keep_alive = self.make()?;
        Some(lock(&self.waiting).insert(keep_alive))
    }

    pub fn end(&self, id: usize) {
        let keep_alive = lock(&self.waiting).try_remove(id);
        drop(keep_alive);
    }

    pub fn end_all(&self) {
        self.end_running(|| false);
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        drop(waiting);
    }
}

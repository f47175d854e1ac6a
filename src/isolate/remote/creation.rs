//! How an isolate is created: in advance or not, for one execution or many, and what is done as soon as its V8 side exists.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::creation_queue::Permit;
use crate::isolate::job::IsolateScope;
use crate::native::lock;

/// Work done in an isolate as soon as it is created. Must not run code that might not end: nothing stops it.
pub type Prepare = Box<dyn FnOnce(&mut IsolateScope<'_, '_>) + Send>;

/// How an isolate is created.
#[derive(Default)]
pub struct Creation {
    /// The isolate is not taken yet. Changes under the mailbox's lock.
    waits: AtomicBool,
    /// The isolate serves one execution, and its host learns when it ends.
    is_single: bool,
    preparation: Mutex<Option<Prepare>>,
    /// The isolate is about to be taken.
    prewarmed: AtomicBool,
    /// Set while the V8 side is being created.
    permit: Mutex<Option<Permit>>,
    pub is_snapshot_creator: bool,
}

impl Creation {
    /// `waits`: the isolate is warm.
    pub fn prepared(waits: bool, prepare: Prepare) -> Self {
        Self {
            waits: AtomicBool::new(waits),
            is_single: true,
            preparation: Mutex::new(Some(prepare)),
            ..Self::default()
        }
    }

    pub fn of_snapshot_creator() -> Self {
        Self { is_snapshot_creator: true, ..Self::default() }
    }

    pub fn is_warm(&self) -> bool {
        self.waits.load(Ordering::Acquire)
    }

    /// The V8 side is being created from now on.
    pub fn begin(&self, permit: Permit) {
        *lock(&self.permit) = Some(permit);
    }

    /// The V8 side was created, or never will be.
    pub fn finish(&self) {
        let permit = lock(&self.permit).take();
        drop(permit);
    }

    pub fn take_preparation(&self) -> Option<Prepare> {
        lock(&self.preparation).take()
    }

    /// The isolate was created for one execution, which it has begun.
    pub fn serves_one(&self) -> bool {
        self.is_single && !self.is_warm()
    }

    /// The isolate is about to be taken.
    pub fn prewarm(&self) {
        self.prewarmed.store(true, Ordering::Release);
    }

    /// Whether it was prewarmed, once.
    pub fn take_prewarmed(&self) -> bool {
        self.prewarmed.swap(false, Ordering::AcqRel)
    }

    /// The isolate is taken. False if it was taken before. Called under the mailbox's lock.
    pub fn take(&self) -> bool {
        self.waits.swap(false, Ordering::AcqRel)
    }
}

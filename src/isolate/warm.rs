//! Isolates that are created before they are needed. A warm isolate is counted separately until it is taken into use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::arrivals::Arrival;
use super::registry;
use super::remote::{Remote, Settings};
use super::{Guest, IsolateScope, Realm};
use crate::value::spin;

/// The actual sleep is several times as long.
const COURTESY: Duration = Duration::from_micros(20);

/// How long a thread spins for work that is about to arrive.
const EXPECTANT: Duration = Duration::from_micros(150);

/// Work done in an isolate as soon as it is created. Must not run code that might not end: nothing stops it.
pub type Prepare = Box<dyn FnOnce(&mut IsolateScope<'_, '_>, &Arc<Guest>) + Send>;

/// How an isolate is created.
#[derive(Default)]
pub(super) struct Creation {
    /// The isolate is not taken yet. Changes under the inbox's lock.
    waits: AtomicBool,
    /// The isolate serves one execution, and its host learns when it ends.
    is_single: bool,
    preparation: Mutex<Option<Prepare>>,
    /// The isolate is about to be taken.
    prewarmed: AtomicBool,
    /// Set while the V8 side is being created.
    arrival: Mutex<Option<Arrival>>,
    pub(super) is_snapshot_creator: bool,
}

impl Creation {
    fn new(waits: bool, prepare: Prepare) -> Self {
        Self {
            waits: AtomicBool::new(waits),
            is_single: true,
            preparation: Mutex::new(Some(prepare)),
            ..Self::default()
        }
    }

    pub(super) fn of_snapshot_creator() -> Self {
        Self { is_snapshot_creator: true, ..Self::default() }
    }

    pub(super) fn is_warm(&self) -> bool {
        self.waits.load(Ordering::Acquire)
    }

    /// The V8 side is being created from now on.
    pub(super) fn arrive(&self, arrival: Arrival) {
        *self.arrival.lock().unwrap_or_else(PoisonError::into_inner) = Some(arrival);
    }

    /// The V8 side was created, or never will be.
    pub(super) fn has_arrived(&self) {
        let arrival = self.arrival.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(arrival);
    }

    pub(super) fn take_preparation(&self) -> Option<Prepare> {
        self.preparation.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Remote {
    /// As [`Remote::create`], and runs `prepare` as soon as the isolate is created.
    pub fn create_prepared(settings: Settings, prepare: Prepare) -> Arc<Self> {
        Self::begin(settings, Creation::new(false, prepare))
    }

    /// As [`Remote::create_prepared`], for a warm isolate.
    pub fn create_warm(settings: Settings, prepare: Prepare) -> Arc<Self> {
        Self::begin(settings, Creation::new(true, prepare))
    }

    fn begin(settings: Settings, creation: Creation) -> Arc<Self> {
        let remote = Self::new(settings, creation);
        remote.signal(remote.mailbox.lock());
        remote
    }

    /// Yields this thread's processor to the thread that waits for the outcome, before this thread disposes of the isolate.
    pub(super) fn give_way(&self) {
        if self.creation.is_single && !self.creation.is_warm() {
            thread::sleep(COURTESY);
        }
    }

    /// The isolate is about to be taken: borrows a thread for it in advance.
    pub fn prewarm(&self) {
        let inbox = self.mailbox.lock();
        if self.lifecycle.is_idle() {
            self.creation.prewarmed.store(true, Ordering::Release);
            self.signal(inbox);
        }
    }

    /// Spins for the work that it was prewarmed for. True if something has changed since `version`.
    pub(super) fn expect_work(&self, version: u32) -> bool {
        self.creation.prewarmed.swap(false, Ordering::AcqRel) && spin(EXPECTANT, || self.mailbox.version() != version)
    }

    /// Takes a warm isolate into use, once. False if it has ended since, or was taken before.
    pub fn enlist(&self) -> bool {
        let _inbox = self.mailbox.lock();
        if self.is_disposed() || !self.creation.waits.swap(false, Ordering::AcqRel) {
            return false;
        }
        self.accounts.meter.reset();
        self.accounts.account.enlist();
        if self.lifecycle.is_idle() {
            registry::rest();
        }
        true
    }
}

impl Guest {
    /// Keeps a realm in which no guest code has run, for [`Guest::take_prepared`].
    pub fn prepare(&self, realm: Arc<Realm>) {
        *self.prepared.borrow_mut() = Some(realm);
    }

    pub fn take_prepared(&self) -> Option<Arc<Realm>> {
        self.prepared.borrow_mut().take()
    }
}

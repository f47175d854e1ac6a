//! Isolates that are made before anybody needs one. Until somebody takes it a spare counts as nobody's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::census;
use super::remote::{Remote, Settings, Whereabouts};
use super::{Guest, IsolateScope, Realm};
use crate::value::spin;

/// The system makes a multiple of it.
const COURTESY: Duration = Duration::from_micros(20);

/// How long a thread waits actively for work that is about to come.
const EXPECTANT: Duration = Duration::from_micros(150);

/// Done in an isolate as soon as it is made. Must not run any code that might not end: nothing ends it.
pub type Prepare = Box<dyn FnOnce(&mut IsolateScope<'_, '_>, &Arc<Guest>) + Send>;

/// Whether an isolate is one.
#[derive(Default)]
pub(super) struct Spare {
    /// Changes under the inbox's lock.
    waits: AtomicBool,
    /// It is for one execution, of which its host hears when it ends.
    is_single: bool,
    preparation: Mutex<Option<Prepare>>,
    /// Somebody is about to take it.
    roused: AtomicBool,
}

impl Spare {
    fn new(waits: bool, prepare: Prepare) -> Self {
        Self {
            waits: AtomicBool::new(waits),
            is_single: true,
            preparation: Mutex::new(Some(prepare)),
            roused: AtomicBool::new(false),
        }
    }

    pub(super) fn is_one(&self) -> bool {
        self.waits.load(Ordering::Acquire)
    }

    pub(super) fn take_preparation(&self) -> Option<Prepare> {
        self.preparation.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Remote {
    /// As [`Remote::create`], for an isolate that is prepared as soon as it is made.
    pub fn create_prepared(settings: Settings, prepare: Prepare) -> Arc<Self> {
        Self::begin(settings, Spare::new(false, prepare))
    }

    /// The same for nobody yet.
    pub fn create_spare(settings: Settings, prepare: Prepare) -> Arc<Self> {
        Self::begin(settings, Spare::new(true, prepare))
    }

    fn begin(settings: Settings, spare: Spare) -> Arc<Self> {
        let remote = Self::new(settings, false, spare);
        remote.borrow_thread(remote.lock());
        remote
    }

    /// Lets whoever waits for the outcome have the processor that this thread is on, before it disposes the isolate.
    pub(super) fn give_way(&self) {
        if self.spare.is_single && !self.spare.is_one() {
            thread::sleep(COURTESY);
        }
    }

    /// Somebody is about to take the isolate: a thread shall be there by then.
    pub fn rouse(&self) {
        let inbox = self.lock();
        if matches!(inbox.place, Whereabouts::Idle(_)) {
            self.spare.roused.store(true, Ordering::Release);
            self.borrow_thread(inbox);
        }
    }

    /// Waits actively for what it was roused for. True when something has changed since `version`.
    pub(super) fn expect_work(&self, version: u32) -> bool {
        self.spare.roused.swap(false, Ordering::AcqRel)
            && spin(EXPECTANT, || self.version.load(Ordering::Acquire) != version)
    }

    /// A spare isolate becomes somebody's, once. False for one that has ended meanwhile.
    pub fn enlist(&self) -> bool {
        let inbox = self.lock();
        if self.is_disposed() || !self.spare.waits.swap(false, Ordering::AcqRel) {
            return false;
        }
        self.meter.reset();
        self.account.enlist();
        if matches!(inbox.place, Whereabouts::Idle(_)) {
            census::rest();
        }
        true
    }
}

impl Guest {
    /// Keeps a realm that nothing of any guest's has run in, for the one who takes it.
    pub fn prepare(&self, realm: Arc<Realm>) {
        *self.prepared.borrow_mut() = Some(realm);
    }

    pub fn take_prepared(&self) -> Option<Arc<Realm>> {
        self.prepared.borrow_mut().take()
    }
}

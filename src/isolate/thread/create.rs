//! The ways to create an isolate.

use std::sync::{Arc, Weak};

use super::memory;
use crate::isolate::inspector::Inspector;
use crate::isolate::remote::Remote;
use crate::isolate::remote::accounts::Accounts;
use crate::isolate::remote::creation::{Creation, Prepare};
use crate::isolate::remote::descendants::CreatedIsolates;
use crate::isolate::remote::detached::DetachedWork;
use crate::isolate::remote::execution::Execution;
use crate::isolate::remote::keep_alives::KeepAlives;
use crate::isolate::remote::lifecycle::Lifecycle;
use crate::isolate::remote::listeners::EndListeners;
use crate::isolate::remote::mailbox::Mailbox;
use crate::isolate::remote::promises::Promises;
use crate::isolate::remote::reason::Stop;
use crate::isolate::remote::registry::Account;
use crate::isolate::remote::running_jobs::RunningJobs;
use crate::isolate::remote::settings::Settings;
use crate::isolate::remote::slots::Slots;
use crate::value::{Code, ErrorClass, Fault};

impl Remote {
    /// Creates an isolate. Its V8 side is created on a pool thread, at once.
    pub fn create(settings: Settings) -> Arc<Self> {
        Self::begin(settings, Creation::default())
    }

    /// Creates a snapshot creator: an isolate that does one job, whose answer is the snapshot of the isolate after the job (see
    /// [`super::snapshot_creator`]).
    pub fn create_snapshot_creator(settings: Settings) -> Arc<Self> {
        Self::new(settings, Creation::of_snapshot_creator())
    }

    fn new(settings: Settings, creation: Creation) -> Arc<Self> {
        Arc::new_cyclic(|me: &Weak<Remote>| Self {
            me: me.clone(),
            accounts: Accounts::new(
                settings.memory_limit,
                settings.references.clone(),
                memory::quota(me, &settings),
                Account::open(creation.is_warm()),
            ),
            keep_alives: KeepAlives::new(settings.host.clone()),
            settings,
            lifecycle: Lifecycle::default(),
            mailbox: Mailbox::default(),
            slots: Slots::default(),
            listeners: EndListeners::default(),
            promises: Promises::default(),
            detached: DetachedWork::default(),
            running_jobs: RunningJobs::new(me.clone()),
            execution: Execution::new(me.clone()),
            inspector: Inspector::default(),
            created_isolates: CreatedIsolates::default(),
            creation,
        })
    }

    /// As [`Remote::create`], and runs `prepare` as soon as the isolate is created.
    pub fn create_prepared(settings: Settings, prepare: Prepare) -> Arc<Self> {
        Self::begin(settings, Creation::prepared(false, prepare))
    }

    /// As [`Remote::create_prepared`], for a warm isolate.
    pub fn create_warm(settings: Settings, prepare: Prepare) -> Arc<Self> {
        Self::begin(settings, Creation::prepared(true, prepare))
    }

    fn begin(settings: Settings, creation: Creation) -> Arc<Self> {
        let remote = Self::new(settings, creation);
        remote.signal(remote.mailbox.lock());
        remote
    }

    /// Creates an isolate for the guest of this one. `None` if there is no room for another descendant.
    pub fn create_child(&self, settings: Settings) -> Result<Option<Arc<Remote>>, Fault> {
        if settings.memory_limit > self.settings.memory_limit {
            let message = "`memoryLimit` must not be more than that of the isolate it is made in";
            return Err(Fault::coded(ErrorClass::RangeError, message, Code::Limit));
        }
        let Some(place) = self.created_isolates.admit(settings.memory_limit, self.settings.memory_limit) else {
            return Ok(None);
        };
        let types = self.accounts.quota.as_ref().map(|quota| Arc::clone(quota.types()));
        let references = Some(Arc::clone(&self.accounts.references));
        let made = Remote::create(Settings { types, references, ..settings });
        self.created_isolates.add(&made, &made.created_isolates, place);
        // From here on, stopping this isolate also stops the new one.
        if self.is_disposed() {
            made.stop(Stop::Disposed);
            return Err(Fault::Stopped);
        }
        Ok(Some(made))
    }
}

//! Sends the events that make a host report its isolates' memory to its garbage collector (see [`super::pressure`]): when the memory has
//! changed, and again some seconds after the last isolate was created.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::environment_handle::EnvironmentHandle;
use super::event::Event;
use super::js::Js;
use crate::isolate::{MemoryObserver, Remote, clock};
use crate::value::IsolateHandle;

/// How long after the last isolate was created the host is reminded of the live ones, and how long after that again. A program that creates
/// more isolates meanwhile is not reminded: their memory makes the host collect.
const REMINDERS: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(15)];

impl MemoryObserver for EnvironmentHandle {
    fn changed(&self, bytes: i64) {
        self.pressure.total.fetch_add(bytes, Ordering::AcqRel);
        if self.pressure.change.fetch_add(bytes, Ordering::AcqRel) == 0 {
            // An environment that is gone has nothing to collect.
            let _ = self.send(Event::Weigh);
        }
    }

    fn close(&self, bytes: i64) {
        self.pressure.isolates.fetch_sub(1, Ordering::AcqRel);
        self.changed(-bytes);
    }
}

impl EnvironmentHandle {
    fn remind_later(&self, stage: usize) {
        let made = self.pressure.made.load(Ordering::Acquire);
        let Some(pause) = REMINDERS.get(stage) else { return self.stop_reminding(made) };
        let handle = self.me.clone();
        clock::after(*pause, move || {
            let Some(handle) = handle.upgrade() else { return };
            if handle.pressure.made.load(Ordering::Acquire) != made {
                handle.remind_later(0);
            } else if handle.pressure.isolates.load(Ordering::Acquire) > 0
                && handle.send(Event::Remind { last: stage + 1 == REMINDERS.len() }).is_ok()
            {
                handle.remind_later(stage + 1);
            } else {
                handle.stop_reminding(made);
            }
        });
    }

    /// Schedules no more reminders until there are more isolates than the first `made`.
    fn stop_reminding(&self, made: u32) {
        self.pressure.reminds.store(false, Ordering::SeqCst);
        if self.pressure.made.load(Ordering::SeqCst) != made {
            self.expect_reminder();
        }
    }

    fn expect_reminder(&self) {
        if !self.pressure.reminds.swap(true, Ordering::SeqCst) {
            self.remind_later(0);
        }
    }

    /// The surface gets a handle on an isolate. From now on, its memory counts for the host as well.
    pub fn count_isolate(&self, js: Js<'_>, isolate: &IsolateHandle) {
        let observer: Weak<dyn MemoryObserver> = self.me.clone();
        let Some(bytes) = Remote::from_owner(&isolate.0).and_then(|remote| remote.charge(observer)) else { return };
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let pressure = &self.pressure;
        pressure.isolates.fetch_add(1, Ordering::AcqRel);
        pressure.made.fetch_add(1, Ordering::SeqCst);
        pressure.total.fetch_add(bytes, Ordering::AcqRel);
        pressure.change.fetch_add(bytes, Ordering::AcqRel);
        pressure.weigh(js);
        self.expect_reminder();
    }
}

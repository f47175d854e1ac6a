//! Makes a host collect unreachable isolates. Its garbage collector sees only a small object for each. So this module reports how much memory
//! they take, and is reminded of them when it has not collected for a while.

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use super::environment::Local;
use super::js::Js;
use super::shared::{Event, Shared};
use crate::isolate::{Ledger, Remote, clock};
use crate::value::IsolateHandle;

/// How long after the last isolate was created the host is reminded of the live ones, and how long after that again. A program that creates
/// more isolates meanwhile is not reminded: their memory makes the host collect.
const REMINDERS: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(15)];

/// V8 starts a collection when the reported memory is 64 MB more than after its last collection; from version 15 on, when it has grown by a
/// share of all reported memory. A reminder is the memory that the isolates take plus this, up to a limit: it must not look urgent.
const REMINDER: i64 = 96 << 20;
const MAX_REMINDER: i64 = 512 << 20;

/// The last reminder is based on the most that the isolates have taken: V8's limit may still be from that time.
const MAX_LAST_REMINDER: i64 = 4 << 30;

/// How much the isolates may grow beyond their least since the last reminder; half of that least is added. From version 15 on, V8 counts as
/// alive what it has just found to be garbage, because the isolates end only after the collection, and waits longer each time.
const ROOM: i64 = 96 << 20;

/// A host may treat larger changes as mistakes.
const MAX_CHANGE: i64 = 1 << 30;

/// Memory of isolates as one environment sees it.
#[derive(Default)]
pub struct Pressure {
    /// Bytes by which it has changed since it was reported to the host.
    change: AtomicI64,
    /// The current bytes, and the least that was reported to the host since it was reminded.
    total: AtomicI64,
    least: AtomicI64,
    /// The most bytes since the last of the reminders.
    most: AtomicI64,
    /// Isolates that count for the environment.
    isolates: AtomicU32,
    /// Isolates that have ever counted for it.
    made: AtomicU32,
    /// A reminder is scheduled.
    reminds: AtomicBool,
}

impl Ledger for Shared {
    fn book(&self, bytes: i64) {
        self.pressure.total.fetch_add(bytes, Ordering::AcqRel);
        if self.pressure.change.fetch_add(bytes, Ordering::AcqRel) == 0 {
            // An environment that is gone has nothing to collect.
            let _ = self.send(Event::Weigh);
        }
    }

    fn close(&self, bytes: i64) {
        self.pressure.isolates.fetch_sub(1, Ordering::AcqRel);
        self.book(-bytes);
    }
}

impl Shared {
    fn remind_later(&self, stage: usize) {
        let made = self.pressure.made.load(Ordering::Acquire);
        let Some(pause) = REMINDERS.get(stage) else { return self.remind_no_more(made) };
        let shared = self.me.clone();
        clock::after(*pause, move || {
            let Some(shared) = shared.upgrade() else { return };
            if shared.pressure.made.load(Ordering::Acquire) != made {
                shared.remind_later(0);
            } else if shared.pressure.isolates.load(Ordering::Acquire) > 0
                && shared.send(Event::Remind { last: stage + 1 == REMINDERS.len() }).is_ok()
            {
                shared.remind_later(stage + 1);
            } else {
                shared.remind_no_more(made);
            }
        });
    }

    /// Schedules no more reminders until there are more isolates than the first `made`.
    fn remind_no_more(&self, made: u32) {
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
}

impl Local {
    /// The surface gets a handle on an isolate. From now on, its memory counts for the host as well.
    pub fn reckon_with(&self, js: Js<'_>, isolate: &IsolateHandle) {
        let ledger: Weak<dyn Ledger> = self.shared.me.clone();
        let Some(bytes) = Remote::from_owner(&isolate.0).and_then(|remote| remote.charge(ledger)) else { return };
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let pressure = &self.shared.pressure;
        pressure.isolates.fetch_add(1, Ordering::AcqRel);
        pressure.made.fetch_add(1, Ordering::SeqCst);
        pressure.total.fetch_add(bytes, Ordering::AcqRel);
        pressure.change.fetch_add(bytes, Ordering::AcqRel);
        self.weigh(js);
        self.shared.expect_reminder();
    }

    /// Tells the host how much more or less memory the isolates take.
    pub fn weigh(&self, js: Js<'_>) {
        let pressure = &self.shared.pressure;
        let mut change = pressure.change.swap(0, Ordering::AcqRel);
        while change != 0 {
            let step = change.clamp(-MAX_CHANGE, MAX_CHANGE);
            js.adjust_external_memory(step);
            change -= step;
        }
        let total = pressure.total.load(Ordering::Acquire);
        let least = pressure.least.load(Ordering::Acquire).min(total);
        let grown = total - least > ROOM + least / 2;
        pressure.least.store(if grown { total } else { least }, Ordering::Release);
        pressure.most.fetch_max(total, Ordering::AcqRel);
        if grown {
            self.remind(js, false);
        }
    }

    /// Makes the host start a collection.
    pub fn remind(&self, js: Js<'_>, last: bool) {
        let pressure = &self.shared.pressure;
        let total = pressure.total.load(Ordering::Acquire);
        let (known, most) =
            if last { (pressure.most.swap(total, Ordering::AcqRel), MAX_LAST_REMINDER) } else { (total, MAX_REMINDER) };
        let reminder = known.saturating_add(REMINDER).clamp(REMINDER, most);
        js.adjust_external_memory(reminder);
        js.adjust_external_memory(-reminder);
    }
}

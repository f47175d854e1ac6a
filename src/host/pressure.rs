//! What makes a host collect isolates that nobody refers to. Its collector sees a small object each; so it is told what
//! they take, and reminded of them when it has not looked for a while.

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use super::environment::Local;
use super::js::Js;
use super::shared::{Event, Shared};
use crate::isolate::{Ledger, Remote, clock};
use crate::value::IsolateHandle;

/// How long after the last isolate was made the host is reminded of those that are alive, and again after that. A program
/// that makes more meanwhile is not: their memory has the host collect.
const REMINDERS: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(15)];

/// V8 begins to collect when it hears of 64 MB more than after its last collection; from 15 on of a share of all that it knows
/// of. The reminder is as much as the isolates take and this, up to a limit: it must not look as if there were no time.
const REMINDER: i64 = 96 << 20;
const MAX_REMINDER: i64 = 512 << 20;

/// The last reminder counts from the most that the isolates have taken: V8's limit may still be that of then.
const MAX_LAST_REMINDER: i64 = 4 << 30;

/// How much more the isolates may take than at the least since the last reminder, and half of that on top. V8 from 15 on takes
/// what it has just found to be garbage for alive, as the isolates end only after the collection, and waits longer each time.
const ROOM: i64 = 96 << 20;

/// A host may take larger changes for a mistake.
const MAX_CHANGE: i64 = 1 << 30;

/// Memory of isolates as one environment sees it.
#[derive(Default)]
pub struct Pressure {
    /// Bytes by which it has changed since the host was told.
    change: AtomicI64,
    /// Bytes that it is now, and the least that it was when the host was told, since it was reminded.
    total: AtomicI64,
    least: AtomicI64,
    /// The most that it was since the last of the reminders.
    most: AtomicI64,
    /// Isolates that the environment reckons with.
    isolates: AtomicU32,
    /// Isolates that it has ever reckoned with.
    made: AtomicU32,
    /// There will be a reminder.
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

    /// Until another isolate is made than the first `made`.
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
    /// The surface gets a handle on an isolate, which from now on takes memory of the host as well.
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

    /// Tells the host how much more or less the isolates take.
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

    /// Has the host begin a collection.
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

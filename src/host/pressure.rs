//! Makes a host collect unreachable isolates. Its garbage collector sees only a small object for each. So this module reports how much memory
//! they take, and is reminded of them when it has not collected for a while.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};

use super::js::Js;

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
    pub change: AtomicI64,
    /// The current bytes, and the least that was reported to the host since it was reminded.
    pub total: AtomicI64,
    least: AtomicI64,
    /// The most bytes since the last of the reminders.
    most: AtomicI64,
    /// Isolates that count for the environment.
    pub isolates: AtomicU32,
    /// Isolates that have ever counted for it.
    pub made: AtomicU32,
    /// A reminder is scheduled.
    pub reminds: AtomicBool,
}

impl Pressure {
    /// Tells the host how much more or less memory the isolates take.
    pub fn weigh(&self, js: Js<'_>) {
        let mut change = self.change.swap(0, Ordering::AcqRel);
        while change != 0 {
            let step = change.clamp(-MAX_CHANGE, MAX_CHANGE);
            js.adjust_external_memory(step);
            change -= step;
        }
        let total = self.total.load(Ordering::Acquire);
        let least = self.least.load(Ordering::Acquire).min(total);
        let grown = total - least > ROOM + least / 2;
        self.least.store(if grown { total } else { least }, Ordering::Release);
        self.most.fetch_max(total, Ordering::AcqRel);
        if grown {
            self.remind(js, false);
        }
    }

    /// Makes the host start a collection.
    pub fn remind(&self, js: Js<'_>, last: bool) {
        let total = self.total.load(Ordering::Acquire);
        let (known, most) =
            if last { (self.most.swap(total, Ordering::AcqRel), MAX_LAST_REMINDER) } else { (total, MAX_REMINDER) };
        let reminder = known.saturating_add(REMINDER).clamp(REMINDER, most);
        js.adjust_external_memory(reminder);
        js.adjust_external_memory(-reminder);
    }
}

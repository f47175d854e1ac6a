//! The stack of jobs that run in one isolate, each with its own limits and timers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::reason::Expired;
use crate::isolate::clock::{self, Alarm};
use crate::isolate::job::{Deadline, Limits};
use crate::native::{Guard, lock};
use crate::value::{Charge, Completion, Fault, Text};

struct Timer {
    remaining: Duration,
    /// When it last started; `None` while the guest waits for a host.
    since: Option<Instant>,
}

/// Enforces limits.
pub trait Enforcer: Send + Sync {
    /// A limit of the entry `serial` has expired.
    fn expire(self: Arc<Self>, serial: u64, expired: Expired);
}

/// A running job with its timers.
pub struct Entry {
    serial: u64,
    completion: Arc<dyn Completion>,
    timeout: Option<Timer>,
    deadline: Option<Deadline>,
    /// The enforcer knows that a limit has expired.
    reported: bool,
    pub expired: Option<Expired>,
    /// What was running when the limit expired.
    pub interrupted: Option<Interrupted>,
    /// Held until the entry ends or its isolate is abandoned.
    charge: Charge,
}

/// Guest code that was interrupted.
#[derive(Clone)]
pub struct Interrupted {
    /// Its stack frames.
    pub stack: Text,
    /// The async call for which it ran, by its host's number; 0 for none.
    pub request: i64,
}

/// Serials of the entries whose timeouts were paused.
pub struct Paused(Vec<u64>);

#[derive(Default)]
pub struct Stack {
    entries: Vec<Entry>,
    serial: u64,
    /// When the limits are looked at next: not after the first of them expires. Most calls end long before, so the alarm of one serves others
    /// after it.
    alarm: Option<(Instant, Alarm)>,
}

impl Entry {
    /// The limit that expires first, and when; `None` if one has expired.
    fn due(&self) -> Option<(Instant, Expired)> {
        if self.reported || self.expired.is_some() {
            return None;
        }
        let timeout = self.timeout.as_ref().and_then(Timer::due).map(|due| (due, Expired::Timeout));
        let deadline = self.deadline.map(|Deadline { limit, time }| (time, Expired::Deadline(limit)));
        timeout.into_iter().chain(deadline).min_by_key(|(due, _)| *due)
    }
}

impl Stack {
    fn next_due(&self) -> Option<Instant> {
        self.entries.iter().filter_map(Entry::due).map(|(due, _)| due).min()
    }

    /// Whether the alarm comes too late for a limit that expires at this time.
    fn is_late(&self, due: Instant) -> bool {
        self.alarm.as_ref().is_none_or(|(time, _)| due < *time)
    }

    /// Records that a limit of the entry `serial` has expired. False if the entry has ended, or one has expired before.
    pub fn expire(&mut self, serial: u64, expired: Expired) -> bool {
        let entry = self.entries.iter_mut().find(|entry| entry.serial == serial && entry.expired.is_none());
        entry.map(|entry| entry.expired = Some(expired)).is_some()
    }

    /// Whether the entry `serial` runs; `None`: any entry.
    pub fn runs(&self, serial: Option<u64>) -> bool {
        self.entries.iter().any(|entry| serial.is_none_or(|serial| entry.serial == serial))
    }
}

pub struct Entries {
    enforcer: Weak<dyn Enforcer>,
    stack: Arc<Mutex<Stack>>,
    /// At least one entry has a timeout, which is paused while the guest waits.
    timed: AtomicBool,
}

impl Entries {
    pub fn new(enforcer: Weak<dyn Enforcer>) -> Self {
        Self { enforcer, stack: Arc::default(), timed: AtomicBool::new(false) }
    }

    pub fn lock(&self) -> Guard<'_, Stack> {
        lock(&self.stack)
    }

    /// Whether the entry `serial` runs; `None`: any entry.
    pub fn runs(&self, serial: Option<u64>) -> bool {
        self.lock().runs(serial)
    }

    pub fn was_aborted(&self, serial: u64) -> bool {
        let stack = self.lock();
        stack.entries.iter().any(|entry| entry.serial == serial && matches!(entry.expired, Some(Expired::Aborted)))
    }

    pub fn answer_all(&self, fault: &Fault) {
        let give_up = |entry: &mut Entry| (Arc::clone(&entry.completion), std::mem::take(&mut entry.charge));
        let entries: Vec<_> = self.lock().entries.iter_mut().map(give_up).collect();
        for (completion, _charge) in entries {
            completion.complete(Err(fault.clone()));
        }
    }

    /// The guest starts to wait. Pauses its timeouts if `timeouts` is true. Pass the result to [`Entries::resume`].
    #[inline]
    pub fn pause(&self, timeouts: bool) -> Paused {
        if timeouts && self.timed.load(Ordering::Acquire) { self.pause_timed() } else { Paused(Vec::new()) }
    }

    fn pause_timed(&self) -> Paused {
        let now = Instant::now();
        let pauses = |entry: &mut Entry| entry.timeout.as_mut().is_some_and(|timer| timer.pause(now));
        let paused = |entry: &mut Entry| pauses(entry).then_some(entry.serial);
        Paused(self.lock().entries.iter_mut().filter_map(paused).collect())
    }

    /// Resumes the timeouts that [`Entries::pause`] has paused, and no others: entries that began since then have timeouts of their own.
    #[inline]
    pub fn resume(&self, Paused(paused): &Paused) {
        if !paused.is_empty() {
            self.resume_timed(paused);
        }
    }

    fn resume_timed(&self, paused: &[u64]) {
        let now = Instant::now();
        let mut stack = self.lock();
        for entry in &mut stack.entries {
            if paused.contains(&entry.serial)
                && let Some(timer) = &mut entry.timeout
            {
                timer.since.get_or_insert(now);
            }
        }
        if let Some(due) = stack.next_due() {
            self.watch(&mut stack, due);
        }
    }

    /// Makes sure that the limits are looked at when this one expires.
    fn watch(&self, stack: &mut Stack, due: Instant) {
        if stack.is_late(due) {
            stack.alarm = Some(set_alarm(due, Arc::downgrade(&self.stack), self.enforcer.clone()));
        }
    }

    /// A job begins, whose outcome `completion` gets. Returns the serial of its entry.
    pub fn enter(&self, limits: Limits, completion: &Arc<dyn Completion>, charge: Charge) -> u64 {
        let mut stack = self.lock();
        stack.serial += 1;
        let serial = stack.serial;
        let timeout = limits.timeout.map(|remaining| Timer { remaining, since: Some(Instant::now()) });
        if timeout.is_some() {
            self.timed.store(true, Ordering::Release);
        }
        let entry = Entry {
            serial,
            completion: Arc::clone(completion),
            timeout,
            deadline: limits.deadline,
            reported: false,
            expired: None,
            interrupted: None,
            charge,
        };
        if let Some((due, _)) = entry.due() {
            self.watch(&mut stack, due);
        }
        stack.entries.push(entry);
        serial
    }

    /// The entry whose outcome `completion` gets.
    pub fn of(&self, completion: &Arc<dyn Completion>) -> Option<u64> {
        let stack = self.lock();
        stack.entries.iter().find(|entry| Arc::ptr_eq(&entry.completion, completion)).map(|entry| entry.serial)
    }

    /// Removes the entry `serial`. Also returns why an entry below it has expired, if one has.
    pub fn remove(&self, stack: &mut Stack, serial: u64) -> Option<(Entry, Option<Expired>)> {
        let position = stack.entries.iter().rposition(|entry| entry.serial == serial)?;
        let entry = stack.entries.remove(position);
        if entry.timeout.is_some() {
            let timed = stack.entries.iter().any(|entry| entry.timeout.is_some());
            self.timed.store(timed, Ordering::Release);
        }
        Some((entry, stack.entries.iter().find_map(|entry| entry.expired)))
    }

    /// Records the running code for every expired entry that has none yet. True if there was one.
    pub fn note_interrupted(&self, capture: impl FnOnce() -> Interrupted) -> bool {
        let unnoted = |entry: &Entry| entry.expired.is_some() && entry.interrupted.is_none();
        if !self.lock().entries.iter().any(unnoted) {
            return false;
        }
        // Without the lock: V8 may collect garbage here, find the heap full and stop the isolate.
        let interrupted = capture();
        for entry in self.lock().entries.iter_mut().filter(|entry| unnoted(entry)) {
            entry.interrupted = Some(interrupted.clone());
        }
        true
    }
}

impl Timer {
    fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + self.remaining)
    }

    /// False if it is already paused.
    fn pause(&mut self, now: Instant) -> bool {
        let Some(since) = self.since.take() else { return false };
        self.remaining = self.remaining.saturating_sub(now.saturating_duration_since(since));
        true
    }
}

fn set_alarm(time: Instant, stack: Weak<Mutex<Stack>>, enforcer: Weak<dyn Enforcer>) -> (Instant, Alarm) {
    (time, clock::at(time, move || look(stack, enforcer)))
}

/// Looks which limits have expired, and when the next one does.
fn look(shared: Weak<Mutex<Stack>>, enforcer: Weak<dyn Enforcer>) {
    let Some(stack) = shared.upgrade() else { return };
    let mut stack = lock(&stack);
    let now = Instant::now();
    let mut expired = Vec::new();
    for entry in &mut stack.entries {
        if let Some((due, why)) = entry.due().filter(|(due, _)| *due <= now) {
            entry.reported = true;
            expired.push((due, entry.serial, why));
        }
    }
    let next = stack.next_due();
    stack.alarm = next.map(|due| set_alarm(due, shared, enforcer.clone()));
    drop(stack);
    expired.sort_by_key(|(due, ..)| *due);
    for (_, serial, why) in expired {
        if let Some(enforcer) = enforcer.upgrade() {
            enforcer.expire(serial, why);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex, Weak};
    use std::time::Duration;

    use super::{Enforcer, Entries, Expired, Limits};
    use crate::native::lock;
    use crate::value::{Charge, Completion, NoCompletion};

    struct Expiries(Mutex<Sender<u64>>);

    impl Enforcer for Expiries {
        fn expire(self: Arc<Self>, serial: u64, _expired: Expired) {
            let _ = lock(&self.0).send(serial);
        }
    }

    fn entries() -> (Arc<Expiries>, Entries, Receiver<u64>) {
        let (sender, receiver) = channel();
        let expiries = Arc::new(Expiries(Mutex::new(sender)));
        let enforcer: Weak<dyn Enforcer> = Arc::<Expiries>::downgrade(&expiries);
        (expiries, Entries::new(enforcer), receiver)
    }

    fn enter(entries: &Entries, timeout: Option<Duration>) -> u64 {
        let completion: Arc<dyn Completion> = Arc::new(NoCompletion);
        entries.enter(Limits::new(timeout, None), &completion, Charge::default())
    }

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_paused_timeout_does_not_expire() {
        let (_expiries, entries, expired) = entries();
        let outer = enter(&entries, Some(SHORT));
        let paused = entries.pause(true);
        let inner = enter(&entries, Some(SHORT));
        assert_eq!(expired.recv_timeout(LONG), Ok(inner));
        assert!(expired.try_recv().is_err());
        entries.resume(&paused);
        assert_eq!(expired.recv_timeout(LONG), Ok(outer));
    }

    #[test]
    fn the_alarm_of_a_call_that_has_ended_serves_those_after_it() {
        let (_expiries, entries, expired) = entries();
        let remove = |serial| assert!(entries.remove(&mut entries.lock(), serial).is_some());
        remove(enter(&entries, Some(SHORT)));
        let second = enter(&entries, Some(SHORT * 2));
        assert_eq!(expired.recv_timeout(LONG), Ok(second));
        remove(second);
        remove(enter(&entries, Some(LONG)));
        let third = enter(&entries, Some(SHORT));
        assert_eq!(expired.recv_timeout(LONG), Ok(third));
        assert!(expired.try_recv().is_err());
    }

    #[test]
    fn an_entry_expires_once_and_until_it_ends() {
        let (_expiries, entries, _expired) = entries();
        let (outer, inner) = (enter(&entries, None), enter(&entries, None));
        let mut stack = entries.lock();
        assert!(stack.expire(outer, Expired::Aborted) && !stack.expire(outer, Expired::Timeout));
        let removed = entries.remove(&mut stack, inner);
        assert!(removed.is_some_and(|(entry, below)| entry.expired.is_none() && below.is_some()));
        assert!(entries.remove(&mut stack, inner).is_none() && !stack.expire(inner, Expired::Timeout));
        assert!(stack.runs(Some(outer)) && !stack.runs(Some(inner)) && stack.runs(None));
        let removed = entries.remove(&mut stack, outer);
        assert!(
            removed.is_some_and(|(entry, below)| matches!(entry.expired, Some(Expired::Aborted)) && below.is_none())
        );
        assert!(!stack.runs(None));
    }
}

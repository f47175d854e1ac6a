//! The stack of jobs that run in one isolate, each with its own limits and timers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::clock::{self, Alarm};
use super::job::{Deadline, Limits};
use super::reason::Expired;
use crate::native::{Guard, lock};
use crate::value::{Charge, Completion, Fault, Text};

struct Timer {
    remaining: Duration,
    /// When it last started, and its alarm; `None` while the guest waits for a host.
    running: Option<(Instant, Alarm)>,
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
    /// Held for as long as the entry runs.
    _deadline: Option<Alarm>,
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
}

impl Stack {
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
    stack: Mutex<Stack>,
    /// At least one entry has a timeout, which is paused while the guest waits.
    timed: AtomicBool,
}

impl Entries {
    pub fn new(enforcer: Weak<dyn Enforcer>) -> Self {
        Self { enforcer, stack: Mutex::default(), timed: AtomicBool::new(false) }
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
    pub fn pause(&self, timeouts: bool) -> Paused {
        let mut paused = Vec::new();
        if timeouts && self.timed.load(Ordering::Acquire) {
            for entry in &mut self.lock().entries {
                if entry.timeout.as_mut().is_some_and(Timer::pause) {
                    paused.push(entry.serial);
                }
            }
        }
        Paused(paused)
    }

    /// Resumes the timeouts that [`Entries::pause`] has paused, and no others: entries that began since then have timeouts of their own.
    pub fn resume(&self, Paused(paused): &Paused) {
        if paused.is_empty() {
            return;
        }
        for entry in &mut self.lock().entries {
            if paused.contains(&entry.serial)
                && let Some(timer) = &mut entry.timeout
            {
                timer.resume(&self.enforcer, entry.serial);
            }
        }
    }

    /// A job begins, whose outcome `completion` gets. Returns the serial of its entry.
    pub fn enter(&self, limits: Limits, completion: &Arc<dyn Completion>, charge: Charge) -> u64 {
        let mut stack = self.lock();
        stack.serial += 1;
        let serial = stack.serial;
        let timeout = limits.timeout.map(|remaining| {
            let mut timer = Timer { remaining, running: None };
            timer.resume(&self.enforcer, serial);
            timer
        });
        let deadline = limits
            .deadline
            .map(|Deadline { limit, time }| expire_at(time, &self.enforcer, serial, Expired::Deadline(limit)));
        if timeout.is_some() {
            self.timed.store(true, Ordering::Release);
        }
        stack.entries.push(Entry {
            serial,
            completion: Arc::clone(completion),
            timeout,
            _deadline: deadline,
            expired: None,
            interrupted: None,
            charge,
        });
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
    /// False if it is already paused.
    fn pause(&mut self) -> bool {
        let Some((since, _alarm)) = self.running.take() else { return false };
        self.remaining = self.remaining.saturating_sub(since.elapsed());
        true
    }

    fn resume(&mut self, enforcer: &Weak<dyn Enforcer>, serial: u64) {
        if self.running.is_none() {
            let now = Instant::now();
            self.running = Some((now, expire_at(now + self.remaining, enforcer, serial, Expired::Timeout)));
        }
    }
}

fn expire_at(time: Instant, enforcer: &Weak<dyn Enforcer>, serial: u64, expired: Expired) -> Alarm {
    let enforcer = enforcer.clone();
    clock::at(time, move || {
        if let Some(enforcer) = enforcer.upgrade() {
            enforcer.expire(serial, expired);
        }
    })
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

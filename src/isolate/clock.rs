//! The only timer source: a thread that runs short actions when they are due. It starts with the first alarm.

use crate::native::lock;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

type Action = Box<dyn FnOnce() + Send>;

/// When an alarm is due, and its number, which orders alarms that are due at the same time.
type Key = (Instant, u64);

/// An alarm. Dropping it cancels it, unless it is running at that moment.
#[derive(Debug)]
#[must_use]
pub struct Alarm(Key);

impl Drop for Alarm {
    fn drop(&mut self) {
        let action = lock(&CLOCK.alarms).pending.remove(&self.0);
        // Dropped outside the lock: it may hold the last handle on something.
        drop(action);
    }
}

#[derive(Default)]
struct Alarms {
    pending: BTreeMap<Key, Action>,
    serial: u64,
    /// The thread sleeps until then; an earlier alarm must wake it. `None`: it is awake or not started.
    sleeping_until: Option<Instant>,
    started: bool,
}

#[derive(Default)]
struct Clock {
    alarms: Mutex<Alarms>,
    changed: Condvar,
}

static CLOCK: LazyLock<Arc<Clock>> = LazyLock::new(Arc::default);

/// The longest wait: after it, the thread looks again.
const HORIZON: Duration = Duration::from_secs(3_600);

/// Runs `action` on the clock's thread at `time`, unless the alarm is dropped before. Actions must be short and must not
/// block.
pub fn at(time: Instant, action: impl FnOnce() + Send + 'static) -> Alarm {
    Alarm(set(time, Box::new(action)))
}

/// Runs `action` on the clock's thread after `delay`. This cannot be cancelled.
pub fn after(delay: Duration, action: impl FnOnce() + Send + 'static) {
    set(Instant::now() + delay, Box::new(action));
}

/// Whether the clock's thread was started. Only then does it serve alarms.
pub fn is_running() -> bool {
    lock(&CLOCK.alarms).started
}

fn set(time: Instant, action: Action) -> Key {
    let clock = &*CLOCK;
    let mut alarms = lock(&clock.alarms);
    alarms.serial += 1;
    let key = (time, alarms.serial);
    alarms.pending.insert(key, action);
    if !alarms.started {
        let own = Arc::clone(clock);
        // Without the thread no limit would ever be enforced: try again with the next alarm.
        alarms.started = thread::Builder::new().name("isolated-v8 clock".to_owned()).spawn(move || own.run()).is_ok();
    }
    let wake = alarms.sleeping_until.is_some_and(|until| time < until);
    drop(alarms);
    if wake {
        clock.changed.notify_one();
    }
    key
}

impl Clock {
    fn run(&self) {
        let mut alarms = lock(&self.alarms);
        loop {
            let now = Instant::now();
            let due = alarms.pending.first_key_value().map(|((time, _), _)| *time);
            if due.is_some_and(|time| time <= now) {
                if let Some((_, action)) = alarms.pending.pop_first() {
                    drop(alarms);
                    // A panic is a bug of ours. It must not end this thread, which enforces the limits of all guests.
                    let _ = catch_unwind(AssertUnwindSafe(action));
                    alarms = lock(&self.alarms);
                }
                continue;
            }
            let until = due.map_or(now + HORIZON, |time| time.min(now + HORIZON));
            alarms.sleeping_until = Some(until);
            alarms = alarms.wait_for(&self.changed, until - now);
            alarms.sleeping_until = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::{after, is_running};

    #[test]
    fn a_panic_in_an_action_does_not_stop_the_clock() {
        let (send, receive) = mpsc::channel();
        after(Duration::ZERO, || panic!("on purpose"));
        after(Duration::from_millis(50), move || {
            let _ = send.send(());
        });
        assert!(receive.recv_timeout(Duration::from_secs(20)).is_ok());
        assert!(is_running());
    }
}

//! The stack of jobs that run in one isolate, each with its own limits and timers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::reason::Expired;
use crate::isolate::clock::{self, Alarm};
use crate::isolate::job::{Deadline, Limits};
use crate::native::ticks::{self, Reading};
use crate::native::{Guard, lock};
use crate::value::{Charge, Completion, Fault, Text};

struct Timer {
    /// When it expires, if it is not paused.
    due: Instant,
    /// When it was paused, in ticks, while the guest waits for a host.
    paused: Option<u64>,
    limit: Duration,
}

/// The processor's counter continues while the machine is suspended, unlike the clock by which timeouts expire. Shorter pauses need no look at the clock.
const LONG_PAUSE: Duration = Duration::from_millis(1);

/// Enforces limits.
pub trait Enforcer: Send + Sync {
    /// A limit of the job `serial` has expired.
    fn expire(self: Arc<Self>, serial: u64, expired: Expired);
}

/// A running job with its timers.
pub struct RunningJob {
    serial: u64,
    completion: Arc<dyn Completion>,
    timeout: Option<Timer>,
    deadline: Option<Deadline>,
    /// The enforcer knows that a limit has expired.
    reported: bool,
    expired: Option<Expired>,
    /// What was running when the limit expired.
    interrupted: Option<Interrupted>,
    /// Held until the job ends or its isolate is abandoned.
    charge: Charge,
}

/// What is left of a job that has ended.
pub struct RemovedJob {
    pub expired: Option<Expired>,
    pub interrupted: Option<Interrupted>,
    /// Why a job below it has expired, if one has.
    pub outer: Option<Expired>,
    /// Dropped without the lock.
    _held: (Arc<dyn Completion>, Charge),
}

/// Guest code that was interrupted.
#[derive(Clone)]
pub struct Interrupted {
    /// Its stack frames.
    pub stack: Text,
    /// What it belongs to: an async call, by its host's number, or an evaluation; 0 for neither.
    pub owner: i64,
}

/// Serials of the jobs whose timeouts were paused: mostly one, for which nothing is allocated.
#[derive(Default)]
pub struct Paused {
    first: Option<u64>,
    others: Vec<u64>,
}

impl Paused {
    fn add(&mut self, serial: u64) {
        if self.first.is_none() { self.first = Some(serial) } else { self.others.push(serial) }
    }

    fn has(&self, serial: u64) -> bool {
        self.first == Some(serial) || self.others.contains(&serial)
    }
}

#[derive(Default)]
pub struct JobStack {
    jobs: Vec<RunningJob>,
    serial: u64,
    /// When the limits are looked at next: not after the first of them expires. Most calls end long before, so the alarm of one serves others
    /// after it.
    alarm: Option<(Instant, Alarm)>,
}

impl RunningJob {
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

impl JobStack {
    fn next_due(&self) -> Option<Instant> {
        self.jobs.iter().filter_map(RunningJob::due).map(|(due, _)| due).min()
    }

    /// Whether the alarm comes too late for a limit that expires at this time.
    fn is_late(&self, due: Instant) -> bool {
        self.alarm.as_ref().is_none_or(|(time, _)| due < *time)
    }

    /// Records that a limit of the job `serial` has expired. False if the job has ended, or one has expired before.
    pub fn expire(&mut self, serial: u64, expired: Expired) -> bool {
        let job = self.jobs.iter_mut().find(|job| job.serial == serial && job.expired.is_none());
        job.map(|job| job.expired = Some(expired)).is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Whether the job `serial` runs; `None`: any job.
    pub fn runs(&self, serial: Option<u64>) -> bool {
        self.jobs.iter().any(|job| serial.is_none_or(|serial| job.serial == serial))
    }
}

pub struct RunningJobs {
    enforcer: Weak<dyn Enforcer>,
    stack: Arc<Mutex<JobStack>>,
    /// At least one job has a timeout, which is paused while the guest waits.
    timed: AtomicBool,
}

impl RunningJobs {
    pub fn new(enforcer: Weak<dyn Enforcer>) -> Self {
        Self { enforcer, stack: Arc::default(), timed: AtomicBool::new(false) }
    }

    pub fn lock(&self) -> Guard<'_, JobStack> {
        lock(&self.stack)
    }

    /// Whether the job `serial` runs; `None`: any job.
    pub fn runs(&self, serial: Option<u64>) -> bool {
        self.lock().runs(serial)
    }

    /// Whether all running jobs have outcomes already: their callers have ended, or do not wait any more.
    pub fn are_answered(&self) -> bool {
        self.lock().jobs.iter().all(|job| job.completion.is_complete())
    }

    pub fn was_aborted(&self, serial: u64) -> bool {
        let stack = self.lock();
        stack.jobs.iter().any(|job| job.serial == serial && matches!(job.expired, Some(Expired::Aborted)))
    }

    pub fn answer_all(&self, fault: &Fault) {
        let give_up = |job: &mut RunningJob| (Arc::clone(&job.completion), std::mem::take(&mut job.charge));
        let jobs: Vec<_> = self.lock().jobs.iter_mut().map(give_up).collect();
        for (completion, _charge) in jobs {
            completion.complete(Err(fault.clone()));
        }
    }

    /// The guest starts to wait. Pauses its timeouts if `timeouts` is true. Pass the result to [`RunningJobs::resume`].
    #[inline(always)]
    pub fn pause(&self, timeouts: bool, reading: &mut Reading) -> Paused {
        if timeouts && self.timed.load(Ordering::Acquire) {
            self.pause_timed(reading.ticks())
        } else {
            Paused::default()
        }
    }

    fn pause_timed(&self, now: u64) -> Paused {
        let mut paused = Paused::default();
        for job in &mut self.lock().jobs {
            if job.timeout.as_mut().is_some_and(|timer| timer.pause(now)) {
                paused.add(job.serial);
            }
        }
        paused
    }

    /// Resumes the timeouts that [`RunningJobs::pause`] has paused, and no others: jobs that began since then have timeouts of their own.
    #[inline(always)]
    pub fn resume(&self, paused: &Paused, reading: &mut Reading) {
        if paused.first.is_some() {
            self.resume_timed(paused, reading.ticks());
        }
    }

    fn resume_timed(&self, paused: &Paused, now: u64) {
        let mut stack = self.lock();
        for job in &mut stack.jobs {
            if paused.has(job.serial)
                && let Some(timer) = &mut job.timeout
            {
                timer.resume(now);
            }
        }
        if let Some(due) = stack.next_due() {
            self.watch(&mut stack, due);
        }
    }

    /// Makes sure that the limits are looked at when this one expires.
    fn watch(&self, stack: &mut JobStack, due: Instant) {
        if stack.is_late(due) {
            stack.alarm = Some(set_alarm(due, Arc::downgrade(&self.stack), self.enforcer.clone()));
        }
    }

    /// A job begins, whose outcome `completion` gets. Returns its serial.
    pub fn enter(&self, limits: Limits, completion: &Arc<dyn Completion>, charge: Charge) -> u64 {
        let mut stack = self.lock();
        stack.serial += 1;
        let serial = stack.serial;
        let timeout = limits.timeout.map(|limit| Timer { due: Instant::now() + limit, paused: None, limit });
        if timeout.is_some() {
            self.timed.store(true, Ordering::Release);
        }
        let job = RunningJob {
            serial,
            completion: Arc::clone(completion),
            timeout,
            deadline: limits.deadline,
            reported: false,
            expired: None,
            interrupted: None,
            charge,
        };
        if let Some((due, _)) = job.due() {
            self.watch(&mut stack, due);
        }
        stack.jobs.push(job);
        serial
    }

    /// The serial of the innermost job; 0 if there is none.
    pub fn innermost(&self) -> u64 {
        self.lock().jobs.last().map_or(0, |job| job.serial)
    }

    /// The serial of the job that runs for `completion`.
    pub fn of(&self, completion: &Arc<dyn Completion>) -> Option<u64> {
        let stack = self.lock();
        let is_of = |job: &Arc<dyn Completion>| Arc::ptr_eq(job, completion) || job.serves(completion);
        stack.jobs.iter().find(|job| is_of(&job.completion)).map(|job| job.serial)
    }

    /// Removes the job `serial`.
    pub fn remove(&self, stack: &mut JobStack, serial: u64) -> Option<RemovedJob> {
        let position = stack.jobs.iter().rposition(|job| job.serial == serial)?;
        let job = stack.jobs.get_mut(position)?;
        let was_timed = job.timeout.is_some();
        let (expired, interrupted) = (job.expired, job.interrupted.take());
        let held = (Arc::clone(&job.completion), std::mem::take(&mut job.charge));
        stack.jobs.remove(position);
        if was_timed {
            let timed = stack.jobs.iter().any(|job| job.timeout.is_some());
            self.timed.store(timed, Ordering::Release);
        }
        Some(RemovedJob { expired, interrupted, outer: stack.jobs.iter().find_map(|job| job.expired), _held: held })
    }

    /// Records the running code for every expired job that has none yet. True if there was one.
    pub fn note_interrupted(&self, capture: impl FnOnce() -> Interrupted) -> bool {
        let unnoted = |job: &RunningJob| job.expired.is_some() && job.interrupted.is_none();
        if !self.lock().jobs.iter().any(unnoted) {
            return false;
        }
        // Without the lock: V8 may collect garbage here, find the heap full and stop the isolate.
        let interrupted = capture();
        for job in self.lock().jobs.iter_mut().filter(|job| unnoted(job)) {
            job.interrupted = Some(interrupted.clone());
        }
        true
    }
}

impl Timer {
    fn due(&self) -> Option<Instant> {
        self.paused.is_none().then_some(self.due)
    }

    /// False if it is already paused.
    fn pause(&mut self, now: u64) -> bool {
        let is_running = self.paused.is_none();
        self.paused.get_or_insert(now);
        is_running
    }

    fn resume(&mut self, now: u64) {
        if let Some(paused) = self.paused.take() {
            let pause = Duration::from_nanos(ticks::nanoseconds(now.saturating_sub(paused)));
            self.due += pause;
            if pause >= LONG_PAUSE {
                self.due = self.due.min(Instant::now() + self.limit);
            }
        }
    }
}

fn set_alarm(time: Instant, stack: Weak<Mutex<JobStack>>, enforcer: Weak<dyn Enforcer>) -> (Instant, Alarm) {
    (time, clock::at(time, move || expire_due(stack, enforcer)))
}

/// Looks which limits have expired, and when the next one does.
fn expire_due(shared: Weak<Mutex<JobStack>>, enforcer: Weak<dyn Enforcer>) {
    let Some(stack) = shared.upgrade() else { return };
    let mut stack = lock(&stack);
    let now = Instant::now();
    let mut expired = Vec::new();
    for job in &mut stack.jobs {
        if let Some((due, why)) = job.due().filter(|(due, _)| *due <= now) {
            job.reported = true;
            expired.push((due, job.serial, why));
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
    use std::time::{Duration, Instant};

    use super::{Enforcer, Expired, Limits, Reading, RunningJobs, Timer};
    use crate::native::{lock, ticks};
    use crate::value::{Charge, Completion, NoCompletion};

    struct Expiries(Mutex<Sender<u64>>);

    impl Enforcer for Expiries {
        fn expire(self: Arc<Self>, serial: u64, _expired: Expired) {
            let _ = lock(&self.0).send(serial);
        }
    }

    fn jobs() -> (Arc<Expiries>, RunningJobs, Receiver<u64>) {
        let (sender, receiver) = channel();
        let expiries = Arc::new(Expiries(Mutex::new(sender)));
        let enforcer: Weak<dyn Enforcer> = Arc::<Expiries>::downgrade(&expiries);
        (expiries, RunningJobs::new(enforcer), receiver)
    }

    fn enter(jobs: &RunningJobs, timeout: Option<Duration>) -> u64 {
        let completion: Arc<dyn Completion> = Arc::new(NoCompletion);
        jobs.enter(Limits::new(timeout, None), &completion, Charge::default())
    }

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_paused_timeout_does_not_expire() {
        let (_expiries, jobs, expired) = jobs();
        let outer = enter(&jobs, Some(SHORT));
        let paused = jobs.pause(true, &mut Reading::default());
        let inner = enter(&jobs, Some(SHORT));
        assert_eq!(expired.recv_timeout(LONG), Ok(inner));
        assert!(expired.try_recv().is_err());
        jobs.resume(&paused, &mut Reading::default());
        assert_eq!(expired.recv_timeout(LONG), Ok(outer));
    }

    #[test]
    fn a_pause_in_which_the_machine_is_suspended_does_not_prolong_a_timeout() {
        /// Hours, by any counter.
        const SUSPENDED: u64 = 1 << 46;
        let mut timer = Timer { due: Instant::now() + SHORT, paused: None, limit: SHORT };
        let now = ticks::now();
        assert!(timer.pause(now));
        timer.resume(now + SUSPENDED);
        assert!(timer.due().is_some_and(|due| due <= Instant::now() + SHORT));
    }

    #[test]
    fn the_alarm_of_a_call_that_has_ended_serves_those_after_it() {
        let (_expiries, jobs, expired) = jobs();
        let remove = |serial| assert!(jobs.remove(&mut jobs.lock(), serial).is_some());
        remove(enter(&jobs, Some(SHORT)));
        let second = enter(&jobs, Some(SHORT * 2));
        assert_eq!(expired.recv_timeout(LONG), Ok(second));
        remove(second);
        remove(enter(&jobs, Some(LONG)));
        let third = enter(&jobs, Some(SHORT));
        assert_eq!(expired.recv_timeout(LONG), Ok(third));
        assert!(expired.try_recv().is_err());
    }

    #[test]
    fn a_job_expires_once_and_until_it_ends() {
        let (_expiries, jobs, _expired) = jobs();
        let (outer, inner) = (enter(&jobs, None), enter(&jobs, None));
        let mut stack = jobs.lock();
        assert!(stack.expire(outer, Expired::Aborted) && !stack.expire(outer, Expired::Timeout));
        let removed = jobs.remove(&mut stack, inner);
        assert!(removed.is_some_and(|job| job.expired.is_none() && job.outer.is_some()));
        assert!(jobs.remove(&mut stack, inner).is_none() && !stack.expire(inner, Expired::Timeout));
        assert!(stack.runs(Some(outer)) && !stack.runs(Some(inner)) && stack.runs(None));
        let removed = jobs.remove(&mut stack, outer);
        assert!(removed.is_some_and(|job| matches!(job.expired, Some(Expired::Aborted)) && job.outer.is_none()));
        assert!(!stack.runs(None));
    }
}

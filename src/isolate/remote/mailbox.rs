//! The jobs that wait for an isolate, and the sleep of its thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::isolate::job::{Job, Kind, Sweep};
use crate::native::{Guard, lock};

/// Tasks that may run before one that works on the heap.
const MAX_TASKS_BEFORE_HEAP: u32 = 64;

/// Tasks of each kind that mark or sweep and are queued. V8 has cancelled all but the last two.
const MAX_SWEEPS: usize = 2;

/// Tasks that may be queued before a sleeping thread is woken for them. With more, the thread starts while others are still being sent.
const MAX_UNWOKEN_TASKS: usize = 16;

#[derive(Default)]
pub struct Queues {
    calls: VecDeque<Job>,
    tasks: VecDeque<Job>,
    /// V8's tasks that work on the heap.
    heap_tasks: VecDeque<Job>,
    /// How many other tasks have run since one of these has.
    tasks_before_heap: u32,
    /// An alarm looks at `heap_tasks` soon.
    pub watches_heap_tasks: bool,
    /// The thread sleeps on `ready` and has not been woken yet.
    parked: bool,
    /// A thread of a host waits on `rested`.
    awaits_rest: bool,
}

#[derive(Default)]
pub struct Mailbox {
    queues: Mutex<Queues>,
    ready: Condvar,
    /// The thread has returned the isolate.
    rested: Condvar,
    /// Counts the changes that a waiting thread must look at.
    version: AtomicU32,
    /// The number of queued sync calls.
    calls: AtomicU32,
}

impl Queues {
    /// Whether there is no work but that which waits for a pause.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.tasks.is_empty()
    }

    pub fn has_heap_tasks(&self) -> bool {
        !self.heap_tasks.is_empty()
    }

    fn pop_heap_task(&mut self) -> Option<Job> {
        self.tasks_before_heap = 0;
        self.heap_tasks.pop_front()
    }

    fn pop_task(&mut self) -> Option<Job> {
        if self.has_heap_tasks() {
            self.tasks_before_heap += 1;
            if self.tasks_before_heap > MAX_TASKS_BEFORE_HEAP {
                return self.pop_heap_task();
            }
        }
        self.tasks.pop_front()
    }

    /// Takes the oldest sweeping task of this kind if there are so many that V8 has cancelled it. In a long call, a guest can cause any number.
    fn take_cancelled(&mut self, sweep: Sweep) -> Option<Job> {
        [&mut self.tasks, &mut self.heap_tasks].into_iter().find_map(|queue| {
            let mut places =
                (0..).zip(queue.iter()).filter(|(_, job)| job.sweep == Some(sweep)).map(|(place, _)| place);
            let oldest = places.next()?;
            if places.count() < MAX_SWEEPS { None } else { queue.remove(oldest) }
        })
    }

    /// The thread sleeps, and a task need not wake it yet.
    pub fn can_wait(&self) -> bool {
        self.parked && self.tasks.len() < MAX_UNWOKEN_TASKS
    }
}

impl Mailbox {
    pub fn lock(&self) -> Guard<'_, Queues> {
        lock(&self.queues)
    }

    #[inline]
    pub fn version(&self) -> u32 {
        self.version.load(Ordering::Acquire)
    }

    /// Records a change without waking the thread.
    pub fn touch(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Records a change, and wakes the thread if it sleeps.
    pub fn notify(&self, queues: Guard<'_, Queues>) {
        self.touch();
        self.wake(queues);
    }

    /// Wakes the thread if it sleeps.
    pub fn wake(&self, mut queues: Guard<'_, Queues>) {
        // Taken, so that no other caller wakes the thread again before it runs.
        let parked = std::mem::take(&mut queues.parked);
        drop(queues);
        if parked {
            self.ready.notify_all();
        }
    }

    /// Returns a task that V8 has cancelled. Drop it without the lock.
    #[must_use]
    pub fn push(&self, queues: &mut Queues, job: Job) -> Option<Job> {
        let sweep = job.sweep;
        match job.kind {
            Kind::Call => {
                queues.calls.push_back(job);
                self.calls.fetch_add(1, Ordering::Release);
            }
            Kind::Heap => queues.heap_tasks.push_back(job),
            Kind::Task | Kind::Timer | Kind::Detached | Kind::Background => queues.tasks.push_back(job),
        }
        sweep.and_then(|sweep| queues.take_cancelled(sweep))
    }

    fn pop_call(&self, queues: &mut Queues) -> Option<Job> {
        let job = queues.calls.pop_front()?;
        self.calls.fetch_sub(1, Ordering::Release);
        Some(job)
    }

    /// The next job: sync calls first.
    pub fn take(&self) -> Option<Job> {
        let mut queues = self.lock();
        self.pop_call(&mut queues).or_else(|| queues.pop_task())
    }

    /// The next task that works on the heap.
    pub fn take_heap_task(&self) -> Option<Job> {
        self.lock().pop_heap_task()
    }

    /// Whether a sync call is queued.
    pub fn has_call(&self) -> bool {
        self.calls.load(Ordering::Acquire) > 0
    }

    /// The next sync call.
    #[inline(always)]
    pub fn take_call(&self) -> Option<Job> {
        if self.has_call() { self.pop_call(&mut self.lock()) } else { None }
    }

    /// Takes all jobs.
    pub fn drain(&self) -> Vec<Job> {
        let mut queues = self.lock();
        self.calls.store(0, Ordering::Release);
        let Queues { calls, tasks, heap_tasks, .. } = &mut *queues;
        calls.drain(..).chain(tasks.drain(..)).chain(heap_tasks.drain(..)).collect()
    }

    /// A thread of a host waits until the isolate's thread has returned it, or something else has happened, at most for `limit`.
    pub fn await_rest<'mailbox>(
        &'mailbox self,
        mut queues: Guard<'mailbox, Queues>,
        limit: Duration,
    ) -> Guard<'mailbox, Queues> {
        queues.awaits_rest = true;
        queues.wait_for(&self.rested, limit)
    }

    /// The isolate's thread has returned it.
    pub fn announce_rest(&self, queues: &mut Queues) {
        if std::mem::take(&mut queues.awaits_rest) {
            self.rested.notify_all();
        }
    }

    /// Sleeps until something has changed since `version`, at most for `limit`. False if nothing has.
    pub fn park(&self, version: u32, limit: Option<Duration>) -> bool {
        let until = limit.map(|limit| Instant::now() + limit);
        let mut queues = self.lock();
        let changed = loop {
            if self.version() != version {
                break true;
            }
            queues.parked = true;
            queues = match until {
                None => queues.wait(&self.ready),
                Some(until) => {
                    let now = Instant::now();
                    if now >= until {
                        break false;
                    }
                    queues.wait_for(&self.ready, until - now)
                }
            };
        };
        queues.parked = false;
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{MAX_SWEEPS, Mailbox};
    use crate::isolate::job::{Job, Kind, Sweep};
    use crate::value::{NoCompletion, Value};

    fn job(kind: Kind, sweep: Option<Sweep>) -> Job {
        Job::new(kind, Arc::new(NoCompletion), Box::new(|_| Ok(Value::Undefined))).sweeping(sweep)
    }

    #[test]
    fn keeps_only_the_last_tasks_that_sweep() {
        for kind in [Kind::Heap, Kind::Background] {
            let mailbox = Mailbox::default();
            let push = |sweep| mailbox.push(&mut mailbox.lock(), job(kind, sweep));
            assert!([None, None, None].map(push).iter().all(Option::is_none));
            for sweep in [Sweep::Prompt, Sweep::Delayed].map(Some) {
                let cancelled = [sweep; 10].map(push);
                assert_eq!(cancelled.iter().flatten().filter(|job| job.sweep == sweep).count(), 10 - MAX_SWEEPS);
            }
            assert_eq!(mailbox.drain().len(), 3 + 2 * MAX_SWEEPS);
        }
    }
}

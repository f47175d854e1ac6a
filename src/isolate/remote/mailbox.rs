//! The jobs that wait for an isolate, and the sleep of its thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::isolate::job::{Job, Kind};
use crate::native::{Guard, lock};

/// Tasks that may run before one that works on the heap.
const MAX_TASKS_BEFORE_HEAP: u32 = 64;

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
}

#[derive(Default)]
pub struct Mailbox {
    queues: Mutex<Queues>,
    ready: Condvar,
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

    pub fn push(&self, queues: &mut Queues, job: Job) {
        match job.kind {
            Kind::Call => {
                queues.calls.push_back(job);
                self.calls.fetch_add(1, Ordering::Release);
            }
            Kind::Heap => queues.heap_tasks.push_back(job),
            Kind::Task | Kind::Timer | Kind::Detached | Kind::Background => queues.tasks.push_back(job),
        }
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
    #[inline]
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

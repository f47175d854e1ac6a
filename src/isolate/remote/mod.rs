//! An isolate as every other thread sees it: a handle that holds its components, and what they do together.

pub(super) mod accounts;
pub(super) mod body;
pub(super) mod caller;
pub(super) mod creation;
pub(super) mod creation_queue;
pub(super) mod delayed_tasks;
pub(super) mod descendants;
pub(super) mod detached;
pub(super) mod execution;
pub(super) mod full_collections;
pub(super) mod keep_alives;
pub(super) mod lifecycle;
pub(super) mod listeners;
pub(super) mod mailbox;
pub(super) mod meter;
pub(super) mod outcomes;
pub(super) mod pending;
pub(super) mod promises;
pub(super) mod reason;
pub(super) mod registry;
pub(super) mod running_jobs;
pub(super) mod settings;
pub(super) mod slots;
pub(super) mod undelivered;
pub(super) mod warm;

use std::any::Any;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use accounts::Accounts;
use body::Body;
use creation::Creation;
use descendants::CreatedIsolates;
use detached::DetachedWork;
use execution::Execution;
use keep_alives::KeepAlives;
use lifecycle::{Effects, Event, Lifecycle};
use listeners::EndListeners;
use mailbox::{Mailbox, Queues};
use outcomes::Outcomes;
use promises::Promises;
use reason::Stop;
use registry::MemoryObserver;
use running_jobs::RunningJobs;
use settings::Settings;
use slots::Slots;

use super::clock;
use super::inspector::Inspector;
use super::job::{Deadline, Job, Kind};
use crate::native::{Guard, lock};
use crate::value::{Completion, Fault, Owner, Wake};

pub struct Remote {
    pub(super) me: Weak<Remote>,
    pub settings: Settings,
    pub(super) lifecycle: Lifecycle<Box<Body>>,
    pub(super) mailbox: Mailbox,
    pub(super) running_jobs: RunningJobs,
    pub(super) execution: Execution,
    pub slots: Slots,
    pub accounts: Accounts,
    pub listeners: EndListeners,
    pub keep_alives: KeepAlives,
    pub inspector: Inspector,
    pub promises: Promises,
    pub(super) detached: DetachedWork,
    pub(super) created_isolates: CreatedIsolates<Remote>,
    pub(super) creation: Creation,
}

/// Keeps the isolate and its host's event loop alive.
struct DetachedKeepAlive {
    remote: Arc<Remote>,
    keep_alive: Option<usize>,
}

impl Drop for DetachedKeepAlive {
    fn drop(&mut self) {
        if let Some(id) = self.keep_alive {
            self.remote.keep_alives.end(id);
        }
    }
}

/// A deadline counts from the call: a call that has not even started by then is answered too.
fn answer_at(Deadline { limit, time }: Deadline, completion: &Arc<dyn Completion>) -> clock::Alarm {
    let completion = Arc::downgrade(completion);
    clock::at(time, move || {
        if let Some(completion) = completion.upgrade() {
            completion.complete(Err(Fault::deadline(limit)));
        }
    })
}

impl Remote {
    pub fn id(&self) -> u64 {
        self.slots.owner_id()
    }

    /// Reports the isolate's memory to `observer` from now on. Returns the bytes it takes so far; `None` if it has ended or another observer
    /// tracks it.
    pub fn charge(&self, observer: Weak<dyn MemoryObserver>) -> Option<usize> {
        self.accounts.account.charge(observer)
    }

    /// Whether the guest has work of its own that no call waits for yet.
    pub fn has_detached_work(&self) -> bool {
        !self.is_disposed() && self.detached.exists()
    }

    /// Queued outcomes that settle promises of the guest.
    pub fn outcomes(&self) -> &Outcomes {
        &self.detached.outcomes
    }

    /// Completes `completion` when the guest has no more work of its own, at once if it has none. If the isolate is stopped, answers when it is
    /// gone, after the promises that it abandons were reported.
    pub fn when_drained(&self, completion: Arc<dyn Completion>) {
        self.detached.when_drained(completion);
        let done = if self.is_disposed() { self.is_gone() } else { !self.detached.exists() };
        if done {
            self.detached.announce_drained();
        }
    }

    pub(super) fn finish_detached(&self) {
        if self.detached.finish() && !self.is_disposed() {
            self.detached.announce_drained();
        }
    }

    /// The guest has run a job of kind `kind`: looks at what will continue it.
    pub(super) fn note_detached(&self, isolate: &v8::Isolate, kind: Kind) {
        let compiled = self.detached.compiles();
        let is_last = self.detached.note_compiling(isolate, kind, || !self.promises.is_empty());
        if is_last && !self.is_disposed() {
            self.detached.announce_drained();
        }
        if compiled || self.detached.compiles() || self.detached.pending.load(Ordering::Acquire) > 0 {
            self.update_keep_alive();
        }
    }

    pub(super) fn is_kept_alive(&self) -> bool {
        lock(&self.detached.keep_alive).is_some()
    }

    /// Keeps the isolate and the event loop alive exactly while an event is pending that a caller waits for.
    pub(super) fn update_keep_alive(&self) {
        let detached = &self.detached;
        let mut keep_alive = lock(&detached.keep_alive);
        let is_awaited = || detached.pending.load(Ordering::Acquire) > 0 && self.promises.are_awaited();
        let keep = !self.is_gone() && (detached.compiles() || is_awaited());
        let before = match (keep, keep_alive.is_some()) {
            (true, false) => {
                let begin = |remote| {
                    Box::new(DetachedKeepAlive { remote, keep_alive: self.keep_alives.begin() }) as Box<dyn Send>
                };
                *keep_alive = self.me.upgrade().map(begin);
                None
            }
            (false, true) => keep_alive.take(),
            _ => None,
        };
        drop(keep_alive);
        // Perhaps it has the last handle.
        drop(before);
    }

    /// Why the isolate ends or has ended; `None` if it continues to run.
    pub fn stop_reason(&self) -> Option<Stop> {
        self.lifecycle.stop_reason()
    }

    pub fn is_disposed(&self) -> bool {
        self.lifecycle.is_stopped()
    }

    /// Whether it was disposed of, or has exceeded a limit, before it ended by itself.
    pub fn was_stopped(&self) -> bool {
        self.is_disposed() && !self.listeners.undelivered.is_complete()
    }

    /// See [`Lifecycle::is_stopping`].
    pub fn is_stopping(&self) -> bool {
        self.lifecycle.is_stopping()
    }

    /// Whether the V8 side is gone or abandoned.
    pub(super) fn is_gone(&self) -> bool {
        self.lifecycle.is_gone()
    }

    /// Whether no caller waits for any running job of the guest.
    pub fn has_answered_all(&self) -> bool {
        self.running_jobs.are_answered()
    }

    /// Queues `job`. If the isolate has ended, the job is answered with that error.
    pub fn post(&self, job: Job) {
        if let Some(queues) = self.queue(job) {
            self.signal(queues);
        }
    }

    /// As [`Remote::post`], for a task that others may follow at once. Returns true if the isolate's thread sleeps and was not woken,
    /// because waking it takes longer than a short task. Call [`Remote::flush_wake_ups`] then; without it, the thread finds the task when its idle
    /// time is over.
    pub fn enqueue_without_wake(&self, job: Job) -> bool {
        let Some(queues) = self.queue(job) else { return false };
        // With sessions, the thread's idle time is unlimited.
        if !queues.can_wait() || self.inspector.port.has_sessions() {
            self.signal(queues);
            return false;
        }
        self.mailbox.touch();
        true
    }

    /// Wakes the isolate's thread for the tasks that [`Remote::enqueue_without_wake`] has queued.
    pub fn flush_wake_ups(&self) {
        self.mailbox.wake(self.mailbox.lock());
    }

    /// Queues `job`, or answers it if the isolate has ended.
    pub(super) fn queue(&self, mut job: Job) -> Option<Guard<'_, Queues>> {
        let mut queues = self.mailbox.lock();
        if let Some(reason) = self.stop_reason() {
            drop(queues);
            job.completion.complete(Err(reason.refusal(job.kind == Kind::Call)));
            if self.settings.inspector {
                job.discard();
            }
            return None;
        }
        if let Some(deadline) = job.limits.deadline
            && matches!(job.kind, Kind::Call | Kind::Task | Kind::Timer)
        {
            job.overdue = Some(answer_at(deadline, &job.completion));
        }
        if job.kind == Kind::Detached {
            self.detached.begin();
        }
        if let Some(cancelled) = self.mailbox.push(&mut queues, job) {
            drop(queues);
            drop(cancelled);
            queues = self.mailbox.lock();
        }
        Some(queues)
    }

    /// Makes sure that a thread looks at the isolate's state again.
    pub(super) fn signal(&self, queues: Guard<'_, Queues>) {
        if self.lifecycle.needs_thread() {
            let Effects { action, .. } = self.transition(&queues, Event::Work);
            drop(queues);
            self.execution.perform(action);
        } else {
            self.mailbox.notify(queues);
            self.notify_caller();
        }
    }

    /// Makes the thread of a host that has entered the isolate look at it again.
    fn notify_caller(&self) {
        if self.execution.caller.is_entered()
            && !self.execution.caller.is_this_thread()
            && let Some(host) = self.settings.host.as_ref().and_then(Weak::upgrade)
        {
            host.notify();
        }
    }

    /// Makes the thread that works for the isolate, if there is one, look at its state again.
    pub(super) fn wake(&self) {
        self.mailbox.notify(self.mailbox.lock());
        self.notify_caller();
    }

    /// Changes the state, and counts the isolate as idle or not. The lock of the queues makes that one step.
    pub(super) fn transition(&self, _inbox: &Queues, event: Event<Box<Body>>) -> Effects<Box<Body>> {
        let was_idle = self.lifecycle.is_idle();
        let effects = self.lifecycle.transition(event);
        match (was_idle, self.lifecycle.is_idle()) {
            (false, true) if !self.creation.is_warm() => registry::enter_idle(),
            (true, false) if !self.creation.is_warm() => registry::leave_idle(),
            _ => {}
        }
        effects
    }

    /// The isolate behind an owner of slots, if it is one.
    pub fn from_owner(owner: &Arc<dyn Owner>) -> Option<Arc<Remote>> {
        Arc::clone(owner).as_any().downcast::<Remote>().ok()
    }
}

impl Owner for Remote {
    fn id(&self) -> u64 {
        self.slots.owner_id()
    }

    fn release(&self, slot: u32) {
        self.slots.release(slot);
    }

    fn max_answers(&self) -> usize {
        self.accounts.answers.limit()
    }

    fn has_settled(&self) {
        if self.is_kept_alive() {
            self.update_keep_alive();
        }
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl Wake for Remote {
    fn wake(&self) {
        if self.execution.caller.is_this_thread() {
            // This thread looks at it next.
            return self.mailbox.touch();
        }
        self.signal(self.mailbox.lock());
    }
}

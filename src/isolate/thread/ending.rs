//! How an isolate ends: by its owner, by its host, out of memory, or because its thread does not return.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::grace::Grace;
use super::lost_heap::LostHeap;
use super::malloc_trim;
use super::suspender;
use crate::engine::{self, ThreadState};
use crate::isolate::clock;
use crate::isolate::job::{Job, Kind};
use crate::isolate::remote::Remote;
use crate::isolate::remote::body::Body;
use crate::isolate::remote::lifecycle::{Effects, Event};
use crate::isolate::remote::reason::Stop;
use crate::native::lock;
use crate::value::{Completion, Fault, Outcome};

/// When a thread that has not returned is suspended. Work that is slow but ends gives its memory back before that. Each further attempt
/// waits twice as long as the one before, up to `LAST_ATTEMPTS`.
const FIRST_ATTEMPT: Duration = Duration::from_secs(2);
const LAST_ATTEMPTS: Duration = Duration::from_secs(4);

/// The same if a host's memory is at risk.
const FIRST_SHARING_ATTEMPT: Duration = Duration::from_millis(1);
const LAST_SHARING_ATTEMPTS: Duration = Duration::from_millis(250);

/// How often a guest that must stop is checked. If it still runs, its execution is terminated again: after one termination, the guest may
/// still run elsewhere.
const GRACE_CHECK: Duration = Duration::from_millis(10);

/// After this time, a thread that may use a host's memory is suspended wherever it is.
const SHARING_GRACE: Duration = Duration::from_millis(500);

impl Remote {
    /// Ends the isolate: terminates execution and answers every call with the reason. False if the isolate was stopped before.
    pub fn stop(&self, reason: Stop) -> bool {
        let Effects { changed, action } = self.transition(&self.mailbox.lock(), Event::Stop(reason));
        if !changed {
            return false;
        }
        self.listeners.undelivered.end();
        if reason != Stop::Environment {
            // No matter what stops it, the promises that it abandons must still be reported.
            self.keep_alives.begin_running();
            // Unless its thread was faster, and the isolate is gone already.
            self.keep_alives.end_running(|| !self.is_gone());
        }
        self.execution.terminate();
        self.stop_children();
        // Before the answers: a host whose call has ended unwinds what runs for it.
        self.execution.caller.peer_calls(0).end();
        self.fail_running(&reason.fault());
        if self.running_jobs.runs(None) {
            self.abandon_after(None, Grace::begin(&self.execution.thread));
        }
        self.execution.perform(action);
        true
    }

    /// Completes `completion` when the isolate ends, at once if it has ended.
    pub fn when_ended(&self, completion: Arc<dyn Completion>) {
        self.listeners.when_ended(completion);
        if let Some(reason) = self.stop_reason() {
            self.fail_running(&reason.fault());
        }
    }

    /// Completes `completion` when the isolate's V8 side is gone or abandoned, at once if it already is.
    pub fn when_gone(&self, completion: Arc<dyn Completion>) {
        self.listeners.when_gone(completion, || self.is_gone());
    }

    /// Waits until the isolate's V8 side is gone or abandoned. Must not be called on a thread of an isolate.
    pub fn await_gone(&self) {
        struct Gone(Mutex<bool>, Condvar);
        impl Completion for Gone {
            fn complete(&self, _outcome: Outcome) {
                *lock(&self.0) = true;
                self.1.notify_all();
            }
        }
        let completion = Arc::new(Gone(Mutex::new(false), Condvar::new()));
        self.when_gone(Arc::clone(&completion) as Arc<dyn Completion>);
        let mut gone = lock(&completion.0);
        while !*gone {
            gone = gone.wait(&completion.1);
        }
    }

    /// The V8 side is gone ([`Event::End`]), or can do no more harm ([`Event::Retire`]).
    fn announce_gone(&self, event: Event<Box<Body>>) {
        if !self.lifecycle.transition(event).changed {
            return;
        }
        self.update_keep_alive();
        self.listeners.announce_gone();
        self.detached.announce_drained();
        self.keep_alives.end_all();
    }

    /// Keeps the host's event loop alive while the guest waits for something, until [`KeepAlives::end`] or the isolate's end.
    ///
    /// [`KeepAlives::end`]: crate::isolate::remote::keep_alives::KeepAlives::end
    pub fn begin_keep_alive(&self) -> Option<usize> {
        let id = self.keep_alives.begin()?;
        if self.is_gone() {
            self.keep_alives.end(id);
        }
        Some(id)
    }

    fn fail_running(&self, fault: &Fault) {
        self.running_jobs.answer_all(fault);
        self.listeners.announce_ended(fault);
    }

    /// Abandons the isolate, unless the call `serial` ends within the grace period; `None`: all calls. Meanwhile, terminates execution from
    /// outside if the guest does not handle interrupts.
    pub(in crate::isolate) fn abandon_after(&self, serial: Option<u64>, grace: Grace) {
        let remote = self.me.clone();
        clock::after(GRACE_CHECK, move || {
            let Some(remote) = remote.upgrade().filter(|remote| remote.running_jobs.runs(serial)) else { return };
            // It can stop only after its host's function has returned.
            if remote.execution.caller.is_waiting() {
                return remote.abandon_after(serial, Grace::begin(&remote.execution.thread));
            }
            if grace.is_over(&remote.execution.thread) {
                return remote.abandon("Script failed to terminate");
            }
            if grace.interrupt_was_missed(&remote.execution.thread) {
                remote.terminate_call(serial);
            }
            remote.abandon_after(serial, grace);
        });
    }

    /// The second stage of an expired limit: terminates execution from outside, if the job `serial` still runs; `None`: any job.
    fn terminate_call(&self, serial: Option<u64>) {
        // Under the lock, because `leave` cancels terminations under it.
        let stack = self.running_jobs.lock();
        if stack.runs(serial) {
            self.execution.terminate();
        }
    }

    /// Abandons the isolate, whose thread is not expected to return: answers every call, including queued ones, and retires the thread.
    /// V8's out-of-memory handler also calls this, on the thread itself.
    pub fn abandon(&self, problem: &str) {
        if !self.lifecycle.transition(Event::Abandon).changed {
            return;
        }
        self.listeners.undelivered.end();
        self.creation.finish();
        self.stop_children();
        self.execution.caller.peer_calls(0).end();
        match self.execution.thread.state() {
            ThreadState::Absent => {}
            ThreadState::Working(_) | ThreadState::Caller(..) => self.accounts.account.lose(self.me.clone(), true),
            ThreadState::Parked | ThreadState::Suspended => self.accounts.account.lose(self.me.clone(), false),
        }
        if matches!(self.execution.thread.state(), ThreadState::Parked | ThreadState::Suspended) {
            // Perhaps only since it was counted.
            self.accounts.account.freeze();
        }
        let reason = self.stop_reason().unwrap_or(Stop::Lost);
        self.accounts.account.end(reason.end());
        // Before the calls: those keep a host alive, promises do not.
        self.promises.abandon(reason);
        self.fail_running(&reason.fault());
        self.fail_queued(&reason.fault()).into_iter().for_each(Job::discard);
        self.retire_thread();
        self.listeners.announce_abandoned(problem);
    }

    /// A stopped isolate will end soon.
    pub(in crate::isolate) fn begin_end(&self) {
        let reason = self.stop_reason().unwrap_or(Stop::Disposed);
        drop(self.fail_queued(&reason.fault()));
        // This thread may be faster than the one that stops the isolate. Isolates that only this guest refers to would then be dropped
        // instead of stopped.
        self.stop_children();
    }

    /// A stopped isolate ends later, when V8's own threads have compiled what they have begun for it. No thread works for it meanwhile, and nothing of it
    /// uses memory of a host. `is_late`: hosts do not wait any longer.
    pub(in crate::isolate) fn postpone_end(&self, is_late: bool) {
        self.begin_end();
        self.promises.abandon(self.stop_reason().unwrap_or(Stop::Disposed));
        if is_late {
            self.announce_gone(Event::Retire);
        }
    }

    /// The end of a stopped isolate, on the thread that has its V8 side; `dispose` disposes of that.
    pub(in crate::isolate) fn end(&self, dispose: impl FnOnce()) {
        self.begin_end();
        let reason = self.stop_reason().unwrap_or(Stop::Disposed);
        dispose();
        self.execution.delayed_tasks.clear();
        drop(self.created_isolates.take_membership());
        self.promises.abandon(reason);
        self.accounts.account.recover();
        self.accounts.account.end(reason.end());
        self.announce_gone(Event::End);
    }

    /// The isolate cannot be disposed of, because V8 would wait for a thread of its own that has stopped permanently. No thread works for the isolate.
    pub(in crate::isolate) fn lose(&self) {
        self.execution.thread.park();
        self.give_back_heap(0, 0);
        self.stop(Stop::Memory);
        self.abandon("Catastrophic out-of-memory error");
        // If it has retired, it cannot be abandoned any more.
        self.accounts.account.lose(self.me.clone(), false);
        self.accounts.account.end(self.stop_reason().unwrap_or(Stop::Memory).end());
        self.accounts.account.freeze();
    }

    /// Stops the thread permanently as soon as that is safe.
    fn retire_thread(&self) {
        let state = self.execution.thread.state();
        if matches!(state, ThreadState::Working(_) | ThreadState::Caller(..)) {
            // A host waits for its thread, or until its memory is safe.
            let urgent = self.may_touch_host() || matches!(state, ThreadState::Caller(..));
            self.suspend_after(if urgent { FIRST_SHARING_ATTEMPT } else { FIRST_ATTEMPT }, Duration::ZERO);
            malloc_trim::trim_after(self.accounts.max_native());
        }
        if !self.may_touch_host() {
            self.announce_gone(Event::Retire);
        }
    }

    /// Whether its thread may be using memory that belongs to a host.
    fn may_touch_host(&self) -> bool {
        self.accounts.has_host_memory()
            && matches!(self.execution.thread.state(), ThreadState::Working(_) | ThreadState::Caller(..))
    }

    /// The thread has stopped permanently, inside `entered` tasks of V8 and at this `safepoint`; 0 for none. Returns the heap's memory to the
    /// system when V8's own threads are done with it.
    pub(in crate::isolate) fn give_back_heap(&self, entered: usize, safepoint: usize) {
        let Some(quota) = &self.accounts.quota else { return };
        engine::stop_tasks(quota, safepoint);
        // An inspector or a profile may sample the thread's stack, which refers to the heap.
        if !self.inspector.profiles.are_taken() {
            let (thread, quota) = (Arc::clone(&self.execution.thread), Arc::clone(quota));
            LostHeap { thread, quota }.give_back(entered);
        }
    }

    fn suspend_after(&self, delay: Duration, before: Duration) {
        let remote = self.me.clone();
        clock::after(delay, move || {
            // Not on the clock's thread: this waits for the other thread to answer.
            suspender::run(move || {
                let Some(remote) = remote.upgrade() else { return };
                let waited = before + delay;
                // The host waits until its memory is safe. A thread that kept using it would end the process, or worse.
                let is_on_caller = matches!(remote.execution.thread.state(), ThreadState::Caller(..));
                let anywhere = remote.may_touch_host() && waited >= SHARING_GRACE;
                let state = remote.execution.thread.suspend(anywhere);
                if state == ThreadState::Suspended {
                    // With `anywhere`, the suspended thread may be in the middle of a change of what this reads. A host whose thread has
                    // left the guest does it itself.
                    if !anywhere && !is_on_caller {
                        remote.give_back_heap(0, 0);
                    }
                    remote.accounts.account.freeze();
                }
                // Memory that grows while the thread runs leaves its previous blocks free.
                malloc_trim::trim_after(remote.accounts.max_native());
                if !matches!(state, ThreadState::Working(_) | ThreadState::Caller(..)) {
                    return remote.announce_gone(Event::Retire);
                }
                if cfg!(not(target_os = "linux")) && waited >= SHARING_GRACE {
                    // On this system it is never suspended.
                    return remote.announce_gone(Event::Retire);
                }
                // From now on it runs little if other threads want to. Not before the first attempt, which the thread has to answer.
                remote.execution.thread.lower_priority();
                let most = if remote.may_touch_host() || is_on_caller { LAST_SHARING_ATTEMPTS } else { LAST_ATTEMPTS };
                remote.suspend_after((delay * 2).min(most), waited);
            });
        });
    }

    /// Answers every job that has not started. Returns them.
    fn fail_queued(&self, fault: &Fault) -> Vec<Job> {
        let queued = self.mailbox.drain();
        for job in &queued {
            job.completion.complete(Err(fault.clone()));
            if job.kind == Kind::Detached {
                self.finish_detached();
            }
        }
        queued
    }

    /// A descendant that was stopped, perhaps with its creator, and will be gone soon.
    pub fn ending_relative(&self) -> Option<Arc<Remote>> {
        self.created_isolates.relatives().into_iter().find(|member| member.is_disposed() && !member.is_gone())
    }

    /// Ends the isolates that the guest has created.
    pub(in crate::isolate) fn stop_children(&self) {
        let reason = self.stop_reason().filter(|reason| *reason == Stop::Environment).unwrap_or(Stop::Disposed);
        for made in self.created_isolates.take_made() {
            made.stop(reason);
        }
    }
}

//! How a job runs under its limits, and how an expired limit ends the right job.
//!
//! An expired limit is enforced in three stages. First, an interrupt records the running stack frames and terminates execution. Second,
//! execution is terminated from outside, for guests that handle no interrupts. Third, after the grace period, the isolate is abandoned.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::grace::Grace;
use super::profiling::Profiling;
use crate::convert;
use crate::engine::{self, TerminatedMicrotask};
use crate::isolate::async_context;
use crate::isolate::guest::Guest;
use crate::isolate::job::{IsolateScope, Job, Kind, Limits};
use crate::isolate::policy;
use crate::isolate::remote::Remote;
use crate::isolate::remote::caller::Peer;
use crate::isolate::remote::lifecycle::Event;
use crate::isolate::remote::reason::Expired;
use crate::isolate::remote::running_jobs::{Enforcer, Interrupted};
use crate::native::ticks;
use crate::value::{Chain, Charge, Completion, Fault, NoCompletion, Outcome, Text, Value};

/// A job that runs at least this long may have filled the heap.
const LONG: Duration = Duration::from_millis(1);

impl Enforcer for Remote {
    /// First stage: the running code is interrupted.
    fn expire(self: Arc<Self>, serial: u64, expired: Expired) {
        let mut stack = self.running_jobs.lock();
        if !stack.runs(Some(serial)) {
            return;
        }
        // Under the lock: jobs that begin later make calls of their own.
        let peer_calls = self.execution.caller.peer_calls(serial);
        if !stack.expire(serial, expired) {
            drop(stack);
            // Another thread has stopped the job, but perhaps not yet these.
            return peer_calls.end();
        }
        // V8 does not wake a guest that waits in Rust.
        let action = self.lifecycle.transition(Event::Expire).action;
        self.execution.interrupt(on_interrupt);
        drop(stack);
        peer_calls.end();
        self.execution.perform(action);
        self.abandon_after(Some(serial), Grace::begin(&self.execution.thread));
    }
}

impl Peer for Remote {
    fn end_call(self: Arc<Self>, completion: &Arc<dyn Completion>) {
        self.abort(completion);
    }
}

impl Remote {
    /// The caller no longer waits for `completion`: answers it with [`Fault::aborted`] and stops the work for it.
    pub fn abort(self: &Arc<Self>, completion: &Arc<dyn Completion>) {
        let stop = || {
            let serial = self.running_jobs.of(completion);
            if let Some(serial) = serial {
                Arc::clone(self).expire(serial, Expired::Aborted);
            }
            serial.is_some()
        };
        // First, so that the guest sends nothing after the answer.
        let is_stopped = stop();
        completion.complete(Err(Fault::aborted()));
        // It may have begun meanwhile. If it begins later, it finds the answer. Not twice: the job stops the calls that it waits for, which do the same.
        if !is_stopped {
            stop();
        }
    }

    /// Removes job `serial` from the stack. Returns its outcome, given the outcome of its job, which ran for the async call `request` of a
    /// host. If a limit has expired, also returns the owner of the stopped code, a call or an evaluation. It is that of `microtask`, if one was
    /// terminated.
    fn leave(
        &self,
        serial: u64,
        request: i64,
        microtask: Option<TerminatedMicrotask>,
        outcome: Outcome,
    ) -> (Outcome, Option<i64>) {
        let mut stack = self.running_jobs.lock();
        let Some(removed) = self.running_jobs.remove(&mut stack, serial) else { return (outcome, None) };
        if let Some(reason) = self.stop_reason() {
            drop(stack);
            return (Err(reason.fault()), None);
        }
        // Under the lock: no stage can terminate execution between the removal of the job and this call.
        if removed.expired.is_some() && removed.outer.is_none() && self.lifecycle.transition(Event::Unwound).changed {
            self.execution.cancel_termination();
        }
        let is_outermost = stack.is_empty();
        drop(stack);
        match (removed.expired, outcome) {
            (Some(expired), _) => {
                // A guest whose thread gets no processor is terminated before it is interrupted.
                let Interrupted { stack, owner } =
                    removed.interrupted.unwrap_or(Interrupted { stack: Text::from(""), owner: request });
                let owner = microtask.map_or(owner, |microtask| microtask.owner);
                let fault = expired.fault(stack);
                // The code that called a nested job continues, and so does the asynchronous call that it belongs to. The job may have run code of
                // another call than its own.
                if is_outermost && owner != 0 {
                    self.promises.fail(owner, &fault);
                }
                (Err(fault), Some(owner))
            }
            (None, Err(Fault::Stopped)) => {
                let stopped =
                    removed.outer.map_or_else(Fault::disposed_during_execution, |outer| outer.fault(Text::from("")));
                (Err(stopped), None)
            }
            (None, outcome) => (outcome, None),
        }
    }
}

/// Runs one job under its limits. After the outermost job, also runs microtasks and takes unhandled rejections.
pub fn run(scope: &mut IsolateScope<'_, '_>, guest: &Rc<Guest>, remote: &Arc<Remote>, job: Job) {
    let Job { kind, sweep: _, limits, chain, completion, work, charge, overdue } = job;
    let limits = match kind {
        Kind::Call | Kind::Task | Kind::Timer => limits,
        Kind::Detached => limits.renewed(),
        Kind::Background | Kind::Heap => guest.last_limits().renewed(),
    };
    let request = chain.request();
    let serial = remote.running_jobs.enter(limits, &completion, charge);
    // The job now has an alarm of its own.
    drop(overdue);
    // After `enter`: from here on, an abort also stops the job.
    if completion.is_complete() {
        let _ = remote.leave(serial, request, None, Err(Fault::Stopped));
        return;
    }
    // After `enter`: from here on, stopping the isolate also answers the job and waits for it.
    if remote.is_disposed() {
        return completion.complete(remote.leave(serial, request, None, Err(Fault::Stopped)).0);
    }
    let outermost = guest.push_chain(chain, limits);
    let began = ticks::now();
    let ran = remote.accounts.meter.set_running_at(true, || began);
    let is_of_v8 = matches!(kind, Kind::Background | Kind::Heap);
    let profiling = if outermost && !is_of_v8 { Profiling::start(scope, guest, remote) } else { None };
    let mut outcome = {
        v8::scope!(let scope, scope);
        work(scope)
    };
    if outermost && !remote.is_stopping() {
        scope.perform_microtask_checkpoint();
        // An error of the call itself takes precedence, as in isolated-vm.
        if guest.has_rejections()
            && let Some(rejection) = take_rejection(scope, guest, remote)
            && outcome.is_ok()
        {
            outcome = Err(rejection);
        }
    }
    let took = ticks::now().saturating_sub(began);
    // A job that allocates much takes at least this long.
    if outermost && ticks::is_at_least(took, LONG) {
        remote.check_memory(scope);
    }
    if !outermost && matches!(outcome, Ok(Value::Promise(_))) {
        guest.keep_host_alive(remote);
    }
    guest.pop_chain();
    if outermost {
        guest.release_host(remote);
    }
    remote.accounts.meter.set_running_at(ran, || began + took);
    if outermost {
        remote.accounts.meter.worked(took);
        // Before the answer: its receiver checks whether the guest has more work.
        remote.note_detached(scope, kind);
    }
    let is_stopped = outermost && remote.is_stopping();
    let aborted = is_stopped && remote.running_jobs.was_aborted(serial);
    let microtask = if is_stopped { engine::take_terminated_microtask(scope) } else { None };
    let (outcome, stopped) = remote.leave(serial, request, microtask, outcome);
    let has_stopped_modules = match stopped {
        Some(owner) if is_stopped => guest.note_stopped(scope, owner),
        Some(owner) => guest.stop_modules(scope, owner),
        None => false,
    };
    if outermost && !is_stopped {
        guest.forget_stopped();
    }
    // A limit may have expired just after the last microtask.
    let leaves_work = is_stopped || (outermost && has_stopped_modules);
    // Before the answer: its receiver may request profiles of what runs from then on.
    let profiling = profiling.map(|profiling| (profiling, remote.inspector.profiles.end_run()));
    completion.complete(outcome);
    // After the answer, when none of the job's limits applies any more: to write a profile may take long, and is no work of the guest.
    if let Some((profiling, profile)) = profiling {
        // An empty job: a caller that stops the isolate waits for it, for the grace period.
        let serial = remote.running_jobs.enter(
            Limits::default(),
            &(Arc::new(NoCompletion) as Arc<dyn Completion>),
            Charge::default(),
        );
        profiling.finish(remote, profile);
        let _ = remote.leave(serial, 0, None, Ok(Value::Undefined));
    }
    if leaves_work && !remote.is_disposed() {
        // The caller of an aborted job does not need the rest of it; other calls may.
        let brief = Limits::new(Some(policy::termination_grace()), None);
        let limits = if aborted { limits.renewed().within(brief) } else { limits };
        if remote.execution.caller.is_entered() {
            finish_on_thread(remote, limits);
        } else {
            finish_microtasks(scope, guest, remote, limits);
        }
    }
}

/// Runs `work` as a part of the running job, under `limits` in addition to those of the job. `work` returns `None` if it was stopped. An error
/// if one of `limits` has expired, or if the job has to stop.
pub fn run_limited<'s, 'i, T>(
    scope: &mut v8::PinScope<'s, 'i>,
    guest: &Rc<Guest>,
    remote: &Arc<Remote>,
    limits: Limits,
    work: impl FnOnce(&mut v8::PinScope<'s, 'i>) -> Option<T>,
) -> Result<T, Fault> {
    let completion: Arc<dyn Completion> = Arc::new(NoCompletion);
    let serial = remote.running_jobs.enter(limits, &completion, Charge::default());
    guest.push_chain(guest.chain(), limits.within(guest.limits()));
    let done = if remote.is_stopping() { None } else { work(scope) };
    guest.pop_chain();
    let outcome = if done.is_some() { Ok(Value::Undefined) } else { Err(Fault::Stopped) };
    let (outcome, _) = remote.leave(serial, 0, None, outcome);
    if remote.is_stopping() {
        guest.terminate(scope);
        return Err(Fault::Stopped);
    }
    outcome?;
    done.ok_or(Fault::Stopped)
}

/// Like [`finish_microtasks`], but on a thread of the library and before any other work: the caller has the outcome, and its thread has other
/// work. The microtasks run after an empty job, under its limits.
fn finish_on_thread(remote: &Remote, limits: Limits) {
    let work = Box::new(|_: &mut IsolateScope<'_, '_>| Ok(Value::Undefined));
    remote.post(Job::new(Kind::Call, Arc::new(NoCompletion), work).limited(limits.renewed()));
}

/// Takes the first unhandled rejection. Reading it may run guest code, whose microtasks run here and whose rejections are dropped. Once the job
/// is being stopped, its outcome is known, and what is left of the microtasks belongs to other calls.
fn take_rejection(scope: &mut IsolateScope<'_, '_>, guest: &Guest, remote: &Remote) -> Option<Fault> {
    let mut rejection = None;
    if !remote.is_stopping() {
        v8::scope!(let scope, scope);
        rejection = guest.take_rejection(scope);
        if !remote.is_stopping() {
            scope.perform_microtask_checkpoint();
        }
    }
    guest.forget_rejections();
    rejection
}

/// How often microtasks that are left run at once.
const MAX_ROUNDS: u32 = 2;

/// Runs the microtasks that a stopped job has left in the queue, under `limits`: promises that other calls await may depend on them, and
/// the next call must not pay for them. If a limit expires, the call whose code was running fails, and its microtasks are dropped.
fn finish_microtasks(scope: &mut IsolateScope<'_, '_>, guest: &Rc<Guest>, remote: &Arc<Remote>, limits: Limits) {
    for _ in 0..MAX_ROUNDS {
        if !finish_round(scope, guest, remote, limits.renewed()) {
            return guest.forget_stopped();
        }
    }
    // The rest runs after an empty job, when other calls have had their turn.
    let work = Box::new(|_: &mut IsolateScope<'_, '_>| Ok(Value::Undefined));
    remote.post(Job::new(Kind::Background, Arc::new(NoCompletion), work));
}

/// The same once. True if there may be microtasks: those of other calls are left when a limit has stopped one, and code that waits for a module
/// continues when a limit has stopped that module.
fn finish_round(scope: &mut IsolateScope<'_, '_>, guest: &Rc<Guest>, remote: &Arc<Remote>, limits: Limits) -> bool {
    let completion: Arc<dyn Completion> = Arc::new(NoCompletion);
    let serial = remote.running_jobs.enter(limits, &completion, Charge::default());
    guest.push_chain(Chain::default(), limits);
    let has_begun = !remote.is_stopping();
    if has_begun {
        scope.perform_microtask_checkpoint();
    }
    let microtask = if remote.is_stopping() { engine::take_terminated_microtask(scope) } else { None };
    guest.forget_rejections();
    guest.pop_chain();
    // Nothing waits for the outcome.
    let (_, stopped) = remote.leave(serial, 0, microtask, Err(Fault::Stopped));
    // 0 also means no code at all.
    let stopped = stopped.filter(|owner| *owner != 0 || microtask.is_some());
    let has_stopped_modules = stopped.is_some_and(|owner| guest.note_stopped(scope, owner));
    let is_left = !has_begun || microtask.is_some_and(|microtask| microtask.left);
    (has_stopped_modules || is_left) && !remote.is_disposed()
}

/// V8 calls this on the guest's thread, between two instructions of the guest.
unsafe extern "C" fn on_interrupt(isolate: v8::UnsafeRawIsolatePtr, _data: *mut std::ffi::c_void) {
    // SAFETY: V8 passes the isolate that is entered on this thread, for the time of this call.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    let Ok(guest) = Guest::of(&isolate) else {
        return;
    };
    let (Ok(remote), Some(realm)) = (guest.remote(), guest.realms.any()) else {
        return;
    };
    let noted = remote.running_jobs.note_interrupted(|| {
        // SAFETY: the interrupt runs inside V8 on this isolate's thread, as a callback scope requires.
        v8::callback_scope!(unsafe let scope, &mut isolate);
        let context = v8::Local::new(scope, &realm.context);
        let scope = &v8::ContextScope::new(scope, context);
        Interrupted { stack: convert::current_frames(scope), owner: async_context::owner(scope) }
    });
    if noted || remote.is_disposed() {
        isolate.terminate_execution();
    }
}

//! Snapshot creators: isolates that run one job on one thread, from beginning to end. Then V8 writes what the job has left in the isolate
//! into a snapshot. If V8 cannot write something, it treats that as an error of its embedder and would end the process. Here such an error
//! costs the thread instead.

use std::sync::{Arc, Mutex};

use super::current::address_of;
use super::job_execution;
use super::memory;
use super::parking::{UNWRITABLE, await_snapshot, unsupported};
use crate::engine::{self, BOOTSTRAP, Engine, Size, TaskSink, Unusable};
use crate::isolate::clock::{self, Alarm};
use crate::isolate::guest::Guest;
use crate::isolate::guest::attachments::detach_from_thread;
use crate::isolate::guest::codegen::on_code_generation;
use crate::isolate::job::{Deadline, Job};
use crate::isolate::policy;
use crate::isolate::remote::Remote;
use crate::isolate::remote::reason::Stop;
use crate::native::{self, lock};
use crate::value::{Budget, Code, Completion, ErrorClass, ExternalCopy, Fault, Handle, Outcome, Payload, Value};

const USING: &str = "The scripts of a snapshot must not use `using`";
const SHRUNK: &str = "The scripts of a snapshot must not make a resizable buffer smaller";

/// The outcome of the job, for this thread. The caller gets the snapshot instead.
struct FirstOutcome {
    outcome: Mutex<Option<Outcome>>,
    caller: Arc<dyn Completion>,
}

impl Completion for FirstOutcome {
    fn complete(&self, outcome: Outcome) {
        lock(&self.outcome).get_or_insert(outcome);
    }

    fn is_complete(&self) -> bool {
        self.caller.is_complete()
    }

    fn serves(&self, other: &Arc<dyn Completion>) -> bool {
        Arc::ptr_eq(&self.caller, other)
    }
}

/// Runs the one job of `remote` and answers it with the snapshot, as an `ExternalCopy`.
pub fn write(remote: &Arc<Remote>) {
    if let Some(job) = remote.mailbox.take() {
        let completion = Arc::clone(&job.completion);
        remote.when_ended(Arc::clone(&completion));
        let thread_guard = remote.execution.thread.take();
        completion.complete(perform(remote, job));
        drop(thread_guard);
    }
    remote.stop(Stop::Disposed);
    remote.end(|| {});
}

/// Collecting garbage and writing cannot be stopped, but the caller does not have to wait for it. The thread ends by itself.
fn answer_late(Deadline { limit, time }: Deadline, completion: &Arc<dyn Completion>) -> Alarm {
    let completion = Arc::clone(completion);
    clock::at(time + policy::termination_grace(), move || completion.complete(Err(Fault::deadline(limit))))
}

fn perform(remote: &Arc<Remote>, job: Job) -> Outcome {
    let engine = (remote.settings.engine)()?;
    let (origin, params) = engine.snapshot_creator_params(remote.settings.memory_limit, &remote.accounts.budget);
    let mut isolate = engine::make_snapshot_creator(origin, params);
    isolate.set_microtasks_policy(v8::MicrotasksPolicy::Explicit);
    isolate.set_modify_code_generation_from_strings_callback(on_code_generation);
    memory::install(&mut isolate);
    remote.execution.thread.learn_place(&isolate);
    engine::register_isolate(address_of(&isolate), &(Arc::clone(remote) as Arc<dyn TaskSink>));
    remote.execution.learn(&isolate);

    let waiting = Arc::clone(&job.completion);
    let caller = Arc::clone(&job.completion);
    await_snapshot(Some((Arc::clone(&waiting), USING)));
    let (left, _late) = engine::run_for_snapshot(|| leave_behind(&mut isolate, remote, job));
    engine::forget_isolate(address_of(&isolate));
    let keeps_code = matches!(left, Ok(Left { keeps_code: true, .. }));
    let code = if keeps_code { v8::FunctionCodeHandling::Keep } else { v8::FunctionCodeHandling::Clear };
    await_snapshot(Some((waiting, UNWRITABLE)));
    let write = || {
        // V8 requires that a snapshot is written in any case.
        let blob = isolate.create_blob(code);
        let (blob, left) = (blob.ok_or_else(failed)?, left?);
        if caller.is_complete() {
            return Err(Fault::Stopped);
        }
        let sealed = engine.seal_snapshot(&blob, left.size);
        try_out(remote, engine, &sealed, || !caller.is_complete())?;
        Ok(sealed)
    };
    // Memory that V8 takes to write the snapshot does not count for the guest.
    let written: Result<_, Fault> = native::with_quota(None, || engine::contain_fatal_errors(write));
    await_snapshot(None);
    let payload = Payload::buffer(written?);
    Ok(Value::Handle(Handle::ExternalCopy(ExternalCopy::new(Value::Payload(Box::new(payload))))))
}

fn failed() -> Fault {
    Fault::coded(ErrorClass::Error, "Failure creating snapshot", Code::Unsupported)
}

fn refused(reason: Unusable) -> Fault {
    match reason {
        Unusable::Abandoned => Fault::Stopped,
        Unusable::Content(message) => unsupported(message),
    }
}

/// What a job has left for the snapshot.
struct Left {
    size: Size,
    /// Compiled functions are part of the snapshot.
    keeps_code: bool,
}

/// Runs the job and prepares the isolate for the snapshot: with the realm that the job has kept, or with a new one if the job failed.
///
/// Hold the alarm until the snapshot is written.
fn leave_behind(
    isolate: &mut v8::OwnedIsolate,
    remote: &Arc<Remote>,
    job: Job,
) -> (Result<Left, Fault>, Option<Alarm>) {
    let plain = Plain::measure(isolate);
    let guest = Guest::attach(isolate, remote);
    let (caller, deadline) = (Arc::clone(&job.completion), job.limits.deadline);
    let outcome = Arc::new(FirstOutcome { outcome: Mutex::default(), caller: Arc::clone(&caller) });
    {
        v8::scope!(let scope, isolate);
        job_execution::run(
            scope,
            &guest,
            remote,
            Job { completion: Arc::clone(&outcome) as Arc<dyn Completion>, ..job },
        );
    }
    // Until here, the running job enforces the deadline.
    let late = deadline.map(|deadline| answer_late(deadline, &caller));
    let outcome = lock(&outcome.outcome).take().unwrap_or(Err(Fault::Stopped));
    // A termination may still be pending.
    isolate.cancel_terminate_execution();
    let left = {
        v8::scope!(let scope, isolate);
        let realm = outcome.and_then(|value| guest.realms.any().map(|realm| (realm, value)).ok_or_else(failed));
        let found = realm.map(|(realm, value)| (v8::Local::new(scope, &realm.context), value));
        guest.clear();
        scope.clear_kept_objects();
        scope.low_memory_notification();
        // Objects with a native part, such as those of `Intl`, have global handles.
        let foreign = scope.get_heap_statistics().used_global_handles_size() > plain.handles;
        let problem = if engine::have_shrunk_buffers() { Some(SHRUNK) } else { foreign.then_some(UNWRITABLE) };
        let found = found.and_then(|found| problem.map_or(Ok(found), |problem| Err(unsupported(problem))));
        let found = found.and_then(|found| {
            engine::prepare_for_snapshot(|| !caller.is_complete())
                .map_or_else(|reason| Err(refused(reason)), |()| Ok(found))
        });
        let (context, value) = match found {
            Ok((context, value)) => (context, Ok(value)),
            Err(fault) => (v8::Context::new(scope, v8::ContextOptions::default()), Err(fault)),
        };
        let complete = set_content(scope, context);
        value.and_then(|value| if complete { Ok(value) } else { Err(failed()) })
    };
    detach_from_thread::<Guest>(isolate);
    let heap = isolate.get_heap_statistics().used_heap_size().saturating_sub(plain.heap);
    let size = Size { heap, buffers: remote.accounts.budget.used(), space: remote.accounts.space.used() };
    (left.map(|value| Left { size, keeps_code: matches!(value, Value::Boolean(true)) }), late)
}

/// Starts an isolate and a context from the snapshot, and looks at all of their objects. A snapshot from which V8 cannot start, or that it does not
/// restore, must not be handed out. `awaited` says whether a caller still waits for it.
fn try_out(
    remote: &Arc<Remote>,
    engine: &Engine,
    sealed: &Arc<Vec<u8>>,
    awaited: impl FnMut() -> bool,
) -> Result<(), Fault> {
    let snapshot = engine.open_snapshot(Arc::clone(sealed)).ok_or_else(failed)?;
    let space = &remote.accounts.space;
    // The isolate that has made the snapshot is gone.
    let prepaid = engine::take_space_for_buffers(space, snapshot.size().space).ok_or_else(|| {
        Fault::coded(
            ErrorClass::Error,
            "The buffers of the snapshot take more address space than there is",
            Code::Memory,
        )
    })?;
    let budget = Budget::new(0);
    let params = engine.create_params(remote.settings.memory_limit, &budget, Some(&snapshot));
    let start = || {
        let mut isolate = engine::make_isolate(params);
        let address = address_of(&isolate);
        engine::register_isolate(address, &(Arc::clone(remote) as Arc<dyn TaskSink>));
        memory::install(&mut isolate);
        let verified = {
            v8::scope!(let scope, &mut isolate);
            v8::Context::new(scope, v8::ContextOptions::default());
            engine::verify_snapshot(address, awaited)
        };
        engine::forget_isolate(address);
        verified
    };
    engine::with_prepaid_space(&budget, space, prepaid, || budget.overdraw(start)).map_err(refused)
}

/// What an isolate has before any code runs in it.
struct Plain {
    handles: usize,
    heap: usize,
}

impl Plain {
    fn measure(isolate: &mut v8::Isolate) -> Self {
        let heap = isolate.get_heap_statistics();
        Self { handles: heap.used_global_handles_size(), heap: heap.used_heap_size() }
    }
}

/// Sets what the snapshot holds. False if the code that creates realms is missing.
fn set_content(scope: &mut v8::PinScope<'_, '_, ()>, context: v8::Local<'_, v8::Context>) -> bool {
    scope.set_default_context(context);
    let scope = &mut v8::ContextScope::new(scope, context);
    // Reading it removes it, but every snapshot must hold it.
    let bootstrap = scope.get_context_data_from_snapshot_once::<v8::Value>(BOOTSTRAP);
    bootstrap.is_ok_and(|value| scope.add_context_data(context, value) == BOOTSTRAP)
}

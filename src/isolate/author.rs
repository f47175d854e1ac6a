//! Isolates that end as snapshots: one job on one thread from beginning to end, then V8 writes down what it left behind.
//! V8 takes what it cannot write for an error of its embedder and would end the process; such an error costs the thread
//! instead.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use super::remote::{Remote, Stop, Whereabouts};
use super::{Guest, Job, entry, memory, run};
use crate::engine::{self, BOOTSTRAP, Size, TaskSink};
use crate::value::{Answer, Code, ErrorClass, ExternalCopy, Fault, Handle, Outcome, Payload, Value};

thread_local! {
    /// Who waits for the snapshot that V8 writes on this thread.
    static WAITING: RefCell<Option<Arc<dyn Answer>>> = const { RefCell::new(None) };
}

/// V8 has found something that it cannot write.
pub fn refuse() {
    if let Some(answer) = WAITING.with(|waiting| waiting.borrow_mut().take()) {
        answer.answer(Err(unwritable()));
    }
}

fn unwritable() -> Fault {
    let message = "The scripts leave something behind that V8 cannot put into a snapshot";
    Fault::coded(ErrorClass::Error, message, Code::Unsupported)
}

/// What the job has come to, for this thread. Whoever has asked gets something else.
#[derive(Default)]
struct Kept(Mutex<Option<Outcome>>);

impl Answer for Kept {
    fn answer(&self, outcome: Outcome) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(outcome);
    }
}

/// Does the one job of `remote` and answers it with the snapshot, as an `ExternalCopy`.
pub fn write(remote: &Arc<Remote>) {
    if let Some(job) = remote.take_job() {
        let answer = Arc::clone(&job.answer);
        remote.when_ended(Arc::clone(&answer));
        remote.meter.borrow_thread();
        answer.answer(perform(remote, job));
        remote.meter.give_back_thread();
    }
    remote.stop(Stop::Disposed);
    remote.lock().place = Whereabouts::Gone;
    remote.fail_queued(&Fault::disposed(false));
    remote.announce_gone();
}

fn perform(remote: &Arc<Remote>, job: Job) -> Outcome {
    let engine = (remote.settings.engine)();
    let (origin, params) = engine.author_params(remote.settings.memory_limit, &remote.budget);
    let mut isolate = engine::make_author(origin, params);
    isolate.set_microtasks_policy(v8::MicrotasksPolicy::Explicit);
    memory::install(&mut isolate);
    let guest = Guest::new(remote);
    isolate.set_slot(Arc::clone(&guest));
    let sink: Arc<dyn TaskSink> = Arc::clone(remote) as Arc<dyn TaskSink>;
    engine::register_isolate(run::address_of(&isolate), &sink);
    // Fails only if it was set before: each isolate is made once.
    let _ = remote.v8.set(isolate.thread_safe_handle());

    let kept = Arc::new(Kept::default());
    let waiting = Arc::clone(&job.answer);
    {
        v8::scope!(let scope, &mut isolate);
        entry::run(scope, &guest, remote, Job { answer: Arc::clone(&kept) as Arc<dyn Answer>, ..job });
    }
    let outcome = kept.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(Err(Fault::Stopped));
    // A termination may still be pending.
    isolate.cancel_terminate_execution();
    // V8 has to write a snapshot in any case: of a fresh context, where there is nothing to show.
    let complete = {
        v8::scope!(let scope, &mut isolate);
        let left = if outcome.is_ok() { guest.any_realm() } else { None };
        let context = match left {
            Some(realm) => v8::Local::new(scope, &realm.context),
            None => v8::Context::new(scope, v8::ContextOptions::default()),
        };
        let context_scope = &mut v8::ContextScope::new(scope, context);
        context_scope.clear_kept_objects();
        // What realms are made with has to be in every snapshot; taking it takes it out.
        let bootstrap = context_scope.get_context_data_from_snapshot_once::<v8::Value>(BOOTSTRAP);
        let complete = bootstrap.is_ok_and(|value| context_scope.add_context_data(context, value) == BOOTSTRAP);
        context_scope.set_default_context(context);
        complete
    };
    guest.clear();
    isolate.remove_slot::<Arc<Guest>>();
    drop(guest);
    isolate.low_memory_notification();
    let heap = isolate.get_heap_statistics().used_heap_size().saturating_sub(PLAIN);
    let size = Size { heap, buffers: remote.budget.used() };
    engine::forget_isolate(run::address_of(&isolate));

    WAITING.with(|place| *place.borrow_mut() = Some(waiting));
    let blob = engine::contain_fatal_errors(|| isolate.create_blob(v8::FunctionCodeHandling::Keep));
    WAITING.with(|place| place.borrow_mut().take());
    outcome?;
    let blob = blob.filter(|_| complete).ok_or_else(|| Fault::error("Failure creating snapshot"))?;
    let sealed = engine.seal_snapshot(&blob, size);
    Ok(Value::Handle(Handle::ExternalCopy(ExternalCopy::new(Value::Payload(Box::new(Payload::buffer(sealed)))))))
}

/// At most what the heap of an isolate with one untouched realm takes.
const PLAIN: usize = 1 << 20;

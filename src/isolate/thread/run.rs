//! How an isolate uses threads: it borrows one while it has work, keeps it for a moment in case more work comes, and returns it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::current::{CurrentIsolate, address_of};
use super::deferred_disposal::{self, DeferredDisposal};
use super::heap_tasks;
use super::job_execution;
use super::memory;
use super::pool_work;
use super::sessions::{self, open_inspector};
use super::snapshot_creator;
use super::suspender;
use crate::engine::{self, TaskSink, Unavailable, background};
use crate::isolate::clock;
use crate::isolate::guest::codegen::on_code_generation;
use crate::isolate::guest::{Guest, on_promise_reject};
use crate::isolate::job::{IsolateScope, Job, Kind, Sweep};
use crate::isolate::remote::Remote;
use crate::isolate::remote::body::Body;
use crate::isolate::remote::creation_queue;
use crate::isolate::remote::execution::Executor;
use crate::isolate::remote::lifecycle::{Action, Event};
use crate::isolate::remote::pending::Caused;
use crate::isolate::remote::reason::Stop;
use crate::isolate::remote::registry;
use crate::native;
use crate::value::{Completion, NoCompletion, Value};

/// How long a thread without work is kept before it returns to the pool.
const IDLE_TIMEOUT: Duration = Duration::from_millis(2);

/// How long the pool may go without starting any work.
const POOL_TIMEOUT: Duration = Duration::from_secs(5);

/// Counts what the pool has started.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// An isolate that waits for its thread. It is abandoned if none comes, unless the pool starts other work meanwhile.
struct Waiting(Arc<Remote>);

impl Waiting {
    /// The check to run after [`POOL_TIMEOUT`].
    fn watch(self: &Arc<Self>) -> impl FnOnce() + Send + use<> {
        let (waiting, before) = (Arc::downgrade(self), STARTED.load(Ordering::Relaxed));
        move || {
            let Some(waiting) = waiting.upgrade() else { return };
            if STARTED.load(Ordering::Relaxed) == before {
                without_thread(&waiting.0);
            } else {
                clock::after(POOL_TIMEOUT, Box::new(waiting.watch()) as Box<dyn FnOnce() + Send>);
            }
        }
    }
}

/// Runs the isolate on a pool thread. `body` is `None` if its V8 side must still be created, which may have to wait.
pub fn start(remote: Arc<Remote>, body: Option<Box<Body>>) {
    if body.is_some() {
        return start_on_pool(remote, body);
    }
    creation_queue::admit(move |permit| {
        remote.creation.begin(permit);
        start_on_pool(remote, None);
    });
}

fn start_on_pool(remote: Arc<Remote>, body: Option<Box<Body>>) {
    let failed = Arc::clone(&remote);
    // A pool that can start no thread keeps the work until one of its threads is free, which may be never.
    let waiting = Arc::new(Waiting(Arc::clone(&remote)));
    let alarm = clock::at(Instant::now() + POOL_TIMEOUT, waiting.watch());
    let is_new = body.is_none();
    let run_on_thread = move || {
        drop((alarm, waiting));
        STARTED.fetch_add(1, Ordering::Relaxed);
        run_on_thread(remote, body);
    };
    // Without these threads, the guest's limits would not be enforced.
    if !clock::is_running() || !suspender::start() {
        return without_thread(&failed);
    }
    if !engine::run_on_pool(run_on_thread) {
        // A new isolate has nothing to lose. The others wait for a while.
        if is_new { without_thread(&failed) } else { pool_work::retry() }
    }
}

/// The system starts no thread for the isolate.
fn without_thread(remote: &Remote) {
    remote.stop(Stop::NoThread);
    remote.abandon("No thread could be started");
}

fn run_on_thread(remote: Arc<Remote>, body: Option<Box<Body>>) {
    /// A panic is a bug of ours; without this, the callers of the isolate would wait forever.
    struct Watch(CurrentIsolate);
    impl Drop for Watch {
        fn drop(&mut self) {
            let remote = self.0.isolate();
            remote.creation.finish();
            if std::thread::panicking() {
                remote.abandon("Internal error");
            }
        }
    }
    background::set(remote.creation.is_warm());
    let _watch = Watch(CurrentIsolate::begin(&remote));
    let accounts = &remote.accounts;
    engine::with_budgets(&accounts.budget, &accounts.space, || {
        native::with_quota(accounts.quota.as_ref(), || make_and_serve(&remote, body));
    });
}

fn make_and_serve(remote: &Arc<Remote>, body: Option<Box<Body>>) {
    if body.is_none() && !engine::has_room(registry::alive()) {
        remote.stop(Stop::Memory);
        return remote.abandon("There is no address space for another isolate");
    }
    if body.is_none() && registry::has_lost_too_much() {
        remote.stop(Stop::Refused);
        return remote.end(|| {});
    }
    if remote.creation.is_snapshot_creator {
        remote.creation.finish();
        return snapshot_creator::write(remote);
    }
    if body.is_none() && remote.is_disposed() {
        return remote.end(|| {});
    }
    let body = body.or_else(|| make(remote).map(Box::new));
    remote.creation.finish();
    background::set(false);
    if let Some(body) = body {
        serve(remote, body);
    }
}

fn serve(remote: &Arc<Remote>, mut body: Box<Body>) {
    // Dropped before the body, also on a panic.
    let mut thread_guard = remote.execution.thread.take();
    loop {
        let ended = {
            let mut locker = body.lock();
            native::locks::disregard_held();
            // `make` has attached it.
            let Ok(guest) = Guest::of(&locker) else { return remote.abandon("Internal error") };
            loop {
                match remote.next() {
                    Next::Job(job) => {
                        let detached = job.kind == Kind::Detached;
                        let tends_heap = job.kind == Kind::Heap;
                        guest.tidy(remote);
                        v8::scope!(let scope, &mut *locker);
                        remote.execution.caller.set_tending_heap(tends_heap);
                        job_execution::run(scope, &guest, remote, job);
                        remote.execution.caller.set_tending_heap(false);
                        sessions::rest(scope, &guest, remote);
                        if detached {
                            remote.finish_detached();
                        }
                    }
                    Next::Idle { wanted } => {
                        remote.check_memory(&mut locker);
                        guest.tidy(remote);
                        if !wanted {
                            guest.compiled.write(&mut locker, remote, false);
                        }
                        break false;
                    }
                    Next::Ended => break true,
                }
            }
        };
        if ended {
            drop(thread_guard);
            background::set(true);
            remote.yield_to_waiter();
            return deferred_disposal::end(remote, body);
        }
        let mut queues = remote.mailbox.lock();
        if queues.is_empty() && !remote.is_disposed() {
            drop(thread_guard);
            let Action::Continue(refused) = remote.transition(&queues, Event::Rest(body)).action else {
                remote.mailbox.announce_rest(&mut queues);
                return heap_tasks::watch(remote, &mut queues);
            };
            drop(queues);
            (body, thread_guard) = (refused, remote.execution.thread.take());
        }
    }
}

fn make(remote: &Arc<Remote>) -> Option<Body> {
    let settings = &remote.settings;
    let snapshot = settings.snapshot.clone();
    let engine = match (settings.engine)() {
        Ok(engine) => engine,
        Err(reason) => {
            remote.stop(match reason {
                Unavailable::Memory => Stop::Memory,
                Unavailable::Unlimited => Stop::Unlimited,
                Unavailable::Threads => Stop::NoThread,
            });
            remote.abandon(reason.message());
            return None;
        }
    };
    let params = engine.create_params(settings.memory_limit, &remote.accounts.budget, snapshot.as_ref());
    let make = || engine::make_isolate(params);
    let mut isolate = if snapshot.is_some() { engine::contain_fatal_errors(make) } else { make() };
    isolate.set_microtasks_policy(v8::MicrotasksPolicy::Explicit);
    isolate.set_promise_reject_callback(on_promise_reject);
    isolate.set_modify_code_generation_from_strings_callback(on_code_generation);
    memory::install(&mut isolate);
    remote.execution.thread.learn_place(&isolate);
    // SAFETY: `serve` occupies the thread for as long as it has the body that the isolate becomes part of. No other thread that works for
    // the isolate has a body.
    unsafe { remote.execution.thread.learn_heap() };
    let guest = Guest::attach(&mut isolate, remote);
    (settings.install)(&mut isolate);
    let sink: Arc<dyn TaskSink> = Arc::clone(remote) as Arc<dyn TaskSink>;
    engine::register_isolate(address_of(&isolate), &sink);
    engine.count_isolate();
    remote.execution.learn(&isolate);
    if remote.settings.inspector {
        v8::scope!(let scope, &mut isolate);
        open_inspector(scope, &guest, remote);
    }
    if let Some(prepare) = remote.creation.take_preparation() {
        v8::scope!(let scope, &mut isolate);
        prepare(scope);
    }
    // SAFETY: everything that belongs to the isolate is `Send`, or moves only with it: what is attached, now and later, because of the bounds of
    // `attach` and the contract of `attach_to_thread`; the allocator (atomics only); the snapshot (shared bytes). Callbacks capture
    // nothing. No other data is set: Clippy refuses the crate's methods for that. This is the thread that created the isolate.
    match unsafe { isolate.try_into_shared() } {
        Ok(shared) => Some(Body::new(shared, snapshot)),
        Err(_) => {
            remote.abandon("The isolate cannot be shared between threads");
            None
        }
    }
}

enum Next {
    Job(Job),
    /// No work has come: the thread can be returned. `wanted`: a host's thread waits for the isolate.
    Idle {
        wanted: bool,
    },
    /// The isolate was stopped.
    Ended,
}

impl Executor for Remote {
    fn perform(&self, action: Action<Box<Body>>) {
        let Some(me) = self.me.upgrade() else { return };
        match action {
            Action::Start(body) => start(me, body),
            Action::Dispose(body) => deferred_disposal::defer(DeferredDisposal::Stopped(body, me, None)),
            Action::Wake => self.wake(),
            Action::None | Action::Enter(_) | Action::Continue(_) => {}
        }
    }
}

impl Remote {
    fn next(&self) -> Next {
        loop {
            let version = self.mailbox.version();
            if self.is_disposed() {
                return Next::Ended;
            }
            if let Some(job) = self.mailbox.take() {
                return Next::Job(job);
            }
            if self.execution.caller.take_wanted() {
                return Next::Idle { wanted: true };
            }
            if let Some(job) = self.mailbox.take_heap_task() {
                return Next::Job(job);
            }
            // V8's profiler, which sessions may have started, samples the thread it was started on.
            let limit = if self.inspector.port.has_sessions() { None } else { Some(IDLE_TIMEOUT) };
            if !self.spin(version) && !self.expect_work(version) && !self.mailbox.park(version, limit) {
                return Next::Idle { wanted: false };
            }
        }
    }
}

/// Queues a task of V8's platform. `when`: of which kind it is if it marks or sweeps C++ objects.
fn post(remote: &Remote, task: v8::Task, completion: Arc<dyn Completion>, when: Sweep) {
    let is_on_caller = remote.execution.caller.has_entered();
    let kind = if is_on_caller && engine::works_on_heap(&task) { Kind::Heap } else { Kind::Background };
    let sweep = engine::works_on_cpp_heap(&task).then_some(when);
    let work = Box::new(|_: &mut IsolateScope<'_, '_>| {
        task.run();
        Ok(Value::Undefined)
    });
    let job = Job::new(kind, completion, work).sweeping(sweep);
    if kind == Kind::Heap { heap_tasks::post(remote, job) } else { remote.post(job) }
}

impl TaskSink for Remote {
    fn post(&self, task: v8::Task, delay: Duration) {
        if delay.is_zero() {
            post(self, task, Arc::new(NoCompletion), Sweep::Prompt);
        } else {
            let me = self.me.clone();
            // V8 looks for garbage again some seconds after a collection. That does not continue the guest.
            let pending = (!engine::works_on_heap(&task)).then(|| self.pending_event());
            self.execution.delayed_tasks.add(self.accounts.quota.as_ref(), delay, move || {
                if let Some(remote) = me.upgrade() {
                    let completion: Arc<dyn Completion> = Arc::new(NoCompletion);
                    let completion = match pending {
                        Some(pending) => Caused::by(pending, completion),
                        None => completion,
                    };
                    post(&remote, task, completion, Sweep::Delayed);
                }
            });
        }
    }
}

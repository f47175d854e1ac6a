//! V8's platform: its own worker threads for background work, and foreground tasks that are passed to the isolate that they belong to.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};
use std::time::Duration;

use super::{Heap, threads};
use crate::native::lock;

/// Receives an isolate's foreground tasks.
pub trait TaskSink: Send + Sync {
    /// Runs `task` on the isolate's thread, after `delay`. May be called on any thread.
    fn post(&self, task: v8::Task, delay: Duration);
}

enum Entry {
    Registered(Weak<dyn TaskSink>),
    /// Tasks that V8 posted while the isolate was being made.
    Early(Vec<(v8::Task, Duration)>),
}

/// Number of isolates that are currently being created. Only they have tasks before they are registered.
static MAKING: AtomicUsize = AtomicUsize::new(0);

/// Runs V8's constructor of an isolate. The caller must then register the isolate.
pub fn make_isolate(params: v8::CreateParams) -> v8::OwnedIsolate {
    MAKING.fetch_add(1, Ordering::AcqRel);
    Heap::forget_last();
    v8::Isolate::new(params)
}

/// Like [`make_isolate`], for an isolate from which a snapshot is made.
pub fn make_snapshot_creator(snapshot: v8::StartupData, params: v8::CreateParams) -> v8::OwnedIsolate {
    MAKING.fetch_add(1, Ordering::AcqRel);
    v8::Isolate::snapshot_creator_from_existing_snapshot(snapshot, None, Some(params))
}

static ISOLATES: LazyLock<Mutex<HashMap<usize, Entry>>> = LazyLock::new(Mutex::default);

/// From now on `sink` receives the foreground tasks of the isolate at `pointer`.
pub fn register_isolate(pointer: *const c_void, sink: &Arc<dyn TaskSink>) {
    let mut isolates = lock(&ISOLATES);
    let previous = isolates.insert(pointer as usize, Entry::Registered(Arc::downgrade(sink)));
    MAKING.fetch_sub(1, Ordering::AcqRel);
    drop(isolates);
    if let Some(Entry::Early(tasks)) = previous {
        for (task, delay) in tasks {
            sink.post(task, delay);
        }
    }
}

/// The isolate at `pointer` is about to be disposed: tasks that still arrive are dropped.
pub fn forget_isolate(pointer: *const c_void) {
    lock(&ISOLATES).remove(&(pointer as usize));
}

struct Foreground;

impl Foreground {
    fn deliver(&self, isolate: *mut c_void, task: v8::Task, delay_in_seconds: f64) {
        let delay = Duration::try_from_secs_f64(delay_in_seconds).unwrap_or_default();
        let mut isolates = lock(&ISOLATES);
        if MAKING.load(Ordering::Acquire) == 0 && !isolates.contains_key(&(isolate as usize)) {
            // A late task of an isolate that no longer exists.
            drop(isolates);
            return drop(task);
        }
        match isolates.entry(isolate as usize).or_insert_with(|| Entry::Early(Vec::new())) {
            Entry::Early(tasks) => tasks.push((task, delay)),
            Entry::Registered(sink) => {
                let sink = sink.upgrade();
                // Dropping a task may call back into the platform, so it must not happen under the lock.
                drop(isolates);
                if let Some(sink) = sink {
                    sink.post(task, delay);
                }
            }
        }
    }
}

impl v8::PlatformImpl for Foreground {
    fn post_task(&self, isolate: *mut c_void, task: v8::Task) {
        self.deliver(isolate, task, 0.0);
    }

    fn post_non_nestable_task(&self, isolate: *mut c_void, task: v8::Task) {
        self.deliver(isolate, task, 0.0);
    }

    fn post_delayed_task(&self, isolate: *mut c_void, task: v8::Task, delay_in_seconds: f64) {
        self.deliver(isolate, task, delay_in_seconds);
    }

    fn post_non_nestable_delayed_task(&self, isolate: *mut c_void, task: v8::Task, delay_in_seconds: f64) {
        self.deliver(isolate, task, delay_in_seconds);
    }

    fn post_idle_task(&self, _isolate: *mut c_void, _task: v8::IdleTask) {}
}

/// Without thread-isolated allocations, since isolates run on threads that may be older than V8.
pub fn new() -> v8::SharedRef<v8::Platform> {
    v8::new_custom_platform(threads::of_v8(), false, true, Foreground).make_shared()
}

//! V8's delayed tasks of one isolate, such as the timeouts of `Atomics.waitAsync`. If a waiter is notified, V8 cancels its task, but the
//! platform keeps the task until it is due. So each task counts for the isolate until then, and all are dropped when the isolate ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use slab::Slab;

use super::clock::{self, Alarm};
use super::remote::Remote;
use super::run;
use crate::native::{Held, NativeQuota, Share};

/// Bytes that a task takes: V8's object, the alarm and the entries in two tables.
const TASK_BYTES: usize = 256;

struct Delayed {
    _alarm: Alarm,
    _held: Option<Held>,
}

#[derive(Default)]
pub struct DelayedTasks(Mutex<Slab<Delayed>>);

impl DelayedTasks {
    fn lock(&self) -> MutexGuard<'_, Slab<Delayed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts `task` to `remote`, whose tasks these are, after `delay`.
    pub fn add(&self, remote: Weak<Remote>, quota: Option<&Arc<NativeQuota>>, task: v8::Task, delay: Duration) {
        // Not under the lock: this may stop the isolate.
        let held = quota.map(|quota| Share::of(quota, TASK_BYTES).hold());
        let mut tasks = self.lock();
        let entry = tasks.vacant_entry();
        let id = entry.key();
        let alarm = clock::at(Instant::now() + delay, move || {
            let Some(remote) = remote.upgrade() else { return };
            if remote.delayed_tasks.remove(id) {
                remote.post(run::platform_job(task));
            }
        });
        entry.insert(Delayed { _alarm: alarm, _held: held });
    }

    /// False if the isolate has ended.
    fn remove(&self, id: usize) -> bool {
        // Dropped outside the lock: it may hold the last handle on something.
        let removed = self.lock().try_remove(id);
        removed.is_some()
    }

    /// Drops all tasks.
    pub fn clear(&self) {
        let tasks = std::mem::take(&mut *self.lock());
        drop(tasks);
    }
}

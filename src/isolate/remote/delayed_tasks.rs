//! V8's delayed tasks of one isolate, such as the timeouts of `Atomics.waitAsync`. If a waiter is notified, V8 cancels its task, but the
//! platform keeps the task until it is due. So each task counts for the isolate until then, and all are dropped when the isolate ends.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use slab::Slab;

use crate::isolate::clock::{self, Alarm};
use crate::native::{NativeQuota, Share, ShareGuard, lock};

/// Bytes that a task takes: V8's object, the alarm and the entries in two tables.
const TASK_BYTES: usize = 256;

struct Delayed {
    _alarm: Alarm,
    _held: Option<ShareGuard>,
}

#[derive(Default)]
pub struct DelayedTasks(Arc<Mutex<Slab<Delayed>>>);

impl DelayedTasks {
    /// Calls `post` after `delay`, unless the isolate has ended by then.
    pub fn add(&self, quota: Option<&Arc<NativeQuota>>, delay: Duration, post: impl FnOnce() + Send + 'static) {
        // Not under the lock: this may stop the isolate.
        let held = quota.map(|quota| Share::of(quota, TASK_BYTES).hold());
        let all = Arc::downgrade(&self.0);
        let mut tasks = lock(&self.0);
        let entry = tasks.vacant_entry();
        let id = entry.key();
        let alarm = clock::at(Instant::now() + delay, move || {
            // Dropped outside the lock: it may hold the last handle on something.
            let task = all.upgrade().and_then(|all| lock(&all).try_remove(id));
            if task.is_some() {
                post();
            }
        });
        entry.insert(Delayed { _alarm: alarm, _held: held });
    }

    /// Drops all tasks.
    pub fn clear(&self) {
        let tasks = std::mem::take(&mut *lock(&self.0));
        drop(tasks);
    }
}

//! Work of a guest that no call waits for: its detached jobs, and modules that V8 compiles.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::outcomes::Outcomes;
use crate::engine;
use crate::isolate::job::Kind;
use crate::native::lock;
use crate::value::{Completion, Value};

/// See [`DetachedWork::note_compiling`].
const MAX_COMPILED_IN_A_ROW: u32 = 64;

#[derive(Default)]
pub struct DetachedWork {
    /// Detached jobs that are queued or running, plus one while the host waits for a module that V8 compiles.
    count: AtomicU32,
    compiles: AtomicBool,
    compiling_counts: AtomicBool,
    /// Consecutive compilations that only the guest's own compilations and timers have caused.
    compiled_in_a_row: AtomicU32,
    /// Events that will cause more: see [`super::pending`].
    pub(in crate::isolate) pending: AtomicUsize,
    pub(in crate::isolate) outcomes: Outcomes,
    /// Keeps the isolate alive meanwhile, if a caller waits.
    pub(in crate::isolate) keep_alive: Mutex<Option<Box<dyn Send>>>,
    /// Answered when there is no work.
    drained: Mutex<Vec<Arc<dyn Completion>>>,
}

impl DetachedWork {
    pub fn exists(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Whether the host waits for a module that V8 compiles.
    pub fn compiles(&self) -> bool {
        self.compiling_counts.load(Ordering::Relaxed)
    }

    pub fn begin(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    /// True if it was the last work.
    pub fn finish(&self) -> bool {
        self.count.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub fn when_drained(&self, completion: Arc<dyn Completion>) {
        lock(&self.drained).push(completion);
    }

    pub fn announce_drained(&self) {
        let drained = std::mem::take(&mut *lock(&self.drained));
        for completion in drained {
            completion.complete(Ok(Value::Undefined));
        }
    }

    /// Records, after a job of kind `kind`, whether V8 compiles a module asynchronously. This is work of the guest's own that keeps the
    /// host alive, because it may end in a call of the host. A guest that compiles again and again does not keep a host alive unless a
    /// caller awaits one of the guest's promises. True if it was the last work and is over.
    pub fn note_compiling(&self, isolate: &v8::Isolate, kind: Kind, is_awaited: impl FnOnce() -> bool) -> bool {
        let began = engine::began_compiling();
        if !began && !self.compiles.load(Ordering::Relaxed) {
            return false;
        }
        if !matches!(kind, Kind::Background | Kind::Heap | Kind::Timer) {
            self.compiled_in_a_row.store(0, Ordering::Relaxed);
        } else if began {
            self.compiled_in_a_row.fetch_add(1, Ordering::Relaxed);
        }
        let is_endless = self.compiled_in_a_row.load(Ordering::Relaxed) > MAX_COMPILED_IN_A_ROW;
        let compiles = isolate.has_pending_background_tasks();
        self.compiles.store(compiles, Ordering::Relaxed);
        let counts = compiles && (!is_endless || is_awaited());
        let counted = self.compiling_counts.swap(counts, Ordering::Relaxed);
        if counts && !counted {
            self.begin();
        }
        counted && !counts && self.finish()
    }
}

//! Counts of all isolates of the process, and the memory that each takes: its creator's garbage collector sees only a handle.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use super::reason::End;
use crate::isolate::policy;
use crate::native::{Guard, lock};

const ENDS: usize = 5;

static MADE: AtomicU64 = AtomicU64::new(0);
static ENDED: [AtomicU64; ENDS] = [const { AtomicU64::new(0) }; ENDS];
static WARM: AtomicU64 = AtomicU64::new(0);
static IDLE: AtomicU64 = AtomicU64::new(0);
static LOST_THREADS: AtomicU64 = AtomicU64::new(0);
static LOST_RUNNING: AtomicU64 = AtomicU64::new(0);

/// An isolate as something that takes memory.
pub trait Footprint: Send + Sync {
    /// Bytes that it takes at this moment. Must not wait for a guest.
    fn taken(&self) -> usize;
}

/// Isolates whose threads are lost. An isolate must not be dropped under this lock.
static LOST: Mutex<Vec<Weak<dyn Footprint>>> = Mutex::new(Vec::new());

fn lost() -> Guard<'static, Vec<Weak<dyn Footprint>>> {
    lock(&LOST)
}

/// The counts at one moment. `ended` is in the order of [`End`].
#[derive(Clone, Copy, Debug)]
pub struct Registry {
    pub made: u64,
    pub ended: [u64; ENDS],
    /// Isolates without a thread.
    pub idle: u64,
    /// Warm isolates, which wait to be taken into use. No other count includes them.
    pub warm: u64,
    /// Threads whose guests do not return.
    pub lost_threads: u64,
    /// Those of them that still take processor time.
    pub lost_running: u64,
    /// Bytes that the isolates of those threads take at this moment.
    pub lost_bytes: usize,
}

/// Bytes that the isolates of lost threads take at this moment. Never waits for a guest.
fn lost_bytes() -> usize {
    let lost: Vec<_> = lost().clone();
    lost.iter().filter_map(Weak::upgrade).map(|isolate| isolate.taken().saturating_add(OVERHEAD)).sum()
}

/// Whether isolates of lost threads take so much memory that no more isolates may be created.
pub(in crate::isolate) fn has_lost_too_much() -> bool {
    LOST_THREADS.load(Ordering::SeqCst) > 0 && lost_bytes() > policy::lost_memory_limit()
}

/// Never waits for a guest.
pub fn registry() -> Registry {
    let lost_bytes = lost_bytes();
    // `ended` first: an isolate that has ended was created before.
    let ended = std::array::from_fn(|end| ENDED[end].load(Ordering::SeqCst));
    Registry {
        ended,
        idle: IDLE.load(Ordering::SeqCst),
        warm: WARM.load(Ordering::SeqCst),
        lost_threads: LOST_THREADS.load(Ordering::SeqCst),
        lost_running: LOST_RUNNING.load(Ordering::SeqCst),
        lost_bytes,
        made: MADE.load(Ordering::SeqCst),
    }
}

/// Isolates that take memory, including warm ones and those whose threads are lost.
pub(in crate::isolate) fn alive() -> u64 {
    let load = |count: &AtomicU64| count.load(Ordering::SeqCst);
    let ended: u64 = ENDED.iter().map(load).sum();
    (load(&MADE) + load(&WARM) + load(&LOST_THREADS)).saturating_sub(ended)
}

/// An isolate returns its thread.
pub(in crate::isolate) fn enter_idle() {
    IDLE.fetch_add(1, Ordering::SeqCst);
}

/// An idle isolate gets a thread, or ends.
pub(in crate::isolate) fn leave_idle() {
    IDLE.fetch_sub(1, Ordering::SeqCst);
}

/// Tracks the memory of isolates.
pub trait MemoryObserver: Send + Sync {
    /// An isolate takes `bytes` more than before. Like all of this trait, called on any thread; must not block.
    fn changed(&self, bytes: i64);
    /// An isolate has ended, for which `bytes` were recorded.
    fn close(&self, bytes: i64);
}

/// Bytes that a fresh isolate takes outside its heap, measured.
const OVERHEAD: usize = 700 << 10;

/// Bytes that a fresh isolate with one context takes in total, measured.
pub const FRESH: usize = 1_100 << 10;

/// One isolate's account. If it is dropped without `end`, the isolate counts as collected.
pub(in crate::isolate) struct Account(Mutex<AccountState>);

struct AccountState {
    warm: bool,
    ended: bool,
    /// Set while the isolate's thread is lost.
    lost: Option<Loss>,
    /// The most memory that the isolate is known to have taken. It does not shrink before the end, so that a guest cannot make its host
    /// collect over and over.
    recorded: usize,
    observer: Option<Weak<dyn MemoryObserver>>,
}

struct Loss {
    isolate: Weak<dyn Footprint>,
    /// The thread still runs.
    running: bool,
}

impl AccountState {
    fn observer(&self) -> Option<Arc<dyn MemoryObserver>> {
        self.observer.as_ref().and_then(Weak::upgrade)
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl Account {
    pub(in crate::isolate) fn open(warm: bool) -> Self {
        let count = if warm { &WARM } else { &MADE };
        count.fetch_add(1, Ordering::SeqCst);
        Self(Mutex::new(AccountState { warm, ended: false, lost: None, recorded: FRESH, observer: None }))
    }

    /// A warm isolate is taken into use.
    pub(in crate::isolate) fn take_into_use(&self) {
        let mut state = lock(&self.0);
        if state.warm && !state.ended {
            state.warm = false;
            // In this order: a count taken in between is one too high, never one too low.
            MADE.fetch_add(1, Ordering::SeqCst);
            WARM.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Reports the isolate's memory to `observer` from now on. Returns the bytes it takes already; `None` if it has ended or another observer
    /// tracks it.
    pub(in crate::isolate) fn charge(&self, observer: Weak<dyn MemoryObserver>) -> Option<usize> {
        let mut state = lock(&self.0);
        if state.ended || state.observer.is_some() {
            return None;
        }
        state.observer = Some(observer);
        Some(state.recorded)
    }

    /// Records the measured bytes of the heap and the buffers.
    pub(in crate::isolate) fn measured(&self, bytes: usize) {
        let mut state = lock(&self.0);
        let bytes = bytes.saturating_add(OVERHEAD);
        let more = bytes.saturating_sub(state.recorded);
        if more == 0 || state.ended {
            return;
        }
        // Under the lock: an observer must never get `close` before all bytes that it closes were recorded.
        if let Some(observer) = state.observer() {
            observer.changed(signed(more));
        }
        state.recorded = bytes;
    }

    /// The isolate's memory is free again, or never will be. Only the first end counts.
    pub(in crate::isolate) fn end(&self, end: End) {
        let mut state = lock(&self.0);
        if state.ended {
            return;
        }
        state.ended = true;
        if state.warm {
            WARM.fetch_sub(1, Ordering::SeqCst);
        } else {
            ENDED[end as usize].fetch_add(1, Ordering::SeqCst);
        }
        if let Some(observer) = state.observer() {
            observer.close(signed(state.recorded));
        }
    }

    /// The thread of this account's `isolate` does not return, so its memory is lost too. `running`: the thread still runs.
    pub(in crate::isolate) fn lose(&self, isolate: Weak<dyn Footprint>, running: bool) {
        let mut state = lock(&self.0);
        if state.lost.is_none() {
            lost().push(Weak::clone(&isolate));
            state.lost = Some(Loss { isolate, running });
            LOST_THREADS.fetch_add(1, Ordering::SeqCst);
            LOST_RUNNING.fetch_add(u64::from(running), Ordering::SeqCst);
        }
    }

    /// The lost thread was stopped permanently.
    pub(in crate::isolate) fn freeze(&self) {
        if let Some(loss) = &mut lock(&self.0).lost
            && std::mem::take(&mut loss.running)
        {
            LOST_RUNNING.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// The thread has returned after all.
    pub(in crate::isolate) fn recover(&self) {
        if let Some(loss) = lock(&self.0).lost.take() {
            LOST_THREADS.fetch_sub(1, Ordering::SeqCst);
            LOST_RUNNING.fetch_sub(u64::from(loss.running), Ordering::SeqCst);
            lost().retain(|isolate| !isolate.ptr_eq(&loss.isolate));
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.recover();
        self.end(End::Collected);
    }
}

//! What an isolate may take and has taken, in its heap, outside of it, and in its hosts.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::full_collections::FullCollections;
use super::meter::Meter;
use super::registry::Account;
use crate::engine;
use crate::native::{NativeQuota, lock};
use crate::protocol::heap_statistic;
use crate::value::Budget;

/// Figures of a heap, each at its index of `heap_statistic`; all but the contexts and the flag in bytes.
pub type HeapFigures = [usize; heap_statistic::ALL.len()];

/// A value may take more bytes outside a heap than inside: what the heap holds once is written at each reference to it.
const CLONE_PER_HEAP: usize = 4;

/// Bounds of [`max_outside`].
const MIN_OUTSIDE: usize = 64 << 20;
const MAX_OUTSIDE: usize = 512 << 20;

/// The most bytes that one value may carry out of an isolate with this memory limit, and that a host may hold for its guest.
pub fn max_outside(memory_limit: usize) -> usize {
    memory_limit.saturating_mul(CLONE_PER_HEAP).clamp(MIN_OUTSIDE, MAX_OUTSIDE)
}

/// Bytes of answers that a guest may have before it reads them.
pub fn max_answers(memory_limit: usize) -> usize {
    max_outside(memory_limit).max(memory_limit)
}

/// References to values of hosts, and functions of hosts, that a guest may hold at its own request. With a large memory limit,
/// [`BYTES_PER_REFERENCE`] allows more.
const MAX_REFERENCES: usize = 10_000;
/// Bytes of the memory limit for each such reference, if that allows more than [`MAX_REFERENCES`].
const BYTES_PER_REFERENCE: usize = 16 << 10;

/// The budget for references of an isolate with this memory limit.
fn references(memory_limit: usize) -> Arc<Budget> {
    Budget::new(MAX_REFERENCES.max(memory_limit / BYTES_PER_REFERENCE))
}

/// Handles on values of a guest that others may hold before it may hand out no more. With a large memory limit, [`BYTES_PER_HANDLE`] allows
/// more.
const MAX_HANDED_OUT: u32 = 100_000;
/// Bytes of the memory limit for each such handle, if that allows more than [`MAX_HANDED_OUT`].
const BYTES_PER_HANDLE: usize = 1 << 10;

/// A guest was seen to fill the memory limit several times over with small blocks.
const MAX_SMALL: usize = 4;

/// The heap as it was last looked at.
#[derive(Default)]
struct SeenHeap {
    figures: Mutex<Option<HeapFigures>>,
    used: AtomicUsize,
    size: AtomicUsize,
}

pub struct Accounts {
    /// Bytes of buffers.
    pub budget: Arc<Budget>,
    /// V8's memory other than its heap and buffers; no limit if the isolate can be inspected.
    pub(in crate::isolate) quota: Option<Arc<NativeQuota>>,
    /// Address space that buffers reserve.
    pub(in crate::isolate) space: Arc<Budget>,
    /// Bytes outside the guest's heap of calls that the guest does not wait for, from question to answer.
    pub outstanding: Arc<Budget>,
    /// Bytes of what hosts have answered, until the guest reads it. A guest can call a host thousands of times before it reads an answer.
    pub answers: Arc<Budget>,
    /// Bytes of the guest's values that a host may hold until it answers, measured as they are in the host: the host's function keeps them
    /// until it is done.
    pub held: Arc<Budget>,
    /// The same for calls whose answer the guest ignores.
    pub posted: Arc<Budget>,
    /// Bytes of the copies that the guest has made and holds outside its heap.
    pub copies: Arc<Budget>,
    /// References to values of hosts, and functions of hosts, that the guest was given at its own request and may still use.
    pub references: Arc<Budget>,
    pub meter: Meter,
    /// The entry in the process's registry.
    pub(in crate::isolate) account: Arc<Account>,
    seen: SeenHeap,
    pub(in crate::isolate) collections: FullCollections,
    /// The isolate has received memory of a host.
    pub shares_memory: AtomicBool,
    /// Buffers in the isolate whose memory a host has given away.
    pub(in crate::isolate) host_memory_holders: Arc<AtomicUsize>,
}

impl Accounts {
    /// `shared_references`: the budget for references, if it is not the isolate's own.
    pub(in crate::isolate) fn new(
        memory_limit: usize,
        shared_references: Option<Arc<Budget>>,
        quota: Option<Arc<NativeQuota>>,
        account: Account,
    ) -> Self {
        let [budget, outstanding, posted, copies] = std::array::from_fn(|_| Budget::new(memory_limit));
        Self {
            budget,
            quota,
            space: engine::address_space(),
            outstanding,
            answers: Budget::new(max_answers(memory_limit)),
            held: Budget::new(max_outside(memory_limit)),
            posted,
            copies,
            references: shared_references.unwrap_or_else(|| references(memory_limit)),
            meter: Meter::default(),
            account: Arc::new(account),
            seen: SeenHeap::default(),
            collections: FullCollections::default(),
            shares_memory: AtomicBool::new(false),
            host_memory_holders: Arc::default(),
        }
    }

    /// Handles on values of the guest that others may hold before it may hand out no more. A host releases the handles that it drops on a
    /// turn of its event loop.
    pub fn max_handles(&self) -> u32 {
        let share = u32::try_from(self.budget.limit() / BYTES_PER_HANDLE).unwrap_or(u32::MAX);
        share.max(MAX_HANDED_OUT)
    }

    /// Stores measured figures of the heap.
    pub(in crate::isolate) fn measured(&self, figures: HeapFigures) {
        self.meter.saw_heap(figures[heap_statistic::USED_HEAP_SIZE as usize]);
        let total = figures[heap_statistic::TOTAL_HEAP_SIZE as usize];
        self.saw_heap(figures[heap_statistic::USED_HEAP_SIZE as usize], total);
        self.account.measured(total.saturating_add(self.outside_heap()));
        *lock(&self.seen.figures) = Some(figures);
    }

    /// Stores how many bytes of the heap are in use, and its size.
    pub(in crate::isolate) fn saw_heap(&self, used: usize, total: usize) {
        self.seen.used.store(used, Ordering::Relaxed);
        self.seen.size.store(total, Ordering::Relaxed);
    }

    /// Bytes of the heap that were in use, and its size, when it was last looked at.
    pub(in crate::isolate) fn heap(&self) -> (usize, usize) {
        (self.seen.used.load(Ordering::Relaxed), self.seen.size.load(Ordering::Relaxed))
    }

    /// The last measured figures of the heap.
    pub fn figures(&self) -> Option<HeapFigures> {
        *lock(&self.seen.figures)
    }

    /// Bytes of buffers, and of V8's other memory outside its heap.
    pub(in crate::isolate) fn outside_heap(&self) -> usize {
        self.budget.used().saturating_add(self.quota.as_ref().map_or(0, |quota| quota.used()))
    }

    /// Bytes of V8's blocks that are too small to count. This is not exact, so it is limited to what a guest can reach.
    pub(in crate::isolate) fn small_blocks(&self) -> usize {
        let most = self.budget.limit().saturating_mul(MAX_SMALL);
        self.quota.as_ref().map_or(0, |quota| quota.small()).min(most)
    }

    /// The peak of V8's memory outside its heap and buffers.
    pub(in crate::isolate) fn max_native(&self) -> usize {
        self.quota.as_ref().map_or(0, |quota| quota.peak())
    }

    /// Whether V8 may take so much more memory outside the heap and buffers. False if that has no limit.
    pub(in crate::isolate) fn has_native_room(&self, bytes: usize) -> bool {
        self.quota.as_ref().is_some_and(|quota| quota.used().saturating_add(bytes) <= quota.guest_limit())
    }

    /// Whether the isolate has memory that belongs to a host.
    pub(in crate::isolate) fn has_host_memory(&self) -> bool {
        self.shares_memory.load(Ordering::SeqCst) || self.host_memory_holders.load(Ordering::SeqCst) > 0
    }
}

//! Work of V8's own threads that can be abandoned, so that it takes no more memory than its isolate may have, and does not continue for long after the
//! isolate has ended. V8 does not foresee that for the optimization of WebAssembly: it takes memory and time by the square of a function's size, and
//! cannot be cancelled.
//!
//! The work runs on a fiber. It is abandoned when a zone grows while the thread holds no lock, or when it asks for memory at the end of its stack: then
//! only its own memory and its fiber refer to its state. Its memory is freed. An isolate has few attempts that are abandoned, since their time was wasted.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::fiber::{self, Fiber, Pause};
use super::quota::{NativeQuota, pass_on_small, with_quota_in_background};
use super::{context, locks};

/// Maximum processor time of an attempt.
const MAX_TIME: Duration = Duration::from_secs(4);

/// An isolate may have this many attempts that are abandoned.
const MAX_ABANDONED: usize = 4;

type Object = *mut c_void;

/// A segment of a zone.
struct Segment {
    allocator: Object,
    address: Object,
    /// The thread held a lock: others may use the zone.
    may_be_shared: bool,
}

impl Segment {
    /// The zone, which is what a segment begins with.
    ///
    /// # Safety
    /// V8 has added the segment to a zone, and has not freed it.
    unsafe fn zone(&self) -> usize {
        // SAFETY: guaranteed by the caller.
        unsafe { *self.address.cast::<usize>() }
    }
}

struct Attempt<'a> {
    quota: &'a Arc<NativeQuota>,
    /// The processor time of the thread when it began.
    begun: Duration,
    segments: RefCell<Vec<Segment>>,
    /// Other blocks that were allocated without a lock, by address.
    blocks: RefCell<HashSet<usize>>,
}

/// How many attempts run. Without one, the allocator does without thread-local data.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// A fiber on which nothing runs.
    static FREE: Cell<Option<Box<Fiber>>> = const { Cell::new(None) };
}

unsafe extern "C" {
    /// `v8::internal::AccountingAllocator::ReturnSegment`.
    #[link_name = "__real__ZN2v88internal19AccountingAllocator13ReturnSegmentEPNS0_7SegmentE"]
    fn free_segment(allocator: Object, segment: Object);
    /// In `malloc`.
    #[link_name = "__wrap_free"]
    fn free_block(block: Object);
}

core::arch::global_asm!(".hidden __wrap__ZN2v88internal19AccountingAllocator13ReturnSegmentEPNS0_7SegmentE");

/// Whether an attempt may begin for the isolate with `quota`: it does not end, and few were abandoned.
pub fn may_attempt(quota: &NativeQuota) -> bool {
    quota.can_compile(0) && quota.tasks().abandoned() < MAX_ABANDONED
}

/// Runs `work` for the isolate with `quota`, on one of V8's own threads. `None` if it was abandoned: then what it refers to has to be usable, whatever it
/// has done until then. Of the blocks that it has allocated without a lock, only those at the addresses `kept` remain.
pub fn attempt<T, const N: usize>(
    quota: &Arc<NativeQuota>,
    kept: impl FnOnce() -> [usize; N],
    work: impl FnOnce() -> T,
) -> Option<T> {
    struct Job<'a, W, T> {
        attempt: Attempt<'a>,
        work: Cell<Option<W>>,
        result: Cell<Option<T>>,
    }

    fn run<W: FnOnce() -> T, T>(job: *const c_void) {
        // SAFETY: the job that is passed below, which lives until the fiber is done or was left.
        let job = unsafe { &*job.cast::<Job<'_, W, T>>() };
        let Some(work) = job.work.take() else { return };
        // SAFETY: the attempt lives as long as the job, and is forgotten before the fiber is used again.
        context::with(|context| unsafe { context.engine.attempt.replace((&raw const job.attempt).cast()) });
        job.result.set(Some(with_quota_in_background(job.attempt.quota, work)));
        // SAFETY: as above.
        context::with(|context| unsafe { context.engine.attempt.replace(ptr::null()) });
    }

    fn job_of<W: FnOnce() -> T, T>(_: &Job<'_, W, T>) -> fn(*const c_void) {
        run::<W, T>
    }

    // Without memory for a stack, the work cannot be abandoned.
    let Some(fiber) = FREE.take().or_else(|| fiber::prepare_thread().then(Fiber::new).flatten()) else {
        return Some(work());
    };
    let attempt = Attempt { quota, begun: processor_time(), segments: RefCell::default(), blocks: RefCell::default() };
    let job = Job { attempt, work: Cell::new(Some(work)), result: Cell::new(None) };
    fiber.context().entered.set(super::tasks::entered());
    fiber.context().reserve.set(fiber.reserve());
    // SAFETY: the job lives until the fiber is done or was left, and has this type.
    unsafe { fiber.begin(job_of(&job), (&raw const job).cast()) };
    RUNNING.fetch_add(1, Ordering::Relaxed);
    let pause = fiber.resume();
    RUNNING.fetch_sub(1, Ordering::Relaxed);
    // At the end of the reserve of its stack, the work may have been in the middle of anything. Then its memory is lost.
    if pause == Pause::Left {
        job.attempt.free(fiber.unguarded(), &kept());
    }
    if pause == Pause::Done {
        FREE.set(Some(fiber));
    } else {
        quota.tasks().abandon();
    }
    job.result.take()
}

/// Runs `act` with the attempt of this thread, if there is one.
#[inline]
fn with_attempt<T>(act: impl FnOnce(&Attempt<'_>) -> T) -> Option<T> {
    // A thread sees its own attempt.
    if RUNNING.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let attempt = context::with(|context| context.engine.attempt.get()).cast::<Attempt<'_>>();
    // SAFETY: set by `run`, while the attempt lives.
    unsafe { attempt.as_ref() }.map(act)
}

/// Whether the thread of an attempt holds a lock. One of V8's own threads counts as if it held one.
fn holds_lock() -> bool {
    locks::count() != 1
}

/// Abandons the attempt of this thread, which holds no lock.
fn abandon() {
    pass_on_small();
    // SAFETY: the thread holds no lock, and the frames of the fiber are those of V8's compiler.
    unsafe { fiber::leave(Pause::Left) };
}

/// A zone is about to grow by `size`. Does not return if the attempt of this thread is abandoned.
pub(super) fn check(size: usize) {
    if with_attempt(|attempt| !holds_lock() && attempt.is_over(size)) == Some(true) {
        abandon();
    }
}

/// The thread has reached the reserve of its stack. Does not return if the attempt of this thread is abandoned.
pub(super) fn end_of_stack() {
    if with_attempt(|_| !holds_lock()) == Some(true) {
        abandon();
    }
}

/// A zone has grown by the segment at `address`.
pub(super) fn allocated(allocator: Object, address: Object) {
    with_attempt(|attempt| {
        let may_be_shared = holds_lock();
        attempt.segments.borrow_mut().push(Segment { allocator, address, may_be_shared });
    });
}

/// A block was allocated.
#[inline]
pub(super) fn allocated_block(block: Object) {
    with_attempt(|attempt| {
        if !holds_lock() && !context::with(|context| context.segment.get()) {
            attempt.blocks.borrow_mut().insert(block as usize);
        }
    });
}

/// A block is about to be freed.
#[inline]
pub(super) fn freeing_block(block: Object) {
    with_attempt(|attempt| attempt.blocks.borrow_mut().remove(&(block as usize)));
}

/// A zone frees `segment`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal19AccountingAllocator13ReturnSegmentEPNS0_7SegmentE(
    allocator: Object,
    segment: Object,
) {
    with_attempt(|attempt| {
        let mut segments = attempt.segments.borrow_mut();
        // Most are freed in the opposite order.
        if let Some(place) = segments.iter().rposition(|it| it.address == segment) {
            segments.swap_remove(place);
        }
    });
    // SAFETY: forwards the call.
    unsafe { free_segment(allocator, segment) };
}

impl Attempt<'_> {
    /// Whether it must not continue with `size` bytes more.
    fn is_over(&self, size: usize) -> bool {
        !self.quota.can_compile(size) || processor_time().saturating_sub(self.begun) > MAX_TIME
    }

    /// Frees the memory of the work, which was left at the growth of a zone or at an allocation, except the blocks at the addresses `kept`.
    fn free(&self, (stack, size): (usize, usize), kept: &[usize]) {
        for segment in self.segments.take() {
            // SAFETY: V8 has allocated the segment for a zone, and has not freed it. Nothing refers to that zone any more if only the work uses it. So it
            // does if it has grown without a lock, or lies on the stack of the work.
            unsafe {
                if !segment.may_be_shared || segment.zone().wrapping_sub(stack) < size {
                    free_segment(segment.allocator, segment.address);
                }
            }
        }
        for block in self.blocks.take() {
            if !kept.contains(&block) {
                // SAFETY: the work has allocated the block without a lock, so only its own state refers to it, and has not freed it.
                unsafe { free_block(block as Object) };
            }
        }
    }
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` can be written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

//! How much memory an isolate may use for V8's C++ code, and which isolate a thread works for.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

use super::tasks::Tasks;
use super::wasm_types::TypeBudget;
use super::{context, locks, refusal};

/// Is notified of how much an isolate has taken.
pub trait Watch: Send + Sync {
    /// Much of the memory may be garbage. [`NativeQuota::collected`] must follow.
    fn soft_limit_reached(&self);
    /// The isolate is over its limit.
    fn exceeded(&self);
}

/// The memory that one isolate may take, and how much it has taken.
pub struct NativeQuota {
    limit: usize,
    /// That of the isolate's own thread.
    guest_limit: usize,
    used: AtomicUsize,
    /// The highest usage so far.
    peak: AtomicUsize,
    /// Above this usage, the quota is at its soft limit.
    soft_limit: AtomicUsize,
    exceeded: AtomicBool,
    /// The watch must be notified when the isolate's thread holds no lock. See [`NativeQuota::must_wait`].
    postponed: [AtomicBool; 2],
    watch: Arc<dyn Watch>,
    types: Arc<TypeBudget>,
    /// The quota of V8's own threads that work for the isolate.
    background: Option<Arc<NativeQuota>>,
    /// Tasks of V8's own threads, if this is the quota of those threads.
    tasks: Tasks,
    /// The isolate has compiled WebAssembly.
    has_modules: AtomicBool,
    /// Bytes of blocks that are too small to count, as far as threads have passed them on. See `small_blocks`.
    small: AtomicIsize,
}

/// How much more V8 may take until it reacts. After that it gets no more large blocks, a refusal that most of its code does not survive.
const OVERRUN: usize = 128 << 20;

/// Indices of [`NativeQuota::postponed`].
const SOFT_LIMIT: usize = 0;
const LIMIT: usize = 1;

impl NativeQuota {
    pub fn new(limit: usize, types: Arc<TypeBudget>, watch: Arc<dyn Watch>) -> Arc<Self> {
        // Nothing is refused there. The limit is higher, so that the isolate ends later.
        let raised = limit.saturating_add(OVERRUN);
        let background = Self { guest_limit: limit, ..Self::alone(raised, Arc::clone(&types), Arc::clone(&watch)) };
        Arc::new(Self { background: Some(Arc::new(background)), ..Self::alone(limit, types, watch) })
    }

    fn alone(limit: usize, types: Arc<TypeBudget>, watch: Arc<dyn Watch>) -> Self {
        Self {
            limit,
            guest_limit: limit,
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            soft_limit: AtomicUsize::new(limit / 2),
            exceeded: AtomicBool::new(false),
            postponed: [const { AtomicBool::new(false) }; 2],
            watch,
            types,
            background: None,
            tasks: Tasks::default(),
            has_modules: AtomicBool::new(false),
            small: AtomicIsize::new(0),
        }
    }

    /// The quota that V8's own threads have for the isolate.
    pub fn in_background(self: &Arc<Self>) -> Arc<Self> {
        Arc::clone(self.background.as_ref().unwrap_or(self))
    }

    /// The tasks that V8's own threads run for the isolate.
    pub fn tasks(&self) -> &Tasks {
        self.background.as_ref().map_or(&self.tasks, |background| &background.tasks)
    }

    /// The isolate compiles a WebAssembly module.
    pub fn compiles_module(&self) {
        self.has_modules.store(true, Ordering::Relaxed);
    }

    pub fn has_modules(&self) -> bool {
        self.has_modules.load(Ordering::Relaxed)
    }

    /// This many bytes were returned to the system, though no code frees them.
    pub fn has_returned(&self, bytes: usize) {
        self.give_back(bytes);
    }

    /// The limit of the isolate's own thread, also if this is the quota of V8's threads.
    pub fn guest_limit(&self) -> usize {
        self.guest_limit
    }

    pub fn types(&self) -> &Arc<TypeBudget> {
        &self.types
    }

    pub fn used(&self) -> usize {
        let background = self.background.as_ref().map_or(0, |it| it.used());
        self.used.load(Ordering::Relaxed).saturating_add(background)
    }

    /// Bytes of blocks that are too small to count, about.
    pub fn small(&self) -> usize {
        let own = self.small.load(Ordering::Relaxed);
        let background = self.background.as_ref().map_or(0, |background| background.small.load(Ordering::Relaxed));
        usize::try_from(own.saturating_add(background)).unwrap_or(0)
    }

    /// Whether one of V8's compilers may take this many bytes more. Not in an isolate that is lost, or about to end, or whose tasks on V8's threads took too much.
    pub fn can_compile(&self, bytes: usize) -> bool {
        let is_over = self.is_exceeded() || self.tasks().are_closed() || self.tasks().has_ended_compiling();
        !is_over && self.used().saturating_add(bytes) <= self.limit
    }

    fn used_in_foreground(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Whether the isolate has taken too much.
    pub fn is_exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }

    /// Whether no garbage was collected since the isolate, or V8's own threads for it, reached the soft limit.
    pub fn is_at_soft_limit(&self) -> bool {
        self.soft_limit.load(Ordering::Relaxed) == usize::MAX
            || self.background.as_ref().is_some_and(|background| background.is_at_soft_limit())
    }

    /// Garbage has been collected.
    pub fn collected(&self) {
        let used = self.used_in_foreground();
        self.soft_limit.store(used + self.limit.saturating_sub(used) / 2, Ordering::Relaxed);
        if let Some(background) = &self.background {
            background.collected();
        }
    }

    /// Whether there is room for `bytes`, including [`OVERRUN`].
    pub(super) fn can_allocate(&self, bytes: usize) -> bool {
        self.used_in_foreground().checked_add(bytes).is_some_and(|total| total <= self.limit.saturating_add(OVERRUN))
    }

    pub(super) fn take(&self, bytes: usize) {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(used, Ordering::Relaxed);
        if used > self.limit {
            self.exceed();
        } else if used > self.soft_limit.load(Ordering::Relaxed) {
            self.reach_soft_limit();
        }
    }

    /// Another resource may be full of garbage.
    pub fn reach_soft_limit(&self) {
        if self.soft_limit.swap(usize::MAX, Ordering::Relaxed) != usize::MAX {
            if self.must_wait() {
                self.postponed[SOFT_LIMIT].store(true, Ordering::Relaxed);
            } else {
                self.notify_soft_limit();
            }
        }
    }

    /// The isolate has taken too much of another resource.
    pub fn exceed(&self) {
        if !self.exceeded.swap(true, Ordering::Relaxed) {
            if self.must_wait() {
                self.postponed[LIMIT].store(true, Ordering::Relaxed);
            } else {
                self.notify_limit();
            }
        }
    }

    /// While the watch interrupts V8, it holds the lock of the isolate's handle, and V8 may allocate. What that leads to must wait.
    fn notify_soft_limit(&self) {
        let _scope = locks::LockScope::enter();
        self.watch.soft_limit_reached();
    }

    fn notify_limit(&self) {
        let _scope = locks::LockScope::enter();
        self.watch.exceeded();
    }

    /// Whether this is the isolate's own thread and it holds a lock. The watch interrupts V8, which takes locks of its own, such as that of
    /// all waits (`Atomics.wait`). A thread that already held it would wait for itself, and everything that interrupts an isolate for that
    /// thread.
    fn must_wait(&self) -> bool {
        self.background.is_some() && locks::held() && ptr::eq(current_pointer(), self)
    }

    pub(super) fn notify_postponed(&self) {
        let [soft_limit, limit] = self
            .postponed
            .each_ref()
            .map(|postponed| postponed.load(Ordering::Relaxed) && postponed.swap(false, Ordering::Relaxed));
        if soft_limit {
            self.notify_soft_limit();
        }
        if limit {
            self.notify_limit();
        }
    }

    /// Never more than is in use: a thread may have taken some while it worked for no isolate.
    pub(super) fn give_back(&self, bytes: usize) {
        let less = |used: usize| Some(used.saturating_sub(bytes));
        let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// The quota that this thread has; null for none. Borrowed by the [`enter`] that has set it.
fn current_pointer() -> *const NativeQuota {
    context::with(|context| context.quota.current.get()).cast()
}

/// Runs `work`. Meanwhile this thread works for the isolate with `quota`, or for none.
pub fn with_quota<T>(quota: Option<&Arc<NativeQuota>>, work: impl FnOnce() -> T) -> T {
    enter(quota, 0, work)
}

/// Like [`with_quota`], for one of V8's own threads, which cannot end: no allocation fails. They count, and end the isolate beyond its limit.
pub fn with_quota_in_background<T>(quota: &Arc<NativeQuota>, work: impl FnOnce() -> T) -> T {
    enter(Some(quota), 1, work)
}

fn enter<T>(quota: Option<&Arc<NativeQuota>>, held: u32, work: impl FnOnce() -> T) -> T {
    /// Restores what the thread did before, also if `work` panics.
    struct Before {
        quota: *const c_void,
        held: u32,
        /// The previous isolate was refused memory.
        refused: bool,
    }
    impl Drop for Before {
        fn drop(&mut self) {
            pass_on_small();
            // SAFETY: it was so before.
            context::with(|context| unsafe { context.quota.current.replace(self.quota) });
            locks::set(self.held);
            refusal::set(self.refused);
        }
    }
    let refused = refusal::set(false);
    let held = locks::set(held);
    let quota = quota.map_or(ptr::null(), Arc::as_ptr).cast();
    pass_on_small();
    // SAFETY: the caller keeps the quota until `Before` restores what was set, also while the guest waits.
    let quota = context::with(|context| unsafe { context.quota.current.replace(quota) });
    let _before = Before { quota, held, refused };
    work()
}

/// The thread's sum of small blocks becomes a part of its isolate's.
pub(super) fn pass_on_small() {
    let sum = context::with(|context| context.quota.small.take());
    if sum != 0 {
        with_current(|quota| {
            quota.small.fetch_add(sum, Ordering::Relaxed);
        });
    }
}

/// Whether the watch of the quota that a thread has, which works for this, must be notified.
pub(super) fn has_postponed(context: &context::ThreadContext) -> bool {
    // SAFETY: as in `with_current`.
    let quota = unsafe { context.quota.current.get().cast::<NativeQuota>().as_ref() };
    quota.is_some_and(|quota| quota.postponed.iter().any(|postponed| postponed.load(Ordering::Relaxed)))
}

/// Uses the quota that this thread has.
pub(super) fn with_current(use_it: impl FnOnce(&NativeQuota)) {
    // SAFETY: the `enter` that has set it is running on this thread, and borrows the quota until it returns.
    if let Some(quota) = unsafe { current_pointer().as_ref() } {
        use_it(quota);
    }
}

/// The quota that this thread has.
pub fn current() -> Option<Arc<NativeQuota>> {
    let current = Some(current_pointer()).filter(|current| !current.is_null())?;
    // SAFETY: as in `with_current`. The pointer comes from an `Arc`.
    unsafe {
        Arc::increment_strong_count(current);
        Some(Arc::from_raw(current))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{NativeQuota, OVERRUN, TypeBudget, Watch, with_quota, with_quota_in_background};
    use crate::native::{Share, ShareGuard};

    #[derive(Default)]
    struct Notifications([AtomicUsize; 2]);

    impl Watch for Arc<Notifications> {
        fn soft_limit_reached(&self) {
            self.0[0].fetch_add(1, Ordering::Relaxed);
        }

        fn exceeded(&self) {
            self.0[1].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn hold(bytes: usize) -> Option<ShareGuard> {
        Share::of_current(bytes).map(Share::hold)
    }

    #[test]
    fn reports_its_soft_limit_and_once_its_limit() {
        let notifications = Arc::new(Notifications::default());
        let counts = || notifications.0.each_ref().map(|count| count.load(Ordering::Relaxed));
        let quota = NativeQuota::new(100, TypeBudget::new(0), Arc::new(Arc::clone(&notifications)));
        assert!(hold(1).is_none());
        let held = with_quota(Some(&quota), || {
            let first = hold(60);
            assert_eq!(counts(), [1, 0]);
            let second = hold(10);
            assert_eq!(counts(), [1, 0]);
            drop(second);
            quota.collected();
            let third = hold(21);
            assert_eq!(counts(), [2, 0]);
            let fourth = hold(20);
            let fifth = hold(20);
            assert_eq!((counts(), quota.used()), ([2, 1], 121));
            assert_eq!(quota.peak(), 121);
            assert!(Share::of_current(OVERRUN - 21).is_some_and(|share| share.is_within_limit()));
            assert!(Share::of_current(OVERRUN).is_some_and(|share| !share.is_within_limit()));
            with_quota(None, || assert!(hold(1).is_none()));
            with_quota_in_background(&quota.in_background(), || {
                let held = hold(OVERRUN);
                assert_eq!((quota.used(), counts()), (121 + OVERRUN, [3, 1]));
                drop(held);
                assert!(Share::of_current(OVERRUN).is_some_and(|share| share.is_within_limit()));
            });
            assert!(Share::of_current(OVERRUN).is_some_and(|share| !share.is_within_limit()));
            (first, third, fourth, fifth)
        });
        assert!(hold(1).is_none());
        drop(held);
        assert_eq!(quota.used(), 0);
    }

    #[test]
    fn a_panic_ends_the_work_for_an_isolate() {
        let quota = || NativeQuota::new(100, TypeBudget::new(0), Arc::new(Arc::new(Notifications::default())));
        let (outer, inner) = (quota(), quota());
        with_quota(Some(&outer), || {
            super::refusal::note();
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                with_quota(Some(&inner), || -> () { panic!("on purpose") });
            }));
            assert!(panicked.is_err() && super::refusal::is_noted());
            assert!(super::current().is_some_and(|current| Arc::ptr_eq(&current, &outer)));
        });
        assert!(super::current().is_none());
        // Nothing refers to them any more.
        assert_eq!([outer, inner].map(|quota| Arc::strong_count(&quota)), [1, 1]);
    }

    #[test]
    fn nothing_is_refused_to_a_thread_that_holds_a_lock() {
        let quota = || NativeQuota::new(100, TypeBudget::new(0), Arc::new(Arc::new(Notifications::default())));
        let is_within_limit = || Share::of_current(OVERRUN + 101).is_some_and(|share| share.is_within_limit());
        let (one, other) = (quota(), quota());
        with_quota(Some(&one), || {
            assert!(!is_within_limit());
            super::locks::set(1);
            assert!(is_within_limit());
            // Locks that are held for one isolate do not count for another.
            with_quota(Some(&other), || assert!(!is_within_limit()));
            assert!(is_within_limit());
        });
        with_quota(Some(&one), || assert!(!is_within_limit()));
    }

    #[test]
    fn notifies_when_the_last_lock_is_released() {
        let notifications = Arc::new(Notifications::default());
        let counts = || notifications.0.each_ref().map(|count| count.load(Ordering::Relaxed));
        let quota = NativeQuota::new(100, TypeBudget::new(0), Arc::new(Arc::clone(&notifications)));
        with_quota(Some(&quota), || {
            super::locks::set(1);
            let held = [hold(60), hold(60)];
            assert_eq!(counts(), [0, 0]);
            // V8's own threads hold none that the watch needs.
            with_quota_in_background(&quota.in_background(), || {
                let _held = hold(OVERRUN);
                assert_eq!(counts(), [1, 0]);
                super::with_current(NativeQuota::notify_postponed);
                assert_eq!(counts(), [1, 0]);
            });
            super::locks::set(0);
            super::with_current(NativeQuota::notify_postponed);
            assert_eq!(counts(), [2, 1]);
            super::with_current(NativeQuota::notify_postponed);
            assert_eq!(counts(), [2, 1]);
            drop(held);
        });
    }

    #[test]
    fn notifies_after_locks_of_rust_code_and_those_that_are_disregarded() {
        let notifications = Arc::new(Notifications::default());
        let count = || notifications.0[1].load(Ordering::Relaxed);
        let one = || NativeQuota::new(1, TypeBudget::new(0), Arc::new(Arc::clone(&notifications)));
        let mutex = std::sync::Mutex::new(());
        with_quota(Some(&one()), || {
            let locked = crate::native::lock(&mutex);
            let _held = hold(2);
            assert_eq!(count(), 0);
            drop(locked);
            assert_eq!(count(), 1);
        });
        with_quota(Some(&one()), || {
            super::locks::set(1);
            let _held = hold(2);
            assert_eq!(count(), 1);
            super::locks::disregard_held();
            assert_eq!(count(), 2);
        });
    }

    #[test]
    fn does_not_notify_while_it_notifies() {
        /// Allocates while it is notified.
        #[derive(Default)]
        struct Greedy {
            depth: AtomicUsize,
            counts: [AtomicUsize; 2],
        }

        impl Greedy {
            fn notified(&self, which: usize) {
                assert_eq!(self.depth.fetch_add(1, Ordering::Relaxed), 0);
                drop(hold(60));
                self.counts[which].fetch_add(1, Ordering::Relaxed);
                self.depth.fetch_sub(1, Ordering::Relaxed);
            }
        }

        impl Watch for Arc<Greedy> {
            fn soft_limit_reached(&self) {
                self.notified(0);
            }

            fn exceeded(&self) {
                self.notified(1);
            }
        }

        let greedy = Arc::new(Greedy::default());
        let quota = NativeQuota::new(100, TypeBudget::new(0), Arc::new(Arc::clone(&greedy)));
        with_quota(Some(&quota), || {
            let held = hold(60);
            assert_eq!(greedy.counts.each_ref().map(|count| count.load(Ordering::Relaxed)), [1, 1]);
            assert!(!super::locks::held());
            drop(held);
        });
    }

    #[test]
    fn a_refusal_ends_the_isolate_and_takes_nothing() {
        let notifications = Arc::new(Notifications::default());
        let quota = NativeQuota::new(100, TypeBudget::new(0), Arc::new(Arc::clone(&notifications)));
        with_quota(Some(&quota), || {
            let share = Share::of_current(OVERRUN + 101).filter(|share| !share.is_within_limit());
            assert!(!super::refusal::is_noted());
            share.into_iter().for_each(Share::refuse);
            assert!(super::refusal::is_noted());
        });
        assert_eq!((notifications.0[1].load(Ordering::Relaxed), quota.used()), (1, 0));
    }
}

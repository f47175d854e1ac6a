//! Memory of resizable buffers and WebAssembly memories. V8 does not use our array buffer allocator for these. It reserves address space
//! from its page allocator, as much as the buffer may ever need, and makes pages accessible as the buffer grows. Here, the page allocator
//! charges the budgets of the isolate that the thread works for. Over the budget, guests get the `RangeError` that V8 throws when the
//! system is out of memory.
//!
//! Stacks that WebAssembly suspends, and its code, also come from the page allocator. V8 does not survive a failure to allocate them, so a
//! guest that uses many of them loses its isolate before that.

#![cfg_attr(windows, allow(dead_code, reason = "unused on Windows"))]

mod code_regions;
#[cfg(not(windows))]
mod table;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use super::address_space;
use super::memory::REGIONS as REGION_COUNT;
use crate::native::{self, Guard, NativeQuota, Share, ShareGuard, context, lock};
use crate::value::{Budget, Charge};

#[cfg_attr(not(target_os = "linux"), allow(unused_imports, reason = "there no thread can be suspended"))]
pub use code_regions::contain as contain_code;

/// What an isolate may use.
struct OwnedBudgets {
    memory: Arc<Budget>,
    space: Arc<Budget>,
}

impl OwnedBudgets {
    fn unlimited() -> Self {
        let [memory, space] = [(); 2].map(|()| Budget::new(usize::MAX));
        Self { memory, space }
    }

    /// That of this thread.
    fn current() -> Option<Self> {
        let budgets = context::with(|context| context.pages.get()).cast::<Budgets<'_>>();
        // SAFETY: the `with_budgets` that has set it is running on this thread.
        let budgets = unsafe { budgets.as_ref() };
        budgets.map(|Budgets { memory, space, .. }| Self { memory: Arc::clone(memory), space: Arc::clone(space) })
    }
}

/// The budgets that a thread charges.
struct Budgets<'a> {
    memory: &'a Arc<Budget>,
    space: &'a Arc<Budget>,
    /// Address space that was taken for buffers in advance, from the isolate's budget and from that of all isolates.
    prepaid: RefCell<[Charge; 2]>,
}

/// Address space of `size` for a buffer of this thread's isolate, if as much was taken in advance.
fn take_prepaid(size: usize) -> Option<[Charge; 2]> {
    let budgets = context::with(|context| context.pages.get()).cast::<Budgets<'_>>();
    // SAFETY: as in `OwnedBudgets::current`.
    let mut prepaid = unsafe { budgets.as_ref() }?.prepaid.try_borrow_mut().ok()?;
    address_space::split(&mut prepaid, size)
}

/// Runs `work`. Meanwhile this thread works for an isolate with these budgets.
pub fn with_budgets<T>(memory: &Arc<Budget>, space: &Arc<Budget>, work: impl FnOnce() -> T) -> T {
    with_prepaid_space(memory, space, Default::default(), work)
}

/// The same. Buffers use the address space in `prepaid` first. What remains is returned.
pub fn with_prepaid_space<T>(
    memory: &Arc<Budget>,
    space: &Arc<Budget>,
    prepaid: [Charge; 2],
    work: impl FnOnce() -> T,
) -> T {
    /// Restores the budgets that the thread charged before, also if `work` panics.
    struct Before(*const c_void);
    impl Drop for Before {
        fn drop(&mut self) {
            // SAFETY: it was so before.
            context::with(|context| unsafe { context.pages.replace(self.0) });
        }
    }
    let budgets = Budgets { memory, space, prepaid: RefCell::new(prepaid) };
    // SAFETY: this function keeps them until `Before` restores what was set.
    let _before = Before(context::with(|context| unsafe { context.pages.replace((&raw const budgets).cast()) }));
    work()
}

/// Makes V8's page allocator consult the budgets. Called when the platform exists, but no isolate does. False if that is not possible: there
/// would be no limits.
#[cfg(not(windows))]
#[must_use]
pub fn watch() -> bool {
    table::replace()
}

/// Such memory has no limit here.
#[cfg(windows)]
#[must_use]
pub fn watch() -> bool {
    true
}

/// What address space is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Buffer,
    Stack,
    Code,
}

/// A region of the address space.
struct Region {
    what: Use,
    size: usize,
    /// Only for buffers: bytes from its start that are accessible, or about to be.
    used: usize,
    memory: Arc<Budget>,
    _space: [Option<Charge>; 2],
    /// Only for code: bytes from its start that were ever used.
    code: usize,
    /// Only for code: the quota of the isolate that it belongs to.
    quota: Option<Arc<NativeQuota>>,
    /// What counts for the isolate of a stack or of code.
    held: Vec<ShareGuard>,
}

/// Regions by their start.
static REGIONS: LazyLock<Mutex<BTreeMap<usize, Region>>> = LazyLock::new(Mutex::default);

fn regions() -> Guard<'static, BTreeMap<usize, Region>> {
    #[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
    native::stack::check();
    lock(&REGIONS)
}

/// One quarter of each stack counts as used: few are ever full.
const STACK_SHARE: usize = 4;

/// The part of its address space that an isolate may use for stacks and code when all isolates together have used up theirs.
const EXHAUSTED_SHARE: usize = 16;

/// Code is counted in units of this size.
const CODE_PART: usize = 64 << 10;

/// Code of all isolates together, in bytes.
static CODE: AtomicUsize = AtomicUsize::new(0);

/// Above this size, an isolate that needs more code ends. V8 ends the process at 4 GB.
const MAX_CODE: usize = 3 << 30;

/// Pages are about to be used, possibly for code. They cannot be refused.
fn use_for_code(start: usize, length: usize) {
    if REGION_COUNT.load(Ordering::Acquire) == 0 {
        return;
    }
    let (base, quota, more) = {
        let mut regions = regions();
        let Some((&base, region)) = regions.range_mut(..=start).next_back() else { return };
        let first = start - base;
        if region.what != Use::Code || first >= region.size {
            return;
        }
        let end = first.saturating_add(length).min(region.size).next_multiple_of(CODE_PART);
        let more = end.saturating_sub(region.code);
        region.code += more;
        (base, region.quota.clone(), more)
    };
    if more == 0 {
        return;
    }
    let all = CODE.fetch_add(more, Ordering::Relaxed) + more;
    let Some(quota) = quota else { return };
    if all > MAX_CODE {
        quota.exceed();
    }
    let held = Share::of(&quota, more).hold();
    if let Some(region) = regions().get_mut(&base) {
        region.held.push(held);
    }
}

/// Notifies the isolate that it uses much, or too much, of what cannot be refused.
fn report(too_much: bool) {
    match native::current() {
        Some(quota) if too_much => quota.exceed(),
        Some(quota) => quota.reach_soft_limit(),
        None => {}
    }
}

/// Space for an allocation of the guest, from `reserve`; null if its isolate may have no more.
fn reserve(what: Use, size: usize, reserve: impl FnOnce() -> *mut c_void) -> *mut c_void {
    // V8's own compiler threads have no owner. Nothing is refused to them.
    let for_guest = || native::current().filter(|_| what == Use::Code).map(|_| OwnedBudgets::unlimited());
    let Some(OwnedBudgets { memory, space }) = OwnedBudgets::current().or_else(for_guest) else { return reserve() };
    let share = if what == Use::Stack { Share::of_current(size / STACK_SHARE) } else { None };
    if share.as_ref().is_some_and(|share| !share.is_within_limit()) {
        return std::ptr::null_mut();
    }
    let prepaid = if what == Use::Buffer { take_prepaid(size) } else { None };
    let is_prepaid = prepaid.is_some();
    let charges = match prepaid {
        Some(charges) => charges.map(Some),
        None => [address_space::take(&space, size), address_space::take_of_all(size, what == Use::Buffer)],
    };
    let is_enough = match what {
        // V8 ends the process when it does not get the buffers of a snapshot.
        Use::Buffer => {
            memory.is_overdrawn()
                || (charges.iter().all(Option::is_some) && (is_prepaid || address_space::has_room_for_buffer()))
        }
        // Usage by other isolates must not end this one.
        Use::Stack | Use::Code => charges[0].is_some(),
    };
    if !is_enough {
        memory.refuse();
        return std::ptr::null_mut();
    }
    if what != Use::Buffer {
        // If all isolates together use too much, those end that use more than a few others do.
        let is_exhausted = charges[1].is_none();
        let most = if is_exhausted { space.limit() / EXHAUSTED_SHARE } else { space.limit() / 4 * 3 };
        if space.used() > space.limit() / 2 || is_exhausted {
            report(space.used() > most);
        }
    }
    let start = reserve();
    if !start.is_null() {
        REGION_COUNT.fetch_add(1, Ordering::Release);
        let quota = if what == Use::Code { native::current() } else { None };
        let held = share.map(Share::hold).into_iter().collect();
        let region = Region { what, size, used: 0, memory, _space: charges, code: 0, quota, held };
        let mut regions = regions();
        let is_known = what != Use::Code || code_regions::add(start as usize, size);
        regions.insert(start as usize, region);
        drop(regions);
        if !is_known {
            report(true);
        }
    }
    start
}

/// The pages from `start` on are about to be freed. Returns their use, if known.
fn forget(start: usize) -> Option<Use> {
    if REGION_COUNT.load(Ordering::Acquire) == 0 {
        return None;
    }
    let region = {
        let mut regions = regions();
        let region = regions.remove(&start)?;
        if region.what == Use::Code {
            code_regions::remove(start, region.size);
        }
        region
    };
    REGION_COUNT.fetch_sub(1, Ordering::Release);
    CODE.fetch_sub(region.code, Ordering::Relaxed);
    region.memory.give_back(region.used);
    Some(region.what)
}

/// Whether the pages from `start` on are a stack.
fn is_stack(start: usize) -> bool {
    REGION_COUNT.load(Ordering::Acquire) > 0 && regions().get(&start).is_some_and(|region| region.what == Use::Stack)
}

/// A change of the accessible part of a region.
struct Change {
    region: usize,
    from: usize,
    to: usize,
    memory: Arc<Budget>,
}

impl Change {
    /// The change that results when pages become accessible or inaccessible; `None` if they do not belong to a buffer, or do not change.
    fn plan(start: usize, length: usize, accessible: bool) -> Option<Self> {
        if REGION_COUNT.load(Ordering::Acquire) == 0 {
            return None;
        }
        let regions = regions();
        let (&base, region) = regions.range(..=start).next_back()?;
        let first = start - base;
        if region.what != Use::Buffer || first >= region.size {
            return None;
        }
        let end = first.saturating_add(length);
        let to = match accessible {
            true => region.used.max(end),
            false if end >= region.used => region.used.min(first),
            false => region.used,
        };
        let change = Self { region: base, from: region.used, to, memory: Arc::clone(&region.memory) };
        (to != region.used).then_some(change)
    }

    /// Performs the change with `apply`. False if the isolate has no memory left even after `collect`, or if the system has none.
    fn make(self, apply: impl FnOnce() -> bool, collect: impl FnOnce()) -> bool {
        let more = self.to.saturating_sub(self.from);
        if more > 0 && !self.memory.take(more) {
            if more > self.memory.limit() {
                return false;
            }
            collect();
            if !self.memory.take(more) {
                return false;
            }
        }
        // Without the lock, so that other isolates need not wait for the system. Only the isolate of this thread changes its buffers.
        if !apply() {
            self.memory.give_back(more);
            return false;
        }
        if let Some(region) = regions().get_mut(&self.region) {
            region.used = self.to;
            self.memory.give_back(self.from.saturating_sub(self.to));
        }
        true
    }
}

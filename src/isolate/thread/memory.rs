//! What happens when a guest reaches its heap limit. It is terminated, and gets memory to unwind its stack. If V8 runs out of memory
//! nevertheless, its thread is parked.

use std::ffi::{c_char, c_void};

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::current::{address_of, current};
use super::heap_tasks;
use super::parking::park;
#[cfg(target_os = "linux")]
use crate::engine;
use crate::isolate::clock;
use crate::isolate::job::{IsolateScope, Job, Kind};
use crate::isolate::remote::Remote;
use crate::isolate::remote::accounts::HeapFigures;
use crate::isolate::remote::reason::Stop;
use crate::isolate::remote::registry::Footprint;
use crate::isolate::remote::settings::Settings;
use crate::native::{NativeQuota, TypeBudget, Watch, fiber, locks};
use crate::protocol::heap_statistic;
use crate::value::{Fault, NoCompletion, Value};

/// The largest single allocation that V8 makes for one object (128 Mi slots), plus room to unwind.
const UNWINDING_ROOM: usize = 1_150 << 20;

/// The part of the limit that a checked value leaves for what the guest does with it.
const MARGIN: usize = 16;

/// Outside its heap and buffers, V8 may take as much memory as the limit, plus this room for what even a small guest needs.
const NATIVE_ROOM: usize = 32 << 20;

/// The quota of that memory for the isolate `remote`.
pub fn quota(remote: &Weak<Remote>, settings: &Settings) -> Option<Arc<NativeQuota>> {
    let limit = settings.memory_limit.saturating_add(NATIVE_ROOM);
    let types = || settings.types.clone().unwrap_or_else(|| types(settings.memory_limit));
    (!settings.inspector).then(|| NativeQuota::new(limit, types(), Arc::new(Native(remote.clone()))))
}

/// Budget for WebAssembly types, which V8 keeps for the life of the process. It counts the types that an isolate and those that its guest
/// creates are the first to have: 4,096 types without parameters for each 16 MB of the limit.
const TYPE_SHARE: usize = 16;
const MAX_TYPES: usize = 8 << 20;

fn types(memory_limit: usize) -> Arc<TypeBudget> {
    TypeBudget::new((memory_limit / TYPE_SHARE).min(MAX_TYPES))
}

/// Watches the quota; called in the middle of V8's work.
struct Native(Weak<Remote>);

impl Watch for Native {
    fn soft_limit_reached(&self) {
        if let Some(remote) = self.0.upgrade() {
            remote.execution.interrupt(on_soft_limit);
            relieve_later(&remote);
        }
    }

    fn exceeded(&self) {
        if let Some(remote) = self.0.upgrade() {
            remote.stop(Stop::Memory);
        }
    }
}

unsafe extern "C" fn on_soft_limit(isolate: v8::UnsafeRawIsolatePtr, _data: *mut c_void) {
    // SAFETY: V8 passes the isolate that is entered on this thread, for the time of this call.
    relieve(&mut unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) });
}

/// Collects garbage, and drops compiled functions that the isolate has not used yet.
fn relieve(isolate: &mut v8::Isolate) {
    let quota = current().and_then(|remote| remote.accounts.quota.clone());
    if let Some(quota) = quota.filter(|quota| quota.is_at_soft_limit()) {
        isolate.low_memory_notification();
        quota.collected();
    }
}

/// How long V8 has to interrupt the guest.
const INTERRUPT_TIME: Duration = Duration::from_millis(2);

/// An isolate that runs no code notices no interrupt, while V8's own threads compile all functions that wait.
fn relieve_later(remote: &Remote) {
    let me = remote.me.clone();
    // Not now, in the middle of V8's work.
    clock::after(INTERRUPT_TIME, move || {
        let is_needed = |remote: &Arc<Remote>| remote.accounts.quota.as_ref().is_some_and(|it| it.is_at_soft_limit());
        let Some(remote) = me.upgrade().filter(is_needed) else { return };
        let work = Box::new(|scope: &mut IsolateScope<'_, '_>| {
            relieve(scope);
            Ok(Value::Undefined)
        });
        if remote.execution.caller.has_entered() {
            heap_tasks::post(&remote, Job::new(Kind::Heap, Arc::new(NoCompletion), work));
        } else {
            remote.post(Job::new(Kind::Background, Arc::new(NoCompletion), work));
        }
    });
}

pub fn install(isolate: &mut v8::OwnedIsolate) {
    let address = address_of(isolate).cast_mut();
    isolate.add_near_heap_limit_callback(on_near_heap_limit, address);
    isolate.set_oom_error_handler(on_out_of_memory);
    #[cfg(target_os = "linux")]
    engine::contain_failed_checks(isolate);
    isolate.add_gc_prologue_callback(before_collection, std::ptr::null_mut(), v8::GCType::kGCTypeAll);
    isolate.add_gc_epilogue_callback(on_collected, std::ptr::null_mut(), v8::GCType::kGCTypeAll);
}

impl Remote {
    /// Measures the heap and stores the figures.
    pub fn measure(&self, isolate: &mut v8::Isolate) -> HeapFigures {
        let heap = isolate.get_heap_statistics();
        // The requested limit, without the memory for unwinding.
        let limit = self.settings.memory_limit.min(heap.heap_size_limit());
        let mut figures = HeapFigures::default();
        for (index, figure) in [
            (heap_statistic::TOTAL_HEAP_SIZE, heap.total_heap_size()),
            (heap_statistic::TOTAL_HEAP_SIZE_EXECUTABLE, heap.total_heap_size_executable()),
            (heap_statistic::TOTAL_PHYSICAL_SIZE, heap.total_physical_size()),
            (heap_statistic::TOTAL_AVAILABLE_SIZE, heap.total_available_size().min(limit)),
            (heap_statistic::USED_HEAP_SIZE, heap.used_heap_size()),
            (heap_statistic::HEAP_SIZE_LIMIT, limit),
            (heap_statistic::MALLOCED_MEMORY, heap.malloced_memory()),
            (heap_statistic::PEAK_MALLOCED_MEMORY, heap.peak_malloced_memory()),
            (heap_statistic::DOES_ZAP_GARBAGE, usize::from(heap.does_zap_garbage())),
            (heap_statistic::EXTERNALLY_ALLOCATED_SIZE, self.accounts.budget.used() + self.accounts.budget.shared()),
            (heap_statistic::TOTAL_GLOBAL_HANDLES_SIZE, heap.total_global_handles_size()),
            (heap_statistic::USED_GLOBAL_HANDLES_SIZE, heap.used_global_handles_size()),
            (heap_statistic::NUMBER_OF_NATIVE_CONTEXTS, heap.number_of_native_contexts()),
            (heap_statistic::NUMBER_OF_DETACHED_CONTEXTS, heap.number_of_detached_contexts()),
        ] {
            figures[index as usize] = figure;
        }
        self.accounts.measured(figures);
        figures
    }

    /// Checks the limit where V8 does not: it allocates large objects without a collection, and does not collect in idle isolates.
    pub(in crate::isolate) fn check_memory(&self, isolate: &mut v8::Isolate) {
        let heap = isolate.get_heap_statistics();
        self.accounts.saw_heap(heap.used_heap_size(), heap.total_heap_size());
        if heap.used_heap_size() > self.settings.memory_limit && !self.is_disposed() {
            isolate.low_memory_notification();
        }
    }

    /// Whether the guest fills its heap, in which `used` bytes are in use, although it was stopped because of that, while the thread of a host
    /// waits for it to return. On a thread of ours it may take its time: its calls have failed.
    fn holds_host_up(&self, used: usize) -> bool {
        fiber::active() != 0 && self.stop_reason() == Some(Stop::Memory) && self.accounts.meter.overrun.goes_on(used)
    }

    /// Makes sure that a value of about this many bytes fits into the heap. Collects garbage if necessary.
    pub fn make_room(&self, isolate: &mut v8::Isolate, bytes: usize) -> Result<(), Fault> {
        let limit = self.settings.memory_limit;
        let fits = |isolate: &mut v8::Isolate| {
            let needed = isolate.get_heap_statistics().used_heap_size().saturating_add(bytes);
            needed.saturating_add(limit / MARGIN) <= limit
        };
        if !fits(isolate) {
            if bytes < limit {
                isolate.low_memory_notification();
            }
            if !fits(isolate) {
                return Err(Fault::beyond(&format!(
                    "The value takes about {bytes} bytes, more than the isolate has left"
                )));
            }
        }
        Ok(())
    }

    /// Bytes that are in use now: of the heap, as it was last looked at and by how much it has grown since if that can be queried from outside,
    /// of buffers, and of V8's other memory. Never waits for the guest.
    pub fn in_use(&self) -> usize {
        let (used, total) = self.accounts.heap();
        let grown = self.execution.thread.heap_size().map_or(0, |size| size.saturating_sub(total));
        used.saturating_add(grown)
            .saturating_add(self.accounts.outside_heap())
            .saturating_add(self.accounts.copies.used())
    }
}

impl Footprint for Remote {
    /// If its heap cannot be queried from outside, the last measured size of the heap counts.
    fn taken(&self) -> usize {
        let thread = &self.execution.thread;
        let total = |figures: HeapFigures| figures[heap_statistic::TOTAL_HEAP_SIZE as usize];
        let measured = || self.accounts.figures().map_or(0, total).saturating_sub(thread.returned());
        let heap = thread.heap_size().unwrap_or_else(measured);
        heap.saturating_add(self.accounts.outside_heap())
            .saturating_add(self.accounts.small_blocks())
            .saturating_add(self.accounts.copies.used())
    }
}

/// V8 calls this before every collection, when the most memory is in use.
unsafe extern "C" fn before_collection(
    isolate: v8::UnsafeRawIsolatePtr,
    _kind: v8::GCType,
    _flags: v8::GCCallbackFlags,
    _data: *mut c_void,
) {
    // SAFETY: V8 passes the isolate that is about to collect, on its thread, for the time of this call.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    if let Some(remote) = current() {
        remote.accounts.meter.saw_heap(isolate.get_heap_statistics().used_heap_size());
    }
}

/// V8 calls this after every collection, on the isolate's thread. This enforces the guest's own limit. V8's limit is higher (see `engine`),
/// because a heap that is full in the middle of a collection ends the process.
unsafe extern "C" fn on_collected(
    isolate: v8::UnsafeRawIsolatePtr,
    kind: v8::GCType,
    _flags: v8::GCCallbackFlags,
    _data: *mut c_void,
) {
    // SAFETY: V8 passes the isolate that has just collected, on its thread, for the time of this call.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    let Some(remote) = current() else { return };
    remote.measure(&mut isolate);
    let used = isolate.get_heap_statistics().used_heap_size();
    let limit = remote.settings.memory_limit;
    let must_stop = match kind {
        v8::GCType::kGCTypeMarkSweepCompact => remote.accounts.collections.end(used, limit),
        v8::GCType::kGCTypeIncrementalMarking => {
            remote.accounts.collections.begin_steps();
            false
        }
        _ => false,
    };
    if used <= limit {
        return;
    }
    // In code of V8 that does not stop, it would take all of the memory for unwinding.
    if cfg!(target_os = "linux") && (remote.is_gone() || remote.holds_host_up(used)) && !locks::held() {
        park(false);
    }
    if must_stop {
        remote.stop(Stop::Memory);
    } else {
        // Some of it may be garbage. A collection cannot be requested from inside another one.
        remote.execution.interrupt(on_full);
    }
}

unsafe extern "C" fn on_full(isolate: v8::UnsafeRawIsolatePtr, _data: *mut c_void) {
    // SAFETY: V8 passes the isolate that is entered on this thread, for the time of this call.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    let limit = current().map_or(usize::MAX, |remote| remote.settings.memory_limit);
    if isolate.get_heap_statistics().used_heap_size() > limit {
        isolate.low_memory_notification();
    }
}

unsafe extern "C" fn on_near_heap_limit(isolate: *mut c_void, limit: usize, initial: usize) -> usize {
    let Some(remote) = current() else { return limit };
    // SAFETY: `install` passes the isolate's own address, and V8 calls this on its thread.
    let mut isolate = unsafe { v8::Isolate::from_raw_ptr(isolate.cast()) };
    let heap = isolate.get_heap_statistics();
    // V8 also calls this after its last attempt to make room for a buffer. The heap is not full then; the guest gets a RangeError.
    if remote.accounts.budget.take_refusal() && heap.used_heap_size() < remote.settings.memory_limit / 10 * 9 {
        return limit;
    }
    remote.stop(Stop::Memory);
    // This memory is added once. A guest that uses this up as well ends in `on_out_of_memory`.
    initial.saturating_add(UNWINDING_ROOM).max(limit)
}

unsafe extern "C" fn on_out_of_memory(_location: *const c_char, _details: &v8::OomDetails) {
    park(false);
    // There is no isolate to abandon.
    std::process::abort();
}

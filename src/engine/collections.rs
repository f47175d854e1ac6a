//! V8's own threads that wait for a collection of an isolate: until it is over, or because they have requested one. If the isolate's thread has
//! stopped permanently, they wait forever, so others take their places.

use std::ffi::c_void;

use super::linux;
use super::worker::replace_thread;
use crate::native::{self, NativeQuota};

type Object = *mut c_void;

unsafe extern "C" {
    /// `v8::internal::IsolateSafepoint::WaitInSafepoint`.
    #[link_name = "__real__ZN2v88internal16IsolateSafepoint15WaitInSafepointEv"]
    fn wait_at_safepoint(safepoint: Object);
    /// `v8::internal::IsolateSafepoint::WaitInUnpark`.
    #[link_name = "__real__ZN2v88internal16IsolateSafepoint12WaitInUnparkEv"]
    fn wait_to_continue(safepoint: Object);
    /// `v8::internal::CollectionBarrier::AwaitCollectionBackground`.
    #[link_name = "__real__ZN2v88internal17CollectionBarrier25AwaitCollectionBackgroundEPNS0_9LocalHeapENS0_15RequestedGCKindE"]
    fn await_requested(barrier: Object, heap: Object, kind: u8) -> bool;
    /// `v8::base::RecursiveMutex::Lock`. A part of `IsolateSafepoint` is such a mutex. A thread that begins or ends to work on a heap locks it.
    #[link_name = "__real__ZN2v84base14RecursiveMutex4LockEv"]
    fn lock(mutex: Object);
    #[link_name = "_ZN2v84base14RecursiveMutex7TryLockEv"]
    fn try_lock(mutex: Object) -> bool;
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal16IsolateSafepoint15WaitInSafepointEv",
    ".hidden __wrap__ZN2v88internal16IsolateSafepoint12WaitInUnparkEv",
    ".hidden __wrap__ZN2v88internal17CollectionBarrier25AwaitCollectionBackgroundEPNS0_9LocalHeapENS0_15RequestedGCKindE",
    ".hidden __wrap__ZN2v84base14RecursiveMutex4LockEv"
);

/// `wait` waits for the object at the address `at`, or for a collection that this thread has requested.
fn waiting<T>(at: Option<usize>, wait: impl FnOnce() -> T) -> T {
    let Some(quota) = native::current().filter(|_| native::entered_tasks() > 0) else { return wait() };
    let thread = linux::current_thread();
    if quota.tasks().begin_wait(thread, at) {
        replace_thread(thread);
    }
    let result = wait();
    while quota.tasks().end_wait(thread) {
        // Woken by the collection before, but the heap is no longer accessed.
        std::thread::park();
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal16IsolateSafepoint15WaitInSafepointEv(safepoint: Object) {
    // SAFETY: forwards the call.
    waiting(Some(safepoint as usize), || unsafe { wait_at_safepoint(safepoint) });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal16IsolateSafepoint12WaitInUnparkEv(safepoint: Object) {
    // SAFETY: forwards the call.
    waiting(Some(safepoint as usize), || unsafe { wait_to_continue(safepoint) });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal17CollectionBarrier25AwaitCollectionBackgroundEPNS0_9LocalHeapENS0_15RequestedGCKindE(
    barrier: Object,
    heap: Object,
    kind: u8,
) -> bool {
    // SAFETY: forwards the call.
    waiting(None, || unsafe { await_requested(barrier, heap, kind) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v84base14RecursiveMutex4LockEv(mutex: Object) {
    // SAFETY: both lock the mutex.
    unsafe {
        if native::entered_tasks() == 0 {
            lock(mutex);
        } else if !try_lock(mutex) {
            waiting(Some(mutex as usize), || lock(mutex));
        }
    }
}

unsafe extern "C" {
    /// The address of this thread's `v8::internal::g_current_local_heap_`.
    #[link_name = "_ZTWN2v88internal21g_current_local_heap_E"]
    fn local_heap() -> *mut Object;
    /// `v8::internal::LocalHeap::IsParked`.
    #[link_name = "_ZNK2v88internal9LocalHeap8IsParkedEv"]
    fn is_parked(heap: Object) -> bool;
    /// `v8::internal::LocalHeap::ParkSlowPath`.
    #[link_name = "_ZN2v88internal9LocalHeap12ParkSlowPathEv"]
    fn park(heap: Object);
}

/// This thread, which runs tasks of V8, stops permanently. From now on, no collection waits for it.
pub fn leave_heap() {
    // SAFETY: V8 has set the heap that this thread works on, if any. The thread does not continue to use it.
    unsafe {
        let heap = *local_heap();
        if !heap.is_null() && !is_parked(heap) {
            park(heap);
        }
    }
}

/// The thread of the isolate with `quota` has stopped permanently at this `v8::internal::IsolateSafepoint`; 0 for none. V8's own threads begin
/// no task for it any more.
pub fn stop_tasks(quota: &NativeQuota, safepoint: usize) {
    // SAFETY: it is null, or a block of its own of an isolate that is never disposed of.
    let size = unsafe { libc::malloc_usable_size(safepoint as Object) };
    quota.tasks().stop(safepoint..safepoint + size).into_iter().for_each(replace_thread);
}

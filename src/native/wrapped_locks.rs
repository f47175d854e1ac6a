//! The functions with which V8 (`absl::Mutex`) and ICU (`std::mutex`) lock: the linker redirects them to this module (`build.rs`). It also
//! redirects functions that make other threads wait without such a lock: three functions of ICU, V8's `CallOnce`, the functions with which C++
//! initializes static variables of functions, and the functions of V8 that take spin locks.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use super::conditions::{self, CppMutex};
use super::locks::{begin, end, take};
use super::stack;

unsafe extern "C" {
    #[link_name = "__real__ZN4absl5Mutex4lockEv"]
    fn lock_v8(mutex: *mut c_void);
    #[link_name = "__real__ZN4absl5Mutex8try_lockEv"]
    fn try_lock_v8(mutex: *mut c_void) -> bool;
    #[link_name = "__real__ZN4absl5Mutex6unlockEv"]
    fn unlock_v8(mutex: *mut c_void);
    #[link_name = "__real__ZN4absl5Mutex11lock_sharedEv"]
    fn lock_shared(mutex: *mut c_void);
    #[link_name = "__real__ZN4absl5Mutex15try_lock_sharedEv"]
    fn try_lock_shared(mutex: *mut c_void) -> bool;
    #[link_name = "__real__ZN4absl5Mutex13unlock_sharedEv"]
    fn unlock_shared(mutex: *mut c_void);
    /// `absl::CondVar::WaitCommon`. The timeout is one number; true if it is over.
    #[link_name = "__real__ZN4absl7CondVar10WaitCommonEPNS_5MutexENS_24synchronization_internal13KernelTimeoutE"]
    fn wait(condition: *mut c_void, mutex: *mut c_void, timeout: u64) -> bool;
    #[link_name = "__real__ZN4absl7CondVar6SignalEv"]
    fn signal(condition: *mut c_void);
    #[link_name = "__real__ZN4absl7CondVar9SignalAllEv"]
    fn signal_all(condition: *mut c_void);
    #[link_name = "__real__ZNSt4__Cr5mutex4lockEv"]
    fn lock_icu(mutex: *mut c_void);
    #[link_name = "__real__ZNSt4__Cr5mutex8try_lockEv"]
    fn try_lock_icu(mutex: *mut c_void) -> bool;
    #[link_name = "__real__ZNSt4__Cr5mutex6unlockEv"]
    fn unlock_icu(mutex: *mut c_void);
    #[link_name = "__real__ZN6icu_7820umtx_initImplPreInitERNS_9UInitOnceE"]
    fn begin_once(once: *mut c_void) -> i8;
    #[link_name = "__real__ZN6icu_7821umtx_initImplPostInitERNS_9UInitOnceE"]
    fn end_once(once: *mut c_void);
    #[link_name = "__real__ZNK6icu_7812UnifiedCache4_getERKNS_12CacheKeyBaseERPKNS_12SharedObjectEPKvR10UErrorCode"]
    fn get(cache: *const c_void, key: *const c_void, value: *mut c_void, context: *const c_void, status: *mut i32);
    #[link_name = "__real__ZN2v84base12CallOnceImplEPNSt4__Cr6atomicIhEENS1_8functionIFvvEEE"]
    fn call_once(once: *mut c_void, function: *mut c_void);
    #[link_name = "__real__ZNSt4__Cr11__call_onceERVmPvPFvS2_E"]
    fn call_std_once(flag: *mut c_void, argument: *mut c_void, function: *mut c_void);
    /// The lock with which C++ reads and writes shared pointers atomically.
    #[link_name = "__real__ZNSt4__Cr8__sp_mut4lockEv"]
    fn lock_pointer(mutex: *mut c_void);
    #[link_name = "__real__ZNSt4__Cr8__sp_mut6unlockEv"]
    fn unlock_pointer(mutex: *mut c_void);
    /// Takes all free entries away from the table while it looks at them.
    #[link_name = "__real__ZN2v88internal4wasm20WasmCodePointerTable13SweepSegmentsEm"]
    fn sweep_code_table(table: *mut c_void, threshold: usize);
    /// Takes a spin lock of all profilers, as the next one does.
    #[link_name = "__real__ZN2v87sampler7Sampler5StartEv"]
    fn start_sampler(sampler: *mut c_void);
    #[link_name = "__real__ZN2v87sampler7Sampler4StopEv"]
    fn stop_sampler(sampler: *mut c_void);
    /// `v8::internal::trap_handler::RegisterCoveredMemory`. Like the next three, takes spin locks. Those that return nothing leave the register of
    /// the result as it is.
    #[link_name = "__real__ZN2v88internal12trap_handler21RegisterCoveredMemoryEmm"]
    fn register_memory(start: usize, size: usize) -> usize;
    #[link_name = "__real__ZN2v88internal12trap_handler23UnregisterCoveredMemoryEmm"]
    fn unregister_memory(start: usize, size: usize) -> usize;
    #[link_name = "__real__ZN2v88internal12trap_handler19RegisterHandlerDataEmmmPKNS1_23TrappingInstructionDataE"]
    fn register_code(start: usize, size: usize, count: usize, instructions: *const c_void) -> usize;
    #[link_name = "__real__ZN2v88internal12trap_handler18ReleaseHandlerDataEi"]
    fn release_code(index: i32) -> usize;
    #[link_name = "__real___cxa_guard_acquire"]
    fn begin_static(guard: *mut c_void) -> i32;
    #[link_name = "__real___cxa_guard_release"]
    fn end_static(guard: *mut c_void);
}

core::arch::global_asm!(
    ".hidden __wrap__ZN4absl5Mutex4lockEv",
    ".hidden __wrap__ZN4absl5Mutex8try_lockEv",
    ".hidden __wrap__ZN4absl5Mutex6unlockEv",
    ".hidden __wrap__ZN4absl5Mutex11lock_sharedEv",
    ".hidden __wrap__ZN4absl5Mutex15try_lock_sharedEv",
    ".hidden __wrap__ZN4absl5Mutex13unlock_sharedEv",
    ".hidden __wrap__ZN4absl7CondVar10WaitCommonEPNS_5MutexENS_24synchronization_internal13KernelTimeoutE",
    ".hidden __wrap__ZN4absl7CondVar6SignalEv",
    ".hidden __wrap__ZN4absl7CondVar9SignalAllEv",
    ".hidden __wrap__ZNSt4__Cr5mutex4lockEv",
    ".hidden __wrap__ZNSt4__Cr5mutex8try_lockEv",
    ".hidden __wrap__ZNSt4__Cr5mutex6unlockEv",
    ".hidden __wrap__ZN6icu_7820umtx_initImplPreInitERNS_9UInitOnceE",
    ".hidden __wrap__ZN6icu_7821umtx_initImplPostInitERNS_9UInitOnceE",
    ".hidden __wrap__ZNK6icu_7812UnifiedCache4_getERKNS_12CacheKeyBaseERPKNS_12SharedObjectEPKvR10UErrorCode",
    ".hidden __wrap__ZN2v84base12CallOnceImplEPNSt4__Cr6atomicIhEENS1_8functionIFvvEEE",
    ".hidden __wrap__ZNSt4__Cr11__call_onceERVmPvPFvS2_E",
    ".hidden __wrap__ZNSt4__Cr8__sp_mut4lockEv",
    ".hidden __wrap__ZNSt4__Cr8__sp_mut6unlockEv",
    ".hidden __wrap__ZN2v88internal4wasm20WasmCodePointerTable13SweepSegmentsEm",
    ".hidden __wrap__ZN2v87sampler7Sampler5StartEv",
    ".hidden __wrap__ZN2v87sampler7Sampler4StopEv",
    ".hidden __wrap__ZN2v88internal12trap_handler21RegisterCoveredMemoryEmm",
    ".hidden __wrap__ZN2v88internal12trap_handler23UnregisterCoveredMemoryEmm",
    ".hidden __wrap__ZN2v88internal12trap_handler19RegisterHandlerDataEmmmPKNS1_23TrappingInstructionDataE",
    ".hidden __wrap__ZN2v88internal12trap_handler18ReleaseHandlerDataEi",
    ".hidden __wrap___cxa_guard_acquire",
    ".hidden __wrap___cxa_guard_release"
);

thread_local! {
    static LAST_OF_V8: Cell<*mut c_void> = const { Cell::new(ptr::null_mut()) };
}

/// The lock of V8 that the thread has acquired last, whether or not it still holds it.
pub fn last_of_v8() -> Option<NonNull<c_void>> {
    LAST_OF_V8.try_with(|last| NonNull::new(last.get())).unwrap_or(None)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN4absl5Mutex4lockEv(mutex: *mut c_void) {
    stack::check();
    // SAFETY: forwards the call.
    unsafe { take(mutex, lock_v8, try_lock_v8) };
    let _ = LAST_OF_V8.try_with(|last| last.set(mutex));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN4absl5Mutex8try_lockEv(mutex: *mut c_void) -> bool {
    begin();
    // SAFETY: forwards the call.
    let locked = unsafe { try_lock_v8(mutex) };
    if !locked {
        end();
    }
    locked
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN4absl5Mutex6unlockEv(mutex: *mut c_void) {
    // SAFETY: forwards the call.
    unsafe { unlock_v8(mutex) };
    end();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN4absl5Mutex11lock_sharedEv(mutex: *mut c_void) {
    // SAFETY: forwards the call.
    unsafe { take(mutex, lock_shared, try_lock_shared) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN4absl5Mutex15try_lock_sharedEv(mutex: *mut c_void) -> bool {
    begin();
    // SAFETY: forwards the call.
    let locked = unsafe { try_lock_shared(mutex) };
    if !locked {
        end();
    }
    locked
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN4absl5Mutex13unlock_sharedEv(mutex: *mut c_void) {
    // SAFETY: forwards the call.
    unsafe { unlock_shared(mutex) };
    end();
}

/// `absl::synchronization_internal::KernelTimeout::kNoTimeout`.
const NO_TIMEOUT: u64 = u64::MAX;

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN4absl7CondVar10WaitCommonEPNS_5MutexENS_24synchronization_internal13KernelTimeoutE(
    condition: *mut c_void,
    mutex: *mut c_void,
    timeout: u64,
) -> bool {
    if timeout == NO_TIMEOUT && conditions::can_leave() {
        let mutex = CppMutex { mutex, lock: lock_v8, try_lock: try_lock_v8, unlock: unlock_v8 };
        // SAFETY: these are the functions of `absl::Mutex`. V8 waits with the mutex of the condition locked, and it is the only one.
        unsafe { conditions::wait(condition, mutex) };
        return false;
    }
    // SAFETY: forwards the call.
    unsafe { wait(condition, mutex, timeout) }
}

/// Takes a spin lock of the condition, as `signal_all` does.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN4absl7CondVar6SignalEv(condition: *mut c_void) {
    begin();
    if conditions::wake(condition, 1) == 0 {
        // SAFETY: forwards the call.
        unsafe { signal(condition) };
    }
    end();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN4absl7CondVar9SignalAllEv(condition: *mut c_void) {
    begin();
    conditions::wake(condition, usize::MAX);
    // SAFETY: forwards the call.
    unsafe { signal_all(condition) };
    end();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZNSt4__Cr5mutex4lockEv(mutex: *mut c_void) {
    stack::check();
    // SAFETY: forwards the call.
    unsafe { take(mutex, lock_icu, try_lock_icu) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZNSt4__Cr5mutex8try_lockEv(mutex: *mut c_void) -> bool {
    begin();
    // SAFETY: forwards the call.
    let locked = unsafe { try_lock_icu(mutex) };
    if !locked {
        end();
    }
    locked
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZNSt4__Cr5mutex6unlockEv(mutex: *mut c_void) {
    // SAFETY: forwards the call.
    unsafe { unlock_icu(mutex) };
    end();
}

/// True for the thread that must perform the initialization guarded by `once`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN6icu_7820umtx_initImplPreInitERNS_9UInitOnceE(once: *mut c_void) -> i8 {
    begin();
    // SAFETY: forwards the call.
    let makes = unsafe { begin_once(once) };
    if makes == 0 {
        end();
    }
    makes
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN6icu_7821umtx_initImplPostInitERNS_9UInitOnceE(once: *mut c_void) {
    // SAFETY: forwards the call.
    unsafe { end_once(once) };
    end();
}

/// Creates what is not in the cache. Other threads that ask for the same entry wait.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZNK6icu_7812UnifiedCache4_getERKNS_12CacheKeyBaseERPKNS_12SharedObjectEPKvR10UErrorCode(
    cache: *const c_void,
    key: *const c_void,
    value: *mut c_void,
    context: *const c_void,
    status: *mut i32,
) {
    begin();
    // SAFETY: forwards the call.
    unsafe { get(cache, key, value, context, status) };
    end();
}

/// Other threads that need the same wait. C++ passes the address of the function to call.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v84base12CallOnceImplEPNSt4__Cr6atomicIhEENS1_8functionIFvvEEE(
    once: *mut c_void,
    function: *mut c_void,
) {
    begin();
    // SAFETY: forwards the call.
    unsafe { call_once(once, function) };
    end();
}

/// 1 for the thread that must initialize a static variable. V8 is built without exceptions, so the initialization always completes.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap___cxa_guard_acquire(guard: *mut c_void) -> i32 {
    begin();
    // SAFETY: forwards the call.
    let makes = unsafe { begin_static(guard) };
    if makes == 0 {
        end();
    }
    makes
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap___cxa_guard_release(guard: *mut c_void) {
    // SAFETY: forwards the call.
    unsafe { end_static(guard) };
    end();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal12trap_handler21RegisterCoveredMemoryEmm(
    start: usize,
    size: usize,
) -> usize {
    begin();
    // SAFETY: forwards the call.
    let result = unsafe { register_memory(start, size) };
    end();
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal12trap_handler23UnregisterCoveredMemoryEmm(
    start: usize,
    size: usize,
) -> usize {
    begin();
    // SAFETY: forwards the call.
    let result = unsafe { unregister_memory(start, size) };
    end();
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal12trap_handler19RegisterHandlerDataEmmmPKNS1_23TrappingInstructionDataE(
    start: usize,
    size: usize,
    count: usize,
    instructions: *const c_void,
) -> usize {
    begin();
    // SAFETY: forwards the call.
    let result = unsafe { register_code(start, size, count, instructions) };
    end();
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal12trap_handler18ReleaseHandlerDataEi(index: i32) -> usize {
    begin();
    // SAFETY: forwards the call.
    let result = unsafe { release_code(index) };
    end();
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZNSt4__Cr11__call_onceERVmPvPFvS2_E(
    flag: *mut c_void,
    argument: *mut c_void,
    function: *mut c_void,
) {
    begin();
    // SAFETY: forwards the call.
    unsafe { call_std_once(flag, argument, function) };
    end();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZNSt4__Cr8__sp_mut4lockEv(mutex: *mut c_void) {
    begin();
    // SAFETY: forwards the call.
    unsafe { lock_pointer(mutex) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZNSt4__Cr8__sp_mut6unlockEv(mutex: *mut c_void) {
    // SAFETY: forwards the call.
    unsafe { unlock_pointer(mutex) };
    end();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal4wasm20WasmCodePointerTable13SweepSegmentsEm(
    table: *mut c_void,
    threshold: usize,
) {
    begin();
    // SAFETY: forwards the call.
    unsafe { sweep_code_table(table, threshold) };
    end();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v87sampler7Sampler5StartEv(sampler: *mut c_void) {
    begin();
    // SAFETY: forwards the call.
    unsafe { start_sampler(sampler) };
    end();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v87sampler7Sampler4StopEv(sampler: *mut c_void) {
    begin();
    // SAFETY: forwards the call.
    unsafe { stop_sampler(sampler) };
    end();
}

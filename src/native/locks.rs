//! Whether this thread holds something that other threads may wait for: a lock of V8's or of ICU's, or the right to make what ICU makes
//! once for the process. A thread that ends there stops every isolate that needs the same. So nothing is refused to it meanwhile: what
//! it takes counts all the same, and the guest ends later.
//!
//! On Linux the linker sends the functions here by which V8 (`absl::Mutex`) and ICU (`std::mutex`) lock (`build.rs`), and those that run
//! what others wait for without a lock: three of ICU, V8's `CallOnce`, and what C++ makes static variables of functions by.

use std::cell::Cell;

thread_local! {
    /// Locks that the thread holds, and one more where it is a thread of V8's.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// Other threads may wait for this one.
pub fn held() -> bool {
    HELD.try_with(|held| held.get() > 0).unwrap_or(true)
}

/// Locks that the thread holds already do not count: that of its own isolate, which no other isolate needs.
pub fn disregard_held() {
    set(0);
}

/// Counts as if so many locks were held. Returns how many were before.
pub(super) fn set(count: u32) -> u32 {
    HELD.try_with(|held| held.replace(count)).unwrap_or(0)
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::c_void;

    use super::HELD;
    use crate::native::stack;

    unsafe extern "C" {
        #[link_name = "__real__ZN4absl5Mutex4lockEv"]
        fn lock_v8(mutex: *mut c_void);
        #[link_name = "__real__ZN4absl5Mutex8try_lockEv"]
        fn try_lock_v8(mutex: *mut c_void) -> bool;
        #[link_name = "__real__ZN4absl5Mutex6unlockEv"]
        fn unlock_v8(mutex: *mut c_void);
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
        #[link_name = "__real___cxa_guard_acquire"]
        fn begin_static(guard: *mut c_void) -> i32;
        #[link_name = "__real___cxa_guard_release"]
        fn end_static(guard: *mut c_void);
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN4absl5Mutex4lockEv",
        ".hidden __wrap__ZN4absl5Mutex8try_lockEv",
        ".hidden __wrap__ZN4absl5Mutex6unlockEv",
        ".hidden __wrap__ZNSt4__Cr5mutex4lockEv",
        ".hidden __wrap__ZNSt4__Cr5mutex8try_lockEv",
        ".hidden __wrap__ZNSt4__Cr5mutex6unlockEv",
        ".hidden __wrap__ZN6icu_7820umtx_initImplPreInitERNS_9UInitOnceE",
        ".hidden __wrap__ZN6icu_7821umtx_initImplPostInitERNS_9UInitOnceE",
        ".hidden __wrap__ZNK6icu_7812UnifiedCache4_getERKNS_12CacheKeyBaseERPKNS_12SharedObjectEPKvR10UErrorCode",
        ".hidden __wrap__ZN2v84base12CallOnceImplEPNSt4__Cr6atomicIhEENS1_8functionIFvvEEE",
        ".hidden __wrap___cxa_guard_acquire",
        ".hidden __wrap___cxa_guard_release"
    );

    fn begin() {
        let _ = HELD.try_with(|held| held.set(held.get() + 1));
    }

    fn end() {
        let _ = HELD.try_with(|held| held.set(held.get().saturating_sub(1)));
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN4absl5Mutex4lockEv(mutex: *mut c_void) {
        stack::check();
        // SAFETY: passed on.
        unsafe { lock_v8(mutex) };
        begin();
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN4absl5Mutex8try_lockEv(mutex: *mut c_void) -> bool {
        // SAFETY: passed on.
        let locked = unsafe { try_lock_v8(mutex) };
        if locked {
            begin();
        }
        locked
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN4absl5Mutex6unlockEv(mutex: *mut c_void) {
        // SAFETY: passed on.
        unsafe { unlock_v8(mutex) };
        end();
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZNSt4__Cr5mutex4lockEv(mutex: *mut c_void) {
        stack::check();
        // SAFETY: passed on.
        unsafe { lock_icu(mutex) };
        begin();
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZNSt4__Cr5mutex8try_lockEv(mutex: *mut c_void) -> bool {
        // SAFETY: passed on.
        let locked = unsafe { try_lock_icu(mutex) };
        if locked {
            begin();
        }
        locked
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZNSt4__Cr5mutex6unlockEv(mutex: *mut c_void) {
        // SAFETY: passed on.
        unsafe { unlock_icu(mutex) };
        end();
    }

    /// True for the thread that is to make what `once` stands for.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN6icu_7820umtx_initImplPreInitERNS_9UInitOnceE(once: *mut c_void) -> i8 {
        // SAFETY: passed on.
        let makes = unsafe { begin_once(once) };
        if makes != 0 {
            begin();
        }
        makes
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN6icu_7821umtx_initImplPostInitERNS_9UInitOnceE(once: *mut c_void) {
        // SAFETY: passed on.
        unsafe { end_once(once) };
        end();
    }

    /// Makes what is not in the cache. Who asks for the same waits.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZNK6icu_7812UnifiedCache4_getERKNS_12CacheKeyBaseERPKNS_12SharedObjectEPKvR10UErrorCode(
        cache: *const c_void,
        key: *const c_void,
        value: *mut c_void,
        context: *const c_void,
        status: *mut i32,
    ) {
        begin();
        // SAFETY: passed on.
        unsafe { get(cache, key, value, context, status) };
        end();
    }

    /// Who needs the same waits. C++ passes the address of the function to call.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v84base12CallOnceImplEPNSt4__Cr6atomicIhEENS1_8functionIFvvEEE(
        once: *mut c_void,
        function: *mut c_void,
    ) {
        begin();
        // SAFETY: passed on.
        unsafe { call_once(once, function) };
        end();
    }

    /// 1 for the thread that is to make a static variable. V8 is built without exceptions, so that it does.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap___cxa_guard_acquire(guard: *mut c_void) -> i32 {
        // SAFETY: passed on.
        let makes = unsafe { begin_static(guard) };
        if makes != 0 {
            begin();
        }
        makes
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap___cxa_guard_release(guard: *mut c_void) {
        // SAFETY: passed on.
        unsafe { end_static(guard) };
        end();
    }
}

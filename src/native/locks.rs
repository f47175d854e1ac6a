//! Whether this thread is inside of something of ICU's that other threads may wait for: one of its locks, or the making of what it makes
//! once for all. A thread that stopped for good there would stop every isolate that needs the same.
//!
//! ICU alone takes C++'s own mutexes. The linker sends those calls here (`build.rs`), and the three functions that run what others wait
//! for without a lock.

use std::cell::Cell;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Others may wait for this thread.
pub fn held() -> bool {
    HELD.try_with(Cell::get).is_ok_and(|held| held > 0)
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::c_void;

    use super::HELD;

    unsafe extern "C" {
        #[link_name = "__real__ZNSt4__Cr5mutex4lockEv"]
        fn lock(mutex: *mut c_void);
        #[link_name = "__real__ZNSt4__Cr5mutex8try_lockEv"]
        fn try_lock(mutex: *mut c_void) -> bool;
        #[link_name = "__real__ZNSt4__Cr5mutex6unlockEv"]
        fn unlock(mutex: *mut c_void);
        #[link_name = "__real__ZN6icu_7820umtx_initImplPreInitERNS_9UInitOnceE"]
        fn begin_once(once: *mut c_void) -> i8;
        #[link_name = "__real__ZN6icu_7821umtx_initImplPostInitERNS_9UInitOnceE"]
        fn end_once(once: *mut c_void);
        #[link_name = "__real__ZNK6icu_7812UnifiedCache4_getERKNS_12CacheKeyBaseERPKNS_12SharedObjectEPKvR10UErrorCode"]
        fn get(cache: *const c_void, key: *const c_void, value: *mut c_void, context: *const c_void, status: *mut i32);
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZNSt4__Cr5mutex4lockEv",
        ".hidden __wrap__ZNSt4__Cr5mutex8try_lockEv",
        ".hidden __wrap__ZNSt4__Cr5mutex6unlockEv",
        ".hidden __wrap__ZN6icu_7820umtx_initImplPreInitERNS_9UInitOnceE",
        ".hidden __wrap__ZN6icu_7821umtx_initImplPostInitERNS_9UInitOnceE",
        ".hidden __wrap__ZNK6icu_7812UnifiedCache4_getERKNS_12CacheKeyBaseERPKNS_12SharedObjectEPKvR10UErrorCode"
    );

    fn begin() {
        let _ = HELD.try_with(|held| held.set(held.get() + 1));
    }

    fn end() {
        let _ = HELD.try_with(|held| held.set(held.get().saturating_sub(1)));
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZNSt4__Cr5mutex4lockEv(mutex: *mut c_void) {
        // SAFETY: passed on.
        unsafe { lock(mutex) };
        begin();
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZNSt4__Cr5mutex8try_lockEv(mutex: *mut c_void) -> bool {
        // SAFETY: passed on.
        let locked = unsafe { try_lock(mutex) };
        if locked {
            begin();
        }
        locked
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZNSt4__Cr5mutex6unlockEv(mutex: *mut c_void) {
        // SAFETY: passed on.
        unsafe { unlock(mutex) };
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
}

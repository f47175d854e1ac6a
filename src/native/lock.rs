//! Whether a thread may be refused memory. V8 cannot go on without it: the thread ends there, and a lock that it holds is never free
//! again. Some of V8's locks are the process's, so while a thread has one it gets the memory, which counts all the same, and the guest
//! ends later. On Linux the linker sends the functions here by which V8 locks (`build.rs`).

use std::cell::Cell;

thread_local! {
    /// Locks that the thread has, and one more where it is a thread of V8's.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// Nothing is refused to this thread at the moment.
pub fn is_held() -> bool {
    HELD.try_with(|held| held.get() > 0).unwrap_or(true)
}

/// As if so many locks were held. How many were before.
pub(super) fn set(count: u32) -> u32 {
    HELD.try_with(|held| held.replace(count)).unwrap_or(0)
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::c_void;

    use super::HELD;

    unsafe extern "C" {
        /// `absl::Mutex::lock` and its kind, on which V8's own are based.
        #[link_name = "__real__ZN4absl5Mutex4lockEv"]
        fn lock(mutex: *mut c_void);
        #[link_name = "__real__ZN4absl5Mutex8try_lockEv"]
        fn try_lock(mutex: *mut c_void) -> bool;
        #[link_name = "__real__ZN4absl5Mutex6unlockEv"]
        fn unlock(mutex: *mut c_void);
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN4absl5Mutex4lockEv",
        ".hidden __wrap__ZN4absl5Mutex8try_lockEv",
        ".hidden __wrap__ZN4absl5Mutex6unlockEv"
    );

    fn change(by: impl Fn(u32) -> u32) {
        let _ = HELD.try_with(|held| held.set(by(held.get())));
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN4absl5Mutex4lockEv(mutex: *mut c_void) {
        // SAFETY: passed on.
        unsafe { lock(mutex) };
        change(|held| held + 1);
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN4absl5Mutex8try_lockEv(mutex: *mut c_void) -> bool {
        // SAFETY: passed on.
        let locked = unsafe { try_lock(mutex) };
        if locked {
            change(|held| held + 1);
        }
        locked
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN4absl5Mutex6unlockEv(mutex: *mut c_void) {
        change(|held| held.saturating_sub(1));
        // SAFETY: passed on.
        unsafe { unlock(mutex) };
    }
}

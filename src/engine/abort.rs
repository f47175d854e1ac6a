//! What happens when V8 wants to end the process. Some of its out-of-memory errors reach no handler: on Linux the linker sends the two
//! functions that such errors end in, and every call of `abort()`, here (`build.rs`), so that the thread of a guest can be parked
//! instead.
//!
//! Only running out of memory is survivable. After any other fatal error memory may be corrupt: the process ends. The exceptions
//! are V8's refusal to write a snapshot of something, which is a fatal error to it ([`contain_fatal_errors`]), and panics of Rust
//! code that would unwind into V8's: those corrupt nothing.

use std::cell::Cell;
#[cfg(target_os = "linux")]
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

#[cfg(target_os = "linux")]
use crate::native::refusal;

thread_local! {
    /// What V8 finds broken now is broken in nothing but the isolate of this thread.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, in which a fatal error of V8's costs this thread and its isolate and nothing more.
pub fn contain_fatal_errors<T>(work: impl FnOnce() -> T) -> T {
    CONTAINED.set(true);
    let result = work();
    CONTAINED.set(false);
    result
}

/// Does not return if the thread belongs to a guest. The argument tells a contained fatal error from running out of
/// memory.
pub type Park = fn(bool);

static PARK: OnceLock<Park> = OnceLock::new();

/// Gives up the isolate of this thread, which ran out of memory, and does not return; returns if the thread has none.
pub fn park() {
    if let Some(park) = PARK.get() {
        park(false);
    }
}

#[cfg(target_os = "linux")]
unsafe extern "C" {
    /// `v8::base::SetFatalFunction`, which the crate does not bind. V8 calls the function for errors that are not about
    /// memory, before it aborts.
    #[link_name = "_ZN2v84base16SetFatalFunctionEPFvPKciS2_E"]
    fn set_fatal_function(function: extern "C" fn(*const c_char, c_int, *const c_char));
}

/// Whatever it may have been refused before, this is not about memory.
#[cfg(target_os = "linux")]
extern "C" fn on_fatal(_file: *const c_char, _line: c_int, _message: *const c_char) {
    refusal::forget();
}

/// From now on `park` gets threads that ran out of memory.
#[cfg(target_os = "linux")]
pub fn intercept(park: Park) {
    if PARK.set(park).is_ok() {
        // SAFETY: the function has the type V8 declares, lives for ever and does nothing that V8 forbids there.
        unsafe { set_fatal_function(on_fatal) };
        #[cfg(not(any(test, fuzzing)))]
        {
            refusal::end_by(self::park);
            crate::native::stack::watch();
        }
    }
}

/// No call arrives here: running out of memory in a way that V8 has no handler for ends the process.
#[cfg(not(target_os = "linux"))]
pub fn intercept(park: Park) {
    let _ = PARK.set(park);
}

/// Where the calls arrive.
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::{c_char, c_int};

    use super::{CONTAINED, PARK};
    use crate::native::refusal;

    unsafe extern "C" {
        #[link_name = "__real__ZN2v84base21FatalNoSecurityImpactEPKcz"]
        fn invalid_size(format: *const c_char, ...) -> !;
        #[link_name = "__real__ZN2v84base8FatalOOMENS0_7OOMTypeEPKc"]
        fn out_of_memory(kind: c_int, message: *const c_char) -> !;
    }

    // For the linker of the addon only.
    core::arch::global_asm!(
        ".hidden __wrap__ZN2v84base21FatalNoSecurityImpactEPKcz",
        ".hidden __wrap__ZN2v84base8FatalOOMENS0_7OOMTypeEPKc",
        ".hidden __wrap_abort"
    );

    fn park(contained: bool) {
        if let Some(park) = PARK.get() {
            park(contained);
        }
    }

    /// `v8::base::FatalNoSecurityImpact`: something is larger than V8 can have it. What is said of it besides is not looked at.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v84base21FatalNoSecurityImpactEPKcz(format: *const c_char) -> ! {
        park(false);
        // SAFETY: the format that it prints takes one string, which the caller has passed.
        unsafe { invalid_size(c"%s".as_ptr(), format) }
    }

    /// `v8::base::FatalOOM`, which no handler hears of.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v84base8FatalOOMENS0_7OOMTypeEPKc(kind: c_int, message: *const c_char) -> ! {
        park(false);
        // SAFETY: passed on.
        unsafe { out_of_memory(kind, message) }
    }

    #[unsafe(no_mangle)]
    extern "C" fn __wrap_abort() -> ! {
        let contained = CONTAINED.try_with(std::cell::Cell::get).unwrap_or(false);
        // C++ code that cannot go on without the memory it was refused.
        if contained || refusal::is_noted() || std::thread::panicking() {
            park(contained);
        }
        // What `abort` itself does; calling it would lead here again.
        // SAFETY: the default action of SIGABRT ends the process.
        unsafe {
            libc::signal(libc::SIGABRT, libc::SIG_DFL);
            libc::raise(libc::SIGABRT);
            libc::_exit(128 + libc::SIGABRT)
        }
    }
}

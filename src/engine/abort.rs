//! Handles V8's attempts to end the process. Some of its out-of-memory errors reach no handler. On Linux the linker redirects the two
//! functions in which such errors end, and every call of `abort()`, to this module (`build.rs`), so that the guest's thread can be parked
//! instead.
//!
//! Only running out of memory is survivable. After any other fatal error memory may be corrupt, and the process ends. There are three
//! exceptions, which corrupt nothing: V8 refuses to write something into a snapshot, which it reports as a fatal error
//! ([`contain_fatal_errors`]), an operation fails that V8 takes for granted ([`super::checks`]), and a panic of Rust code would unwind into
//! V8's code.

use std::cell::Cell;
#[cfg(target_os = "linux")]
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

#[cfg(target_os = "linux")]
use super::checks;
use super::start;
#[cfg(target_os = "linux")]
use crate::native::refusal;

thread_local! {
    /// A fatal error on this thread now concerns only this thread's isolate.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`. A fatal error of V8 in it costs only this thread and its isolate.
pub fn contain_fatal_errors<T>(work: impl FnOnce() -> T) -> T {
    CONTAINED.set(true);
    let result = work();
    CONTAINED.set(false);
    result
}

/// Does not return if the thread belongs to a guest. The argument is true for a contained fatal error, false for running out of memory.
pub type Park = fn(bool);

static PARK: OnceLock<Park> = OnceLock::new();

/// Abandons the isolate of this thread, which ran out of memory, and does not return. Returns if the thread has no isolate.
pub fn park() {
    if let Some(park) = PARK.get() {
        start::give_up();
        park(false);
    }
}

/// Abandons the isolate of this thread, in which V8 cannot do what the guest asks for. Returns if the thread has no isolate.
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub fn park_contained() {
    if let Some(park) = PARK.get() {
        start::give_up();
        park(true);
    }
}

/// The same if fatal errors are contained. V8 has read from a null pointer, so it has changed nothing.
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
fn park_at_null() {
    if CONTAINED.try_with(Cell::get).unwrap_or(false) {
        park_contained();
    }
}

#[cfg(target_os = "linux")]
unsafe extern "C" {
    /// `v8::base::SetFatalFunction`, which the crate does not bind. V8 calls the function before it aborts, for errors that are not about
    /// memory.
    #[link_name = "_ZN2v84base16SetFatalFunctionEPFvPKciS2_E"]
    fn set_fatal_function(function: extern "C" fn(*const c_char, c_int, *const c_char));
}

/// This error is not about memory, even if memory was refused before.
#[cfg(target_os = "linux")]
extern "C" fn on_fatal(_file: *const c_char, _line: c_int, message: *const c_char) {
    if !CONTAINED.try_with(Cell::get).unwrap_or(false) {
        // SAFETY: V8 passes a text.
        checks::failed(unsafe { CStr::from_ptr(message) });
    }
    refusal::forget();
}

/// From now on, `park` receives threads that ran out of memory.
#[cfg(target_os = "linux")]
pub fn intercept(park: Park) {
    if PARK.set(park).is_ok() {
        // SAFETY: the function has the type that V8 declares, exists as long as the process, and does nothing that V8 forbids there.
        unsafe { set_fatal_function(on_fatal) };
        #[cfg(not(any(test, fuzzing)))]
        {
            refusal::end_by(self::park);
            crate::native::stack::at_null(park_at_null);
            crate::native::stack::watch();
        }
    }
}

/// Intercepts no calls: on these systems, running out of memory in a way that V8 has no handler for ends the process.
#[cfg(not(target_os = "linux"))]
pub fn intercept(park: Park) {
    let _ = PARK.set(park);
}

/// Targets of the redirected calls.
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::{c_char, c_int};

    use super::{CONTAINED, PARK, start};
    use crate::native::refusal;

    unsafe extern "C" {
        #[link_name = "__real__ZN2v84base21FatalNoSecurityImpactEPKcz"]
        fn invalid_size(format: *const c_char, ...) -> !;
        #[link_name = "__real__ZN2v84base8FatalOOMENS0_7OOMTypeEPKc"]
        fn out_of_memory(kind: c_int, message: *const c_char) -> !;
    }

    // Visible only to the addon's linker.
    core::arch::global_asm!(
        ".hidden __wrap__ZN2v84base21FatalNoSecurityImpactEPKcz",
        ".hidden __wrap__ZN2v84base8FatalOOMENS0_7OOMTypeEPKc",
        ".hidden __wrap_abort"
    );

    fn park(contained: bool) {
        if let Some(park) = PARK.get() {
            start::give_up();
            park(contained);
        }
    }

    /// `v8::base::FatalNoSecurityImpact`: something exceeds a size limit of V8. The arguments after the format are ignored.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v84base21FatalNoSecurityImpactEPKcz(format: *const c_char) -> ! {
        park(false);
        // SAFETY: `%s` takes one string, which is the caller's format.
        unsafe { invalid_size(c"%s".as_ptr(), format) }
    }

    /// `v8::base::FatalOOM`, which calls no handler.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v84base8FatalOOMENS0_7OOMTypeEPKc(kind: c_int, message: *const c_char) -> ! {
        park(false);
        // SAFETY: forwards the call.
        unsafe { out_of_memory(kind, message) }
    }

    #[unsafe(no_mangle)]
    extern "C" fn __wrap_abort() -> ! {
        let contained = CONTAINED.try_with(std::cell::Cell::get).unwrap_or(false);
        // C++ code that cannot continue without the memory that it was refused.
        if contained || refusal::is_noted() || std::thread::panicking() {
            park(contained);
        }
        // Does what `abort` itself does, because calling it would lead back here.
        // SAFETY: the default action of SIGABRT ends the process.
        unsafe {
            libc::signal(libc::SIGABRT, libc::SIG_DFL);
            libc::raise(libc::SIGABRT);
            libc::_exit(128 + libc::SIGABRT)
        }
    }
}

//! What happens when V8 wants to end the process. Some of its out-of-memory errors reach no handler and end in `abort()`;
//! the linker sends every call of that here (`build.rs`), so that the thread of a guest can be parked instead.
//!
//! Only running out of memory is survivable. After any other fatal error memory may be corrupt: the process ends.

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

thread_local! {
    /// V8 has found a broken invariant on this thread.
    static FATAL: Cell<bool> = const { Cell::new(false) };
}

/// Does not return if the thread belongs to a guest.
type Park = fn();

static PARK: OnceLock<Park> = OnceLock::new();

unsafe extern "C" {
    /// `v8::base::SetFatalFunction`, which the crate does not bind. V8 calls the function for errors that are not about
    /// memory, before it aborts.
    #[link_name = "_ZN2v84base16SetFatalFunctionEPFvPKciS2_E"]
    fn set_fatal_function(function: extern "C" fn(*const c_char, c_int, *const c_char));
}

extern "C" fn on_fatal(_file: *const c_char, _line: c_int, _message: *const c_char) {
    let _ = FATAL.try_with(|fatal| fatal.set(true));
}

/// From now on `park` gets threads that ran out of memory.
pub fn intercept(park: Park) {
    if PARK.set(park).is_ok() {
        // SAFETY: the function has the type V8 declares, lives for ever and does nothing that V8 forbids there.
        unsafe { set_fatal_function(on_fatal) };
    }
}

/// Where calls of `abort` arrive.
#[cfg(all(target_os = "linux", not(test)))]
mod wrapped {
    // For the linker of the addon only.
    core::arch::global_asm!(".hidden __wrap_abort");

    #[unsafe(no_mangle)]
    extern "C" fn __wrap_abort() -> ! {
        if !super::FATAL.try_with(std::cell::Cell::get).unwrap_or(true)
            && let Some(park) = super::PARK.get()
        {
            park();
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

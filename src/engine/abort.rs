//! What happens when V8 wants to end the process. Some of its out-of-memory errors reach no handler and end in `abort()`;
//! the linker sends every call of that here (`build.rs`), so that the thread of a guest can be parked instead.
//!
//! Only running out of memory is survivable. After any other fatal error memory may be corrupt: the process ends. The one
//! exception is V8's refusal to write a snapshot of something, which is a fatal error to it ([`contain_fatal_errors`]).

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

/// What a call of `abort` on this thread means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    OutOfMemory,
    /// V8 has found a broken invariant.
    Fatal,
    /// What V8 finds broken now is broken in nothing but the isolate of this thread.
    Contained,
}

thread_local! {
    static MEANING: Cell<Meaning> = const { Cell::new(Meaning::OutOfMemory) };
}

/// Runs `work`, in which a fatal error of V8's costs this thread and its isolate and nothing more.
pub fn contain_fatal_errors<T>(work: impl FnOnce() -> T) -> T {
    MEANING.set(Meaning::Contained);
    let result = work();
    MEANING.set(Meaning::OutOfMemory);
    result
}

/// Does not return if the thread belongs to a guest. The argument tells a contained fatal error from running out of
/// memory.
pub type Park = fn(bool);

static PARK: OnceLock<Park> = OnceLock::new();

unsafe extern "C" {
    /// `v8::base::SetFatalFunction`, which the crate does not bind. V8 calls the function for errors that are not about
    /// memory, before it aborts.
    #[link_name = "_ZN2v84base16SetFatalFunctionEPFvPKciS2_E"]
    fn set_fatal_function(function: extern "C" fn(*const c_char, c_int, *const c_char));
}

extern "C" fn on_fatal(_file: *const c_char, _line: c_int, _message: *const c_char) {
    let _ = MEANING.try_with(|meaning| {
        if meaning.get() == Meaning::OutOfMemory {
            meaning.set(Meaning::Fatal);
        }
    });
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
    use super::Meaning;

    // For the linker of the addon only.
    core::arch::global_asm!(".hidden __wrap_abort");

    #[unsafe(no_mangle)]
    extern "C" fn __wrap_abort() -> ! {
        let meaning = super::MEANING.try_with(std::cell::Cell::get).unwrap_or(Meaning::Fatal);
        if meaning != Meaning::Fatal
            && let Some(park) = super::PARK.get()
        {
            park(meaning == Meaning::Contained);
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

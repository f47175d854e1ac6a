//! V8's checks of results that it does not expect to be empty. V8 assumes that some operations cannot fail, such as the concatenation of a few
//! strings, and ends the process if one does. A guest can make some of them fail, with sizes that V8 does not expect there, or at the end of the
//! stack. Elsewhere the same failure is an exception, so nothing is corrupt. It costs the guest its thread and its isolate, as running out of
//! memory does.

use std::ffi::{CStr, c_char, c_void};
use std::io::{self, Write as _};

use super::abort;
use crate::native::locks;

unsafe extern "C" {
    /// `v8::Isolate::SetFatalErrorHandler`, which the crate does not bind.
    #[link_name = "_ZN2v87Isolate20SetFatalErrorHandlerEPFvPKcS2_E"]
    fn set_fatal_error_handler(isolate: *mut c_void, handler: extern "C" fn(*const c_char, *const c_char));
}

/// `MaybeHandle::ToHandleChecked` of V8, as it is reported. Checks with other texts may mean that memory is corrupt.
const NO_HANDLE: &CStr = c"Check failed: !is_null().";

/// V8 evaluates a module that awaits something, and calls JavaScript for it. It assumes that only a termination makes these calls fail. They also
/// fail at the end of the stack, below a long chain of imports or a deep recursion. V8 reports the first text if it cannot subscribe to the end of
/// the module, and the second one if the code of the module cannot begin: no exception is pending then. The second one is that of every read of an
/// exception that is not pending. V8 does not continue, so nothing uses what it would have read.
const NO_ROOM_FOR_MODULE: [&CStr; 2] =
    [c"Check failed: isolate->is_execution_terminating().", c"Check failed: has_exception()."];

/// V8's inspector lists the properties of an object. It assumes that only an exception makes this fail, which it has caught. The guest may also be
/// stopped meanwhile.
const NOT_CAUGHT: [&CStr; 2] =
    [c"Check failed: tryCatch.HasCaught().", c"Check failed: tryCatchAttributes.HasCaught()."];

/// V8's debugger exchanges the bytecode of functions that run, for breakpoints and back. It compares what it replaces, and finds other bytecode of
/// the same function in some frames if the debugger is disabled while stepping. It has replaced nothing in that frame.
const OTHER_BYTECODE: [&CStr; 2] = [
    c"Check failed: interpreted_frame->GetBytecodeArray() == debug_bytecode.",
    c"Check failed: interpreted_frame->GetBytecodeArray() == original_bytecode.",
];

/// How V8 begins its messages about arrays that are too long, where it has no exception for that.
const TOO_LONG: &[u8] = b"Fatal JavaScript invalid ";

/// `Maybe::FromJust` and `MaybeLocal::ToLocalChecked`, which V8 itself also uses.
const NO_VALUE: [&CStr; 2] = [c"v8::FromJust", c"v8::ToLocalChecked"];

/// V8 is about to end the process with this message. Does not return if that can be avoided.
pub fn failed(message: &CStr) {
    let mut known = [NO_ROOM_FOR_MODULE, NOT_CAUGHT, OTHER_BYTECODE].into_iter().flatten().chain([NO_HANDLE]);
    if known.any(|known| known == message) || message.to_bytes().starts_with(TOO_LONG) {
        park();
    }
}

/// From now on, such failures of `isolate` that V8 reports to a handler do not end the process.
pub fn contain(isolate: &v8::Isolate) {
    // SAFETY: `UnsafeRawIsolatePtr` is a pointer in a newtype, to the isolate that the caller has entered. The handler exists as long as the
    // process.
    unsafe {
        let isolate: *mut c_void = std::mem::transmute(isolate.as_raw_isolate_ptr());
        set_fatal_error_handler(isolate, on_api_failure);
    }
}

/// Other threads may wait for locks that this one holds.
fn park() {
    if !locks::held() {
        abort::park();
    }
}

extern "C" fn on_api_failure(location: *const c_char, message: *const c_char) {
    // SAFETY: V8 passes two texts.
    let [location, message] = [location, message].map(|text| unsafe { CStr::from_ptr(text) });
    if NO_VALUE.contains(&location) {
        park();
    }
    // What V8 does without a handler.
    let _ = writeln!(
        io::stderr(),
        "\n#\n# Fatal error in {}\n# {}\n#\n",
        location.to_string_lossy(),
        message.to_string_lossy()
    );
    std::process::abort();
}

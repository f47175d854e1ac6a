//! What happens when a guest reaches its heap limit: it is terminated with a loan of memory to unwind on; where V8
//! gives up nevertheless, the thread answers for its calls and parks for ever, since it cannot return.

use std::ffi::{c_char, c_void};

use super::remote::Stop;
use super::run;

/// The largest single allocation V8 makes for one object (128 Mi slots), and room to unwind.
const LOAN: usize = 1_150 << 20;

pub fn install(isolate: &mut v8::OwnedIsolate) {
    isolate.add_near_heap_limit_callback(on_near_heap_limit, std::ptr::null_mut());
    isolate.set_oom_error_handler(on_out_of_memory);
}

unsafe extern "C" fn on_near_heap_limit(_data: *mut c_void, current: usize, initial: usize) -> usize {
    if let Some(remote) = run::current() {
        remote.stop(Stop::Memory);
    }
    // Lent once; a guest that uses that up as well ends in the handler below.
    initial.saturating_add(LOAN).max(current)
}

unsafe extern "C" fn on_out_of_memory(_location: *const c_char, _details: &v8::OomDetails) {
    let Some(remote) = run::current() else {
        // A thread of V8's own: there is no call to answer and nothing to go back to.
        std::process::abort();
    };
    remote.stop(Stop::Memory);
    remote.give_up("Catastrophic out-of-memory error");
    // V8's heap is in the middle of an operation; returning would let it abort the process.
    loop {
        std::thread::park();
    }
}

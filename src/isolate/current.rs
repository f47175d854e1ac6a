//! The isolate that a thread has borrowed.

use std::cell::RefCell;
use std::sync::Arc;

use super::remote::Remote;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Remote>>> = const { RefCell::new(None) };
}

/// The isolate that this thread runs, if any.
pub fn current() -> Option<Arc<Remote>> {
    CURRENT.try_with(|current| current.try_borrow().ok().and_then(|current| current.clone())).ok().flatten()
}

/// This thread borrows an isolate, or returns it.
pub fn set_current(isolate: Option<Arc<Remote>>) {
    let before = CURRENT.with(|current| current.replace(isolate));
    drop(before);
}

/// The isolate's address, as V8 passes it around.
pub fn address_of(isolate: &v8::Isolate) -> *const std::ffi::c_void {
    // SAFETY: only the address is taken, to compare it with what V8 gives its platform; `UnsafeRawIsolatePtr` is a
    // pointer in a newtype.
    unsafe { std::mem::transmute(isolate.as_raw_isolate_ptr()) }
}

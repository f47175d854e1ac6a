//! The isolate that a thread has entered.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use crate::isolate::remote::Remote;
use crate::native::context;

/// The isolate that this thread runs, if any.
pub fn current() -> Option<Arc<Remote>> {
    let current = context::with(|context| context.isolate.get()).cast::<Remote>();
    // SAFETY: the pointer comes from an `Arc` that is kept for as long as the pointer is set: by `CurrentIsolate`, or by the one that has
    // borrowed the isolate for a fiber.
    (!current.is_null()).then(|| unsafe {
        Arc::increment_strong_count(current);
        Arc::from_raw(current)
    })
}

/// This thread runs an isolate until this is dropped.
#[must_use]
pub struct CurrentIsolate(Arc<Remote>);

impl CurrentIsolate {
    pub fn begin(isolate: &Arc<Remote>) -> Self {
        let occupying = Self(Arc::clone(isolate));
        // SAFETY: the result keeps the isolate until it is dropped.
        context::with(|context| unsafe { context.isolate.replace(as_current(&occupying.0)) });
        occupying
    }

    pub fn isolate(&self) -> &Arc<Remote> {
        &self.0
    }
}

impl Drop for CurrentIsolate {
    fn drop(&mut self) {
        // SAFETY: null is none.
        context::with(|context| unsafe { context.isolate.replace(ptr::null()) });
    }
}

/// What a context has for this isolate.
pub fn as_current(isolate: &Arc<Remote>) -> *const c_void {
    Arc::as_ptr(isolate).cast()
}

/// The isolate's address, as V8 passes it around.
pub fn address_of(isolate: &v8::Isolate) -> *const std::ffi::c_void {
    // SAFETY: only the address is taken, to compare it with what V8 gives its platform; `UnsafeRawIsolatePtr` is a
    // pointer in a newtype.
    unsafe { std::mem::transmute(isolate.as_raw_isolate_ptr()) }
}

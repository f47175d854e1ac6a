//! Weak handles that report as soon as V8 has collected the object, even in the middle of a guest's call. The weak handles of the `v8`
//! crate reject isolates that move between threads, and finalization registries wait until the guest returns.

use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

unsafe extern "C" {
    fn v8__Global__NewWeak(
        isolate: v8::UnsafeRawIsolatePtr,
        object: *const c_void,
        parameter: *const c_void,
        callback: unsafe extern "C" fn(*const c_void),
    ) -> *const c_void;
    fn v8__Global__Reset(handle: *const c_void);
    fn v8__WeakCallbackInfo__GetParameter(info: *const c_void) -> *const c_void;
}

/// The parameter of V8's callback.
struct Node {
    /// V8's handle; null after the object was collected.
    handle: Cell<*const c_void>,
    collected: Rc<Cell<usize>>,
}

/// A weak handle to an object. Used and dropped only under the isolate's lock, before the isolate is disposed.
pub struct Weak(Box<Node>);

impl Weak {
    /// `collected` counts how many objects of its weak handles were collected.
    pub fn new(isolate: &mut v8::Isolate, object: v8::Local<'_, v8::Object>, collected: &Rc<Cell<usize>>) -> Self {
        let node = Box::new(Node { handle: Cell::new(std::ptr::null()), collected: Rc::clone(collected) });
        // SAFETY: the isolate is entered on this thread and `object` is alive. A local handle is the address from which V8 reads the
        // object. The box keeps the node at its address until V8 has called back or the handle was reset.
        let handle = unsafe {
            let object = std::ptr::from_ref::<v8::Object>(&object).cast();
            v8__Global__NewWeak(isolate.as_raw_isolate_ptr(), object, std::ptr::from_ref(&*node).cast(), on_collected)
        };
        node.handle.set(handle);
        Self(node)
    }

    /// Whether the object was collected.
    pub fn is_empty(&self) -> bool {
        self.0.handle.get().is_null()
    }
}

impl Drop for Weak {
    fn drop(&mut self) {
        let handle = self.0.handle.get();
        if !handle.is_null() {
            // SAFETY: the handle was not reset before, and its isolate exists: see `Weak`.
            unsafe { v8__Global__Reset(handle) };
        }
    }
}

/// V8 calls this at the end of a collection, on the thread that holds the isolate's lock.
unsafe extern "C" fn on_collected(info: *const c_void) {
    // SAFETY: V8 passes the description of the call. The node exists: its handle is reset before the node is dropped.
    let node = unsafe { &*v8__WeakCallbackInfo__GetParameter(info).cast::<Node>() };
    node.collected.set(node.collected.get() + 1);
    // SAFETY: the handle was not reset before; V8 requires that it is reset now.
    unsafe { v8__Global__Reset(node.handle.replace(std::ptr::null())) };
}

//! State that belongs to an isolate and is found through it, by its type.

use std::rc::Rc;
use std::sync::Arc;

/// Attaches `value` to the isolate, in place of an earlier value of the same type.
///
/// An isolate and its state move from thread to thread. V8's crate does not check that the state allows this, so the bounds here do.
/// Clippy refuses the crate's own methods elsewhere (`clippy.toml`).
pub fn attach<T: Send + Sync + 'static>(isolate: &mut v8::Isolate, value: Arc<T>) {
    #[expect(clippy::disallowed_methods, reason = "the bounds above are what the method lacks")]
    isolate.set_slot(value);
}

/// Attaches state that threads cannot share, although it moves with the isolate.
///
/// # Safety
///
/// All references to what is not `Sync` in it, and all parts of what it has that is not `Send`, must belong to the isolate: they must be attached
/// to it, in its heap, or on the stack of the thread that has locked it. That lock orders all accesses.
pub unsafe fn attach_to_thread<T: 'static>(isolate: &mut v8::Isolate, value: Rc<T>) {
    #[expect(clippy::disallowed_methods, reason = "the caller guarantees what the method lacks")]
    isolate.set_slot(value);
}

/// The attached value of this type.
pub fn attached<T: Send + Sync + 'static>(isolate: &v8::Isolate) -> Option<Arc<T>> {
    isolate.get_slot::<Arc<T>>().cloned()
}

/// The same for [`attach_to_thread`].
pub fn attached_to_thread<T: 'static>(isolate: &v8::Isolate) -> Option<Rc<T>> {
    isolate.get_slot::<Rc<T>>().cloned()
}

/// Drops what [`attach_to_thread`] has attached.
pub fn detach_from_thread<T: 'static>(isolate: &mut v8::Isolate) {
    drop(isolate.remove_slot::<Rc<T>>());
}

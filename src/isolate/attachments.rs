//! State that belongs to an isolate and is found through it, by its type.

use std::sync::Arc;

/// Attaches `value` to the isolate, in place of an earlier value of the same type.
///
/// An isolate and its state move from thread to thread. V8's crate does not check that the state allows this, so the bounds here do.
/// Clippy refuses the crate's own methods elsewhere (`clippy.toml`).
pub fn attach<T: Send + Sync + 'static>(isolate: &mut v8::Isolate, value: Arc<T>) {
    #[expect(clippy::disallowed_methods, reason = "the bounds above are what the method lacks")]
    isolate.set_slot(value);
}

/// The attached value of this type.
pub fn attached<T: Send + Sync + 'static>(isolate: &v8::Isolate) -> Option<Arc<T>> {
    isolate.get_slot::<Arc<T>>().cloned()
}

/// Drops the attached value of this type.
pub fn detach<T: Send + Sync + 'static>(isolate: &mut v8::Isolate) {
    drop(isolate.remove_slot::<Arc<T>>());
}

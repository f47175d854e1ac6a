//! Declarations with `using`. V8 leaves what they need out of snapshots, and adds it when it creates a context from one. So it is missing in
//! the realms from which a snapshot is made, where such a declaration would end the process. On Linux the linker redirects the function that
//! begins a scope with such declarations to this module (`build.rs`).

use std::cell::Cell;

thread_local! {
    /// The realms of this thread's isolate have no disposables.
    static LACKS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, which runs scripts for a snapshot. A declaration with `using` in it costs this thread and its isolate.
pub fn without_disposables<T>(work: impl FnOnce() -> T) -> T {
    /// Ends this, also if `work` panics.
    struct Lack;
    impl Drop for Lack {
        fn drop(&mut self) {
            LACKS.set(false);
        }
    }
    LACKS.set(true);
    let _lack = Lack;
    work()
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::c_void;

    use super::LACKS;
    use crate::engine::abort;

    type Object = *mut c_void;

    unsafe extern "C" {
        /// `v8::internal::Factory::NewJSDisposableStackBase`.
        #[link_name = "__real__ZN2v88internal7Factory24NewJSDisposableStackBaseEv"]
        fn new_disposables(factory: Object) -> Object;
    }

    core::arch::global_asm!(".hidden __wrap__ZN2v88internal7Factory24NewJSDisposableStackBaseEv");

    /// `v8::internal::Factory::NewJSDisposableStackBase`, which returns a handle.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal7Factory24NewJSDisposableStackBaseEv(factory: Object) -> Object {
        if LACKS.get() {
            abort::park_contained();
        }
        // SAFETY: forwards the call.
        unsafe { new_disposables(factory) }
    }
}

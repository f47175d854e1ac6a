//! Scripts of a snapshot, and what V8 cannot do for them. On Linux the linker redirects three functions of V8 to this module (`build.rs`).
//!
//! **`using`.** V8 leaves what such declarations need out of snapshots, and adds it when it creates a context from one. So it is missing in the
//! realms from which a snapshot is made, where a declaration would end the process. The function here begins a scope with such declarations.
//!
//! **Baseline code.** The stack of an error refers to the baseline code of its functions until the stack is first read. V8 writes bytecode to a
//! snapshot instead of baseline code, and then reads that bytecode as if it were machine code. So no baseline code is compiled.
//!
//! **Resizable buffers that shrink.** V8 writes a typed array that is out of bounds without its memory. If its buffer grows again in an isolate
//! made from the snapshot, the array is in bounds, and begins at address 0. So a snapshot is refused if a script has made a buffer smaller.

use std::cell::Cell;

thread_local! {
    /// This thread runs scripts of a snapshot.
    static RUNS: Cell<bool> = const { Cell::new(false) };
    /// The scripts have made a resizable buffer smaller.
    static SHRANK: Cell<bool> = const { Cell::new(false) };
}

/// Whether the scripts of the snapshot that this thread makes have made a resizable buffer smaller.
pub fn have_shrunk_buffers() -> bool {
    SHRANK.get()
}

/// Runs `work`, which runs scripts for a snapshot. A declaration with `using` in it costs this thread and its isolate.
pub fn run_for_snapshot<T>(work: impl FnOnce() -> T) -> T {
    /// Ends this, also if `work` panics.
    struct Run;
    impl Drop for Run {
        fn drop(&mut self) {
            RUNS.set(false);
        }
    }
    RUNS.set(true);
    SHRANK.set(false);
    let _run = Run;
    work()
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::{c_int, c_void};

    use super::{RUNS, SHRANK};
    use crate::engine::abort;

    type Object = *mut c_void;

    unsafe extern "C" {
        /// `v8::internal::Factory::NewJSDisposableStackBase`.
        #[link_name = "__real__ZN2v88internal7Factory24NewJSDisposableStackBaseEv"]
        fn new_disposables(factory: Object) -> Object;
        /// `v8::internal::CanCompileWithBaseline`. A `v8::internal::Tagged` is one word.
        #[link_name = "__real__ZN2v88internal22CanCompileWithBaselineEPNS0_7IsolateENS0_6TaggedINS0_18SharedFunctionInfoEEE"]
        fn can_compile_baseline(isolate: Object, function: usize) -> bool;
        /// `v8::internal::BackingStore::ResizeInPlace`.
        #[link_name = "__real__ZN2v88internal12BackingStore13ResizeInPlaceEPNS0_7IsolateEm"]
        fn resize(store: Object, isolate: Object, length: usize) -> c_int;
        /// The length of a `v8::BackingStore`, which is a `v8::internal::BackingStore`.
        #[link_name = "v8__BackingStore__ByteLength"]
        fn length_of(store: *const c_void) -> usize;
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN2v88internal7Factory24NewJSDisposableStackBaseEv",
        ".hidden __wrap__ZN2v88internal22CanCompileWithBaselineEPNS0_7IsolateENS0_6TaggedINS0_18SharedFunctionInfoEEE",
        ".hidden __wrap__ZN2v88internal12BackingStore13ResizeInPlaceEPNS0_7IsolateEm"
    );

    /// `v8::internal::Factory::NewJSDisposableStackBase`, which returns a handle.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal7Factory24NewJSDisposableStackBaseEv(factory: Object) -> Object {
        if RUNS.get() {
            abort::park_contained();
        }
        // SAFETY: forwards the call.
        unsafe { new_disposables(factory) }
    }

    /// `v8::internal::CanCompileWithBaseline`, which V8 asks wherever it may compile baseline code.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal22CanCompileWithBaselineEPNS0_7IsolateENS0_6TaggedINS0_18SharedFunctionInfoEEE(
        isolate: Object,
        function: usize,
    ) -> bool {
        // SAFETY: forwards the call.
        !RUNS.get() && unsafe { can_compile_baseline(isolate, function) }
    }

    /// `v8::internal::BackingStore::ResizeInPlace`, which `ArrayBuffer.prototype.resize` calls.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal12BackingStore13ResizeInPlaceEPNS0_7IsolateEm(
        store: Object,
        isolate: Object,
        length: usize,
    ) -> c_int {
        // SAFETY: V8 has this store, whose length is only read. Forwards the call.
        unsafe {
            if RUNS.get() && length < length_of(store) {
                SHRANK.set(true);
            }
            resize(store, isolate, length)
        }
    }
}

//! Scripts of a snapshot, and what V8 cannot do for them. On Linux the linker redirects two functions of V8 to this module (`build.rs`).
//!
//! **`using`.** V8 leaves what such declarations need out of snapshots, and adds it when it creates a context from one. So it is missing in the
//! realms from which a snapshot is made, where a declaration would end the process. The function here begins a scope with such declarations.
//!
//! **Baseline code.** The stack of an error refers to the baseline code of its functions until the stack is first read. V8 writes bytecode to a
//! snapshot instead of baseline code, and then reads that bytecode as if it were machine code. So no baseline code is compiled.

use std::cell::Cell;

thread_local! {
    /// This thread runs scripts of a snapshot.
    static RUNS: Cell<bool> = const { Cell::new(false) };
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
    let _run = Run;
    work()
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::c_void;

    use super::RUNS;
    use crate::engine::abort;

    type Object = *mut c_void;

    unsafe extern "C" {
        /// `v8::internal::Factory::NewJSDisposableStackBase`.
        #[link_name = "__real__ZN2v88internal7Factory24NewJSDisposableStackBaseEv"]
        fn new_disposables(factory: Object) -> Object;
        /// `v8::internal::CanCompileWithBaseline`. A `v8::internal::Tagged` is one word.
        #[link_name = "__real__ZN2v88internal22CanCompileWithBaselineEPNS0_7IsolateENS0_6TaggedINS0_18SharedFunctionInfoEEE"]
        fn can_compile_baseline(isolate: Object, function: usize) -> bool;
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN2v88internal7Factory24NewJSDisposableStackBaseEv",
        ".hidden __wrap__ZN2v88internal22CanCompileWithBaselineEPNS0_7IsolateENS0_6TaggedINS0_18SharedFunctionInfoEEE"
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
}

//! Lets V8 compile functions on other threads while loops still see requests to stop. V8's code checks for such a request when the interrupt
//! budget of its function is used up, which counts bytes of bytecode. While V8 compiles a function on another thread, and for functions that
//! are too long to be optimized, it gives a budget of 2^30, since it has nothing to decide: a loop of calls to slow built-in functions would run for
//! minutes. On Linux the linker redirects the function that determines budgets to this module (`build.rs`).

use std::ffi::c_void;

type Object = *mut c_void;

unsafe extern "C" {
    /// `v8::internal::TieringManager::InterruptBudgetFor`. A `v8::internal::Tagged` is one word, an optional `CodeKind` two bytes.
    #[link_name = "__real__ZN2v88internal14TieringManager18InterruptBudgetForEPNS0_7IsolateENS0_6TaggedINS0_10JSFunctionEEENSt4__Cr8optionalINS0_8CodeKindEEE"]
    fn interrupt_budget_for(isolate: Object, function: usize, code_kind: u16) -> i32;
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal14TieringManager18InterruptBudgetForEPNS0_7IsolateENS0_6TaggedINS0_10JSFunctionEEENSt4__Cr8optionalINS0_8CodeKindEEE"
);

/// The budget instead of [`UNLIMITED`], in bytes of bytecode.
const MAX_BUDGET: i32 = 1 << 14;

/// V8's budget where it has no decision to make.
const UNLIMITED: i32 = i32::MAX / 2;

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal14TieringManager18InterruptBudgetForEPNS0_7IsolateENS0_6TaggedINS0_10JSFunctionEEENSt4__Cr8optionalINS0_8CodeKindEEE(
    isolate: Object,
    function: usize,
    code_kind: u16,
) -> i32 {
    // SAFETY: forwards the call.
    let budget = unsafe { interrupt_budget_for(isolate, function, code_kind) };
    if budget == UNLIMITED { MAX_BUDGET } else { budget }
}

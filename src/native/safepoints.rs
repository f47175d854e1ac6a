//! Collections of V8's garbage. Meanwhile the thread holds a lock that stops the other threads of its isolate's heap. No other isolate needs it.
//!
//! For each frame of compiled code on the stack, a collection looks up which of its slots refer to the heap. V8 reads the table of a function
//! from its start to the frame's place. A guest determines both the size of that table and the number of frames, so one collection can
//! take many seconds. A guest on a fiber can be left there. V8's own threads that work for the isolate then wait forever (`engine::collections`).

use std::ffi::c_void;

use super::{context, fiber, locks, stop_request};

unsafe extern "C" {
    /// `v8::internal::SafepointScope::SafepointScope`. The tag that chooses it is not passed.
    #[link_name = "__real__ZN2v88internal14SafepointScopeC1EPNS0_7IsolateENS0_39GlobalSafepointForSharedSpaceIsolateTagE"]
    fn begin_scope(scope: *mut c_void, isolate: *mut c_void);
    /// `v8::internal::IsolateSafepointScope::~IsolateSafepointScope`.
    #[link_name = "__real__ZN2v88internal21IsolateSafepointScopeD1Ev"]
    fn end_scope(scope: *mut c_void);
    /// `v8::internal::SafepointTable::FindEntry`.
    #[link_name = "__real__ZN2v88internal14SafepointTable9FindEntryEm"]
    fn find_entry(table: *mut c_void, address: usize) -> *mut c_void;
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal14SafepointScopeC1EPNS0_7IsolateENS0_39GlobalSafepointForSharedSpaceIsolateTagE",
    ".hidden __wrap__ZN2v88internal21IsolateSafepointScopeD1Ev",
    ".hidden __wrap__ZN2v88internal14SafepointTable9FindEntryEm"
);

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal14SafepointScopeC1EPNS0_7IsolateENS0_39GlobalSafepointForSharedSpaceIsolateTagE(
    scope: *mut c_void,
    isolate: *mut c_void,
) {
    let is_first = !locks::held();
    // SAFETY: forwards the call.
    unsafe { begin_scope(scope, isolate) };
    if is_first {
        // SAFETY: it begins with an `IsolateSafepointScope`, which is a pointer.
        let safepoint = unsafe { scope.cast::<usize>().read() };
        context::with(|context| context.engine.safepoint.set(safepoint));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal21IsolateSafepointScopeD1Ev(scope: *mut c_void) {
    if locks::count() == 1 {
        // It may be released now.
        context::with(|context| context.engine.safepoint.set(0));
    }
    // SAFETY: forwards the call.
    unsafe { end_scope(scope) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal14SafepointTable9FindEntryEm(
    table: *mut c_void,
    address: usize,
) -> *mut c_void {
    if stop_request::is_made() && fiber::active() != 0 && holds_only_safepoint() {
        stop_request::withdraw();
        // SAFETY: V8's C++ code has called this. The only lock belongs to the isolate, which is lost with the guest. Below are frames of V8, and of our
        // code that holds nothing that others need while it calls V8.
        unsafe { fiber::leave(fiber::Pause::Left) };
    }
    // SAFETY: forwards the call.
    unsafe { find_entry(table, address) }
}

/// Whether the lock of the heap's threads is the only one that the thread holds.
fn holds_only_safepoint() -> bool {
    locks::count() == 1 && context::with(|context| context.safepoint() != 0)
}

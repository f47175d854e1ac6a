//! Collections of V8's garbage. Meanwhile the thread holds a lock that stops the other threads of its isolate's heap. No other isolate needs it.
//!
//! A guest determines how long one collection takes. For each frame of compiled code on the stack, V8 reads the table of its function from the
//! start to the frame's place. It looks up to twenty times at all entries of weak maps whose keys it has not reached, before it follows them in
//! order. So a guest on a fiber can be left in a collection: where V8 looks up the next frame, asks for memory or frees it (`locks`). V8's own threads
//! that work for the isolate then wait forever (`engine::collections`).

use std::ffi::c_void;
use std::ptr;

use super::{context, locks};

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
    if is_first {
        // V8 waits in there until the other threads have stopped, such as those that compile. The guest can be left meanwhile: V8 writes the address
        // of the safepoint first.
        // SAFETY: it begins with an `IsolateSafepointScope`, which is a pointer.
        unsafe { scope.cast::<usize>().write(0) };
        context::with(|context| context.engine.stopping.set(scope.cast()));
    }
    // SAFETY: forwards the call.
    unsafe { begin_scope(scope, isolate) };
    if is_first {
        // SAFETY: as above.
        let safepoint = unsafe { scope.cast::<usize>().read() };
        context::with(|context| {
            context.engine.safepoint.set(safepoint);
            context.engine.stopping.set(ptr::null());
        });
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
    // Nowhere else: V8's profiler calls this in a signal handler.
    if locks::can_leave_collection() {
        locks::obey_stop_request();
    }
    // SAFETY: forwards the call.
    unsafe { find_entry(table, address) }
}

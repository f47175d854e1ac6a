//! Which of V8's tasks work on the heap and can wait. V8 says only that there is a task, so its vtable tells which one it is.

use std::ffi::c_void;
use std::mem;
use std::ptr;

unsafe extern "C" {
    /// The vtable of `v8::internal::IncrementalMarkingJob::Task`.
    #[link_name = "_ZTVN2v88internal21IncrementalMarkingJob4TaskE"]
    static MARK: [usize; 11];
    /// The vtable of `v8::internal::MemoryReducer::TimerTask`.
    #[link_name = "_ZTVN2v88internal13MemoryReducer9TimerTaskE"]
    static REDUCE: [usize; 11];
    /// The vtable of `cppgc::internal::MarkerBase::IncrementalMarkingTask`.
    #[link_name = "_ZTVN5cppgc8internal10MarkerBase22IncrementalMarkingTaskE"]
    static MARK_CPP: [usize; 5];
    /// The vtable of `cppgc::internal::Sweeper::SweeperImpl::IncrementalSweepTask`.
    #[link_name = "_ZTVN5cppgc8internal7Sweeper11SweeperImpl20IncrementalSweepTaskE"]
    static SWEEP_CPP: [usize; 5];
}

/// Index of the first function for `v8::Task`: two words before it identify the C++ type. `CancelableTask` has another base class before that.
const FUNCTIONS: usize = 2;
const FUNCTIONS_OF_CANCELABLE: usize = 8;

/// Whether `task` marks or sweeps a part of the heap, or decides whether to. Such a task runs no code of the guest, and V8 does the same work
/// when the guest allocates. So it does not matter when it runs.
pub fn works_on_heap(task: &v8::Task) -> bool {
    const { assert!(size_of::<v8::Task>() == size_of::<*const c_void>()) };
    // SAFETY: a `v8::Task` is the address of an object of V8 that it owns, which begins with the address of its class's functions.
    let functions = unsafe { *mem::transmute_copy::<v8::Task, *const *const usize>(task) };
    let cancelable =
        [&raw const MARK, &raw const REDUCE].map(|table| table.cast::<usize>().wrapping_add(FUNCTIONS_OF_CANCELABLE));
    let others = [&raw const MARK_CPP, &raw const SWEEP_CPP].map(|table| table.cast::<usize>().wrapping_add(FUNCTIONS));
    cancelable.into_iter().chain(others).any(|table| ptr::eq(table, functions))
}

//! Memory of `ArrayBuffer`s, with one budget per isolate. Over the budget, guests get V8's
//! `RangeError: Array buffer allocation failed`.

use std::ffi::c_void;
use std::sync::Arc;

use crate::native;
use crate::value::Budget;

static VTABLE: v8::RustAllocatorVtable<Budget> =
    v8::RustAllocatorVtable { allocate, allocate_uninitialized, free, drop: drop_budget };

/// An allocator that charges `budget`.
pub fn limited(budget: &Arc<Budget>) -> v8::UniqueRef<v8::Allocator> {
    // SAFETY: the handle is an `Arc<Budget>` turned into a raw pointer, which is what every function of the vtable expects. `drop_budget`
    // turns it back into an `Arc`.
    unsafe { v8::new_rust_allocator(Arc::into_raw(Arc::clone(budget)), &VTABLE) }
}

unsafe extern "C" fn allocate(budget: &Budget, length: usize) -> *mut c_void {
    if !budget.take(length) {
        return std::ptr::null_mut();
    }
    // SAFETY: calloc has no preconditions; a length of 0 is rounded up so that null always means failure.
    let memory = unsafe { native::calloc(length.max(1), 1) };
    if memory.is_null() {
        budget.give_back(length);
    }
    memory
}

unsafe extern "C" fn allocate_uninitialized(budget: &Budget, length: usize) -> *mut c_void {
    if !budget.take(length) {
        return std::ptr::null_mut();
    }
    // SAFETY: malloc has no preconditions; a length of 0 is rounded up so that null always means failure.
    let memory = unsafe { native::malloc(length.max(1)) };
    if memory.is_null() {
        budget.give_back(length);
    }
    memory
}

unsafe extern "C" fn free(budget: &Budget, data: *mut c_void, length: usize) {
    // SAFETY: V8 frees exactly what this allocator gave it, once.
    unsafe { native::free(data) };
    budget.give_back(length);
}

unsafe extern "C" fn drop_budget(budget: *const Budget) {
    // SAFETY: this is the pointer that `limited` leaked; V8 calls this once, when it destroys the allocator.
    drop(unsafe { Arc::from_raw(budget) });
}

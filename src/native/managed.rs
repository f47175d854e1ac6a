//! C++ objects that V8's heap owns (`Managed`), such as those behind the objects of `Temporal` and `Intl`. V8 tells its collector that they
//! take no memory, and their blocks are too small to count in `malloc`. The linker redirects the functions with which V8 begins and ends to
//! own one to this module (`build.rs`).

use std::ffi::c_void;

use super::{quota, small_blocks};

type Object = *mut c_void;

/// Bytes of small blocks for each object: V8's record of it, the parts of a shared pointer, a global handle and the object itself. 220 to
/// 330 were measured for the types of `Temporal`.
const BYTES: usize = 256;

/// Those of them that `malloc` adds up as well.
const SMALL: isize = 192;

unsafe extern "C" {
    /// `v8::internal::Isolate::RegisterManagedPtrDestructor`.
    #[link_name = "__real__ZN2v88internal7Isolate28RegisterManagedPtrDestructorEPNS0_20ManagedPtrDestructorE"]
    fn register(isolate: Object, destructor: Object);
    /// `v8::internal::Isolate::UnregisterManagedPtrDestructor`.
    #[link_name = "__real__ZN2v88internal7Isolate30UnregisterManagedPtrDestructorEPNS0_20ManagedPtrDestructorE"]
    fn unregister(isolate: Object, destructor: Object);
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal7Isolate28RegisterManagedPtrDestructorEPNS0_20ManagedPtrDestructorE",
    ".hidden __wrap__ZN2v88internal7Isolate30UnregisterManagedPtrDestructorEPNS0_20ManagedPtrDestructorE"
);

/// V8 calls this on the isolate's thread, when it has made the object.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal7Isolate28RegisterManagedPtrDestructorEPNS0_20ManagedPtrDestructorE(
    isolate: Object,
    destructor: Object,
) {
    // SAFETY: forwards the call.
    unsafe { register(isolate, destructor) };
    quota::with_current(|quota| {
        small_blocks::add(-SMALL);
        quota.take(BYTES);
    });
}

/// V8 calls this on the isolate's thread, after the object was collected. It does not call it for objects that are left when the isolate is
/// disposed of, whose quota ends with it.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal7Isolate30UnregisterManagedPtrDestructorEPNS0_20ManagedPtrDestructorE(
    isolate: Object,
    destructor: Object,
) {
    // SAFETY: forwards the call.
    unsafe { unregister(isolate, destructor) };
    quota::with_current(|quota| {
        small_blocks::add(SMALL);
        quota.give_back(BYTES);
    });
}

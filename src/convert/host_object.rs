//! Tells V8's serializer which objects are host objects. It asks about every object that it writes, and the crate enters a context for each
//! answer. If an isolate has no handles at all, no object is one, and this module answers without a context.

use std::cell::Cell;
use std::ffi::c_void;

/// The isolate's data with what its serializers look for.
const SLOT: u32 = 0;

/// What the serializers of an isolate look for.
#[derive(Clone, Copy)]
pub struct Sought(*mut c_void);

impl Sought {
    /// Host objects of any kind.
    pub const ANY: Self = Self(std::ptr::null_mut());

    /// Handles, of which there are none while `exist` is false.
    pub fn handles(exist: &Cell<bool>) -> Self {
        Self(std::ptr::from_ref(exist).cast_mut().cast())
    }
}

/// Sets what the serializers of an isolate look for. Returns what they have looked for before.
///
/// # Safety
///
/// What `sought` borrows is valid until the result is set again, or the isolate writes no more values.
#[allow(
    clippy::disallowed_methods,
    reason = "it is null unless a value is being written, for which the isolate stays on its stack"
)]
pub unsafe fn seek(isolate: &mut v8::Isolate, sought: Sought) -> Sought {
    let before = isolate.get_data(SLOT);
    isolate.set_data(SLOT, sought.0);
    Sought(before)
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod redirected {
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};

    use super::SLOT;

    /// The crate keeps the first datum for itself.
    const CRATE_SLOTS: u32 = 1;
    /// `v8::MaybeBool::JustFalse`.
    const NO: c_int = 0;

    unsafe extern "C" {
        #[link_name = "__real_v8__ValueSerializer__Delegate__IsHostObject"]
        fn is_host_object(delegate: *const c_void, isolate: *mut c_void, object: *const c_void) -> c_int;
        #[link_name = "v8__Isolate__GetData"]
        fn data(isolate: *const c_void, slot: u32) -> *const Cell<bool>;
    }

    core::arch::global_asm!(".hidden __wrap_v8__ValueSerializer__Delegate__IsHostObject");

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap_v8__ValueSerializer__Delegate__IsHostObject(
        delegate: *const c_void,
        isolate: *mut c_void,
        object: *const c_void,
    ) -> c_int {
        // SAFETY: V8 passes an isolate, which the crate has created. The datum is null or what `seek` has set, which is still valid.
        let exist = unsafe { data(isolate, CRATE_SLOTS + SLOT).as_ref() };
        if exist.is_some_and(|exist| !exist.get()) {
            return NO;
        }
        // SAFETY: forwards the call.
        unsafe { is_host_object(delegate, isolate, object) }
    }
}

//! `DataView` objects in snapshots. When V8 has read such a view from a snapshot, it takes the address of its memory from the buffer. If the view is
//! a part of its buffer, V8 has not given the buffer its memory yet. The view then begins at address 0, where guests would read and write the memory of
//! the process.
//!
//! A buffer refers to its view if it has only one. On Linux the linker redirects the function that gives a buffer its memory to this module
//! (`build.rs`), which corrects the address of that view. A buffer with several views does not refer to them, but its properties may. A snapshot
//! with such a view is refused (`snapshot_objects`).

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::c_void;
    use std::mem;

    use crate::convert::TAG;
    use crate::engine::snapshot_objects::fields::{buffer as of_buffer, view as of_view};

    type Object = *mut c_void;

    unsafe extern "C" {
        /// `v8::internal::JSArrayBuffer::Setup`. A flag is passed like the Boolean that it consists of, and the `std::shared_ptr` to the memory like
        /// its two pointers. The callee drops it.
        #[link_name = "__real__ZN2v88internal13JSArrayBuffer5SetupENS_4base11StrongAliasINS0_13SharedFlagTagEbEENS3_INS0_16ResizableFlagTagEbEENSt4__Cr10shared_ptrINS0_12BackingStoreEEEPNS0_7IsolateENS0_6TaggedINS0_5UnionIJNS0_3SmiENS0_10HeapObjectENS0_4WeakISH_EEEEEEE"]
        fn set_up(
            buffer: *mut usize,
            shared: bool,
            resizable: bool,
            memory: Object,
            owners: Object,
            isolate: Object,
            views: usize,
        );
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN2v88internal13JSArrayBuffer5SetupENS_4base11StrongAliasINS0_13SharedFlagTagEbEENS3_INS0_16ResizableFlagTagEbEENSt4__Cr10shared_ptrINS0_12BackingStoreEEEPNS0_7IsolateENS0_6TaggedINS0_5UnionIJNS0_3SmiENS0_10HeapObjectENS0_4WeakISH_EEEEEEE"
    );

    /// The tag of weak pointers.
    const WEAK_TAG: usize = 3;
    /// `kClearedWeakHeapObjectLower32`.
    const CLEARED: u32 = 3;

    /// Corrects the address of a `DataView` that V8 has read before its buffer had memory.
    ///
    /// # Safety
    /// `buffer` has its memory. `view` is a tagged pointer to its only view.
    unsafe fn correct(buffer: *const usize, view: usize) {
        // SAFETY: a local handle is the address of a place with such a pointer. The call only reads the object. All views begin with the same fields.
        unsafe {
            let value = mem::transmute::<*const usize, v8::Local<'_, v8::Value>>(&raw const view);
            if !value.is_data_view() {
                return;
            }
            let view = (view - TAG) as *mut usize;
            let (offset, address) = (*view.add(of_view::OFFSET), view.add(of_view::data_view::ADDRESS));
            // The second condition holds for no view with memory.
            if *view.add(of_view::BUFFER) == buffer as usize + TAG && *address == offset {
                *address = *buffer.add(of_buffer::MEMORY) + offset;
            }
        }
    }

    /// `v8::internal::JSArrayBuffer::Setup`. Buffers that V8 creates have no views before, except those that belong to a typed array.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal13JSArrayBuffer5SetupENS_4base11StrongAliasINS0_13SharedFlagTagEbEENS3_INS0_16ResizableFlagTagEbEENSt4__Cr10shared_ptrINS0_12BackingStoreEEEPNS0_7IsolateENS0_6TaggedINS0_5UnionIJNS0_3SmiENS0_10HeapObjectENS0_4WeakISH_EEEEEEE(
        buffer: *mut usize,
        shared: bool,
        resizable: bool,
        memory: Object,
        owners: Object,
        isolate: Object,
        views: usize,
    ) {
        // SAFETY: forwards the call. V8 passes a buffer, whose fields it has read from a snapshot if it has views, and collects no garbage here.
        unsafe {
            set_up(buffer, shared, resizable, memory, owners, isolate, views);
            if views & WEAK_TAG == WEAK_TAG && views as u32 != CLEARED {
                correct(buffer, views - WEAK_TAG + TAG);
            }
        }
    }
}

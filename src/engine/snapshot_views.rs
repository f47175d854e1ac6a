//! `DataView` objects in snapshots. When V8 has read such a view from a snapshot, it takes the address of its memory from the buffer. If the view is
//! a part of its buffer, V8 has not given the buffer its memory yet. The view then begins at address 0, where guests would read and write the memory of
//! the process.
//!
//! A buffer refers to its view if it has only one. On Linux the linker redirects the function that gives a buffer its memory to this module
//! (`build.rs`), which corrects the address of that view. A buffer with several views does not refer to them, but its properties may. A snapshot
//! with such a buffer is refused.

use std::cell::Cell;

thread_local! {
    /// A buffer that this thread has read from a snapshot has several views and properties.
    static MAY_LOSE_VIEWS: Cell<bool> = const { Cell::new(false) };
}

/// Whether a view of a buffer may have a wrong address in what `read` reads from a snapshot.
pub fn may_lose_views(read: impl FnOnce()) -> bool {
    MAY_LOSE_VIEWS.set(false);
    read();
    MAY_LOSE_VIEWS.get()
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::c_void;
    use std::mem;

    use super::MAY_LOSE_VIEWS;

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

    /// The tag of pointers to objects.
    const TAG: usize = 1;
    /// That of weak pointers.
    const WEAK_TAG: usize = 3;
    /// `kClearedWeakHeapObjectLower32`.
    const CLEARED: u32 = 3;
    /// `JSArrayBuffer::kNoView` and `kManyViews`, small integers.
    const NO_VIEW: usize = 0;
    const MANY_VIEWS: usize = 1 << 32;

    // Fields of objects, in words.

    const MAP: usize = 0;
    /// `JSObject::properties_or_hash` and `elements`.
    const PROPERTIES: usize = 1;
    const ELEMENTS: usize = 2;
    /// The length of a list of properties or elements.
    const LENGTH: usize = 1;
    /// `JSArrayBuffer::backing_store`.
    const MEMORY: usize = 7;
    /// `JSArrayBufferView::buffer` and `raw_byte_offset`.
    const BUFFER: usize = 4;
    const OFFSET: usize = 6;
    /// `JSDataViewOrRabGsabDataView::data_pointer`.
    const DATA: usize = 8;

    // Fields of a map, in bytes.

    /// The size of an object, in words.
    const SIZE: usize = 8;
    /// Where its properties begin, in words.
    const OWN_PROPERTIES: usize = 9;

    /// Whether the buffer has properties or elements, or room for properties.
    ///
    /// # Safety
    /// It is a buffer whose fields V8 has read.
    unsafe fn has_properties(buffer: *const usize) -> bool {
        // SAFETY: V8 reads a map before the objects that have it. A list begins with its map and its length.
        unsafe {
            let map = ((*buffer.add(MAP)) - TAG) as *const u8;
            let is_list = |field: usize| {
                let list = *buffer.add(field);
                list & WEAK_TAG == TAG && *((list - TAG) as *const usize).add(LENGTH) != 0
            };
            *map.add(SIZE) > *map.add(OWN_PROPERTIES) || is_list(PROPERTIES) || is_list(ELEMENTS)
        }
    }

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
            let offset = *view.add(OFFSET);
            // The second condition holds for no view with memory.
            if *view.add(BUFFER) == buffer as usize + TAG && *view.add(DATA) == offset {
                *view.add(DATA) = *buffer.add(MEMORY) + offset;
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
            match views {
                NO_VIEW => {}
                MANY_VIEWS if has_properties(buffer) => MAY_LOSE_VIEWS.set(true),
                _ if views & WEAK_TAG == WEAK_TAG && views as u32 != CLEARED => correct(buffer, views - WEAK_TAG + TAG),
                _ => {}
            }
        }
    }
}

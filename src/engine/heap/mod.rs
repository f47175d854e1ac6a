//! How much memory a V8 heap has from the system. Any thread may ask, whatever the heap's own thread is doing. The crate's functions for
//! this must run on the heap's thread, because they walk its pages. V8 also keeps a sum, but does not expose the heap. So the linker
//! redirects a function that each isolate calls once on its heap to this module (`build.rs`).

mod functions;
#[cfg(target_os = "linux")]
pub mod objects;
mod pages;

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

#[cfg_attr(windows, allow(unused_imports, reason = "unused on Windows"))]
pub use pages::shrink as shrink_page;

pub use functions::Functions;
pub use pages::count as count_pages;

thread_local! {
    /// The heap that was created last on this thread.
    static MADE: Cell<*mut c_void> = const { Cell::new(ptr::null_mut()) };
}

/// The heap of an isolate.
#[derive(Clone, Copy)]
pub struct Heap(NonNull<c_void>);

// SAFETY: it is only an address. The functions that use it are unsafe and state what their callers must guarantee.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

impl Heap {
    /// The heap of the isolate that this thread created last; `None` if it is not known.
    pub fn of_last_isolate() -> Option<Self> {
        NonNull::new(MADE.take()).map(Self)
    }

    /// An isolate is about to be created.
    pub fn forget_last() {
        MADE.set(ptr::null_mut());
    }

    /// Bytes that the heap has from the system. V8 adds up counters of its spaces, which are atomic and do not move.
    ///
    /// # Safety
    /// The isolate is not disposed meanwhile.
    pub unsafe fn committed(self) -> usize {
        // SAFETY: the heap exists, because the caller keeps the isolate.
        unsafe { wrapped::committed(self.0.as_ptr()) }
    }

    /// Gives its pages back to the system. Returns the number of bytes.
    ///
    /// # Safety
    /// Nothing accesses the heap's objects or collects them from now on, and the isolate is never disposed.
    pub unsafe fn give_back(self) -> usize {
        // SAFETY: the caller guarantees this.
        unsafe { pages::give_back(self.0.as_ptr() as usize) }
    }
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::c_void;

    use super::MADE;

    unsafe extern "C" {
        /// `v8::internal::Heap::CommittedMemory`.
        #[link_name = "_ZN2v88internal4Heap15CommittedMemoryEv"]
        pub fn committed(heap: *mut c_void) -> usize;
        #[link_name = "__real__ZN2v88internal4Heap29NotifyDeserializationCompleteEv"]
        fn notify_deserialization_complete(heap: *mut c_void);
    }

    core::arch::global_asm!(".hidden __wrap__ZN2v88internal4Heap29NotifyDeserializationCompleteEv");

    /// `v8::internal::Heap::NotifyDeserializationComplete`: an isolate has received its heap from a snapshot.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal4Heap29NotifyDeserializationCompleteEv(heap: *mut c_void) {
        MADE.set(heap);
        // SAFETY: forwards the call.
        unsafe { notify_deserialization_complete(heap) };
    }
}

/// Elsewhere the heap is not known.
#[cfg(not(all(target_os = "linux", not(any(test, fuzzing)))))]
mod wrapped {
    pub unsafe fn committed(_heap: *mut std::ffi::c_void) -> usize {
        0
    }
}

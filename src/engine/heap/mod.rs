//! How much a V8 heap has from the system, asked on any thread and whatever the heap's own does. The crate's functions for that are for
//! the heap's thread: they walk its pages. V8 keeps a sum beside that, but shows nobody the heap; so the linker sends a call that each
//! isolate makes once to its heap here (`build.rs`).

mod pages;

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

#[cfg_attr(windows, allow(unused_imports, reason = "nobody asks there"))]
pub use pages::shrink as shrink_page;

thread_local! {
    /// The heap that was made last on this thread.
    static MADE: Cell<*mut c_void> = const { Cell::new(ptr::null_mut()) };
}

/// The heap of an isolate.
#[derive(Clone, Copy)]
pub struct Heap(NonNull<c_void>);

// SAFETY: it is used for nothing but reading counters that any thread may read.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

impl Heap {
    /// That of the isolate that this thread has made last; `None` where it is not known.
    pub fn of_last_isolate() -> Option<Self> {
        NonNull::new(MADE.take()).map(Self)
    }

    /// An isolate is about to be made.
    pub fn forget_last() {
        MADE.set(ptr::null_mut());
    }

    /// Bytes that it has from the system. V8 adds up counters of its spaces, which are atomic and stay where they are.
    ///
    /// # Safety
    /// The isolate is not disposed meanwhile.
    pub unsafe fn committed(self) -> usize {
        // SAFETY: the heap is there, as the caller keeps the isolate.
        unsafe { wrapped::committed(self.0.as_ptr()) }
    }

    /// Has the system take the memory of its pages back. Returns how many bytes that were.
    ///
    /// # Safety
    /// Nothing looks at the heap's objects from now on, or collects them, and the isolate is never disposed.
    pub unsafe fn give_back(self) -> usize {
        // SAFETY: passed on to the caller.
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

    /// `v8::internal::Heap::NotifyDeserializationComplete`: an isolate has got its heap from a snapshot.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal4Heap29NotifyDeserializationCompleteEv(heap: *mut c_void) {
        MADE.set(heap);
        // SAFETY: passed on.
        unsafe { notify_deserialization_complete(heap) };
    }
}

/// Elsewhere no heap is known.
#[cfg(not(all(target_os = "linux", not(any(test, fuzzing)))))]
mod wrapped {
    pub unsafe fn committed(_heap: *mut std::ffi::c_void) -> usize {
        0
    }
}

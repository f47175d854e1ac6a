//! An isolate's heap of C++ objects (V8's `src/heap/cppgc-internal`). On Linux the linker redirects functions of V8 to this module (`build.rs`).
//!
//! **The end of the heap.** V8 writes zeros to each page of 128 KB that it frees, because it may use the page again. It also does so when the whole
//! heap ends, and returns the memory to the system right afterwards. For nearly all isolates, these zeros touch 31 of the system's pages that
//! nothing has used before. So what is freed while a heap ends stays as it is until V8 destroys the list of the heap's memory.
//!
//! **Collections.** V8 locks a mutex of the process for a part of each full collection, since handles to objects of this heap may belong to other
//! threads. It begins before V8 follows the entries of weak maps, which can take seconds for a guest of 128 MB, and all other full collections
//! of the process wait. There are no such handles here, so V8 gets the mutex when it has marked everything, and releases it at once.

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::c_void;

    use crate::native::context;

    type Object = *mut c_void;

    unsafe extern "C" {
        /// `cppgc::internal::HeapBase::Terminate`.
        #[link_name = "__real__ZN5cppgc8internal8HeapBase9TerminateEv"]
        fn terminate(heap: Object);
        /// `cppgc::internal::PageBackend::FreeNormalPageMemory`.
        #[link_name = "__real__ZN5cppgc8internal11PageBackend20FreeNormalPageMemoryEPh"]
        fn free_page(backend: Object, page: *mut u8);
        /// `v8::internal::CppHeap::EnterProcessGlobalAtomicPause`: locks the mutex, and marks what handles of other threads refer to.
        #[link_name = "__real__ZN2v88internal7CppHeap29EnterProcessGlobalAtomicPauseEv"]
        fn begin_pause_of_process(heap: Object);
        /// `v8::internal::CppHeap::ProcessCrossThreadWeakness`: clears weak handles of other threads, and unlocks the mutex.
        #[link_name = "__real__ZN2v88internal7CppHeap26ProcessCrossThreadWeaknessEv"]
        fn end_pause_of_process(heap: Object);
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN5cppgc8internal8HeapBase9TerminateEv",
        ".hidden __wrap__ZN5cppgc8internal11PageBackend20FreeNormalPageMemoryEPh",
        ".hidden __wrap__ZN2v88internal7CppHeap29EnterProcessGlobalAtomicPauseEv",
        ".hidden __wrap__ZN2v88internal7CppHeap26ProcessCrossThreadWeaknessEv"
    );

    /// `cppgc::internal::HeapBase::Terminate`, which finalizes all objects. V8 destroys the heap next, and collects no garbage in it any more.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN5cppgc8internal8HeapBase9TerminateEv(heap: Object) {
        context::with(|context| context.engine.terminates_cpp_heap.set(true));
        // SAFETY: forwards the call.
        unsafe { terminate(heap) };
        context::with(|context| context.engine.terminates_cpp_heap.set(false));
    }

    /// `cppgc::internal::PageBackend::FreeNormalPageMemory`, which makes a page available to later allocations of the same heap.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN5cppgc8internal11PageBackend20FreeNormalPageMemoryEPh(
        backend: Object,
        page: *mut u8,
    ) {
        // This thread works for no other heap while it ends one. Such a page remains in the backend's list of regions.
        if !context::with(|context| context.engine.terminates_cpp_heap.get()) {
            // SAFETY: forwards the call.
            unsafe { free_page(backend, page) };
        }
    }

    /// `v8::internal::CppHeap::EnterProcessGlobalAtomicPause`, which the next function does.
    #[unsafe(no_mangle)]
    extern "C" fn __wrap__ZN2v88internal7CppHeap29EnterProcessGlobalAtomicPauseEv(_heap: Object) {}

    /// `v8::internal::CppHeap::ProcessCrossThreadWeakness`, which V8 calls when it has marked all objects.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal7CppHeap26ProcessCrossThreadWeaknessEv(heap: Object) {
        // SAFETY: forwards both calls, in their order. Nothing makes handles of other threads, so the first one marks nothing.
        unsafe {
            begin_pause_of_process(heap);
            end_pause_of_process(heap);
        }
    }
}

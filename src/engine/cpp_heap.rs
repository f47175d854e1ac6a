//! The end of an isolate's heap of C++ objects (V8's `src/heap/cppgc-internal`). V8 writes zeros to each page of 128 KB that it frees, because it
//! may use the page again. It also does so when the whole heap ends, and returns the memory to the system right afterwards. For nearly all
//! isolates, these zeros touch 31 of the system's pages that nothing has used before. On Linux the linker redirects both functions to this
//! module (`build.rs`): what is freed while a heap ends stays as it is until V8 destroys the list of the heap's memory.

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
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN5cppgc8internal8HeapBase9TerminateEv",
        ".hidden __wrap__ZN5cppgc8internal11PageBackend20FreeNormalPageMemoryEPh"
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
}

//! V8 has a process-wide cache of the wrappers with which modules call imported functions. Its keys consist of a signature and the number
//! of parameters that the function declares. V8 removes them only when it frees compiled wrappers, and most wrappers are not compiled. So a
//! guest that imports functions with all numbers of parameters would fill the memory of the process. On Linux the linker redirects the
//! function that adds keys to this module (`build.rs`). Above a limit, functions with other numbers of parameters than the import get the
//! wrapper for callable objects of any kind. It does the same, but has to be compiled.

use std::ffi::{c_int, c_void};

use super::ledger;

type Object = *mut c_void;

unsafe extern "C" {
    /// `v8::internal::wasm::WasmImportWrapperCache::Get`.
    #[link_name = "__real__ZN2v88internal4wasm22WasmImportWrapperCache3GetEPNS0_7IsolateERKNS1_21ImportWrapperCacheKeyE"]
    fn wrapper(cache: Object, isolate: Object, key: *const Key) -> Handle;
}

// Visible only to the addon's linker.
core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal4wasm22WasmImportWrapperCache3GetEPNS0_7IsolateERKNS1_21ImportWrapperCacheKeyE"
);

/// A `std::shared_ptr`, which V8's C++ library passes and returns like a structure of two pointers.
#[repr(C)]
struct Handle {
    _object: Object,
    _count: Object,
}

/// The start of `v8::internal::wasm::CanonicalSig`.
#[repr(C)]
struct Signature {
    _results: usize,
    parameters: usize,
}

/// `v8::internal::wasm::ImportWrapperCacheKey`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Key {
    kind: u8,
    signature: *const Signature,
    expected_arity: c_int,
    suspend: c_int,
}

/// `v8::internal::wasm::ImportCallKind::kJSFunction` and `kUseCallBuiltin`.
const FUNCTION: u8 = 5;
const CALLABLE: u8 = 6;

impl Key {
    /// The key itself, or a more general one if V8 may not keep another like it.
    ///
    /// # Safety
    /// V8 has made the key.
    unsafe fn admitted(self) -> Self {
        // SAFETY: guaranteed by the caller; V8 never frees signatures.
        let parameters = c_int::try_from(unsafe { (*self.signature).parameters }).unwrap_or(c_int::MAX);
        // Other keys have no other number, and V8 has a limited number of signatures.
        if self.kind != FUNCTION
            || self.expected_arity == parameters
            || ledger::take_wrapper((self.signature as usize, self.expected_arity, self.suspend))
        {
            return self;
        }
        Self { kind: CALLABLE, expected_arity: parameters, ..self }
    }
}

/// `v8::internal::wasm::WasmImportWrapperCache::Get`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal4wasm22WasmImportWrapperCache3GetEPNS0_7IsolateERKNS1_21ImportWrapperCacheKeyE(
    cache: Object,
    isolate: Object,
    key: *const Key,
) -> Handle {
    // SAFETY: forwards the call; V8 copies a key that it keeps.
    unsafe {
        let key = (*key).admitted();
        wrapper(cache, isolate, &raw const key)
    }
}

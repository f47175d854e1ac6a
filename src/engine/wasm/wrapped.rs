//! Targets of the redirected calls with which V8 starts to compile.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::{ptr, slice};

use super::{admit, admit_type};

/// `v8::base::Vector` and the start of `v8::base::OwnedVector`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Bytes {
    start: *const u8,
    length: usize,
}

impl Bytes {
    /// # Safety
    /// The bytes are readable, and do not change meanwhile.
    unsafe fn admit(self) -> Result<(), CString> {
        let bytes = match self.length {
            0 => &[],
            // SAFETY: guaranteed by the caller.
            length => unsafe { slice::from_raw_parts(self.start, length) },
        };
        admit(bytes).map_err(|message| CString::new(message.as_bytes()).unwrap_or_default())
    }
}

/// `v8::internal::Signature`: parameters follow results, each described by 32 bits.
#[repr(C)]
struct Signature {
    results: usize,
    parameters: usize,
    types: *const u32,
}

type Object = *mut c_void;

unsafe extern "C" {
    /// `v8::internal::wasm::WasmEngine::SyncCompile`.
    #[link_name = "__real__ZN2v88internal4wasm10WasmEngine11SyncCompileEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsEPNS1_12ErrorThrowerENS_4base11OwnedVectorIKhEENS9_6VectorIKcEE"]
    fn compile(
        engine: Object,
        isolate: Object,
        features: u32,
        imports: Object,
        thrower: Object,
        bytes: *const Bytes,
        url: Bytes,
    ) -> Object;
    /// `v8::internal::wasm::WasmEngine::AsyncCompile`.
    #[link_name = "__real__ZN2v88internal4wasm10WasmEngine12AsyncCompileEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsENSt4__Cr10shared_ptrINS1_25CompilationResultResolverEEENS_4base11OwnedVectorIKhEEPKc"]
    fn compile_async(
        engine: Object,
        isolate: Object,
        features: u32,
        imports: Object,
        resolver: Resolver,
        bytes: *const Bytes,
        name: *const c_char,
    );
    /// `v8::internal::wasm::WasmEngine::SyncValidate`.
    #[link_name = "__real__ZN2v88internal4wasm10WasmEngine12SyncValidateEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsENS_4base6VectorIKhEE"]
    fn validate(engine: Object, isolate: Object, features: u32, imports: Object, bytes: Bytes) -> bool;
    /// `v8::internal::wasm::TypeCanonicalizer::AddRecursiveGroup`, of a function's type.
    #[link_name = "__real__ZN2v88internal4wasm17TypeCanonicalizer17AddRecursiveGroupEPKNS0_9SignatureINS1_9ValueTypeEEE"]
    fn add_signature(types: Object, signature: *const Signature) -> u32;

    /// `v8::internal::wasm::ErrorThrower::CompileError`.
    #[link_name = "_ZN2v88internal4wasm12ErrorThrower12CompileErrorEPKcz"]
    fn set_compile_error(thrower: Object, format: *const c_char, ...);
    /// `v8::Exception::WasmCompileError`.
    #[link_name = "_ZN2v89Exception16WasmCompileErrorENS_5LocalINS_6StringEEENS1_INS_5ValueEEE"]
    fn compile_error(message: Object, options: Object) -> Object;
    /// `std::__shared_weak_count::__release_weak`.
    #[link_name = "_ZNSt4__Cr19__shared_weak_count14__release_weakEv"]
    fn release_weak(count: *mut Count);
    fn v8__Isolate__GetCurrent() -> Object;
    fn v8__Isolate__ThrowException(isolate: Object, error: Object) -> Object;
    fn v8__String__NewFromUtf8(isolate: Object, text: *const c_char, kind: c_int, length: c_int) -> Object;
    fn v8__Exception__RangeError(message: Object) -> Object;
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal4wasm10WasmEngine11SyncCompileEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsEPNS1_12ErrorThrowerENS_4base11OwnedVectorIKhEENS9_6VectorIKcEE",
    ".hidden __wrap__ZN2v88internal4wasm10WasmEngine12AsyncCompileEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsENSt4__Cr10shared_ptrINS1_25CompilationResultResolverEEENS_4base11OwnedVectorIKhEEPKc",
    ".hidden __wrap__ZN2v88internal4wasm10WasmEngine12SyncValidateEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsENS_4base6VectorIKhEE",
    ".hidden __wrap__ZN2v88internal4wasm17TypeCanonicalizer17AddRecursiveGroupEPKNS0_9SignatureINS1_9ValueTypeEEE"
);

/// `std::__shared_weak_count`. `owners` is the number of owners minus one.
#[repr(C)]
struct Count {
    functions: *const [unsafe extern "C" fn(*mut Count); 3],
    owners: AtomicIsize,
}

/// `std::shared_ptr<CompilationResultResolver>`, which is passed like two pointers. The called function destroys it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Resolver {
    object: *mut ResolverObject,
    count: *mut Count,
}

/// A resolver's virtual functions: one receives a module, the other an error.
#[repr(C)]
struct ResolverObject {
    functions: *const [unsafe extern "C" fn(*mut ResolverObject, Object); 2],
}

impl Resolver {
    /// # Safety
    /// Called on the isolate's thread, in a handle scope. `error` is a handle.
    unsafe fn fail(self, error: Object) {
        // SAFETY: the object lives as long as it has an owner, and has these functions.
        unsafe { (*(*self.object).functions)[1](self.object, error) };
    }

    /// Destroys it.
    ///
    /// # Safety
    /// It is not used afterwards.
    unsafe fn release(self) {
        if self.count.is_null() {
            return;
        }
        // SAFETY: does the same as `std::shared_ptr`'s destructor.
        unsafe {
            if (*self.count).owners.fetch_sub(1, Ordering::AcqRel) == 0 {
                (*(*self.count).functions)[2](self.count);
                release_weak(self.count);
            }
        }
    }
}

/// A V8 string; null if there is no memory.
///
/// # Safety
/// Called on the isolate's thread, in a handle scope.
unsafe fn string(isolate: Object, text: &[u8]) -> Object {
    let length = c_int::try_from(text.len()).unwrap_or(0);
    // SAFETY: `text` has `length` bytes.
    unsafe { v8__String__NewFromUtf8(isolate, text.as_ptr().cast(), 0, length) }
}

/// For `new WebAssembly.Module`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal4wasm10WasmEngine11SyncCompileEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsEPNS1_12ErrorThrowerENS_4base11OwnedVectorIKhEENS9_6VectorIKcEE(
    engine: Object,
    isolate: Object,
    features: u32,
    imports: Object,
    thrower: Object,
    bytes: *const Bytes,
    url: Bytes,
) -> Object {
    // SAFETY: V8 passes its own copy of the module.
    if let Err(message) = unsafe { (*bytes).admit() } {
        // SAFETY: the format takes one string. An empty handle signals the error to the caller.
        unsafe { set_compile_error(thrower, c"%s".as_ptr(), message.as_ptr()) };
        return ptr::null_mut();
    }
    // SAFETY: forwards the call.
    unsafe { compile(engine, isolate, features, imports, thrower, bytes, url) }
}

/// For `WebAssembly.compile` and `WebAssembly.instantiate`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal4wasm10WasmEngine12AsyncCompileEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsENSt4__Cr10shared_ptrINS1_25CompilationResultResolverEEENS_4base11OwnedVectorIKhEEPKc(
    engine: Object,
    isolate: Object,
    features: u32,
    imports: Object,
    resolver: Resolver,
    bytes: *const Bytes,
    name: *const c_char,
) {
    // SAFETY: V8 passes its own copy of the module.
    let Err(message) = (unsafe { (*bytes).admit() }) else {
        crate::native::context::with(|context| context.engine.compiles_module.set(true));
        // SAFETY: forwards the call.
        return unsafe { compile_async(engine, isolate, features, imports, resolver, bytes, name) };
    };
    // SAFETY: V8 passes a string.
    let name = unsafe { CStr::from_ptr(name) };
    let text = [name.to_bytes(), b": ", message.as_bytes()].concat();
    // SAFETY: V8 calls this on the isolate's thread, in a function that a guest has called. This function owns the resolver.
    unsafe {
        let text = string(isolate, &text);
        if !text.is_null() {
            resolver.fail(compile_error(text, ptr::null_mut()));
        }
        resolver.release();
    }
}

/// For `WebAssembly.validate`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal4wasm10WasmEngine12SyncValidateEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsENS_4base6VectorIKhEE(
    engine: Object,
    isolate: Object,
    features: u32,
    imports: Object,
    bytes: Bytes,
) -> bool {
    // SAFETY: V8 passes its own copy of the module; the other arguments are forwarded.
    unsafe { bytes.admit().is_ok() && validate(engine, isolate, features, imports, bytes) }
}

/// For `new WebAssembly.Tag`, and for the tag that each context has.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal4wasm17TypeCanonicalizer17AddRecursiveGroupEPKNS0_9SignatureINS1_9ValueTypeEEE(
    types: Object,
    signature: *const Signature,
) -> u32 {
    /// A type that always exists in V8, of functions that take a number.
    const SOME_TYPE: u32 = 6;

    // SAFETY: V8 passes a signature with that many types.
    let (parameters, described) = unsafe {
        let Signature { results, parameters, types } = *signature;
        let count = results.saturating_add(parameters);
        (parameters, if count == 0 { &[] } else { slice::from_raw_parts(types, count) })
    };
    let mut text = Vec::with_capacity(described.len() * 4 + 16);
    text.extend_from_slice(b"signature");
    text.extend_from_slice(&parameters.to_le_bytes());
    text.extend(described.iter().flat_map(|kind| kind.to_le_bytes()));
    let Err(message) = admit_type(&text, described.len()) else {
        // SAFETY: forwards the call.
        return unsafe { add_signature(types, signature) };
    };
    // SAFETY: only a guest's tag is refused, in the function that creates it. V8 completes the tag, and then throws the exception set here.
    unsafe {
        let isolate = v8__Isolate__GetCurrent();
        let text = string(isolate, message.as_bytes());
        if !text.is_null() {
            v8__Isolate__ThrowException(isolate, v8__Exception__RangeError(text));
        }
    }
    SOME_TYPE
}

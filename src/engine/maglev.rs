//! Limits the memory that Maglev, V8's second compiler, uses to optimize a function. It keeps all parameters and the live variables for
//! each place where the code may return to the interpreter, so a function with 2,048 parameters takes most of a gigabyte. On Linux the
//! linker redirects the function that starts Maglev to this module (`build.rs`). If Maglev would use more than half of the isolate's limit,
//! the function stays unoptimized. So do functions of an isolate that has too little left, is lost, or ends: V8's queue may have hundreds of
//! them, and what was compiled takes memory until the isolate's thread gets it.

use std::ffi::c_void;

use crate::native;

type Object = *mut c_void;

unsafe extern "C" {
    /// `v8::internal::maglev::MaglevCompiler::Compile`.
    #[link_name = "__real__ZN2v88internal6maglev14MaglevCompiler7CompileEPNS0_12LocalIsolateEPNS1_21MaglevCompilationInfoE"]
    fn compile(isolate: Object, info: *const Info) -> bool;
    /// `v8::internal::compiler::BytecodeArrayRef::length`.
    #[link_name = "_ZNK2v88internal8compiler16BytecodeArrayRef6lengthEv"]
    fn bytecode_length(bytecode: *const Object) -> i32;
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal6maglev14MaglevCompiler7CompileEPNS0_12LocalIsolateEPNS1_21MaglevCompilationInfoE"
);

/// The start of `v8::internal::maglev::MaglevCompilationInfo`.
#[repr(C)]
struct Info {
    _zone: [usize; 8],
    _broker: Object,
    unit: *const Unit,
}

/// `v8::internal::maglev::MaglevCompilationUnit`.
#[repr(C)]
struct Unit {
    info: *const Info,
    _caller: Object,
    _function: Object,
    bytecode: Object,
    _feedback: Object,
    registers: i32,
    parameters: u16,
    _arguments: u16,
    _depth: i32,
}

/// For each parameter and byte of bytecode; 32 were measured.
const PARAMETER_BYTES: usize = 40;

/// For each register and byte of bytecode; 10 were measured where all are live everywhere.
const REGISTER_BYTES: usize = 8;

/// Limit for an isolate without a limit of its own.
const MAX_BYTES: usize = 512 << 20;

/// Bytes that Maglev uses to compile a function.
///
/// # Safety
/// V8 is about to compile it.
unsafe fn cost(info: *const Info) -> usize {
    // SAFETY: V8 passes an object that it has made, for a function that it has chosen. The unit points back to the object that it belongs
    // to, which confirms the layout.
    unsafe {
        let unit = (*info).unit;
        if unit.is_null() || !unit.is_aligned() || (*unit).info != info || (*unit).bytecode.is_null() {
            return 0;
        }
        let length = usize::try_from(bytecode_length(&raw const (*unit).bytecode)).unwrap_or(0);
        let parameters = usize::from((*unit).parameters).saturating_mul(PARAMETER_BYTES);
        let registers = usize::try_from((*unit).registers).unwrap_or(0).saturating_mul(REGISTER_BYTES);
        length.saturating_mul(parameters.saturating_add(registers))
    }
}

/// False if the function is not compiled.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal6maglev14MaglevCompiler7CompileEPNS0_12LocalIsolateEPNS1_21MaglevCompilationInfoE(
    isolate: Object,
    info: *const Info,
) -> bool {
    // SAFETY: V8 is about to compile the function.
    let cost = unsafe { cost(info) };
    let is_possible = match native::current() {
        Some(guest) => cost <= guest.guest_limit() / 2 && guest.can_compile(cost),
        None => cost <= MAX_BYTES,
    };
    // SAFETY: forwards the call.
    unsafe { is_possible && compile(isolate, info) }
}

//! What Maglev, V8's second compiler, takes to optimize a function. It keeps all parameters, and the variables in use, for each place where
//! the code may go back to the interpreter, so one with 2,048 parameters takes most of a gigabyte. On Linux the linker sends the function by which it starts here
//! (`build.rs`): where that would be more than the isolate may have, the function runs as it is.

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

/// For each parameter and byte of bytecode: 32 were measured.
const PARAMETER_BYTES: usize = 40;

/// The same for each register: 10 were measured where all are in use everywhere.
const REGISTER_BYTES: usize = 8;

/// What an isolate may take for it that has no limit of its own.
const MAX_BYTES: usize = 512 << 20;

/// Bytes that Maglev takes to compile a function.
///
/// # Safety
/// V8 is about to compile it.
unsafe fn cost(info: *const Info) -> usize {
    // SAFETY: V8 passes what it has made, and has chosen the function. The unit names what it belongs to: it is what it is taken for.
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

/// False where the function cannot be compiled.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal6maglev14MaglevCompiler7CompileEPNS0_12LocalIsolateEPNS1_21MaglevCompilationInfoE(
    isolate: Object,
    info: *const Info,
) -> bool {
    let most = native::current().map_or(MAX_BYTES, |guest| guest.limit() / 2);
    // SAFETY: passed on.
    unsafe { cost(info) <= most && compile(isolate, info) }
}

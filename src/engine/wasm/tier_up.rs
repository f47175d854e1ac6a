//! Limits the optimization of WebAssembly functions. On Linux the linker redirects the function with which V8 optimizes a function to this module
//! (`build.rs`). If that takes too much memory or time, or the isolate ends, it is abandoned (`native::attempt`). The function then gets code of V8's
//! baseline compiler, as before.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::{ptr, slice};

use super::code;
use super::reader::Reader;
use crate::native;

type Object = *mut c_void;

unsafe extern "C" {
    /// `v8::internal::compiler::turboshaft::ExecuteTurboshaftWasmCompilation`.
    #[link_name = "__real__ZN2v88internal8compiler10turboshaft32ExecuteTurboshaftWasmCompilationEPNS0_4wasm14CompilationEnvERNS1_19WasmCompilationDataEPNS3_20WasmDetectedFeaturesEPNS0_21DelayedCounterUpdatesE"]
    fn optimize(environment: Object, data: *mut Data, features: Object, counters: Object) -> Compiled;
    /// `v8::internal::wasm::ExecuteLiftoffCompilation`.
    #[link_name = "_ZN2v88internal4wasm25ExecuteLiftoffCompilationEPNS1_14CompilationEnvERKNS1_12FunctionBodyERKNS1_14LiftoffOptionsE"]
    fn compile(environment: Object, body: *const Body, options: *const Options) -> Compiled;
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal8compiler10turboshaft32ExecuteTurboshaftWasmCompilationEPNS0_4wasm14CompilationEnvERNS1_19WasmCompilationDataEPNS3_20WasmDetectedFeaturesEPNS0_21DelayedCounterUpdatesE"
);

/// Functions with more locals are not optimized. Where all of them move at the start of a loop, V8 takes time by the square of their number, in which no
/// zone grows: 3 seconds for 49,000.
const MAX_LOCALS: usize = 10_000;

/// `v8::internal::wasm::FunctionBody`.
#[repr(C)]
struct Body {
    _signature: Object,
    _offset: u32,
    start: *const u8,
    end: *const u8,
}

/// `v8::internal::compiler::WasmCompilationData`.
#[repr(C)]
struct Data {
    body: *const Body,
    _wire_bytes: Object,
    _node_origins: Object,
    _loops: Object,
    assumptions: *const Journal,
    _source_positions: Object,
    function: i32,
    _validation: bool,
}

/// `v8::internal::wasm::AssumptionsJournal`: a `std::vector`.
#[repr(C)]
struct Journal {
    start: *const u8,
    _end: [*const u8; 2],
}

/// `v8::internal::wasm::LiftoffOptions`.
#[repr(C)]
struct Options {
    function: i32,
    for_debugging: i8,
    counters: Object,
    features: Object,
    breakpoints: [usize; 2],
    debug_table: Object,
    dead_breakpoint: i32,
    max_steps: Object,
    deopt_offset: u32,
    deopt_kind: u8,
}

/// `v8::internal::wasm::WasmCompilationResult`. C++ moves it like Rust does: it holds no pointer to itself. Its first word is null if the compilation has
/// failed. V8 then tries to optimize no function of the module any more.
#[repr(C)]
struct Compiled {
    _words: MaybeUninit<[usize; 28]>,
}

impl Compiled {
    /// It owns nothing.
    const FAILED: Self = Self { _words: MaybeUninit::zeroed() };
}

impl Data {
    /// How many locals the function has.
    ///
    /// # Safety
    /// V8 has passed the data.
    unsafe fn locals(&self) -> usize {
        // SAFETY: the body lies within the module's bytes, which live as long as the compilation.
        let body = unsafe {
            slice::from_raw_parts((*self.body).start, (*self.body).end.offset_from_unsigned((*self.body).start))
        };
        code::locals(&mut Reader::new(body)).unwrap_or(usize::MAX)
    }

    /// The journal's memory; 0 for none.
    fn journal(&self) -> [usize; 2] {
        // SAFETY: it is null, or the journal of this compilation.
        let elements = unsafe { self.assumptions.as_ref() }.map_or(0, |journal| journal.start as usize);
        [self.assumptions as usize, elements]
    }

    /// Compiles the function with V8's baseline compiler.
    ///
    /// # Safety
    /// V8 has passed the data and the other arguments.
    unsafe fn compile_baseline(&self, environment: Object, features: Object, counters: Object) -> Compiled {
        let options = Options {
            function: self.function,
            for_debugging: 0,
            counters,
            features,
            breakpoints: [0; 2],
            debug_table: ptr::null_mut(),
            dead_breakpoint: 0,
            max_steps: ptr::null_mut(),
            deopt_offset: u32::MAX,
            deopt_kind: 0,
        };
        // SAFETY: guaranteed by the caller; the options are V8's defaults.
        unsafe { compile(environment, self.body, &raw const options) }
    }
}

/// Optimizes a function, unless that takes too much.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal8compiler10turboshaft32ExecuteTurboshaftWasmCompilationEPNS0_4wasm14CompilationEnvERNS1_19WasmCompilationDataEPNS3_20WasmDetectedFeaturesEPNS0_21DelayedCounterUpdatesE(
    environment: Object,
    data: *mut Data,
    features: Object,
    counters: Object,
) -> Compiled {
    // SAFETY: forwards the call.
    let optimize = || unsafe { optimize(environment, data, features, counters) };
    // A guest's own thread has other limits.
    let is_of_v8 = native::context::with(|context| context.isolate.get().is_null());
    let Some(guest) = native::current().filter(|_| is_of_v8) else { return optimize() };
    if native::may_attempt(&guest)
        // SAFETY: V8 has passed the data.
        && unsafe { (*data).locals() } <= MAX_LOCALS
        // SAFETY: V8 has passed the data. It frees the journal with it.
        && let Some(optimized) = native::attempt(&guest, || unsafe { (*data).journal() }, optimize)
    {
        return optimized;
    }
    // The code replaces that of the same compiler, which the function has.
    // SAFETY: V8 has passed the arguments. All that an attempt changes of them until it is abandoned are sets of features, counts, and assumptions that
    // belong to optimized code.
    let baseline = || unsafe { (*data).compile_baseline(environment, features, counters) };
    // SAFETY: as above.
    native::attempt(&guest, || unsafe { (*data).journal() }, baseline).unwrap_or(Compiled::FAILED)
}

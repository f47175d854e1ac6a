//! Gives each isolate an executor of its own for compilations by TurboFan on V8's threads. V8 has one for all isolates: one queue, one lock, and one
//! job that takes compilations of any isolate. The memory of a compilation would count for the isolate that was created first, a guest could fill
//! the queue of the others, and an isolate that cannot continue would keep the thread that compiles for it. On Linux the linker redirects the
//! constructor and the destructor of an isolate's dispatcher to this module (`build.rs`). V8's own executor then has no work.
//!
//! The linker also redirects the function that runs a compilation of TurboFan or Maglev here. When the isolate is lost, ends or is out of
//! memory, those that still wait are cancelled, and so are those of TurboFan that run. The thread of one that takes far more memory than the
//! isolate may have stops permanently (`native::compilers`).

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::ptr;

use crate::native;

type Object = *mut c_void;

unsafe extern "C" {
    /// `v8::internal::OptimizingCompileDispatcher::OptimizingCompileDispatcher`.
    #[link_name = "__real__ZN2v88internal27OptimizingCompileDispatcherC1EPNS0_7IsolateEPNS0_29OptimizingCompileTaskExecutorE"]
    fn construct_dispatcher(dispatcher: *mut Dispatcher, isolate: Object, executor: *mut Executor);
    /// `v8::internal::OptimizingCompileDispatcher::~OptimizingCompileDispatcher`.
    #[link_name = "__real__ZN2v88internal27OptimizingCompileDispatcherD1Ev"]
    fn destroy_dispatcher(dispatcher: *mut Dispatcher);
    /// `v8::internal::OptimizingCompileTaskExecutor::OptimizingCompileTaskExecutor`.
    #[link_name = "_ZN2v88internal29OptimizingCompileTaskExecutorC1Ev"]
    fn construct_executor(executor: *mut Executor);
    /// `v8::internal::OptimizingCompileTaskExecutor::EnsureStarted`.
    #[link_name = "_ZN2v88internal29OptimizingCompileTaskExecutor13EnsureStartedEv"]
    fn start_executor(executor: *mut Executor);
    /// `v8::internal::OptimizingCompileTaskExecutor::Stop`.
    #[link_name = "_ZN2v88internal29OptimizingCompileTaskExecutor4StopEv"]
    fn stop_executor(executor: *mut Executor);
    /// `v8::internal::OptimizingCompileTaskExecutor::~OptimizingCompileTaskExecutor`.
    #[link_name = "_ZN2v88internal29OptimizingCompileTaskExecutorD1Ev"]
    fn destroy_executor(executor: *mut Executor);
    /// `v8::internal::OptimizedCompilationJob::ExecuteJob`.
    #[link_name = "__real__ZN2v88internal23OptimizedCompilationJob10ExecuteJobEPNS0_16RuntimeCallStatsEPNS0_12LocalIsolateE"]
    fn execute(job: *mut Job, statistics: Object, isolate: Object) -> i32;
    /// `v8::internal::TurbofanCompilationJob::Cancel`.
    #[link_name = "_ZN2v88internal22TurbofanCompilationJob6CancelEv"]
    fn cancel(job: *mut Job);
    /// The vtable of `v8::internal::compiler::PipelineCompilationJob`: TurboFan compiles a function.
    #[link_name = "_ZTVN2v88internal8compiler22PipelineCompilationJobE"]
    static PIPELINE: [usize; 3];
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal27OptimizingCompileDispatcherC1EPNS0_7IsolateEPNS0_29OptimizingCompileTaskExecutorE",
    ".hidden __wrap__ZN2v88internal27OptimizingCompileDispatcherD1Ev",
    ".hidden __wrap__ZN2v88internal23OptimizedCompilationJob10ExecuteJobEPNS0_16RuntimeCallStatsEPNS0_12LocalIsolateE"
);

/// The start of `v8::internal::OptimizingCompileDispatcher`.
#[repr(C)]
struct Dispatcher {
    _isolate: Object,
    executor: *mut Executor,
}

/// Space for a `v8::internal::OptimizingCompileTaskExecutor`, which takes less than half of it.
#[repr(C, align(64))]
struct Executor {
    _words: [usize; 32],
}

/// The start of `v8::internal::OptimizedCompilationJob`: a pointer to its virtual functions.
#[repr(C)]
struct Job {
    functions: *const usize,
}

/// Index of the first function in a vtable.
const FUNCTIONS: usize = 2;

/// A dispatcher with an executor of its own instead of `_shared`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal27OptimizingCompileDispatcherC1EPNS0_7IsolateEPNS0_29OptimizingCompileTaskExecutorE(
    dispatcher: *mut Dispatcher,
    isolate: Object,
    _shared: *mut Executor,
) {
    let layout = Layout::new::<Executor>();
    // SAFETY: the layout is not empty. V8's constructor gets zeroed memory that is larger than the object. The destructor below destroys the
    // executor after the dispatcher, which is the only object that refers to it.
    unsafe {
        let executor = alloc_zeroed(layout).cast::<Executor>();
        if executor.is_null() {
            handle_alloc_error(layout);
        }
        construct_executor(executor);
        start_executor(executor);
        construct_dispatcher(dispatcher, isolate, executor);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal27OptimizingCompileDispatcherD1Ev(dispatcher: *mut Dispatcher) {
    // SAFETY: the dispatcher is one of those above. V8 destroys it when no compilation for the isolate waits or runs, so the executor has no
    // work. Its job is cancelled before it is freed.
    unsafe {
        let executor = (*dispatcher).executor;
        destroy_dispatcher(dispatcher);
        stop_executor(executor);
        destroy_executor(executor);
        dealloc(executor.cast(), Layout::new::<Executor>());
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal23OptimizedCompilationJob10ExecuteJobEPNS0_16RuntimeCallStatsEPNS0_12LocalIsolateE(
    job: *mut Job,
    statistics: Object,
    isolate: Object,
) -> i32 {
    // SAFETY: V8 passes a job that this thread owns. With these functions it is one of TurboFan's, which ends early when it is cancelled, on any
    // thread: that sets a flag. Only the address of the vtable is used.
    unsafe {
        let is_turbofan = ptr::eq((*job).functions, (&raw const PIPELINE).cast::<usize>().wrapping_add(FUNCTIONS));
        let Some(guest) = native::current() else { return execute(job, statistics, isolate) };
        let place = job as usize;
        let stop = move || cancel(place as *mut Job);
        native::compile(&guest, is_turbofan.then(|| Box::new(stop) as native::Cancel), || {
            if is_turbofan && !guest.can_compile(0) {
                cancel(job);
            }
            execute(job, statistics, isolate)
        })
    }
}

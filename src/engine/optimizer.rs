//! Gives each isolate an executor of its own for compilations by TurboFan on V8's threads. V8 has one for all isolates: one queue, one lock, and one
//! job that takes compilations of any isolate. The memory of a compilation would count for the isolate that was created first, a guest could fill
//! the queue of the others, and an isolate that cannot continue would keep the thread that compiles for it. On Linux the linker redirects the
//! constructor and the destructor of an isolate's dispatcher to this module (`build.rs`). V8's own executor then has no work.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::c_void;

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
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal27OptimizingCompileDispatcherC1EPNS0_7IsolateEPNS0_29OptimizingCompileTaskExecutorE",
    ".hidden __wrap__ZN2v88internal27OptimizingCompileDispatcherD1Ev"
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

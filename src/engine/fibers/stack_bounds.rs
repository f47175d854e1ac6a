//! The bounds of the stack that V8 runs on. V8 asks for those of the thread, computes its limit from them, and ends the process if it does not run
//! between them. On a fiber, they are those of the fiber. The linker redirects V8's calls here (`build.rs`).

use crate::native::fiber;

unsafe extern "C" {
    /// `v8::base::Stack::GetStackStart`: the highest address.
    #[link_name = "__real__ZN2v84base5Stack13GetStackStartEv"]
    fn stack_start() -> usize;
    /// `v8::base::Stack::GetReservedStackLimit`: the lowest address.
    #[link_name = "__real__ZN2v84base5Stack21GetReservedStackLimitEv"]
    fn stack_limit() -> usize;
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v84base5Stack13GetStackStartEv",
    ".hidden __wrap__ZN2v84base5Stack22GetStackStartUncheckedEv",
    ".hidden __wrap__ZN2v84base5Stack21GetReservedStackLimitEv"
);

/// What V8 may use of a stack, as on other threads.
const USABLE: usize = 984 << 10;

/// Makes V8 compute the isolate's limit from the stack of this fiber. For each thread, V8 remembers the first limit that an isolate had
/// there.
pub fn limit_stack(isolate: &v8::Isolate) {
    unsafe extern "C" {
        /// `v8::Isolate::SetStackLimit`, which the crate does not bind.
        #[link_name = "_ZN2v87Isolate13SetStackLimitEm"]
        fn set_stack_limit(isolate: v8::UnsafeRawIsolatePtr, limit: usize);
    }
    if let Some((_, start)) = fiber::bounds() {
        // SAFETY: `UnsafeRawIsolatePtr` is a pointer in a newtype, to the isolate that the caller has locked. The stack is larger than that.
        unsafe { set_stack_limit(isolate.as_raw_isolate_ptr(), start - USABLE) };
    }
}

/// What V8 allows code of this thread to do, such as to allocate. Its scopes change it, and frames that are left do not end their scopes.
#[derive(Clone, Copy)]
pub struct Allowed(u32);

unsafe extern "C" {
    /// The constructor of `v8::internal::DisallowGarbageCollectionInRelease`, which stores what was allowed before.
    #[link_name = "_ZN2v88internal20PerThreadAssertScopeILb0EJLNS0_19PerThreadAssertTypeE1ELS2_2EEEC1Ev"]
    fn begin_scope(scope: *mut u32);
    /// Its destructor, which restores that.
    #[link_name = "_ZN2v88internal20PerThreadAssertScopeILb0EJLNS0_19PerThreadAssertTypeE1ELS2_2EEED1Ev"]
    fn end_scope(scope: *mut u32);
}

impl Allowed {
    pub fn now() -> Self {
        let mut scope = 0;
        // SAFETY: the scope is of this size, and ends here.
        unsafe { begin_scope(&raw mut scope) };
        let now = Self(scope);
        // SAFETY: as above.
        unsafe { end_scope(&raw mut scope) };
        now
    }

    pub fn restore(mut self) {
        // SAFETY: the end of a scope that began when this was made.
        unsafe { end_scope(&raw mut self.0) };
    }
}

#[unsafe(no_mangle)]
extern "C" fn __wrap__ZN2v84base5Stack13GetStackStartEv() -> usize {
    match fiber::bounds() {
        Some((_, start)) => start,
        // SAFETY: forwards the call.
        None => unsafe { stack_start() },
    }
}

/// The same function for V8.
#[unsafe(no_mangle)]
extern "C" fn __wrap__ZN2v84base5Stack22GetStackStartUncheckedEv() -> usize {
    __wrap__ZN2v84base5Stack13GetStackStartEv()
}

#[unsafe(no_mangle)]
extern "C" fn __wrap__ZN2v84base5Stack21GetReservedStackLimitEv() -> usize {
    match fiber::bounds() {
        Some((limit, _)) => limit,
        // SAFETY: forwards the call.
        None => unsafe { stack_limit() },
    }
}

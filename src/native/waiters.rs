//! Waiters of `Atomics.waitAsync`. V8 keeps those of all isolates in one list for the process, and searches all of it under its lock whenever an
//! isolate ends. Their blocks are too small to count by their size. So they count more, which bounds their number, those of lost isolates
//! included. The linker redirects the functions that make them to this module (`build.rs`).

use std::ffi::c_void;

use super::context;

/// What each block of a waiter counts. There are two, one more for each address in use, and three with a timeout.
pub const BLOCK: usize = 2 << 10;

type Object = *mut c_void;

/// `v8::internal::FutexEmulation::WaitMode::kAsync`.
const ASYNC: u32 = 1;

unsafe extern "C" {
    /// `v8::internal::FutexEmulation::WaitJs32`. Handles are passed, and the object is returned, like pointers.
    #[link_name = "__real__ZN2v88internal14FutexEmulation8WaitJs32EPNS0_7IsolateENS1_8WaitModeENS0_12DirectHandleINS0_13JSArrayBufferEEEmid"]
    fn wait_32(isolate: Object, mode: u32, buffer: Object, address: usize, value: i32, timeout: f64) -> Object;
    /// `v8::internal::FutexEmulation::WaitJs64`.
    #[link_name = "__real__ZN2v88internal14FutexEmulation8WaitJs64EPNS0_7IsolateENS1_8WaitModeENS0_12DirectHandleINS0_13JSArrayBufferEEEmld"]
    fn wait_64(isolate: Object, mode: u32, buffer: Object, address: usize, value: i64, timeout: f64) -> Object;
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal14FutexEmulation8WaitJs32EPNS0_7IsolateENS1_8WaitModeENS0_12DirectHandleINS0_13JSArrayBufferEEEmid",
    ".hidden __wrap__ZN2v88internal14FutexEmulation8WaitJs64EPNS0_7IsolateENS1_8WaitModeENS0_12DirectHandleINS0_13JSArrayBufferEEEmld"
);

/// Whether the thread makes a waiter.
#[inline]
pub fn are_made() -> bool {
    context::with(|context| context.makes_waiter.get())
}

/// Runs `wait`. Its blocks are those of a waiter, unless the thread itself waits.
fn make(mode: u32, wait: impl FnOnce() -> Object) -> Object {
    if mode != ASYNC {
        return wait();
    }
    context::with(|context| context.makes_waiter.set(true));
    let result = wait();
    context::with(|context| context.makes_waiter.set(false));
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal14FutexEmulation8WaitJs32EPNS0_7IsolateENS1_8WaitModeENS0_12DirectHandleINS0_13JSArrayBufferEEEmid(
    isolate: Object,
    mode: u32,
    buffer: Object,
    address: usize,
    value: i32,
    timeout: f64,
) -> Object {
    // SAFETY: forwards the call.
    make(mode, || unsafe { wait_32(isolate, mode, buffer, address, value, timeout) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal14FutexEmulation8WaitJs64EPNS0_7IsolateENS1_8WaitModeENS0_12DirectHandleINS0_13JSArrayBufferEEEmld(
    isolate: Object,
    mode: u32,
    buffer: Object,
    address: usize,
    value: i64,
    timeout: f64,
) -> Object {
    // SAFETY: forwards the call.
    make(mode, || unsafe { wait_64(isolate, mode, buffer, address, value, timeout) })
}

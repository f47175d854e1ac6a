//! What V8 keeps for a thread that has entered an isolate. A guest on a fiber counts as a thread of its own: while its thread runs something
//! else, the guest has still entered its isolate, and other threads can exit the isolate. The linker redirects V8's calls here (`build.rs`).

use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::native::context;

/// An isolate that a thread has entered, with V8's data on that thread.
#[derive(Clone, Copy)]
pub struct Entered {
    isolate: *mut c_void,
    data: *mut c_void,
}

unsafe extern "C" {
    /// `v8::Isolate::TryGetCurrent`.
    #[link_name = "v8__Isolate__TryGetCurrent"]
    fn current() -> *mut c_void;
    /// The address of this thread's `v8::internal::g_current_per_isolate_thread_data_`.
    #[link_name = "_ZTWN2v88internal34g_current_per_isolate_thread_data_E"]
    fn data() -> *mut *mut c_void;
    /// `v8::internal::Isolate::SetIsolateThreadLocals`, which `Isolate::Enter` and `Isolate::Exit` call.
    #[link_name = "_ZN2v88internal7Isolate22SetIsolateThreadLocalsEPS1_PNS1_20PerIsolateThreadDataE"]
    fn set_thread_locals(isolate: *mut c_void, data: *mut c_void);
    /// `v8::internal::ThreadId::GetCurrentThreadId`.
    #[link_name = "__real__ZN2v88internal8ThreadId18GetCurrentThreadIdEv"]
    fn thread_id() -> i32;
    /// `v8::internal::ThreadId::TryGetCurrent`.
    #[link_name = "__real__ZN2v88internal8ThreadId13TryGetCurrentEv"]
    fn known_thread_id() -> i32;
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal8ThreadId18GetCurrentThreadIdEv",
    ".hidden __wrap__ZN2v88internal8ThreadId13TryGetCurrentEv"
);

/// V8 numbers threads from 1.
const FIRST: i32 = 1 << 30;

/// A number that V8 gives no thread.
pub fn new_thread() -> i32 {
    static NEXT: AtomicI32 = AtomicI32::new(FIRST);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Entered {
    /// What this thread has entered.
    pub fn now() -> Option<Self> {
        // SAFETY: only reads thread-local data.
        let (isolate, data) = unsafe { (current(), *data()) };
        (!isolate.is_null()).then_some(Self { isolate, data })
    }

    /// V8 works for this on this thread from now on.
    ///
    /// # Safety
    /// The isolate is alive. It is entered as this says, and no other thread uses it meanwhile.
    pub unsafe fn resume(self) {
        // SAFETY: guaranteed by the caller.
        unsafe { set_thread_locals(self.isolate, self.data) };
    }

    /// V8 works for no isolate on this thread from now on. Does not exit the isolate.
    pub fn suspend() {
        // SAFETY: only sets thread-local data.
        unsafe { set_thread_locals(std::ptr::null_mut(), std::ptr::null_mut()) };
    }

    pub fn is_same(self, other: Self) -> bool {
        self.isolate == other.isolate
    }

    /// Whether `isolate` is the address of the isolate.
    pub fn is_of(self, isolate: *const c_void) -> bool {
        self.isolate.cast_const() == isolate
    }
}

#[unsafe(no_mangle)]
extern "C" fn __wrap__ZN2v88internal8ThreadId18GetCurrentThreadIdEv() -> i32 {
    match context::with(|context| context.v8_thread.get()) {
        // SAFETY: forwards the call.
        0 => unsafe { thread_id() },
        thread => thread,
    }
}

#[unsafe(no_mangle)]
extern "C" fn __wrap__ZN2v88internal8ThreadId13TryGetCurrentEv() -> i32 {
    match context::with(|context| context.v8_thread.get()) {
        // SAFETY: forwards the call.
        0 => unsafe { known_thread_id() },
        thread => thread,
    }
}

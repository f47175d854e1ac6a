//! How other threads reach the event loop: one thread-safe function per environment. It keeps the loop alive only while something is
//! pending.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};

use napi_sys as sys;

use super::js::{Js, JsResult, Refused};
use crate::native::locks;

#[derive(Default)]
pub struct Signal {
    /// The thread-safe function; `None` before it is created and after the environment is gone.
    function: RwLock<Option<Function>>,
    /// See [`Signal::repeats`].
    repeats: AtomicBool,
    /// An alarm is set that looks whether the signal has been missed.
    pub watched: AtomicBool,
    /// Counts how often the event loop has taken its events.
    pub taken: AtomicU32,
}

/// What the event loop calls after [`Signal::raise`].
pub type CallJs =
    unsafe extern "C" fn(sys::napi_env, function: sys::napi_value, context: *mut c_void, data: *mut c_void);

struct Function(sys::napi_threadsafe_function);

// SAFETY: Node-API allows calling a thread-safe function from any thread while it is open. The lock around it is held during the call, and
// closing removes the function first.
unsafe impl Send for Function {}
// SAFETY: as above; several threads may call at once.
unsafe impl Sync for Function {}

impl Signal {
    /// Makes the event loop handle its events soon. May be called on any thread. Returns false if the environment is gone.
    pub fn raise(&self) -> bool {
        let _scope = locks::LockScope::enter();
        let function = self.function.read().unwrap_or_else(PoisonError::into_inner);
        let Some(Function(function)) = &*function else { return false };
        // SAFETY: it is open, since it is still here.
        let status = unsafe {
            sys::napi_call_threadsafe_function(*function, ptr::null_mut(), sys::ThreadsafeFunctionCallMode::nonblocking)
        };
        status == sys::Status::napi_ok
    }

    /// The host's event loop can miss a signal. Deno looks for tasks of other threads before it registers its waker: a task that comes
    /// in between is found when something else wakes the loop, which takes up to 30 seconds.
    pub fn repeats(&self) -> bool {
        self.repeats.load(Ordering::Relaxed)
    }

    pub fn set_repeats(&self) {
        self.repeats.store(true, Ordering::Relaxed);
    }

    /// Keeps the event loop alive.
    pub fn reference(&self, js: Js<'_>) {
        let function = self.function.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(Function(function)) = &*function {
            // SAFETY: on the environment's thread, as `js` proves, and open.
            unsafe { sys::napi_ref_threadsafe_function(js.env(), *function) };
        }
    }

    /// Lets the event loop end.
    pub fn unreference(&self, js: Js<'_>) {
        let function = self.function.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(Function(function)) = &*function {
            // SAFETY: as in `reference`.
            unsafe { sys::napi_unref_threadsafe_function(js.env(), *function) };
        }
    }

    /// The environment is shutting down; the host frees the function. Deno does not: without the release, the event loop of each worker keeps
    /// its descriptors. Must be called on the environment's thread.
    pub fn close(&self) {
        let function = self.function.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Function(function)) = function
            && self.repeats()
        {
            // SAFETY: it is open, and no thread calls it any more, since it was removed.
            unsafe { sys::napi_release_threadsafe_function(function, sys::ThreadsafeFunctionReleaseMode::abort) };
        }
    }

    /// Connects the environment of `js` with its event loop, and registers a hook for its end.
    ///
    /// # Safety
    /// Both functions must be callable with `data` on the environment's thread until the environment has ended. A host that never calls
    /// the hook ends with its process.
    pub unsafe fn attach(
        &self,
        js: Js<'_>,
        data: *mut c_void,
        on_signal: CallJs,
        on_cleanup: unsafe extern "C" fn(*mut c_void),
    ) -> JsResult<()> {
        let name = js.string("isolated-v8")?;
        let mut function = ptr::null_mut();
        // SAFETY: all pointers are to locals, or null where Node-API allows it. The caller vouches for the function and its data.
        let status = unsafe {
            sys::napi_create_threadsafe_function(
                js.env(),
                ptr::null_mut(),
                ptr::null_mut(),
                name.raw(),
                0,
                1,
                ptr::null_mut(),
                None,
                data,
                Some(on_signal),
                &raw mut function,
            )
        };
        if status != sys::Status::napi_ok {
            return Err(Refused);
        }
        // SAFETY: created above, on this thread.
        unsafe { sys::napi_unref_threadsafe_function(js.env(), function) };
        *self.function.write().unwrap_or_else(PoisonError::into_inner) = Some(Function(function));
        // SAFETY: the caller vouches for the hook and its data.
        let status = unsafe { sys::napi_add_env_cleanup_hook(js.env(), Some(on_cleanup), data) };
        if status == sys::Status::napi_ok { Ok(()) } else { Err(Refused) }
    }
}

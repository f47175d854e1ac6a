//! How other threads reach the event loop: one thread-safe function per environment. It keeps the loop alive only while something is
//! pending.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use napi::sys;

use super::environment::Local;
use super::js::{Js, JsResult, Refused};

#[derive(Default)]
pub struct Signal {
    /// The thread-safe function; `None` before it is created and after the environment is gone.
    function: RwLock<Option<Function>>,
    /// See [`Signal::repeats`].
    repeats: AtomicBool,
}

struct Function(sys::napi_threadsafe_function);

// SAFETY: Node-API allows calling a thread-safe function from any thread while it is open. The lock around it is held during the call, and
// closing removes the function first.
unsafe impl Send for Function {}
// SAFETY: as above; several threads may call at once.
unsafe impl Sync for Function {}

impl Signal {
    /// Makes the event loop handle its events soon. May be called on any thread. Returns false if the environment is gone.
    pub fn raise(&self) -> bool {
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
    pub fn hold(&self, js: Js<'_>) {
        let function = self.function.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(Function(function)) = &*function {
            // SAFETY: on the environment's thread, as `js` proves, and open.
            unsafe { sys::napi_ref_threadsafe_function(js.env(), *function) };
        }
    }

    /// Lets the event loop end.
    pub fn let_go(&self, js: Js<'_>) {
        let function = self.function.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(Function(function)) = &*function {
            // SAFETY: as in `hold`.
            unsafe { sys::napi_unref_threadsafe_function(js.env(), *function) };
        }
    }

    /// The environment is shutting down; the host frees the function.
    pub fn close(&self) {
        self.function.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Connects an environment with its event loop and registers a hook for its end.
pub fn attach(js: Js<'_>, local: &'static Local) -> JsResult<()> {
    let data = ptr::from_ref(local).cast_mut().cast::<c_void>();
    let name = js.string("isolated-v8")?;
    let mut function = ptr::null_mut();
    // SAFETY: `local` lives forever; all pointers are to locals, or null where Node-API allows it.
    let status = unsafe {
        sys::napi_create_threadsafe_function(
            js.env(),
            ptr::null_mut(),
            ptr::null_mut(),
            name,
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
    *local.signal().function.write().unwrap_or_else(PoisonError::into_inner) = Some(Function(function));
    // SAFETY: `local` lives forever. A host that never calls the hook ends with its process.
    let status = unsafe { sys::napi_add_env_cleanup_hook(js.env(), Some(on_cleanup), data) };
    if status == sys::Status::napi_ok { Ok(()) } else { Err(Refused) }
}

unsafe extern "C" fn on_signal(
    env: sys::napi_env,
    _function: sys::napi_value,
    context: *mut c_void,
    _data: *mut c_void,
) {
    if env.is_null() || context.is_null() {
        // The environment is closing.
        return;
    }
    // SAFETY: the context is the leaked `Local` of this environment, on whose thread this runs.
    let local = unsafe { &*context.cast::<Local>() };
    // SAFETY: `env` is this callback's environment.
    local.on_signal(unsafe { Js::new(env) });
}

unsafe extern "C" fn on_cleanup(data: *mut c_void) {
    // SAFETY: the data is the leaked `Local`, on whose thread hooks run.
    unsafe { &*data.cast::<Local>() }.close();
}

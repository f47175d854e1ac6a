//! V8's read-only heap, which all isolates of the process share. V8 frees it with the last of them, and creates it again for the next one: a quarter
//! of the time of making an isolate and ending it. So once a program has made some isolates, another one stays alive, in which nothing runs.

use std::ffi::c_void;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::address_space;
use super::platform::{TaskSink, make_isolate, register_isolate};
use super::pool::run_on_pool;

/// A program that has made this many isolates is likely to make more.
const MIN_MADE: usize = 8;

/// Isolates that were made.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// Runs no tasks.
struct NoTasks;

impl TaskSink for NoTasks {
    fn post(&self, _task: v8::Task, _delay: Duration) {}
}

/// An isolate was made. `params` are those of one in which nothing runs.
pub fn count(params: impl FnOnce() -> v8::CreateParams + Send + 'static) {
    if MADE.fetch_add(1, Ordering::Relaxed) + 1 == MIN_MADE {
        // Without a thread, or room for the isolate, V8 creates the heap again and again.
        let _ = run_on_pool(|| {
            if address_space::has_room(MIN_MADE as u64) {
                keep(params());
            }
        });
    }
}

fn keep(params: v8::CreateParams) {
    let isolate = make_isolate(params);
    let sink: Arc<dyn TaskSink> = Arc::new(NoTasks);
    // SAFETY: only the address is taken; `UnsafeRawIsolatePtr` is a pointer in a newtype.
    let address = unsafe { mem::transmute::<v8::UnsafeRawIsolatePtr, *const c_void>(isolate.as_raw_isolate_ptr()) };
    register_isolate(address, &sink);
    // SAFETY: nothing is attached to the isolate. This is the thread that has created it.
    if let Ok(isolate) = unsafe { isolate.try_into_shared() } {
        // It stays alive for as long as the process.
        mem::forget(isolate);
    }
}

//! Parks threads of isolates permanently: those that V8 cannot return from.

use std::cell::RefCell;
use std::sync::Arc;

use super::current::current;
use crate::isolate::remote::reason::Stop;
use crate::native::context::ThreadContext;
use crate::value::{Code, Completion, ErrorClass, Fault};
use crate::{engine, native};

thread_local! {
    /// The completion that waits for the snapshot that is made on this thread, and the error if V8 cannot continue.
    static WAITING: RefCell<Option<(Arc<dyn Completion>, &'static str)>> = const { RefCell::new(None) };
}

/// A snapshot is made on this thread from now on, for which the completion waits, with the error if V8 cannot continue; `None`: no longer.
pub fn await_snapshot(completion: Option<(Arc<dyn Completion>, &'static str)>) {
    WAITING.with(|waiting| *waiting.borrow_mut() = completion);
}

pub const UNWRITABLE: &str =
    "The scripts leave something behind that V8 cannot put into a snapshot, such as an object of `Intl`";

pub fn unsupported(message: &str) -> Fault {
    Fault::coded(ErrorClass::Error, message, Code::Unsupported)
}

/// Abandons the isolate that this thread works for and parks the thread; returns only if there is no isolate. `refused`: V8 has not run out
/// of memory, but cannot run a script of a snapshot, or write a value into it.
pub fn park(refused: bool) {
    let Some(remote) = current() else { return park_helper() };
    // SAFETY: V8 has called this, and cannot continue.
    unsafe { native::fiber::leave(native::fiber::Pause::Failed) };
    if refused && let Some((completion, message)) = WAITING.with(|waiting| waiting.borrow_mut().take()) {
        completion.complete(Err(unsupported(message)));
    }
    remote.execution.thread.park();
    remote.give_back_heap(native::entered_tasks(), native::context::with(ThreadContext::safepoint));
    engine::abandon_texts();
    if std::thread::panicking() {
        // Rust does not let a panic unwind through V8. A panic is a bug of ours; the guest has not run out of memory.
        remote.abandon("Internal error");
    } else {
        remote.stop(Stop::Memory);
        remote.abandon("Catastrophic out-of-memory error");
    }
    // If the isolate was abandoned before, its thread counts as running.
    remote.accounts.account.freeze();
    // V8's heap is in the middle of an operation; if this returned, V8 could abort the process.
    park_forever()
}

/// The same on a thread of V8's own. The isolate is abandoned when its own thread is done with it, or waits for this one.
fn park_helper() {
    if let Some(quota) = native::current() {
        // First: from now on, V8 must not dispose of the isolate.
        quota.tasks().lose_thread();
        quota.exceed();
        #[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
        {
            engine::leave_heap();
            engine::replace_current_thread();
        }
        park_forever();
    }
}

fn park_forever() -> ! {
    loop {
        std::thread::park();
    }
}

//! Work for the pool that must be done, sooner or later: if the system starts no thread now, this tries again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::engine;
use crate::isolate::clock;

/// Runs `work` on a thread of the pool, as soon as there is one.
pub fn run(work: impl FnOnce() + Send + 'static) {
    if !engine::run_on_pool(work) {
        retry();
    }
}

/// How often to try again to start a thread.
const RETRY: Duration = Duration::from_millis(20);

/// Tries until a thread is started, which then does what the pool has kept.
pub fn retry() {
    static TRYING: AtomicBool = AtomicBool::new(false);
    fn attempt() {
        // The pool cannot be asked whether a thread can be started: it panics if not.
        let done = thread::Builder::new().spawn(|| {}).is_ok() && engine::run_on_pool(|| {});
        if done { TRYING.store(false, Ordering::Release) } else { clock::after(RETRY, attempt) }
    }
    if !TRYING.swap(true, Ordering::AcqRel) {
        clock::after(RETRY, attempt);
    }
}

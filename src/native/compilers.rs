//! Limits what V8's compilers of JavaScript take on V8's own threads. They do not handle a refusal, and nothing limits what some of their phases take: it
//! grows with the square of a function's size, since Maglev copies what it knows about all values wherever branches meet. Estimates would exclude many
//! functions that take little. So a thread that would take too much stops permanently. Its isolate has ended before, and is lost
//! (`isolate::thread::deferred_disposal`).

use super::quota::{NativeQuota, current};
use super::tasks::Cancel;
use super::{context, locks, refusal};

/// Runs `compile`, which compiles a function of JavaScript for the isolate with `quota`. `cancel` ends that early, on any thread.
pub fn compile<T>(quota: &NativeQuota, cancel: Option<Cancel>, compile: impl FnOnce() -> T) -> T {
    // Threads that run guests stop in other ways.
    let is_of_v8 = context::with(|context| context.isolate.get().is_null());
    let before = context::with(|context| context.engine.compiles.replace(is_of_v8));
    let result = quota.tasks().compile(cancel, compile);
    context::with(|context| context.engine.compiles.set(before));
    result
}

/// Whether this is one of V8's own threads that compiles a function of JavaScript, and holds no lock.
pub(super) fn is_compiler() -> bool {
    // Each of these threads counts as if it held one.
    context::with(|context| context.engine.compiles.get()) && locks::count() == 1
}

/// A zone is about to grow by `size`. Does not return if a compiler may not have that, which takes as much as threads of guests do when they are refused
/// memory.
pub(super) fn check(size: usize) {
    if is_compiler() && current().is_some_and(|quota| !quota.can_allocate(size)) {
        refusal::end();
    }
}

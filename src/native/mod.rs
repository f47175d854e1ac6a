//! Memory that V8 and its libraries allocate from the system while a guest runs: stacks of its parsers, buffers of its writers, syntax
//! trees, and everything in ICU, which implements `Intl` and `String.prototype.normalize`. V8 has no limit for it.
//!
//! A block counts for the isolate that the allocating thread works for, until any thread frees it. Allocations of Rust code do not count
//! here; they have limits of their own.

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod attempts;
pub mod blocks;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod compilers;
#[cfg(target_os = "linux")]
#[cfg_attr(any(test, fuzzing), allow(dead_code, reason = "only the linker of the addon redirects calls to it"))]
mod conditions;
pub mod context;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[cfg_attr(fuzzing, allow(dead_code, reason = "the fuzzer's V8 does not know fibers"))]
pub mod fiber;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[path = "fiber/absent.rs"]
pub mod fiber;
pub mod locks;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod malloc;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod managed;
mod mutex;
#[cfg_attr(
    any(test, fuzzing, not(target_os = "linux")),
    allow(dead_code, reason = "only the addon on Linux knows what blocks are for, and has V8's threads count")
)]
mod quota;
#[cfg_attr(
    any(fuzzing, not(target_os = "linux")),
    allow(dead_code, reason = "only the linker of the addon on Linux sends `abort` here")
)]
pub mod refusal;
#[cfg(target_os = "linux")]
#[cfg_attr(any(test, fuzzing), allow(dead_code, reason = "only the addon guards stacks"))]
mod reserve;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod safepoints;
mod share;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod small_blocks;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub mod stack;
#[cfg(target_os = "linux")]
pub mod stop_request;
mod system;
#[cfg(any(target_os = "linux", test))]
#[cfg_attr(any(test, fuzzing), allow(dead_code, reason = "only the linker of the addon redirects calls to it"))]
mod table;
mod tasks;
pub mod ticks;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod waiters;
#[cfg_attr(any(fuzzing, not(target_os = "linux")), allow(dead_code, reason = "only guests on fibers wait there"))]
pub mod waits;
mod wasm_types;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped_locks;

/// Elsewhere the purpose of blocks is not known.
#[cfg(not(all(target_os = "linux", not(any(test, fuzzing)))))]
pub fn give_back_blocks(_quota: &std::sync::Arc<NativeQuota>) {}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use attempts::{attempt, may_attempt};
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use compilers::compile;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use malloc::give_back as give_back_blocks;
pub use mutex::{Guard, lock};
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use quota::with_quota_in_background;
pub use quota::{NativeQuota, Watch, current, with_quota};
pub use share::{Share, ShareGuard};
pub use system::{System, calloc, free, give_back_pages, malloc, trim};
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use tasks::Cancel;
pub use tasks::entered as entered_tasks;
pub use wasm_types::TypeBudget;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use wrapped_locks::last_of_v8;

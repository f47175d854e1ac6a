//! How threads work for an isolate: those of the library, and the one that makes a sync call.

pub mod caller_thread;
pub(super) mod create;
pub(super) mod current;
pub(super) mod deferred_disposal;
pub(super) mod ending;
pub(super) mod grace;
pub(super) mod heap_tasks;
pub(super) mod host_polls;
pub(super) mod job_execution;
pub(super) mod lost_heap;
pub(super) mod malloc_trim;
pub(super) mod memory;
pub(super) mod parking;
pub(super) mod pool_work;
pub(super) mod profiling;
pub(super) mod run;
pub(super) mod sessions;
pub(super) mod snapshot_creator;
pub(super) mod suspender;
pub mod suspension;
pub(super) mod waiting;

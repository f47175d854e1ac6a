//! Resource limits. None of them bounds address space, because V8 reserves far more than it uses. `RLIMIT_DATA` bounds writable memory. It
//! does not count shared memory and growing stacks; the filter of system calls refuses them (`src/child/confinement/calls.rs`).

use std::num::NonZeroUsize;
use std::thread;

use isolated_v8_launcher::Settings;

use super::{Refusal, done};

#[cfg(target_env = "gnu")]
pub type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
pub type Resource = libc::c_int;

/// The three standard ones, and what the addon needs for a moment. The addon later lowers the limit itself.
const DESCRIPTORS: u64 = 8;

/// Bytes of the first thread's stack. That thread only waits.
const STACK: u64 = 8 << 20;

/// The maximum number of signals that are queued for the process.
pub const SIGNALS: u64 = 64;

/// Sets limits that cannot be raised again: those of all systems, `more`, and, if it can be limited, the number of the user's processes.
pub fn set(settings: &Settings, more: &[(Resource, u64, &str)], processes: Option<u64>) -> Result<String, Refusal> {
    let all = [
        (libc::RLIMIT_CORE, 0, "core"),
        (libc::RLIMIT_FSIZE, 0, "fsize"),
        (libc::RLIMIT_MEMLOCK, 0, "memlock"),
        (libc::RLIMIT_NOFILE, DESCRIPTORS, "nofile"),
        (libc::RLIMIT_CPU, seconds(settings), "cpu"),
        (libc::RLIMIT_STACK, STACK, "stack"),
    ];
    let processes = processes.map(|most| (libc::RLIMIT_NPROC, most, "nproc"));
    let mut names = Vec::new();
    for (resource, most, name) in all.iter().chain(more).copied().chain(processes) {
        limit(resource, most, name)?;
        names.push(name);
    }
    Ok(names.join(", "))
}

/// Processor time of all threads. It ends the child if the parent does not end it in time.
fn seconds(settings: &Settings) -> u64 {
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    // A waiting child has used some already, and V8 collects and compiles on several threads at once.
    settings.timeout.as_secs().saturating_add(2).saturating_mul(u64::try_from(processors).unwrap_or(1))
}

fn limit(resource: Resource, most: u64, name: &str) -> Result<(), Refusal> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `now` is valid for writes.
    done(unsafe { libc::getrlimit(resource, &raw mut now) }, name)?;
    let most = most.min(now.rlim_max);
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: `limit` is valid for reads.
    done(unsafe { libc::setrlimit(resource, &raw const limit) }, name)
}

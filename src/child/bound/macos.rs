//! A child's memory on macOS, where no limit of the kernel is available without root privileges. The parent measures it at intervals, and ends a
//! child that uses too much.

use isolated_v8_launcher::Report;

use crate::child::time;

/// The name of this layer.
pub const LAYER: &str = "footprint";

/// What a child uses besides its guest's heap and buffers.
const AROUND: u64 = 256 << 20;

/// The maximum that a child may use.
#[derive(Debug)]
pub struct Bound(u64);

impl Bound {
    /// For a guest with `memory` bytes of heap, and the same again of buffers.
    pub fn new(memory: u64) -> Option<Self> {
        Some(Self(memory.saturating_mul(2).saturating_add(AROUND)))
    }

    /// macOS has no control groups.
    pub fn folder(&self) -> Option<String> {
        None
    }

    /// Only the parent ends a child for its memory.
    pub fn ran_out(&self) -> bool {
        false
    }

    /// Whether a process that was not reaped uses too much.
    pub fn is_exceeded(&self, process: libc::pid_t) -> bool {
        time::usage(process).is_some_and(|usage| usage.ri_phys_footprint > self.0)
    }
}

/// Reports whether the bound holds for a process; `None` means that it has no bound.
pub fn report(bound: Option<&Bound>, process: libc::pid_t, report: &mut Report) {
    match bound {
        None => report.add(LAYER, false, "switched off"),
        Some(_) if time::usage(process).is_none() => report.add(LAYER, false, "proc_pid_rusage: not allowed"),
        Some(Bound(most)) => {
            report.add(LAYER, true, format!("its parent ends it when it sees it have more than {} MB", most >> 20));
        }
    }
}

//! A child's memory on macOS, where no limit of the kernel's can be had without root's rights: the parent looks at it again and again, and
//! ends a child that has too much.

use isolated_v8_launcher::Report;

use super::time;

/// The name of this layer.
pub const LAYER: &str = "footprint";

/// What a child takes beside its guest's heap and buffers.
const AROUND: u64 = 256 << 20;

/// What a child may have.
#[derive(Debug)]
pub struct Bound(u64);

impl Bound {
    /// For a guest of so much heap, and as much of buffers.
    pub fn new(memory: u64) -> Option<Self> {
        Some(Self(memory.saturating_mul(2).saturating_add(AROUND)))
    }

    /// There are no control groups.
    pub fn folder(&self) -> Option<String> {
        None
    }

    /// Nobody but us ends it for want of memory.
    pub fn ran_out(&self) -> bool {
        false
    }

    /// A process that was not reaped has too much.
    pub fn is_exceeded(&self, process: libc::pid_t) -> bool {
        time::usage(process).is_some_and(|usage| usage.ri_phys_footprint > self.0)
    }
}

/// Says whether it holds for a process; `None` for one that has no bound.
pub fn report(bound: Option<&Bound>, process: libc::pid_t, report: &mut Report) {
    match bound {
        None => report.add(LAYER, false, "switched off"),
        Some(_) if time::usage(process).is_none() => report.add(LAYER, false, "proc_pid_rusage: not allowed"),
        Some(Bound(most)) => {
            report.add(LAYER, true, format!("its parent ends it when it sees it have more than {} MB", most >> 20));
        }
    }
}

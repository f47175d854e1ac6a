//! Resource usage of an isolate's guest. Running time is measured with a clock that every thread can read: it is the time for which the
//! guest ran, as in isolated-vm. A thread's CPU time is less when threads compete, and asking the kernel for it costs as much as a short
//! call.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::native::ticks;

#[derive(Default)]
pub struct Meter {
    /// Ticks for which the guest has run, up to the last time that it stopped. The isolate's thread writes them.
    cpu: AtomicU64,
    wall: AtomicU64,
    /// When it started to run, as of [`ticks::now`]; 0 while it does not run.
    since: AtomicU64,
    /// The most heap bytes that were seen in use.
    heap_peak: AtomicUsize,
    host_calls: AtomicU32,
    pub overrun: Overrun,
}

/// Collections of a heap whose guest was stopped because of its memory, and does not stop.
#[derive(Default)]
pub struct Overrun {
    collections: AtomicU32,
    /// Bytes in use after the first of them.
    first: AtomicUsize,
}

/// A guest that stops needs little memory for that, or much for one object.
const MIN_COLLECTIONS: u32 = 4;
const MIN_GROWTH: usize = 8 << 20;

impl Overrun {
    /// There was another collection, after which `used` bytes are in use. Whether the guest fills the heap in code that does not check whether
    /// it must stop.
    pub fn goes_on(&self, used: usize) -> bool {
        let before = self.collections.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            self.first.store(used, Ordering::Relaxed);
        }
        before >= MIN_COLLECTIONS && used >= self.first.load(Ordering::Relaxed).saturating_add(MIN_GROWTH)
    }
}

/// Adds to a count that no other thread changes, except to restart it while no job runs.
fn add(count: &AtomicU64, ticks: u64) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(ticks), Ordering::Relaxed);
}

impl Meter {
    /// The guest runs from now on, or waits. Returns whether it ran before. Must be called on the isolate's thread. `time` is that of
    /// [`ticks::now`].
    #[inline(always)]
    pub fn set_running_at(&self, running: bool, time: impl FnOnce() -> u64) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        let ran = since != 0;
        if running && !ran {
            self.since.store(time(), Ordering::Relaxed);
        } else if ran && !running {
            add(&self.cpu, time().saturating_sub(since));
            self.since.store(0, Ordering::Relaxed);
        }
        ran
    }

    /// Restarts all counts from zero.
    pub fn reset(&self) {
        self.cpu.store(0, Ordering::Relaxed);
        self.wall.store(0, Ordering::Relaxed);
        self.heap_peak.store(0, Ordering::Relaxed);
        self.host_calls.store(0, Ordering::Relaxed);
    }

    /// A job has ended, which took this many ticks.
    pub fn worked(&self, time: u64) {
        add(&self.wall, time);
    }

    /// Nanoseconds for which the guest has run, up to now.
    pub fn cpu_time(&self) -> u64 {
        let since = self.since.load(Ordering::Relaxed);
        let running = if since == 0 { 0 } else { ticks::now().saturating_sub(since) };
        ticks::nanoseconds(self.cpu.load(Ordering::Relaxed).wrapping_add(running))
    }

    pub fn saw_heap(&self, used: usize) {
        self.heap_peak.fetch_max(used, Ordering::Relaxed);
    }

    /// Restarts the measurement of the peak.
    pub fn forget_heap(&self) {
        self.heap_peak.store(0, Ordering::Relaxed);
    }

    /// In bytes. Between two measurements, more may have been in use.
    pub fn heap_peak(&self) -> usize {
        self.heap_peak.load(Ordering::Relaxed)
    }

    pub fn called_host(&self) {
        self.host_calls.store(self.host_calls.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// How often the guest has called a host.
    pub fn host_calls(&self) -> u32 {
        self.host_calls.load(Ordering::Relaxed)
    }

    /// Nanoseconds of wall-clock time, up to the end of the last job.
    pub fn wall_time(&self) -> u64 {
        ticks::nanoseconds(self.wall.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::{MIN_COLLECTIONS, MIN_GROWTH, Overrun};

    #[test]
    fn a_guest_that_stops_has_few_collections_or_grows_little() {
        let grows = |by: usize| {
            let overrun = Overrun::default();
            (0..100).position(|n| overrun.goes_on(1000 + n * by))
        };
        assert_eq!(grows(MIN_GROWTH / 100), None);
        assert_eq!(grows(MIN_GROWTH), Some(MIN_COLLECTIONS as usize));
        assert_eq!(grows(MIN_GROWTH / 8), Some(8));
    }
}

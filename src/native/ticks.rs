//! A clock for measuring how long guests run. It is read several times in each call, and reading the system's clock would take a large part
//! of a short call. Where the kernel itself uses the processor's counter as its clock, which is then constant and the same on all processors, this
//! reads the counter alone. Elsewhere, ticks are nanoseconds of the system's clock.

use std::time::Duration;

/// The most nanoseconds in a tick: the counter of no processor is slower.
const MAX_TICK: u64 = 4;

/// The current time since an arbitrary moment; never 0.
#[inline]
pub fn now() -> u64 {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    if counter::is_clock() {
        return counter::read();
    }
    system()
}

/// The current time, which is read once for several uses.
#[derive(Default)]
pub struct Reading(Option<u64>);

impl Reading {
    /// The same as [`now`] at the first call.
    #[inline]
    pub fn ticks(&mut self) -> u64 {
        *self.0.get_or_insert_with(now)
    }

    /// Time has passed: the next call reads it again.
    #[inline]
    pub fn forget(&mut self) {
        self.0 = None;
    }
}

/// How many nanoseconds these ticks take.
pub fn nanoseconds(ticks: u64) -> u64 {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    if counter::is_clock() {
        return counter::nanoseconds(ticks);
    }
    ticks
}

/// Whether these ticks take at least this long.
#[inline]
pub fn is_at_least(ticks: u64, duration: Duration) -> bool {
    // Nearly all jobs are much shorter.
    let nanos = duration.as_nanos();
    u128::from(ticks) * u128::from(MAX_TICK) >= nanos && u128::from(nanoseconds(ticks)) >= nanos
}

/// Nanoseconds of the system's clock; never 0.
#[cfg(unix)]
fn system() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0)).max(1)
}

#[cfg(not(unix))]
fn system() -> u64 {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1)
}

/// The counter of x86-64 processors.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod counter {
    use std::fs;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

    /// What the kernel reads to know the time.
    const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

    /// Whether the counter is the clock, once known.
    static CLOCK: AtomicU8 = AtomicU8::new(UNKNOWN);
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;

    #[inline]
    pub fn is_clock() -> bool {
        match CLOCK.load(Ordering::Relaxed) {
            UNKNOWN => detect(),
            known => known == YES,
        }
    }

    #[cold]
    fn detect() -> bool {
        let is_clock = fs::read_to_string(CLOCK_SOURCE).is_ok_and(|source| source.trim() == "tsc");
        if is_clock {
            first();
        }
        // Another thread has found the same.
        CLOCK.store(if is_clock { YES } else { NO }, Ordering::Relaxed);
        is_clock
    }

    #[inline]
    pub fn read() -> u64 {
        // SAFETY: the kernel, which uses the instruction for its own clock, allows it.
        unsafe { core::arch::x86_64::_rdtsc() }.max(1)
    }

    /// The same moment by both clocks.
    #[derive(Clone, Copy)]
    struct Moment {
        ticks: u64,
        nanoseconds: u64,
    }

    /// How often both clocks are read, since the thread may be interrupted in between.
    const TRIES: usize = 5;

    impl Moment {
        fn now() -> Self {
            let read_both = || {
                let before = read();
                let nanoseconds = super::system();
                let took = read().saturating_sub(before);
                (took, Self { ticks: before + took / 2, nanoseconds })
            };
            let mut best = read_both();
            for _ in 1..TRIES {
                let next = read_both();
                if next.0 < best.0 {
                    best = next;
                }
            }
            best.1
        }
    }

    fn first() -> Moment {
        static FIRST: OnceLock<Moment> = OnceLock::new();
        *FIRST.get_or_init(Moment::now)
    }

    /// The rate is settled when it has been measured for this long, in nanoseconds: to a millionth.
    const SETTLED: u64 = 200_000_000;

    /// Nanoseconds per tick.
    fn rate() -> f64 {
        /// The last measurement, as bits, and when the next one is due: after twice the time, until the rate is settled.
        static RATE: AtomicU64 = AtomicU64::new(0);
        static DUE: AtomicU64 = AtomicU64::new(0);
        let due = DUE.load(Ordering::Acquire);
        if due == u64::MAX || (due != 0 && read() < due) {
            return f64::from_bits(RATE.load(Ordering::Relaxed));
        }
        let (first, now) = (first(), Moment::now());
        let nanoseconds = now.nanoseconds.saturating_sub(first.nanoseconds);
        let ticks = now.ticks.saturating_sub(first.ticks).max(1);
        let rate = nanoseconds as f64 / ticks as f64;
        RATE.store(rate.to_bits(), Ordering::Relaxed);
        DUE.store(if nanoseconds >= SETTLED { u64::MAX } else { now.ticks.saturating_add(ticks) }, Ordering::Release);
        rate
    }

    pub fn nanoseconds(ticks: u64) -> u64 {
        (ticks as f64 * rate()) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{is_at_least, nanoseconds, now};

    #[test]
    fn agrees_with_the_system_clock() {
        const PAUSE: Duration = Duration::from_millis(50);
        now();
        // The outer clock is read last and first, so it can only measure more.
        let (outer, began) = (Instant::now(), now());
        let inner = Instant::now();
        std::thread::sleep(PAUSE);
        let least = inner.elapsed();
        let ticks = now() - began;
        let most = outer.elapsed();
        let measured = Duration::from_nanos(nanoseconds(ticks));
        assert!(measured >= least.mul_f64(0.999) && measured <= most.mul_f64(1.001), "{least:?} {measured:?} {most:?}");
        assert!(is_at_least(ticks, PAUSE.mul_f64(0.999)) && !is_at_least(ticks, most * 2));
    }
}

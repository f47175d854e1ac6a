//! Returns memory to the system that isolates have left in the C library.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::isolate::clock;
use crate::{engine, native};

/// An isolate that has had this much memory outside V8's heap leaves the same amount free in the C library, which would keep most of it.
const MUCH: usize = 16 << 20;

/// Returning that memory to the system takes a lock that hosts also need, for some milliseconds. So it is done for many isolates at once.
const TIDY_AFTER: Duration = Duration::from_millis(500);

/// Whether memory will be returned, or is being returned. Only one thread does it: it waits for the locks of all threads' allocations, and
/// a lost thread that has one may get no processor for seconds.
#[derive(Default)]
struct Tidying {
    busy: AtomicBool,
    wanted: AtomicBool,
}

static TIDYING: Tidying = Tidying { busy: AtomicBool::new(false), wanted: AtomicBool::new(false) };

impl Tidying {
    /// Whether the caller has to start it.
    fn request(&self) -> bool {
        self.wanted.store(true, Ordering::SeqCst);
        !self.busy.swap(true, Ordering::SeqCst)
    }

    fn begin(&self) {
        self.wanted.store(false, Ordering::SeqCst);
    }

    /// Whether the caller has to start it again, for what has become free meanwhile.
    fn end(&self) -> bool {
        self.busy.store(false, Ordering::SeqCst);
        self.wanted.load(Ordering::SeqCst) && !self.busy.swap(true, Ordering::SeqCst)
    }
}

/// An isolate is gone whose memory outside its heap had a peak of `native` bytes.
pub fn tidy_after(native: usize) {
    if native >= MUCH && TIDYING.request() {
        tidy();
    }
}

fn tidy() {
    clock::after(TIDY_AFTER, || {
        let has_started = engine::run_on_pool(|| {
            TIDYING.begin();
            native::trim();
            if TIDYING.end() {
                tidy();
            }
        });
        if !has_started {
            // The end of the next isolate starts it.
            TIDYING.busy.store(false, Ordering::SeqCst);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::Tidying;

    #[test]
    fn one_thread_at_a_time_returns_memory() {
        let tidying = Tidying::default();
        assert!(tidying.request());
        assert!(!tidying.request(), "one is due");
        tidying.begin();
        assert!(!tidying.request(), "one is at work");
        assert!(tidying.end(), "for what has become free since");
        tidying.begin();
        assert!(!tidying.end());
        assert!(tidying.request());
    }
}

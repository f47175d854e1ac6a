//! Returns memory to the system that isolates have left in the C library.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::pool_work;
use crate::isolate::clock;
use crate::native;

/// An isolate that has had this much memory outside V8's heap leaves the same amount free in the C library, which would keep most of it.
const MUCH: usize = 16 << 20;

/// Returning that memory to the system takes a lock that hosts also need, for some milliseconds. So it is done for many isolates at once.
const TRIM_AFTER: Duration = Duration::from_millis(500);

/// Whether memory will be returned, or is being returned. Only one thread does it: it waits for the locks of all threads' allocations, and
/// a lost thread that has one may get no processor for seconds.
#[derive(Default)]
struct MallocTrim {
    busy: AtomicBool,
    wanted: AtomicBool,
}

static MALLOC_TRIM: MallocTrim = MallocTrim { busy: AtomicBool::new(false), wanted: AtomicBool::new(false) };

impl MallocTrim {
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
pub fn trim_after(native: usize) {
    if native >= MUCH && MALLOC_TRIM.request() {
        trim();
    }
}

fn trim() {
    clock::after(TRIM_AFTER, || {
        pool_work::run(|| {
            MALLOC_TRIM.begin();
            native::trim();
            if MALLOC_TRIM.end() {
                trim();
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::MallocTrim;

    #[test]
    fn one_thread_at_a_time_returns_memory() {
        let trim = MallocTrim::default();
        assert!(trim.request());
        assert!(!trim.request(), "one is due");
        trim.begin();
        assert!(!trim.request(), "one is at work");
        assert!(trim.end(), "for what has become free since");
        trim.begin();
        assert!(!trim.end());
        assert!(trim.request());
    }
}

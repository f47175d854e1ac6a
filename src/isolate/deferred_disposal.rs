//! Deferred disposal of isolates that no thread works for. Few threads do this, however many isolates end at once: a garbage collector of
//! the host releases hundreds at a time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use super::attachments::detach;
use super::body::Body;
use super::clock;
use super::current::address_of;
use super::descendants::Membership;
use super::guest::Guest;
use super::reason::Stop;
use super::registry::Account;
use super::remote::Remote;
use crate::native::lock;
use crate::value::processors;
use crate::{engine, native};

/// An isolate to dispose of.
pub enum DeferredDisposal {
    /// It is unreachable. It has had `native` bytes outside its heap.
    Forgotten { body: Box<Body>, account: Arc<Account>, membership: Membership, native: usize },
    /// It was stopped while it was idle.
    Stopped(Box<Body>, Arc<Remote>),
}

#[derive(Default)]
struct Queue {
    disposals: VecDeque<DeferredDisposal>,
    /// Threads that work on the queue.
    threads: usize,
}

static QUEUE: LazyLock<Mutex<Queue>> = LazyLock::new(Mutex::default);

/// Other work needs the processors as well.
static MAX_THREADS: LazyLock<usize> = LazyLock::new(|| processors().map_or(1, |cores| (cores / 2).clamp(1, 4)));

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

/// Disposes of an isolate soon, on a pool thread.
pub fn defer(disposal: DeferredDisposal) {
    let mut queue = lock(&QUEUE);
    queue.disposals.push_back(disposal);
    if queue.threads >= *MAX_THREADS {
        return;
    }
    queue.threads += 1;
    drop(queue);
    // Without a thread, the isolate waits until a later disposal gets one.
    if !engine::run_on_pool(work) {
        lock(&QUEUE).threads -= 1;
    }
}

fn work() {
    /// Corrects the count if the disposal panics.
    struct Leaving;
    impl Drop for Leaving {
        fn drop(&mut self) {
            if thread::panicking() {
                lock(&QUEUE).threads -= 1;
            }
        }
    }
    let _leaving = Leaving;
    loop {
        let disposal = {
            let mut queue = lock(&QUEUE);
            let Some(disposal) = queue.disposals.pop_front() else {
                queue.threads -= 1;
                return;
            };
            disposal
        };
        match disposal {
            DeferredDisposal::Forgotten { body, account, membership, native } => {
                dispose(*body, None);
                drop((account, membership));
                tidy_after(native);
            }
            DeferredDisposal::Stopped(body, remote) => end(&remote, *body),
        }
    }
}

/// Ends a stopped isolate.
pub fn end(remote: &Remote, body: Body) {
    remote.end(|| dispose(body, Some(remote)));
    tidy_after(remote.accounts.max_native());
}

/// `remote`: the isolate was stopped.
fn dispose(mut body: Body, remote: Option<&Remote>) {
    let mut locker = body.lock();
    engine::forget_isolate(address_of(&locker));
    // A termination may still be pending; nothing of the guest runs from here on.
    locker.cancel_terminate_execution();
    if let Ok(guest) = Guest::of(&locker) {
        if let Some(remote) = remote.filter(|remote| remote.stop_reason() == Some(Stop::Disposed)) {
            native::draw_on(remote.accounts.quota.as_ref(), || guest.compiled.write(&mut locker, remote, true));
        }
        guest.clear();
    }
    detach::<Guest>(&mut locker);
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

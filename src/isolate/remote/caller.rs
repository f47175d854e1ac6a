//! The thread of a host that has entered an isolate, as other threads see it. `thread/caller_thread.rs` enters isolates.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::native::{context, lock};
use crate::value::Completion;

/// A number that no thread has.
const NO_THREAD: usize = usize::MAX;

/// An isolate that another one calls.
pub trait Peer: Send + Sync {
    /// The caller no longer waits for `completion`.
    fn end_call(self: Arc<Self>, completion: &Arc<dyn Completion>);
}

/// A call into another isolate that the guest waits for and that runs on the same thread.
#[derive(Clone)]
pub struct PeerCall {
    /// The job that waits for it.
    serial: u64,
    peer: Weak<dyn Peer>,
    completion: Arc<dyn Completion>,
}

/// The thread of a host that works for the isolate: a loop on it resumes the guest.
#[derive(Default)]
pub struct CallerThread {
    /// The number of that thread; 0 for none.
    thread: AtomicUsize,
    /// The guest is suspended there, and cannot continue before its host does.
    waits: AtomicBool,
    /// A thread of a host has tried to enter the isolate, which was not idle.
    wanted: AtomicBool,
    /// The isolate's thread runs a task that works on the heap.
    tends_heap: AtomicBool,
    /// Counts how often one has entered it.
    pub count: AtomicU32,
    /// See `host_polls`.
    pub watched: AtomicBool,
    /// The entry, as a number of `count`, in which the guest was last requested to let its host look around, and has not yet; 0 for none.
    pub polled_entry: AtomicU32,
    /// The calls into other isolates that run on this thread for the guest, the innermost last.
    peer_calls: Mutex<Vec<PeerCall>>,
}

impl CallerThread {
    /// This thread enters the isolate.
    pub fn enter(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.thread.store(context::thread(), Ordering::Release);
    }

    pub fn exit(&self) {
        self.thread.store(0, Ordering::Release);
    }

    /// The thread that has entered the isolate ends, and does not return it.
    pub fn lose(&self) {
        self.set_waiting(false);
        self.thread.store(NO_THREAD, Ordering::Release);
    }

    pub fn set_waiting(&self, waits: bool) {
        self.waits.store(waits, Ordering::Release);
    }

    pub fn is_waiting(&self) -> bool {
        self.waits.load(Ordering::Acquire)
    }

    /// A thread of a host makes sync calls.
    pub fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Whether it has made one since this was asked last.
    pub fn take_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) && self.wanted.swap(false, Ordering::Relaxed)
    }

    /// The isolate's thread begins, or has run, a task that works on the heap.
    pub fn set_tending_heap(&self, tends: bool) {
        self.tends_heap.store(tends, Ordering::Relaxed);
    }

    /// Whether it runs one, after which it may return the isolate.
    pub fn tends_heap(&self) -> bool {
        self.tends_heap.load(Ordering::Relaxed)
    }

    /// Whether a thread of a host has ever entered the isolate.
    pub fn has_entered(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    pub fn is_entered(&self) -> bool {
        self.thread.load(Ordering::Acquire) != 0
    }

    /// Whether this thread has entered the isolate.
    pub fn is_this_thread(&self) -> bool {
        self.thread.load(Ordering::Acquire) == context::thread()
    }

    /// The job `serial` waits for a call into `peer` that runs on this thread.
    pub fn await_peer(&self, serial: u64, peer: Weak<dyn Peer>, completion: &Arc<dyn Completion>) {
        let call = PeerCall { serial, peer, completion: Arc::clone(completion) };
        lock(&self.peer_calls).push(call);
    }

    /// It does not wait for it any more, or the call runs elsewhere. Returns the call, if it has waited for it.
    pub fn forget_peer(&self, completion: &Arc<dyn Completion>) -> Option<PeerCall> {
        let mut calls = lock(&self.peer_calls);
        let place = calls.iter().rposition(|call| Arc::ptr_eq(&call.completion, completion))?;
        Some(calls.remove(place))
    }

    /// The calls that the job `serial` and those nested in it wait for: they cannot continue before. They stay known here, because these jobs end
    /// them as well if they are faster.
    pub fn peer_calls(&self, serial: u64) -> PeerCalls {
        PeerCalls(lock(&self.peer_calls).iter().filter(|call| call.serial >= serial).cloned().collect())
    }
}

/// Calls into other isolates, the innermost last.
pub struct PeerCalls(Vec<PeerCall>);

impl PeerCalls {
    pub fn end(self) {
        self.0.into_iter().rev().for_each(PeerCall::end);
    }
}

impl PeerCall {
    /// Stops it, unless it is over.
    pub fn end(self) {
        if let Some(peer) = self.peer.upgrade() {
            peer.end_call(&self.completion);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, Weak};

    use super::{CallerThread, Peer};
    use crate::native::lock;
    use crate::value::{Completion, Reply, Wake};

    /// The calls that have been ended.
    #[derive(Default)]
    struct Called(Mutex<Vec<Arc<dyn Completion>>>);

    impl Peer for Called {
        fn end_call(self: Arc<Self>, completion: &Arc<dyn Completion>) {
            lock(&self.0).push(Arc::clone(completion));
        }
    }

    struct NoThread;

    impl Wake for NoThread {
        fn wake(&self) {}
    }

    #[test]
    fn calls_are_ended_with_the_jobs_that_wait_and_by_them() {
        let called = Arc::<Called>::default();
        let peer: Weak<dyn Peer> = Arc::<Called>::downgrade(&called);
        let caller = CallerThread::default();
        let [outer, inner, sent] = std::array::from_fn(|_| Reply::<NoThread>::new(Weak::new()) as Arc<dyn Completion>);
        let ended = || std::mem::take(&mut *lock(&called.0));
        let are = |ended: &[Arc<dyn Completion>], expected: &[&Arc<dyn Completion>]| {
            ended.len() == expected.len() && ended.iter().zip(expected).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        caller.await_peer(1, Weak::clone(&peer), &outer);
        caller.await_peer(3, Weak::clone(&peer), &sent);
        // It runs elsewhere.
        assert!(caller.forget_peer(&sent).is_some());
        caller.await_peer(3, peer, &inner);
        caller.peer_calls(4).end();
        assert!(ended().is_empty());
        caller.peer_calls(2).end();
        assert!(are(&ended(), &[&inner]));
        let stopping = caller.peer_calls(0);
        // The guest continues before another thread has ended them.
        let known = caller.forget_peer(&inner);
        assert!(known.is_some() && ended().is_empty());
        known.unwrap().end();
        assert!(are(&ended(), &[&inner]));
        stopping.end();
        assert!(are(&ended(), &[&inner, &outer]));
        assert!(caller.forget_peer(&outer).is_some() && caller.forget_peer(&outer).is_none());
        caller.peer_calls(0).end();
        assert!(ended().is_empty());
    }
}

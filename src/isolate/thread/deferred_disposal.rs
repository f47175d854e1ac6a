//! Deferred disposal of isolates that no thread works for. Few threads do this, however many isolates end at once: a garbage collector of
//! the host releases hundreds at a time.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;

use super::current::address_of;
use super::malloc_trim::trim_after;
use crate::isolate::guest::Guest;
use crate::isolate::guest::attachments::detach_from_thread;
use crate::isolate::remote::Remote;
use crate::isolate::remote::body::Body;
use crate::isolate::remote::descendants::Membership;
use crate::isolate::remote::reason::Stop;
use crate::isolate::remote::registry::{self, Account};
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
                trim_after(native);
            }
            DeferredDisposal::Stopped(body, remote) => end(&remote, *body),
        }
    }
}

/// Ends a stopped isolate.
pub fn end(remote: &Remote, body: Body) {
    remote.end(|| dispose(body, Some(remote)));
    trim_after(remote.accounts.max_native());
}

/// `remote`: the isolate was stopped.
fn dispose(mut body: Body, remote: Option<&Remote>) {
    let mut locker = body.lock();
    engine::forget_isolate(address_of(&locker));
    // A termination may still be pending; nothing of the guest runs from here on.
    locker.cancel_terminate_execution();
    if let Ok(guest) = Guest::of(&locker) {
        if let Some(remote) = remote.filter(|remote| remote.stop_reason() == Some(Stop::Disposed)) {
            native::with_quota(remote.accounts.quota.as_ref(), || guest.compiled.write(&mut locker, remote, true));
        }
        guest.clear();
    }
    detach_from_thread::<Guest>(&mut locker);
}

impl Drop for Remote {
    /// The isolate is unreachable: its V8 side is disposed of on a pool thread.
    fn drop(&mut self) {
        self.promises.abandon(self.stop_reason().unwrap_or(Stop::Disposed));
        self.detached.announce_drained();
        self.stop_children();
        let membership = self.created_isolates.take_membership();
        // Before the isolate that they belong to.
        drop(self.mailbox.drain());
        if let Some(body) = self.lifecycle.take_idle() {
            if !self.creation.is_warm() {
                registry::leave_idle();
            }
            let native = self.accounts.max_native();
            defer(DeferredDisposal::Forgotten {
                body,
                account: Arc::clone(&self.accounts.account),
                membership,
                native,
            });
        }
    }
}

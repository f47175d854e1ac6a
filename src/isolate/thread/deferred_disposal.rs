//! Deferred disposal of isolates that no thread works for. Few threads do this, however many isolates end at once: a garbage collector of
//! the host releases hundreds at a time.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use super::current::address_of;
use super::malloc_trim::trim_after;
use crate::isolate::clock;
use crate::isolate::guest::Guest;
use crate::isolate::guest::attachments::detach_from_thread;
use crate::isolate::remote::Remote;
use crate::isolate::remote::body::Body;
use crate::isolate::remote::descendants::Membership;
use crate::isolate::remote::reason::Stop;
use crate::isolate::remote::registry::{self, Account};
use crate::native::{NativeQuota, lock};
use crate::value::processors;
use crate::{engine, native};

/// An isolate to dispose of.
pub enum DeferredDisposal {
    /// It is unreachable. It has had `native` bytes outside its heap.
    Forgotten {
        body: Box<Body>,
        account: Arc<Account>,
        membership: Membership,
        native: usize,
        quota: Option<Arc<NativeQuota>>,
    },
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
            DeferredDisposal::Stopped(body, remote) => end(&remote, body),
            forgotten => end_forgotten(forgotten),
        }
    }
}

/// How often to check whether V8's own threads still compile for an isolate. To dispose of it, V8 waits for them, which may take seconds, while other
/// isolates wait for their turn.
const LOOKS: Duration = Duration::from_millis(10);

/// How an isolate with `quota` can end.
enum Readiness {
    /// V8 can dispose of it.
    Ready,
    /// Later: V8's own threads compile for it.
    Compiles,
    /// Never: one of these threads has stopped permanently.
    Lost,
}

fn readiness(quota: Option<&Arc<NativeQuota>>) -> Readiness {
    let Some(quota) = quota else { return Readiness::Ready };
    let is_done = quota.tasks().end_compiling();
    match quota.tasks().lost() {
        0 if is_done => Readiness::Ready,
        0 => Readiness::Compiles,
        _ => Readiness::Lost,
    }
}

/// Ends a stopped isolate, now or later.
pub fn end(remote: &Arc<Remote>, body: Box<Body>) {
    match readiness(remote.accounts.quota.as_ref()) {
        Readiness::Ready => {
            remote.end(|| dispose(*body, Some(remote)));
            trim_after(remote.accounts.max_native());
        }
        Readiness::Compiles => {
            remote.begin_end();
            let later = DeferredDisposal::Stopped(body, Arc::clone(remote));
            clock::after(LOOKS, move || defer(later));
        }
        Readiness::Lost => {
            // Forever, as the thread of a lost isolate does.
            std::mem::forget((body, Arc::clone(remote)));
            remote.lose();
        }
    }
}

/// Returns what V8 has taken outside the heap of a lost isolate to the system, when V8's own threads are done with it.
fn give_back_blocks(quota: Arc<NativeQuota>) {
    if quota.tasks().are_over(0) {
        native::give_back_blocks(&quota);
    } else {
        clock::after(LOOKS, move || give_back_blocks(quota));
    }
}

/// Ends an isolate that is unreachable, now or later.
fn end_forgotten(disposal: DeferredDisposal) {
    let DeferredDisposal::Forgotten { body, account, membership, native, quota } = disposal else { return };
    match readiness(quota.as_ref()) {
        Readiness::Ready => {
            dispose(*body, None);
            drop((account, membership));
            trim_after(native);
        }
        Readiness::Compiles => {
            let later = DeferredDisposal::Forgotten { body, account, membership, native, quota };
            clock::after(LOOKS, move || defer(later));
        }
        Readiness::Lost => {
            std::mem::forget(body);
            drop((account, membership));
            if let Some(quota) = quota {
                engine::stop_tasks(&quota, 0);
                give_back_blocks(quota);
            }
        }
    }
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
                quota: self.accounts.quota.clone(),
            });
        }
    }
}

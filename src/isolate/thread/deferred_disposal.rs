//! Deferred disposal of isolates that no thread works for. Few threads do this, however many isolates end at once: a garbage collector of
//! the host releases hundreds at a time.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::current::address_of;
use super::lost_heap::LostHeap;
use super::malloc_trim::trim_after;
use super::pool_work;
use crate::engine::{self, GuestThread};
use crate::isolate::clock;
use crate::isolate::guest::Guest;
use crate::isolate::guest::attachments::detach_from_thread;
use crate::isolate::policy;
use crate::isolate::remote::Remote;
use crate::isolate::remote::body::Body;
use crate::isolate::remote::descendants::Membership;
use crate::isolate::remote::reason::{End, Stop};
use crate::isolate::remote::registry::{self, Account, Footprint};
use crate::native::{self, NativeQuota, lock};
use crate::value::processors;

/// An isolate to dispose of.
pub enum DeferredDisposal {
    /// It is unreachable.
    Forgotten(Forgotten),
    /// It was stopped. The time is when that was noticed, if V8's own threads compile for it.
    Stopped(Box<Body>, Arc<Remote>, Option<Instant>),
}

/// What is left of an isolate that is unreachable.
pub struct Forgotten {
    body: Box<Body>,
    account: Arc<Account>,
    membership: Membership,
    thread: Arc<GuestThread>,
    quota: Option<Arc<NativeQuota>>,
    /// Bytes that the isolate takes, without those of `quota`.
    rest: usize,
}

/// An isolate that is unreachable, and that V8 cannot dispose of.
struct LostIsolate {
    thread: Arc<GuestThread>,
    quota: Option<Arc<NativeQuota>>,
    /// Bytes that it took when it became unreachable, without those of `quota`.
    rest: usize,
}

impl Footprint for LostIsolate {
    fn taken(&self) -> usize {
        self.rest.saturating_sub(self.thread.returned()).saturating_add(native_of(self.quota.as_ref()))
    }
}

/// Bytes that V8 has outside of the heap.
fn native_of(quota: Option<&Arc<NativeQuota>>) -> usize {
    quota.map_or(0, |quota| quota.used().saturating_add(quota.small()))
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
    // Without a thread, the isolates wait until there is one. It is counted from now on, because the work is done once in any case.
    pool_work::run(work);
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
            DeferredDisposal::Stopped(body, remote, since) => end_after(&remote, body, since),
            DeferredDisposal::Forgotten(forgotten) => end_forgotten(forgotten),
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
    end_after(remote, body, None);
}

/// The same, if V8's own threads have compiled for it since then.
fn end_after(remote: &Arc<Remote>, body: Box<Body>, since: Option<Instant>) {
    match readiness(remote.accounts.quota.as_ref()) {
        Readiness::Ready => {
            remote.end(|| dispose(*body, Some(remote)));
            trim_after(remote.accounts.max_native());
        }
        Readiness::Compiles => {
            let since = since.unwrap_or_else(Instant::now);
            remote.postpone_end(since.elapsed() >= policy::termination_grace());
            let later = DeferredDisposal::Stopped(body, Arc::clone(remote), Some(since));
            clock::after(LOOKS, move || defer(later));
        }
        Readiness::Lost => {
            // Forever, as the thread of a lost isolate does.
            std::mem::forget((body, Arc::clone(remote)));
            remote.lose();
        }
    }
}

/// Ends an isolate that is unreachable, now or later.
fn end_forgotten(forgotten: Forgotten) {
    match readiness(forgotten.quota.as_ref()) {
        Readiness::Ready => {
            dispose(*forgotten.body, None);
            drop((forgotten.account, forgotten.membership));
            trim_after(forgotten.quota.map_or(0, |quota| quota.peak()));
        }
        Readiness::Compiles => {
            clock::after(LOOKS, move || defer(DeferredDisposal::Forgotten(forgotten)));
        }
        Readiness::Lost => lose(forgotten),
    }
}

fn lose(forgotten: Forgotten) {
    let Forgotten { body, account, membership, thread, quota, rest } = forgotten;
    drop(membership);
    let isolate = Arc::new(LostIsolate { thread: Arc::clone(&thread), quota: quota.clone(), rest });
    account.lose(Arc::downgrade(&isolate) as Weak<dyn Footprint>, false);
    account.end(End::OutOfMemory);
    // Forever, as the thread of a lost isolate does.
    std::mem::forget((body, account, isolate));
    if let Some(quota) = quota {
        engine::stop_tasks(&quota, 0);
        LostHeap { thread, quota }.give_back(0);
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
            defer(DeferredDisposal::Forgotten(Forgotten {
                body,
                account: Arc::clone(&self.accounts.account),
                membership,
                thread: Arc::clone(&self.execution.thread),
                quota: self.accounts.quota.clone(),
                rest: self.taken().saturating_sub(native_of(self.accounts.quota.as_ref())),
            }));
        }
    }
}

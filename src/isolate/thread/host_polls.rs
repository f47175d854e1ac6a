//! Suspends a guest that runs for long on a thread of its host, again and again for a moment. Meanwhile the host's loop checks whether the
//! host is being terminated.

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use crate::isolate::clock;
use crate::isolate::remote::Remote;
use crate::native::lock;

/// How often.
const INTERVAL: Duration = Duration::from_millis(100);

/// An isolate that a host has entered lately, and the number of entries when it was looked at.
struct Watched(Weak<Remote>, u32);

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

/// `remote` has been entered.
pub fn watch(remote: &Arc<Remote>) {
    let caller = &remote.execution.caller;
    if caller.watched.load(Ordering::SeqCst) || caller.watched.swap(true, Ordering::SeqCst) {
        return;
    }
    let mut watched = lock(&WATCHED);
    watched.push(Watched(Arc::downgrade(remote), 0));
    let is_first = watched.len() == 1;
    drop(watched);
    if is_first {
        clock::after(INTERVAL, poll_all);
    }
}

/// Looks at all of them. Isolates that were not entered since the last time are forgotten.
fn poll_all() {
    // An isolate must not be dropped under the lock.
    let (mut all, mut long) = (Vec::new(), Vec::new());
    let mut watched = lock(&WATCHED);
    watched.retain_mut(|Watched(remote, seen)| {
        let Some(remote) = remote.upgrade() else { return false };
        let caller = &remote.execution.caller;
        let count = caller.count.load(Ordering::SeqCst);
        let is_new = std::mem::replace(seen, count) != count;
        let lasts = caller.is_entered();
        // In this order: a host that enters meanwhile has counted before it looks.
        let is_watched = lasts || is_new || {
            caller.watched.store(false, Ordering::SeqCst);
            caller.count.load(Ordering::SeqCst) != count && !caller.watched.swap(true, Ordering::SeqCst)
        };
        if lasts && !is_new {
            long.push((Arc::clone(&remote), count));
        }
        all.push(remote);
        is_watched
    });
    let is_empty = watched.is_empty();
    drop(watched);
    for (remote, entry) in long {
        // V8 forgets requests when a thread leaves an isolate whose guest was terminated, so each entry has its own.
        if remote.execution.caller.polled_entry.swap(entry, Ordering::SeqCst) != entry {
            remote.execution.interrupt(on_poll);
        }
    }
    if !is_empty {
        clock::after(INTERVAL, poll_all);
    }
}

/// V8 calls this on the guest's thread, between two instructions of the guest.
unsafe extern "C" fn on_poll(_isolate: v8::UnsafeRawIsolatePtr, _data: *mut c_void) {
    if let Some(remote) = super::current::current() {
        remote.execution.caller.polled_entry.store(0, Ordering::SeqCst);
        remote.let_host_poll();
    }
}

//! Messages from V8's inspector to the owner of a session. The backlog of messages for a host is bounded: a guest that causes more of them
//! has to wait.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use v8::UniquePtr;
use v8::inspector::{ChannelImpl, StringBuffer};

use crate::convert::cap;
use crate::isolate::inspector::{Sink, json_of};
use crate::isolate::remote::Remote;
use crate::native::ticks::Reading;
use crate::value::{Completion, Outcome};

/// Limits of the messages that may wait for the owner of a session.
const MAX_BYTES: usize = 64 << 20;
const MAX_MESSAGES: usize = 10_000;

#[derive(Default)]
struct Backlog {
    messages: AtomicUsize,
    bytes: AtomicUsize,
}

impl Backlog {
    fn is_full(&self) -> bool {
        self.messages.load(Ordering::Acquire) >= MAX_MESSAGES || self.bytes.load(Ordering::Acquire) >= MAX_BYTES
    }
}

/// One message in the backlog.
struct Pending {
    remote: Weak<Remote>,
    backlog: Arc<Backlog>,
    bytes: usize,
    over: AtomicBool,
}

impl Pending {
    fn end(&self) {
        if self.over.swap(true, Ordering::AcqRel) {
            return;
        }
        let was_full = self.backlog.is_full();
        self.backlog.messages.fetch_sub(1, Ordering::AcqRel);
        self.backlog.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        if was_full && let Some(remote) = self.remote.upgrade() {
            remote.wake();
        }
    }
}

impl Completion for Pending {
    fn complete(&self, _outcome: Outcome) {
        self.end();
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.end();
    }
}

pub struct Channel {
    remote: Weak<Remote>,
    /// Whether a host's thread waits for the guest that sends.
    is_awaited: Box<dyn Fn() -> bool>,
    sink: Arc<dyn Sink>,
    backlog: Arc<Backlog>,
    muted: Rc<Cell<bool>>,
}

impl Channel {
    pub fn new(
        remote: Weak<Remote>,
        is_awaited: Box<dyn Fn() -> bool>,
        sink: Arc<dyn Sink>,
        muted: Rc<Cell<bool>>,
    ) -> Self {
        Self { remote, is_awaited, sink, backlog: Arc::default(), muted }
    }

    fn deliver(&self, call: Option<i32>, message: &UniquePtr<StringBuffer>) {
        // A getter may log, or pause, while the serializer runs.
        let _lifted = cap::lift();
        let Some(message) = json_of(message) else { return };
        let bytes = message.byte_len();
        self.backlog.messages.fetch_add(1, Ordering::AcqRel);
        self.backlog.bytes.fetch_add(bytes, Ordering::AcqRel);
        let pending = Pending {
            remote: self.remote.clone(),
            backlog: Arc::clone(&self.backlog),
            bytes,
            over: AtomicBool::new(false),
        };
        self.sink.deliver(call, message, Arc::new(pending));
    }

    /// Waits for room in the backlog. False if there will be none: the guest is being stopped, or a host's thread waits for this very
    /// guest.
    fn wait_for_room(&self) -> bool {
        let Some(remote) = self.remote.upgrade() else { return false };
        let paused = remote.running_jobs.pause(true, &mut Reading::default());
        let found = loop {
            let version = remote.mailbox.version();
            if !self.backlog.is_full() {
                break true;
            }
            if remote.is_stopping() || remote.mailbox.has_call() || (self.is_awaited)() {
                break false;
            }
            remote.sleep(version, &mut Reading::default());
        };
        remote.running_jobs.resume(&paused, &mut Reading::default());
        found
    }
}

impl ChannelImpl for Channel {
    fn send_response(&self, call: i32, message: UniquePtr<StringBuffer>) {
        if !self.muted.get() {
            self.deliver(Some(call), &message);
        }
    }

    /// Guest code decides how many notifications there are. Without room they are dropped.
    fn send_notification(&self, message: UniquePtr<StringBuffer>) {
        if !self.muted.get() && (!self.backlog.is_full() || self.wait_for_room()) {
            self.deliver(None, &message);
        }
    }

    fn flush_protocol_notifications(&self) {}
}

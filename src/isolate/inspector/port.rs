//! The queue of messages to the inspector of an isolate, as other threads see it.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::native::lock;
use crate::value::{Code, Completion, ErrorClass, Fault, Text};

/// Receives a session's messages, on the guest's thread. Must not wait.
pub trait Sink: Send + Sync {
    /// Delivers the response to the request `call`, or a notification. `done` must be answered when the message was taken.
    fn deliver(&self, call: Option<i32>, message: Text, done: Arc<dyn Completion>);
}

/// Requests of sessions. The first field is the session's number.
pub enum Request {
    Connect(u32, Arc<dyn Sink>),
    Message(u32, Text, Nesting),
    Disconnect(u32),
}

/// Whether a message can be handled during the handling of another.
#[derive(Clone, Copy, PartialEq)]
pub enum Nesting {
    Free,
    /// Never nested, inside or outside: V8 checks it for side effects, and does not expect such a check to begin twice.
    Alone,
    /// Stops running code, so it is handled first.
    Urgent,
}

impl Nesting {
    /// Bytes of the longest message that is examined here. Longer ones are handled alone.
    const MAX_READ: usize = 1 << 18;

    fn of(message: &Text) -> Self {
        if message.byte_len() > Self::MAX_READ {
            return Self::Alone;
        }
        let text = message.to_string();
        // A name with an escape would not be recognized.
        if text.contains("throwOnSideEffect") || text.contains("\\u") {
            return Self::Alone;
        }
        if !text.contains("Runtime.terminateExecution") && !text.contains("Debugger.pause") {
            return Self::Free;
        }
        let method = serde_json::from_str::<serde_json::Value>(&text)
            .ok()
            .and_then(|message| message.get("method").and_then(|method| method.as_str().map(str::to_owned)));
        match method.as_deref() {
            Some("Runtime.terminateExecution" | "Debugger.pause") => Self::Urgent,
            _ => Self::Free,
        }
    }
}

impl Request {
    fn nesting(&self) -> Nesting {
        match self {
            Self::Message(_, _, nesting) => *nesting,
            Self::Connect(..) | Self::Disconnect(_) => Nesting::Free,
        }
    }
}

/// Limits of the messages that may wait for an isolate.
const MAX_BYTES: usize = 64 << 20;
const MAX_MESSAGES: usize = 10_000;

/// Sessions per isolate; each costs memory outside its heap.
const MAX_SESSIONS: u32 = 100;

/// V8 keeps closed sessions as long as a call runs.
const MAX_CLOSED: usize = 1_000;

#[derive(Default)]
struct Queue {
    requests: VecDeque<Request>,
    bytes: usize,
    last_session: u32,
    /// Sessions for which a call waits that handles the requests.
    called_for: HashSet<u32>,
}

#[derive(Default)]
pub struct Port {
    queue: Mutex<Queue>,
    waiting: AtomicBool,
    /// Sessions that are open or about to be closed.
    sessions: AtomicU32,
    /// Closed sessions that V8 still has.
    closed: AtomicUsize,
}

impl Port {
    /// Whether requests are queued.
    pub fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire)
    }

    pub fn has_sessions(&self) -> bool {
        self.sessions.load(Ordering::Acquire) > 0
    }

    /// The next request, in order of arrival.
    pub fn take(&self) -> Option<Request> {
        self.take_where(|requests| requests.pop_front())
    }

    /// The next request that may be handled during the handling of a message; `alone` if that message excludes others. The other requests
    /// keep their order.
    pub fn take_nested(&self, alone: bool) -> Option<Request> {
        self.take_where(|requests| {
            let mut free = !alone;
            let index = requests.iter().position(|request| {
                let nesting = request.nesting();
                free &= nesting != Nesting::Alone;
                free || nesting == Nesting::Urgent
            })?;
            requests.remove(index)
        })
    }

    fn take_where(&self, choose: impl FnOnce(&mut VecDeque<Request>) -> Option<Request>) -> Option<Request> {
        if !self.is_waiting() {
            return None;
        }
        let mut queue = lock(&self.queue);
        let request = choose(&mut queue.requests);
        if let Some(Request::Message(_, text, _)) = &request {
            queue.bytes -= text.byte_len();
        }
        self.waiting.store(!queue.requests.is_empty(), Ordering::Release);
        request
    }

    fn put(&self, queue: &mut Queue, request: Request) {
        if let Request::Message(_, text, _) = &request {
            queue.bytes += text.byte_len();
        }
        queue.requests.push_back(request);
        self.waiting.store(true, Ordering::Release);
    }

    /// V8 keeps it until [`Self::sessions_are_gone`].
    pub fn session_is_closed(&self) {
        self.closed.fetch_add(1, Ordering::AcqRel);
        self.sessions.fetch_sub(1, Ordering::AcqRel);
    }

    /// V8 has dropped so many closed sessions.
    pub fn sessions_are_gone(&self, count: usize) {
        self.closed.fetch_sub(count, Ordering::AcqRel);
    }

    /// Opens a session. Returns its number.
    pub fn open(&self, sink: Arc<dyn Sink>) -> Result<u32, Fault> {
        let open = self.sessions.fetch_add(1, Ordering::AcqRel);
        if open >= MAX_SESSIONS || self.closed.load(Ordering::Acquire) >= MAX_CLOSED {
            self.sessions.fetch_sub(1, Ordering::AcqRel);
            return Err(Fault::coded(ErrorClass::RangeError, "Too many inspector sessions are open", Code::Limit));
        }
        let mut queue = lock(&self.queue);
        queue.last_session += 1;
        let session = queue.last_session;
        self.put(&mut queue, Request::Connect(session, sink));
        Ok(session)
    }

    /// Leaves a message. False if a call waits already that will handle it.
    pub fn send(&self, session: u32, message: Text) -> Result<bool, Fault> {
        let nesting = Nesting::of(&message);
        let mut queue = lock(&self.queue);
        if queue.requests.len() >= MAX_MESSAGES || queue.bytes.saturating_add(message.byte_len()) > MAX_BYTES {
            return Err(Fault::coded(ErrorClass::RangeError, "Too many messages wait for the isolate", Code::Limit));
        }
        self.put(&mut queue, Request::Message(session, message, nesting));
        Ok(queue.called_for.insert(session))
    }

    /// The call for a session's messages is about to handle them, or never will.
    pub fn call_begins(&self, session: u32) {
        lock(&self.queue).called_for.remove(&session);
    }

    pub fn close(&self, session: u32) {
        self.put(&mut lock(&self.queue), Request::Disconnect(session));
    }
}

#[cfg(test)]
mod tests {
    use super::Port;
    use crate::value::Text;

    #[test]
    fn one_call_of_a_session_handles_all_its_messages() {
        let port = Port::default();
        let send = |session| port.send(session, Text::from("{}")).unwrap();
        assert_eq!([send(1), send(1), send(2), send(1)], [true, false, true, false]);
        port.call_begins(1);
        // It may miss what comes from now on.
        assert_eq!([send(1), send(2)], [true, false]);
    }
}

//! V8's side of the inspector: its sessions, and which request it may handle when. It belongs to the isolate's guest; only the thread that
//! holds the isolate's lock may use it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use v8::UniquePtr;
use v8::inspector::{
    Channel, StringBuffer, StringView, V8Inspector, V8InspectorClient, V8InspectorClientTrustLevel, V8InspectorSession,
};

use super::port::{Nesting, Port, Request, Sink};
use super::signal::ignore_default;
use super::{cbor, requests};
use crate::isolate::job::IsolateScope;
use crate::value::Text;

/// Once a message has been handled for this long, other messages may be handled in between: one of them may be a request to stop it.
const BUSY_AFTER: Duration = Duration::from_millis(50);

/// The context group that sessions see; V8 reserves 0 for none.
const GROUP: i32 = 1;

/// isolated-vm's names for contexts that are created for inspection, and for the context that always exists.
const NAME: &[u8] = b"<isolated-vm>";
const DEFAULT_NAME: &[u8] = b"default";

/// Domains of the protocol in which sessions have state.
const DOMAINS: [&str; 5] = ["Console", "Profiler", "HeapProfiler", "Debugger", "Runtime"];

pub struct Agent {
    // Declared before the inspector, so that sessions are dropped first.
    sessions: RefCell<BTreeMap<u32, Rc<Session>>>,
    /// Sessions that were closed while code may have run, for which V8 may be working further down the stack: to describe a value to a session,
    /// V8 runs code of the guest.
    closed: RefCell<Vec<Rc<Session>>>,
    inspector: V8Inspector,
    /// Labels that guests have counted and timed by. V8 stores these outside the heap.
    labels: RefCell<HashSet<Text>>,
    /// The innermost message that is being handled; `None` while the guest is paused inside it.
    busy: Cell<Option<Busy>>,
    pause: Rc<Cell<Pause>>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Pause {
    None,
    Lasts,
    /// V8 has ended the pause but still counts as paused: messages that arrive now are handled afterwards.
    Ends,
}

#[derive(Clone, Copy)]
struct Busy {
    since: Instant,
    alone: bool,
}

/// The message that was being handled when the guest was paused.
pub struct PausedMessage(Option<Busy>);

struct Session {
    v8: V8InspectorSession,
    /// The session's owner no longer listens.
    muted: Rc<Cell<bool>>,
}

impl Agent {
    pub fn new(isolate: &mut v8::Isolate, client: V8InspectorClient, pause: Rc<Cell<Pause>>) -> Rc<Self> {
        Rc::new(Self {
            sessions: RefCell::default(),
            closed: RefCell::default(),
            inspector: V8Inspector::create(isolate, client),
            labels: RefCell::default(),
            busy: Cell::new(None),
            pause,
        })
    }

    pub fn inspector(&self) -> &V8Inspector {
        &self.inspector
    }

    /// Makes the context visible to sessions.
    pub fn show_context(&self, scope: &mut IsolateScope<'_, '_>, context: v8::Local<'_, v8::Context>) {
        self.show(scope, context, NAME);
    }

    /// As [`Agent::show_context`], for the context that belongs to no `Context`.
    pub fn show_default_context(&self, scope: &mut IsolateScope<'_, '_>, context: v8::Local<'_, v8::Context>) {
        self.show(scope, context, DEFAULT_NAME);
    }

    fn show(&self, scope: &mut IsolateScope<'_, '_>, context: v8::Local<'_, v8::Context>, name: &[u8]) {
        self.inspector.context_created(context, GROUP, StringView::from(name), StringView::empty());
        let context = v8::Local::new(scope, context);
        // V8 adds `createTask` to contexts that sessions can see. Each call of it costs memory. It stays only if the heap is full.
        let _ = remove_from_console(&mut v8::ContextScope::new(scope, context), "createTask");
    }

    /// Adds a label, if there is room for it. True if the label is known now.
    pub fn admit_label(&self, label: Text) -> bool {
        const MAX_LABELS: usize = 1_000;
        let mut labels = self.labels.borrow_mut();
        labels.contains(&label) || (labels.len() < MAX_LABELS && labels.insert(label))
    }

    /// Whether V8 has ended a pause that it has not left yet.
    pub fn leaves_pause(&self) -> bool {
        self.pause.get() == Pause::Ends
    }

    /// The guest is paused inside the message that is being handled. Pass the result to [`Agent::resume`].
    pub fn suspend(&self) -> PausedMessage {
        PausedMessage(self.busy.take())
    }

    pub fn resume(&self, PausedMessage(busy): PausedMessage) {
        self.busy.set(busy);
    }

    /// The next request of `port` that may be handled between two instructions of the guest.
    pub fn next(&self, port: &Port) -> Option<Request> {
        match self.busy.get() {
            _ if self.leaves_pause() => port.take_nested(true),
            Some(busy) => port.take_nested(busy.alone),
            None => port.take(),
        }
    }

    /// Handles a request of `port`. `channel` creates the channel of a new session.
    pub fn handle(
        &self,
        request: Request,
        port: &Port,
        channel: impl FnOnce(Arc<dyn Sink>, Rc<Cell<bool>>) -> Channel,
    ) {
        match request {
            Request::Connect(number, sink) => {
                ignore_default();
                let muted = Rc::new(Cell::new(false));
                let channel = channel(sink, Rc::clone(&muted));
                let trust = V8InspectorClientTrustLevel::FullyTrusted;
                let v8 = self.inspector.connect(GROUP, channel, StringView::empty(), trust);
                muted.set(true);
                v8.dispatch_protocol_message(StringView::from(&cbor::SWITCH[..]));
                muted.set(false);
                self.sessions.borrow_mut().insert(number, Rc::new(Session { v8, muted }));
            }
            Request::Message(number, text, nesting) => {
                let session = self.sessions.borrow().get(&number).cloned();
                if let Some(session) = session {
                    let busy = Busy { since: Instant::now(), alone: nesting == Nesting::Alone };
                    let outer = self.busy.replace(Some(busy));
                    session.dispatch(&text);
                    self.busy.set(outer);
                }
            }
            Request::Disconnect(number) => {
                let session = self.sessions.borrow_mut().remove(&number);
                if let Some(session) = session {
                    session.close();
                    port.session_is_closed();
                    self.closed.borrow_mut().push(session);
                }
            }
        }
    }

    /// No code of the guest runs, and nothing of V8 that waits for it.
    pub fn rest(&self, port: &Port) {
        let closed = self.closed.take();
        if !closed.is_empty() {
            port.sessions_are_gone(closed.len());
        }
        // V8 is not paused.
        self.pause.set(Pause::None);
    }

    /// Ends the pause for all sessions, as if each of them had resumed the guest.
    pub fn end_pause(&self) {
        let sessions: Vec<_> = self.sessions.borrow().values().map(Rc::clone).collect();
        for session in sessions {
            session.request(r#"{"id":0,"method":"Debugger.resume"}"#);
        }
    }

    /// When a message that arrives during the handling of another may be handled; `None` for at once.
    pub fn postponed(&self) -> Option<Instant> {
        self.busy.get().map(|busy| busy.since + BUSY_AFTER).filter(|time| *time > Instant::now())
    }
}

impl Session {
    fn dispatch(&self, message: &Text) {
        // Always two bytes per character: V8 mistakes some one-byte strings for a binary format.
        let units: Vec<u16> = match &*requests::admitted(message) {
            Text::Latin1(bytes) => bytes.iter().map(|byte| u16::from(*byte)).collect(),
            Text::Utf16(units) => units.to_vec(),
        };
        self.v8.dispatch_protocol_message(StringView::from(&units[..]));
    }

    /// Sends a request of the library. The session's owner does not get the response.
    fn request(&self, message: &str) {
        let muted = self.muted.replace(true);
        self.dispatch(&Text::from(message));
        self.muted.set(muted);
    }

    /// Does what V8 does when it drops a session, which is not possible yet. If the guest is paused for this session alone, the pause ends.
    fn close(&self) {
        self.muted.set(true);
        for domain in DOMAINS {
            self.request(&format!(r#"{{"id":0,"method":"{domain}.disable"}}"#));
        }
    }
}

/// The current context's `console`.
pub fn console<'s>(scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Object>> {
    let name = v8::String::new(scope, "console")?;
    let console = scope.get_current_context().global(scope).get(scope, name.into())?;
    v8::Local::<v8::Object>::try_from(console).ok()
}

pub fn remove_from_console(scope: &mut v8::PinScope<'_, '_>, name: &str) -> Option<()> {
    let console = console(scope)?;
    let key = v8::String::new(scope, name)?;
    console.delete(scope, key.into()).map(|_| ())
}

/// The message of a session as JSON. `None` if V8 has written something else.
pub fn json_of(buffer: &UniquePtr<StringBuffer>) -> Option<Text> {
    match buffer.as_ref()?.string() {
        StringView::U8(bytes) => cbor::to_json(&bytes),
        StringView::U16(_) => None,
    }
}

/// The characters of V8's buffer.
pub fn text_of(buffer: &UniquePtr<StringBuffer>) -> Option<Text> {
    Some(match buffer.as_ref()?.string() {
        StringView::U8(bytes) => Text::Latin1(bytes.to_vec()),
        StringView::U16(units) => Text::from_utf16(units.to_vec()),
    })
}

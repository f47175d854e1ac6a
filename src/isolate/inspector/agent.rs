//! V8's side of the inspector: its sessions, and the loop in which a paused guest waits. It belongs to the isolate's [`Guest`]; only the
//! thread that holds the isolate's lock may use it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use v8::inspector::{
    Channel as V8Channel, StringView, V8Inspector, V8InspectorClient, V8InspectorClientImpl,
    V8InspectorClientTrustLevel, V8InspectorSession,
};

use super::channel::Channel;
use super::port::Nesting;
use super::signal::soften;
use super::{Request, Sink, console};
use crate::isolate::remote::Remote;
use crate::isolate::{Guest, IsolateScope, entry};
use crate::value::Text;

/// Once a message has been handled for this long, other messages may be handled in between: one of them may be a request to stop it.
const PATIENCE: Duration = Duration::from_millis(50);

/// The context group that sessions see; V8 reserves 0 for none.
const GROUP: i32 = 1;

/// isolated-vm's names for contexts that are created for inspection, and for the context that always exists.
const NAME: &[u8] = b"<isolated-vm>";
const DEFAULT_NAME: &[u8] = b"default";

pub struct Agent {
    // Declared before the inspector, so that sessions are dropped first.
    sessions: RefCell<BTreeMap<u32, Rc<Session>>>,
    inspector: V8Inspector,
    /// Labels that guests have counted and timed by. V8 stores these outside the heap.
    labels: RefCell<HashSet<Text>>,
    /// The innermost message that is being handled; `None` while the guest is paused inside it.
    busy: Cell<Option<Busy>>,
    pause: Rc<Cell<Pause>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Pause {
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

struct Session {
    v8: V8InspectorSession,
    /// The session's owner no longer listens.
    muted: Rc<Cell<bool>>,
    /// Messages of this session that are being handled, nested.
    depth: Cell<u32>,
}

impl Agent {
    pub fn new(isolate: &mut v8::Isolate, remote: &Arc<Remote>) -> Rc<Self> {
        // SAFETY: the address is only used by the pause loop, which V8 calls with this isolate entered.
        let address = unsafe { isolate.as_raw_isolate_ptr() };
        let pause = Rc::new(Cell::new(Pause::None));
        let client = Client { remote: Arc::downgrade(remote), isolate: address, pause: Rc::clone(&pause) };
        let inspector = V8Inspector::create(isolate, V8InspectorClient::new(Box::new(client)));
        Rc::new(Self {
            sessions: RefCell::default(),
            inspector,
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
        // As in `guard_console`.
        let _ = console::remove_tasks(&mut v8::ContextScope::new(scope, context));
    }

    /// Limits what the context's `console` stores in V8. Call this before any guest code runs in the context.
    pub fn guard_console(scope: &mut v8::PinScope<'_, '_>) {
        // Fails only if the heap is full; the context is unusable then.
        let _ = console::guard(scope);
    }

    /// Adds a label, if there is room for it. True if the label is known now.
    pub(super) fn admit_label(&self, label: Text) -> bool {
        const MAX_LABELS: usize = 1_000;
        let mut labels = self.labels.borrow_mut();
        labels.contains(&label) || (labels.len() < MAX_LABELS && labels.insert(label))
    }

    /// When a message that arrives during the handling of another may be handled; `None` for at once.
    pub(super) fn postponed(&self) -> Option<Instant> {
        self.busy.get().map(|busy| busy.since + PATIENCE).filter(|time| *time > Instant::now())
    }

    /// Handles the requests that may be handled between two instructions of the guest.
    pub(super) fn interrupt(&self, guest: &Arc<Guest>) {
        let Ok(remote) = guest.remote() else { return };
        while !remote.is_stopping() {
            let request = match self.busy.get() {
                _ if self.pause.get() == Pause::Ends => remote.inspector.port.take_amidst(true),
                Some(busy) => remote.inspector.port.take_amidst(busy.alone),
                None => remote.inspector.port.take(),
            };
            let Some(request) = request else { break };
            self.handle(guest, &remote, request);
        }
    }

    fn handle(&self, guest: &Arc<Guest>, remote: &Arc<Remote>, request: Request) {
        match request {
            Request::Connect(number, sink) => self.connect(guest, remote, number, sink),
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
                    remote.inspector.port.session_is_gone();
                }
            }
        }
    }

    fn connect(&self, guest: &Arc<Guest>, remote: &Arc<Remote>, number: u32, sink: Arc<dyn Sink>) {
        soften();
        let muted = Rc::new(Cell::new(false));
        let channel = V8Channel::new(Box::new(Channel::new(guest, remote, sink, Rc::clone(&muted))));
        let trust = V8InspectorClientTrustLevel::FullyTrusted;
        let v8 = self.inspector.connect(GROUP, channel, StringView::empty(), trust);
        self.sessions.borrow_mut().insert(number, Rc::new(Session { v8, muted, depth: Cell::new(0) }));
    }
}

impl Session {
    fn dispatch(&self, message: &Text) {
        // Always two bytes per character: V8 mistakes some one-byte strings for a binary format.
        let units: Vec<u16> = match message {
            Text::Latin1(bytes) => bytes.iter().map(|byte| u16::from(*byte)).collect(),
            Text::Utf16(units) => units.to_vec(),
        };
        self.depth.set(self.depth.get() + 1);
        self.v8.dispatch_protocol_message(StringView::from(&units[..]));
        self.depth.set(self.depth.get() - 1);
    }

    /// V8's session is dropped with the last reference to this one. A message that is being handled further down the stack holds a
    /// reference. If the guest is paused inside that message, disabling the debugger ends the pause.
    fn close(&self) {
        self.muted.set(true);
        if self.depth.get() > 0 {
            self.dispatch(&Text::from(r#"{"id":0,"method":"Debugger.disable"}"#));
        }
    }
}

/// Handles the requests of sessions. The guest's thread calls this wherever it may run code.
pub fn drain(guest: &Arc<Guest>) {
    let (Some(agent), Ok(remote)) = (guest.agent(), guest.remote()) else { return };
    while !remote.is_stopping()
        && agent.pause.get() != Pause::Ends
        && let Some(request) = remote.inspector.port.take()
    {
        agent.handle(guest, &remote, request);
    }
}

struct Client {
    remote: Weak<Remote>,
    isolate: v8::UnsafeRawIsolatePtr,
    pause: Rc<Cell<Pause>>,
}

impl V8InspectorClientImpl for Client {
    /// V8 calls this while the guest is paused. Serves sessions, and sync calls to the isolate, whose callers would otherwise wait forever.
    /// Timeouts are paused.
    fn run_message_loop_on_pause(&self, _group: i32) {
        let Some(remote) = self.remote.upgrade() else { return };
        // SAFETY: V8 pauses the guest of this isolate, which is entered on this thread for the time of this call.
        let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(self.isolate) };
        let Ok(guest) = Guest::of(&isolate) else { return };
        // SAFETY: as above: called from inside V8, on this isolate's thread.
        v8::callback_scope!(unsafe let scope, &mut isolate);
        self.pause.set(Pause::Lasts);
        // V8 never pauses while it checks for side effects.
        let busy = guest.agent().and_then(|agent| agent.busy.take());
        loop {
            let version = remote.mailbox.version();
            if remote.is_stopping() {
                scope.terminate_execution();
                break;
            }
            drain(&guest);
            if self.pause.get() == Pause::Ends {
                break;
            }
            if let Some(job) = remote.mailbox.take_call() {
                entry::run(scope, &guest, &remote, job);
                continue;
            }
            let paused = remote.pause(true);
            remote.sleep(version);
            remote.resume(&paused);
        }
        self.pause.set(Pause::None);
        if let Some(agent) = guest.agent() {
            agent.busy.set(busy);
        }
        if remote.inspector.port.is_waiting() {
            remote.knock();
        }
    }

    fn quit_message_loop_on_pause(&self) {
        if self.pause.get() == Pause::Lasts {
            self.pause.set(Pause::Ends);
        }
    }
}

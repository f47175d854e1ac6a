//! `InspectorSession`, and the CPU profiler of `Isolate`.

use std::any::Any;
use std::sync::Arc;

use super::isolate::{not_inspectable, remote_of};
use super::{Args, Prepared, call_callable, malformed};
use crate::isolate::{Guest, Kind, Limits, Remote, Sink, drain};
use crate::protocol::message;
use crate::value::{Callable, Chain, Charge, Code, Completion, ErrorClass, Fault, Handle, Owner, Slot, Text, Value};

/// Keeps a session open and its isolate alive. Closes the session when the last handle is gone.
struct Connection {
    remote: Arc<Remote>,
}

impl Owner for Connection {
    fn id(&self) -> u64 {
        Owner::id(&*self.remote)
    }

    fn release(&self, session: u32) {
        self.remote.close_session(session);
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// The function that receives a session's messages: `(callId, message)`, without an id for notifications. It is called as a task of the
/// host or isolate that owns it, even while that waits for the session's isolate.
struct Listener(Arc<Callable>);

impl Sink for Listener {
    fn deliver(&self, call: Option<i32>, message: Text, done: Arc<dyn Completion>) {
        let call = call.map_or(Value::Undefined, |call| Value::Number(f64::from(call)));
        match call_callable(&self.0, vec![call, Value::String(message)]) {
            Ok(prepared) => prepared.dispatch(Kind::Detached, Chain::default(), Charge::default(), done),
            Err(fault) => done.complete(Err(fault)),
        }
    }
}

pub fn open_session(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    let listener = args.optional_function()?.ok_or_else(malformed)?;
    if remote.is_disposed() {
        // Misspelled as in isolated-vm.
        return Err(Fault::coded(ErrorClass::Error, "Isolate is diposed", Code::Disposed));
    }
    if !remote.settings.inspector {
        return Err(not_inspectable());
    }
    let session = remote.open_session(Arc::new(Listener(listener)))?;
    let slot = Slot::new(Arc::new(Connection { remote }), session);
    Ok(Prepared::Done(Ok(Value::Handle(Handle::Session(slot)))))
}

fn session_of(target: Option<Value>) -> Result<(Arc<Remote>, u32), Fault> {
    let Some(Value::Handle(Handle::Session(slot))) = target else { return Err(malformed()) };
    let connection = Arc::clone(slot.owner()).as_any().downcast::<Connection>().map_err(|_| malformed())?;
    if connection.remote.is_disposed() {
        return Err(Fault::coded(ErrorClass::Error, message::SESSION_ENDED, Code::Disposed));
    }
    Ok((Arc::clone(&connection.remote), slot.index()))
}

/// Leaves a message for the isolate's thread, which handles it as soon as possible, even while code is running. Returns whether a call of
/// [`run`] must follow. Calls wait in the isolate, and a client may send any number of messages.
pub fn send(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let (remote, session) = session_of(target)?;
    let needs_call = remote.send_to_session(session, args.text()?)?;
    Ok(Prepared::Done(Ok(Value::Boolean(needs_call))))
}

/// A call that will handle a session's messages.
struct Call {
    remote: Arc<Remote>,
    session: u32,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.remote.inspector.port.call_begins(self.session);
    }
}

/// Handles the messages that were sent, at the latest. An idle isolate does not check for messages by itself.
pub fn run(target: Option<Value>) -> Result<Prepared, Fault> {
    let (remote, session) = session_of(target)?;
    let call = Call { remote: Arc::clone(&remote), session };
    Ok(Prepared::Enter {
        remote,
        limits: Limits::default(),
        work: Guest::work(move |_scope, guest| {
            drop(call);
            drain(guest);
            Ok(Value::Undefined)
        }),
    })
}

pub fn start_profiler(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    if remote.is_disposed() {
        return Err(Fault::disposed(false));
    }
    remote.inspector.profiles.start(args.text()?.to_string());
    Ok(Prepared::Done(Ok(Value::Boolean(true))))
}

/// The profiles, after earlier requests to the isolate are done: pairs of a thread and V8's profile of it.
pub fn stop_profiler(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    let title = args.text()?.to_string();
    Ok(Prepared::Enter {
        remote,
        limits: Limits::default(),
        work: Guest::work(move |_scope, guest| {
            let mut values = Vec::new();
            for (thread, json) in guest.remote()?.inspector.profiles.stop(&title) {
                values.push(Value::Number(thread as f64));
                values.push(Value::String(Arc::unwrap_or_clone(json)));
            }
            Ok(Value::List(values))
        }),
    })
}

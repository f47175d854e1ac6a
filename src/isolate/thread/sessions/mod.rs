//! How the sessions of an isolate are served: between two jobs, between two instructions of running guest code, and in the loop in which a
//! paused guest waits.

mod channel;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Instant;

use v8::inspector::{Channel as V8Channel, V8InspectorClient, V8InspectorClientImpl};

use channel::Channel;

use super::job_execution;
use crate::convert::cap;
use crate::isolate::clock;
use crate::isolate::guest::Guest;
use crate::isolate::inspector::{Agent, Pause, Request, Sink};
use crate::isolate::job::{IsolateScope, Job, Kind, Work};
use crate::isolate::remote::Remote;
use crate::native::ticks::Reading;
use crate::value::{Fault, NoCompletion, Text, Value};

impl Remote {
    /// Opens a session. Returns its number.
    pub fn open_session(&self, sink: Arc<dyn Sink>) -> Result<u32, Fault> {
        let session = self.inspector.port.open(sink)?;
        self.wake_for_session();
        Ok(session)
    }

    /// Sends a message of the protocol to the inspector. False if a call waits already that will handle it.
    pub fn send_to_session(&self, session: u32, message: Text) -> Result<bool, Fault> {
        let needs_call = self.inspector.port.send(session, message)?;
        self.wake_for_session();
        Ok(needs_call)
    }

    /// Closes a session. May be called on any thread; does not wait.
    pub fn close_session(&self, session: u32) {
        self.inspector.port.close(session);
        self.wake_for_session();
        // If the isolate is idle, this job handles the request.
        let work: Work = Guest::work(|_scope, guest| {
            drain(guest);
            Ok(Value::Undefined)
        });
        self.post(Job::new(Kind::Task, Arc::new(NoCompletion), work));
    }

    /// Makes the isolate's thread check its requests, if it is busy.
    fn wake_for_session(&self) {
        self.execution.interrupt(on_message);
        // V8 does not wake a guest that waits in Rust or is paused. An idle isolate stays idle.
        self.wake();
    }
}

/// V8 calls this on the guest's thread, between two instructions of the guest.
unsafe extern "C" fn on_message(isolate: v8::UnsafeRawIsolatePtr, _data: *mut std::ffi::c_void) {
    // SAFETY: V8 passes the isolate that is entered on this thread, for the time of this call.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    let Ok(guest) = Guest::of(&isolate) else { return };
    let Some(agent) = guest.agent() else { return };
    if let (Some(time), Ok(remote)) = (agent.postponed(), guest.remote()) {
        let remote = Arc::downgrade(&remote);
        clock::after(time.saturating_duration_since(Instant::now()), move || {
            if let Some(remote) = remote.upgrade() {
                remote.wake_for_session();
            }
        });
        return;
    }
    // SAFETY: the interrupt runs inside V8 on this isolate's thread, as a callback scope requires.
    v8::callback_scope!(unsafe let _scope, &mut isolate);
    interrupt(&guest, &agent);
}

/// Makes an isolate inspectable.
pub fn open_inspector(scope: &mut IsolateScope<'_, '_>, guest: &Rc<Guest>, remote: &Arc<Remote>) {
    // SAFETY: the address is only used by the pause loop, which V8 calls with this isolate entered.
    let isolate = unsafe { scope.as_raw_isolate_ptr() };
    let pause = Rc::new(Cell::new(Pause::None));
    let client = Client { remote: Arc::downgrade(remote), isolate, pause: Rc::clone(&pause) };
    let agent = Agent::new(scope, V8InspectorClient::new(Box::new(client)), pause);
    *guest.agent.borrow_mut() = Some(Rc::clone(&agent));
    // Without a context, nothing runs that can be inspected.
    let Ok(realm) = guest.utility_realm(scope) else { return };
    let context = v8::Local::new(scope, &realm.context);
    agent.show_default_context(scope, context);
}

/// Handles the requests of sessions. The guest's thread calls this wherever it may run code.
pub fn drain(guest: &Rc<Guest>) {
    let Some(agent) = guest.agent() else { return };
    let Ok(remote) = guest.remote() else { return };
    while !remote.is_stopping()
        && !agent.leaves_pause()
        && let Some(request) = remote.inspector.port.take()
    {
        handle(guest, &remote, &agent, request);
    }
}

/// No code of the guest runs on the isolate's thread. Drops the sessions that were closed.
pub fn rest(scope: &mut IsolateScope<'_, '_>, guest: &Guest, remote: &Remote) {
    let Some(agent) = guest.agent() else { return };
    v8::scope!(let _scope, scope);
    agent.rest(&remote.inspector.port);
}

/// Handles the requests that may be handled between two instructions of the guest.
fn interrupt(guest: &Rc<Guest>, agent: &Agent) {
    let Ok(remote) = guest.remote() else { return };
    while !remote.is_stopping()
        && let Some(request) = agent.next(&remote.inspector.port)
    {
        handle(guest, &remote, agent, request);
    }
}

fn handle(guest: &Rc<Guest>, remote: &Arc<Remote>, agent: &Agent, request: Request) {
    // Also in a getter that the serializer runs.
    let _lifted = cap::lift();
    agent.handle(request, &remote.inspector.port, |sink, muted| {
        let guest = Rc::downgrade(guest);
        let is_awaited = move || guest.upgrade().is_none_or(|guest| guest.serves_waiting_host());
        V8Channel::new(Box::new(Channel::new(Arc::downgrade(remote), Box::new(is_awaited), sink, muted)))
    });
}

struct Client {
    remote: Weak<Remote>,
    isolate: v8::UnsafeRawIsolatePtr,
    pause: Rc<Cell<Pause>>,
}

impl V8InspectorClientImpl for Client {
    /// V8 calls this while the guest is paused. Serves sessions, and sync calls to the isolate, whose callers would otherwise wait forever.
    /// Timeouts are paused. A pause ends at once if a host's thread waits for the guest: that thread would have to end it.
    fn run_message_loop_on_pause(&self, _group: i32) {
        let Some(remote) = self.remote.upgrade() else { return };
        // The guest may be paused in a getter that the serializer runs.
        let _lifted = cap::lift();
        // SAFETY: V8 pauses the guest of this isolate, which is entered on this thread for the time of this call.
        let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(self.isolate) };
        let Ok(guest) = Guest::of(&isolate) else { return };
        // SAFETY: as above: called from inside V8, on this isolate's thread.
        v8::callback_scope!(unsafe let scope, &mut isolate);
        // What V8 has told sessions may have run code of the guest, in which one of them has ended the pause.
        if self.pause.get() != Pause::Ends {
            self.pause.set(Pause::Lasts);
        }
        remote.inspector.pauses.begin();
        // V8 never pauses while it checks for side effects.
        let suspended = guest.agent().map(|agent| agent.suspend());
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
                job_execution::run(scope, &guest, &remote, job);
                continue;
            }
            if guest.serves_waiting_host() {
                if let Some(agent) = guest.agent() {
                    agent.end_pause();
                }
                break;
            }
            let mut reading = Reading::default();
            let paused = remote.running_jobs.pause(true, &mut reading);
            remote.sleep(version, &mut reading);
            remote.running_jobs.resume(&paused, &mut reading);
        }
        self.pause.set(Pause::None);
        remote.inspector.pauses.end();
        if let (Some(agent), Some(suspended)) = (guest.agent(), suspended) {
            agent.resume(suspended);
        }
        if remote.inspector.port.is_waiting() {
            remote.wake_for_session();
        }
    }

    /// V8 calls this only while it counts as paused, perhaps before the loop has begun.
    fn quit_message_loop_on_pause(&self) {
        self.pause.set(Pause::Ends);
    }
}

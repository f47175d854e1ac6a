//! One CPU profile: from the beginning of an outermost job to its end, always on one thread. The profiler is part of V8's inspector; an
//! isolate that cannot be inspected gets an inspector for the duration of the profile.

use std::cell::RefCell;
use std::rc::Rc;

use v8::UniquePtr;
use v8::inspector::{
    Channel, ChannelImpl, StringBuffer, StringView, V8Inspector, V8InspectorClient, V8InspectorClientImpl,
    V8InspectorClientTrustLevel, V8InspectorSession,
};

use crate::isolate::guest::Guest;
use crate::isolate::inspector::{sample, text_of};
use crate::isolate::remote::Remote;
use crate::native;
use crate::value::Text;

/// No session sees this group, and it has no contexts, so guest code cannot affect it.
const GROUP: i32 = 2;

const ENABLE: &[u8] = br#"{"id":1,"method":"Profiler.enable"}"#;
const START: &[u8] = br#"{"id":2,"method":"Profiler.start"}"#;
const STOP: &[u8] = br#"{"id":3,"method":"Profiler.stop"}"#;
const STOP_ID: i32 = 3;

/// A profile that is being taken.
pub struct Profiling {
    // Declared before the inspector, so that the session is dropped first.
    session: V8InspectorSession,
    _inspector: Option<V8Inspector>,
    result: Rc<RefCell<Option<Text>>>,
}

struct Client;

impl V8InspectorClientImpl for Client {}

struct Collector(Rc<RefCell<Option<Text>>>);

impl ChannelImpl for Collector {
    fn send_response(&self, call: i32, message: UniquePtr<StringBuffer>) {
        if call == STOP_ID {
            *self.0.borrow_mut() = text_of(&message);
        }
    }

    fn send_notification(&self, _message: UniquePtr<StringBuffer>) {}

    fn flush_protocol_notifications(&self) {}
}

impl Profiling {
    /// Starts a profile if one is wanted.
    pub fn start(isolate: &mut v8::Isolate, guest: &Guest, remote: &Remote) -> Option<Self> {
        if !remote.inspector.profiles.are_wanted() {
            return None;
        }
        let result = Rc::default();
        let channel = Channel::new(Box::new(Collector(Rc::clone(&result))));
        let own = if guest.agent().is_some() { None } else { Some(bare_inspector(isolate)) };
        let agent = guest.agent();
        let inspector = agent.as_ref().map(|agent| agent.inspector()).or(own.as_ref())?;
        let trust = V8InspectorClientTrustLevel::FullyTrusted;
        let session = inspector.connect(GROUP, channel, StringView::empty(), trust);
        session.dispatch_protocol_message(StringView::from(ENABLE));
        // Before V8 starts to sample.
        remote.inspector.profiles.take(true);
        let started = sample(|| session.dispatch_protocol_message(StringView::from(START)));
        if started.is_none() {
            remote.inspector.profiles.take(false);
        }
        started?;
        Some(Self { session, _inspector: own, result })
    }

    /// Ends the profile and stores it with its serial, unless the isolate ends. The memory for this does not count towards that of the isolate.
    pub fn finish(self, remote: &Remote, serial: u64) {
        if !remote.is_disposed() {
            native::with_quota(None, || self.session.dispatch_protocol_message(StringView::from(STOP)));
        }
        remote.inspector.profiles.take(false);
        if let Some(profile) = self.result.take() {
            remote.inspector.profiles.add(serial, remote.execution.thread.thread_id(), profile);
        }
    }
}

/// An inspector that does not listen to `console`. As soon as an inspector listens, V8 stores the labels that guests count and time by
/// outside the heap, without limits. An inspector that is dropped removes the console's listener, whichever inspector it belongs to.
fn bare_inspector(isolate: &mut v8::Isolate) -> V8Inspector {
    let inspector = V8Inspector::create(isolate, V8InspectorClient::new(Box::new(Client)));
    drop(V8Inspector::create(isolate, V8InspectorClient::new(Box::new(Client))));
    inspector
}

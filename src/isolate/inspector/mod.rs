//! V8's inspector in one isolate: the queue of messages to it, and its side in V8. `thread/sessions` takes the messages.
//!
//! A message waits in the isolate's [`Port`] until the isolate's thread takes it: between two jobs, between two instructions of running
//! guest code, while the guest waits for a host, or while it is paused. A message that V8 checks for side effects is handled alone.
//! Messages that follow the end of a pause wait until V8 has left the pause. V8's responses and notifications go to the session's [`Sink`].
//! An isolate with sessions keeps its thread: V8's profiler samples the thread it was started on.

mod agent;
mod cbor;
mod pauses;
mod port;
mod profiles;
mod requests;
#[cfg(unix)]
mod signal;

#[cfg(not(unix))]
mod no_signal;
#[cfg(not(unix))]
use no_signal as signal;

pub use agent::{Agent, Pause, console, json_of, remove_from_console, text_of};
use pauses::Pauses;
use port::Port;
pub use port::{Request, Sink};
use profiles::Profiles;
pub use signal::sample;

/// What other threads see of an isolate's inspector.
#[derive(Default)]
pub struct Inspector {
    /// Requests of sessions.
    pub port: Port,
    pub pauses: Pauses,
    pub profiles: Profiles,
}

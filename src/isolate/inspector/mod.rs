//! V8's inspector in one isolate: sessions, through which debuggers talk to it, and CPU profiles.
//!
//! A message waits in the isolate's [`Port`] until the isolate's thread takes it: between two jobs, between two instructions of running
//! guest code, while the guest waits for a host, or while it is paused. A message that V8 checks for side effects is handled alone.
//! Messages that follow the end of a pause wait until V8 has left the pause. V8's responses and notifications go to the session's [`Sink`].
//! An isolate with sessions keeps its thread: V8's profiler samples the thread it was started on.

mod agent;
mod channel;
mod console;
mod port;
mod profiler;
mod profiles;
#[cfg(unix)]
mod signal;

#[cfg(not(unix))]
mod no_signal;
#[cfg(not(unix))]
use no_signal as signal;

pub use agent::{Agent, drain};
pub use channel::Sink;
use port::Port;
pub use port::Request;
pub use profiler::Profiling;
use profiles::Profiles;

/// What other threads see of an isolate's inspector.
#[derive(Default)]
pub struct Inspector {
    /// Requests of sessions.
    pub port: Port,
    pub profiles: Profiles,
}

/// Limits of the messages that may wait for an isolate, or for the owner of a session.
const MAX_BYTES: usize = 64 << 20;
const MAX_MESSAGES: usize = 10_000;

//! V8's inspector in one isolate: sessions through which debuggers talk to it, and profiles of its processor time.
//!
//! A message waits in the isolate's [`Port`] until its thread takes it: between two jobs, between two instructions of
//! running guest code, while the guest waits for a host, or while it is paused. One that V8 checks for side effects is handled
//! alone, and what follows the end of a pause waits until V8 has left it. What V8 has to say goes to the session's
//! [`Sink`]. An isolate with sessions keeps its thread: V8's profiler samples the thread it was started on.

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
pub use port::{Port, Request};
pub use profiler::Profiling;
pub use profiles::Profiles;

/// Bytes and number of the messages that may wait, for an isolate or for the owner of a session.
const MAX_BYTES: usize = 64 << 20;
const MAX_MESSAGES: usize = 10_000;

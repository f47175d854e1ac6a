//! The V8 isolate itself, which moves from thread to thread.

use crate::engine::Snapshot;

/// The isolate with what belongs to it. Its guest is attached to it.
pub struct Body {
    pub shared: v8::SharedIsolate,
    /// V8 reads from it as long as the isolate lives.
    pub snapshot: Option<Snapshot>,
}

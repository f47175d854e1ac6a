//! Where V8's profiler samples without a signal.

/// No signal ends the process.
pub fn soften() {}

/// Starts sampling by `start`. Nobody else is in its way.
pub fn sample<T>(start: impl FnOnce() -> T) -> Option<T> {
    Some(start())
}

//! Records that a thread was refused memory. If V8 aborts afterwards, the reason is the lack of memory.

#[cfg(target_os = "linux")]
use std::sync::OnceLock;

use super::context;

/// Does not return if the thread belongs to a guest.
#[cfg(target_os = "linux")]
static END: OnceLock<fn()> = OnceLock::new();

/// From now on, `end` receives threads that are refused memory by a function whose callers do not check for that, and those that are
/// requested to stop.
#[cfg(target_os = "linux")]
#[cfg_attr(fuzzing, allow(dead_code, reason = "only the addon parks threads"))]
pub fn end_by(end: fn()) {
    // The first function stays.
    let _ = END.set(end);
}

/// Ends the thread's guest, and returns if it has none.
#[cfg(target_os = "linux")]
pub fn end() {
    if let Some(end) = END.get() {
        end();
    }
}

/// Records that this thread was refused memory.
pub fn note() {
    set(true);
}

pub fn forget() {
    set(false);
}

/// Returns the previous value.
pub(super) fn set(refused: bool) -> bool {
    context::with(|context| context.refused.replace(refused))
}

/// Whether the thread was refused memory since it began to work for its current isolate.
pub fn is_noted() -> bool {
    context::with(|context| context.refused.get())
}

#[cfg(test)]
mod tests {
    use crate::native::with_quota;

    #[test]
    fn applies_to_one_isolate_on_one_thread() {
        super::note();
        assert!(super::is_noted());
        assert!(!std::thread::spawn(super::is_noted).join().unwrap_or(true));
        with_quota(None, || assert!(!super::is_noted()));
        assert!(super::is_noted());
    }
}

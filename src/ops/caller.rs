//! The host or guest that makes a call, as operations see it.

use std::sync::Arc;

use super::op;
use crate::isolate::{Remote, Settings};
use crate::value::{Code, ErrorClass, Fault, Payload, Value};

/// A host's environment, or a guest.
pub trait Caller {
    /// What new isolates start from.
    fn settings(&self) -> &Settings;

    /// The value of the handle with this number.
    fn handle(&self, _id: usize) -> Option<Value> {
        None
    }

    /// The caller disposes of this isolate.
    fn disposes(&self, _remote: &Arc<Remote>) {}

    /// No handle refers to this isolate, but it must end with the caller.
    fn owns(&self, _remote: &Arc<Remote>) {}

    fn is_guest(&self) -> bool {
        false
    }
}

/// A caller that has no handles.
impl Caller for Settings {
    fn settings(&self) -> &Settings {
        self
    }
}

/// Index of the compilation cache among the arguments of a compilation.
const CACHED_DATA: usize = 4;

/// Refuses operations that guests do not have, and arguments that V8 reads without checking them.
pub fn restrict(op: u32, args: &mut [Value]) -> Result<(), Fault> {
    match op {
        // V8 trusts the contents of a compilation cache. A cache from a guest is treated like one of another version.
        op::COMPILE_SCRIPT | op::COMPILE_MODULE => {
            if let Some(cache) = args.get_mut(CACHED_DATA).filter(|cache| !matches!(cache, Value::Undefined)) {
                *cache = Value::Payload(Box::new(Payload::buffer(Arc::default())));
            }
            Ok(())
        }
        op::CREATE_SNAPSHOT
        | op::OPEN_SESSION
        | op::SESSION_SEND
        | op::SESSION_RUN
        | op::START_PROFILER
        | op::STOP_PROFILER => {
            Err(Fault::coded(ErrorClass::Error, "This is not available inside isolates", Code::Unsupported))
        }
        _ => Ok(()),
    }
}

/// Whether the operation may end the guest that calls it: a guest can dispose of its own isolate.
pub fn may_end_caller(op: u32) -> bool {
    op == op::DISPOSE
}

/// Whether the surface makes the object for the resulting handle itself, so that the handle is returned as a number.
pub fn returns_number(op: u32) -> bool {
    matches!(op, op::CREATE_ISOLATE | op::COPY_NEW)
}

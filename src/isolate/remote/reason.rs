//! Why isolates and calls are stopped, and the fault that callers get for each reason.

use std::time::Duration;

use crate::engine::Unavailable;
use crate::value::{Fault, Text};

/// How an isolate has ended, for the counts of all isolates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Disposed,
    /// It became unreachable.
    Collected,
    OutOfMemory,
    /// Its host's environment has ended.
    Environment,
    /// It did not stop within its grace period.
    Abandoned,
}

/// Why an isolate ends. The first reason is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stop {
    Disposed = 1,
    Memory = 2,
    Environment = 3,
    /// Its thread did not return.
    Lost = 4,
    /// It was not created: lost isolates take too much memory.
    Refused = 5,
    /// It was not created: V8 would not enforce its limits.
    Unlimited = 6,
    /// The system starts no thread for it.
    NoThread = 7,
}

impl Stop {
    pub(in crate::isolate) const ALL: [Self; 7] =
        [Self::Disposed, Self::Memory, Self::Environment, Self::Lost, Self::Refused, Self::Unlimited, Self::NoThread];

    /// The fault for a call that was running or queued.
    pub fn fault(self) -> Fault {
        match self {
            Stop::Disposed => Fault::disposed_during_execution(),
            Stop::Memory => Fault::out_of_memory(),
            Stop::Environment => Fault::environment_gone(),
            Stop::Lost => Fault::unresponsive(),
            Stop::Refused => Fault::too_much_lost(),
            Stop::Unlimited => Unavailable::Unlimited.into(),
            Stop::NoThread => Unavailable::Threads.into(),
        }
    }

    /// The fault for a call that came afterwards.
    pub(in crate::isolate) fn refusal(self, sync: bool) -> Fault {
        match self {
            Stop::Disposed | Stop::Environment => Fault::disposed(sync),
            Stop::Memory | Stop::Lost | Stop::Refused | Stop::Unlimited | Stop::NoThread => self.fault(),
        }
    }

    pub(in crate::isolate) fn end(self) -> End {
        match self {
            Stop::Disposed => End::Disposed,
            Stop::Memory | Stop::Refused => End::OutOfMemory,
            Stop::Environment => End::Environment,
            Stop::Lost | Stop::Unlimited | Stop::NoThread => End::Abandoned,
        }
    }
}

/// Why a call is stopped. Its isolate stays usable.
#[derive(Clone, Copy, Debug)]
pub enum Expired {
    Timeout,
    Deadline(Duration),
    Aborted,
}

impl Expired {
    /// `stack`: the frames that were running.
    pub fn fault(self, stack: Text) -> Fault {
        match self {
            Expired::Timeout => Fault::timeout(stack),
            Expired::Deadline(limit) => Fault::deadline(limit),
            Expired::Aborted => Fault::aborted(),
        }
    }
}

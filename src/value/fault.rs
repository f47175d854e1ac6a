//! Faults, independent of any engine: what guest code threw, or an error of ours with its stable code.

use std::time::Duration;

use super::{Details, Text, Value};
use crate::protocol::{code, message};

/// The standard error constructors that are kept across a boundary; any other error arrives as `Error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    Error,
    RangeError,
    ReferenceError,
    SyntaxError,
    TypeError,
}

impl ErrorClass {
    const ALL: [Self; 5] = [Self::Error, Self::RangeError, Self::ReferenceError, Self::SyntaxError, Self::TypeError];

    /// The class with this constructor name; `Error` for any other name.
    pub fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|class| class.name() == name).unwrap_or(Self::Error)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::RangeError => "RangeError",
            Self::ReferenceError => "ReferenceError",
            Self::SyntaxError => "SyntaxError",
            Self::TypeError => "TypeError",
        }
    }
}

/// The stable `code` of an error that this library raises itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Timeout,
    Deadline,
    Memory,
    Disposed,
    Unresponsive,
    Released,
    Transfer,
    Environment,
    Limit,
    Aborted,
    Unsupported,
    InvalidArgument,
    /// A process ended by itself.
    Crash,
    /// A process made a system call that it may not make.
    SystemCall,
    /// A process sent a message that it never sends.
    Protocol,
}

impl Code {
    /// Whether an execution that fails with this was stopped. A limit on its result is not a limit on its running time.
    pub const fn is_stop(self) -> bool {
        !matches!(self, Self::Limit | Self::Transfer)
    }

    const ALL: [Self; 15] = [
        Self::Timeout,
        Self::Deadline,
        Self::Memory,
        Self::Disposed,
        Self::Unresponsive,
        Self::Released,
        Self::Transfer,
        Self::Environment,
        Self::Limit,
        Self::Aborted,
        Self::Unsupported,
        Self::InvalidArgument,
        Self::Crash,
        Self::SystemCall,
        Self::Protocol,
    ];

    /// The code with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Timeout => code::TIMEOUT,
            Self::Deadline => code::DEADLINE,
            Self::Memory => code::MEMORY,
            Self::Disposed => code::DISPOSED,
            Self::Unresponsive => code::UNRESPONSIVE,
            Self::Released => code::RELEASED,
            Self::Transfer => code::TRANSFER,
            Self::Environment => code::ENVIRONMENT,
            Self::Limit => code::LIMIT,
            Self::Aborted => code::ABORTED,
            Self::Unsupported => code::UNSUPPORTED,
            Self::InvalidArgument => code::INVALID_ARG,
            Self::Crash => code::CRASH,
            Self::SystemCall => code::SYSTEM_CALL,
            Self::Protocol => code::PROTOCOL,
        }
    }
}

/// An error in transit between engines.
#[derive(Clone, Debug)]
pub struct ErrorFault {
    pub class: ErrorClass,
    /// The error's `name` where it differs from its class.
    pub name: Option<Text>,
    pub message: Text,
    /// Stack frames of the engine that raised it, without the header line; empty if there are none.
    pub stack: Text,
    pub code: Option<Code>,
    pub details: Option<Box<Details>>,
}

/// Why an operation gave no value.
#[derive(Clone, Debug)]
pub enum Fault {
    /// An error object of the guest or of ours.
    Error(Box<ErrorFault>),
    /// A thrown primitive.
    Thrown(Value),
    /// Execution was terminated. Never leaves an isolate: the entry of the job replaces it with the reason.
    Stopped,
}

/// A value, or the fault why there is none.
pub type Outcome = Result<Value, Fault>;

impl Fault {
    /// Bytes that the fault takes outside any heap.
    pub fn byte_size(&self) -> usize {
        match self {
            Fault::Thrown(value) => value.byte_size(),
            Fault::Error(error) => {
                let details = error.details.as_ref().map_or(0, |details| details.byte_size());
                error.message.byte_len() + error.stack.byte_len() + details
            }
            Fault::Stopped => 0,
        }
    }

    fn new(class: ErrorClass, message: &str, code: Option<Code>) -> Self {
        let (message, stack) = (message.into(), Text::from(""));
        Fault::Error(Box::new(ErrorFault { class, name: None, message, stack, code, details: None }))
    }

    pub fn error(message: &str) -> Self {
        Self::new(ErrorClass::Error, message, None)
    }

    /// A `RangeError` with V8's wording, which has no code.
    pub fn range_error(message: &str) -> Self {
        Self::new(ErrorClass::RangeError, message, None)
    }

    pub fn coded(class: ErrorClass, message: &str, code: Code) -> Self {
        Self::new(class, message, Some(code))
    }

    /// An argument is invalid.
    pub fn invalid(message: &str) -> Self {
        Self::coded(ErrorClass::TypeError, message, Code::InvalidArgument)
    }

    /// A value cannot be transferred.
    pub fn refused(message: &str) -> Self {
        Self::coded(ErrorClass::TypeError, message, Code::Transfer)
    }

    /// More than a value or an isolate may have.
    pub fn beyond(message: &str) -> Self {
        Self::coded(ErrorClass::RangeError, message, Code::Limit)
    }

    /// A promise could not be awaited: its isolate is being stopped, or calling its `then` has failed.
    pub fn not_awaited(stopped: bool) -> Self {
        if stopped { Fault::Stopped } else { Fault::beyond("The promise could not be awaited") }
    }

    /// More is in transit between a guest and others than the guest's memory limit allows.
    pub fn too_many_calls() -> Self {
        Self::coded(ErrorClass::RangeError, message::TOO_MANY_CALLS, Code::Limit)
    }

    /// A guest holds the maximum number of references to values of hosts.
    pub fn too_many_references(limit: usize) -> Self {
        let message =
            format!("The guest holds {limit} references to values and functions of hosts, which is the limit");
        Self::coded(ErrorClass::RangeError, &message, Code::Limit)
    }

    /// Others hold the maximum number of handles on values of a guest.
    pub fn too_many_handles(limit: u32) -> Self {
        let message = format!("Others hold {limit} references to values of the guest, which is the limit");
        Self::coded(ErrorClass::RangeError, &message, Code::Limit)
    }

    /// `timeout` expired. `stack` names the frames that were running.
    pub fn timeout(stack: Text) -> Self {
        Fault::Error(Box::new(ErrorFault {
            class: ErrorClass::Error,
            name: None,
            message: message::TIMED_OUT.into(),
            stack,
            code: Some(Code::Timeout),
            details: None,
        }))
    }

    /// `deadline` expired.
    pub fn deadline(limit: Duration) -> Self {
        let milliseconds = limit.as_millis();
        let message = format!("Execution exceeded its deadline of {milliseconds} ms");
        Self::coded(ErrorClass::Error, &message, Code::Deadline)
    }

    /// The caller has aborted the call.
    pub fn aborted() -> Self {
        Self::coded(ErrorClass::Error, message::ABORTED, Code::Aborted)
    }

    /// A call to an isolate that is gone. As in isolated-vm, the wording differs between sync and async calls.
    pub fn disposed(sync: bool) -> Self {
        let message = if sync { "Isolated is disposed" } else { message::IS_DISPOSED };
        Self::coded(ErrorClass::Error, message, Code::Disposed)
    }

    pub fn disposed_during_execution() -> Self {
        Self::coded(ErrorClass::Error, message::DISPOSED, Code::Disposed)
    }

    pub fn out_of_memory() -> Self {
        Self::coded(ErrorClass::Error, "Isolate was disposed during execution due to memory limit", Code::Memory)
    }

    pub fn too_much_lost() -> Self {
        Self::beyond("No isolate can be made: lost isolates of this process take more memory than `lostMemoryLimit`")
    }

    pub fn unresponsive() -> Self {
        Self::coded(ErrorClass::Error, "Script failed to terminate; its isolate was abandoned", Code::Unresponsive)
    }

    pub fn environment_gone() -> Self {
        Self::coded(ErrorClass::Error, "The environment that owns this value is gone", Code::Environment)
    }

    /// A limit has ended a module's evaluation permanently.
    pub fn module_stopped() -> Self {
        Self::coded(ErrorClass::Error, "Module was stopped while it was evaluated", Code::Aborted)
    }

    pub fn promise_abandoned() -> Self {
        Self::coded(ErrorClass::Error, "Promise was abandoned", Code::Disposed)
    }

    /// The message as a host would show it.
    pub fn message(&self) -> String {
        match self {
            Fault::Error(error) => error.message.to_string(),
            Fault::Thrown(value) => value.describe(),
            Fault::Stopped => "Execution was terminated".to_owned(),
        }
    }
}

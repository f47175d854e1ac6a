//! Why an execution has ended without a result from its guest.

use super::frame::End;
use super::main;
use super::spawn::Exit;
use crate::engine::Unavailable;
use crate::protocol::message;
use crate::value::{Code, Text, Value};

/// Why an execution has no result from its guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    Deadline,
    Terminated,
    /// It has not reported its confinement in time.
    Silent,
    /// The system has not started it in time.
    NotStarted,
    /// A layer that its execution requires does not hold: its name, and why.
    Unconfined(String, String),
    /// V8 could not start in it.
    Unstarted(Unavailable),
    /// The host has no descriptor for it: the system's error.
    NoDescriptor(String),
    /// It was sent more than it can hold, or has used more memory than it may.
    Memory,
    /// It has sent something that a child never sends.
    Protocol(&'static str),
    Exited(Exit),
}

impl Cause {
    /// Why a process has ended that has not reported its confinement, so that no guest was in it.
    pub fn of_early_exit(exit: Exit) -> Self {
        let reason = match exit {
            Exit::Code(main::NO_THREAD) => Unavailable::Threads,
            Exit::Code(main::NO_MEMORY) => Unavailable::Memory,
            Exit::Code(main::NO_LIMITS) => Unavailable::Unlimited,
            _ => return Cause::Exited(exit),
        };
        Cause::Unstarted(reason)
    }

    pub fn code(&self) -> Code {
        match self {
            Cause::Deadline | Cause::Silent | Cause::NotStarted => Code::Deadline,
            Cause::Unconfined(..) => Code::Unsupported,
            Cause::Unstarted(reason) => reason.code(),
            Cause::NoDescriptor(_) => Code::Limit,
            Cause::Terminated => Code::Disposed,
            Cause::Memory => Code::Memory,
            Cause::Protocol(_) => Code::Protocol,
            Cause::Exited(Exit::Signal(libc::SIGSYS)) => Code::SystemCall,
            Cause::Exited(_) => Code::Crash,
        }
    }

    pub fn message(&self) -> String {
        const SIGNALLED: i32 = 128;
        match self {
            Cause::Silent => "The process has not told within 5 s what confines it".to_owned(),
            Cause::NotStarted => "The process was not started within 5 s".to_owned(),
            Cause::Unconfined(layer, why) => {
                format!("The process is not confined as required: {layer} does not hold ({why})")
            }
            Cause::Unstarted(reason) => reason.message().to_owned(),
            Cause::NoDescriptor(error) => format!("No process can be started: {error}"),
            Cause::Protocol(what) => format!("Execution terminated (protocol violation: {what})"),
            Cause::Exited(Exit::Signal(libc::SIGSYS)) => "Execution terminated (refused system call)".to_owned(),
            Cause::Exited(Exit::Code(code)) => format!("Process exited with code {code}"),
            Cause::Exited(Exit::Signal(signal)) if *signal != libc::SIGKILL => {
                format!("Process exited with code {}", SIGNALLED + signal)
            }
            _ => message::TERMINATED.to_owned(),
        }
    }

    /// The [`End`] of an execution with this cause.
    pub fn end(&self) -> End {
        End {
            ok: false,
            value: Value::String(Text::from(self.message())),
            code: Some(self.code()),
            name: Some(Text::from("Error")),
            stack: None,
            details: None,
            figures: [0.0; 2],
        }
    }
}

//! Why an execution has come to its end without its guest having said so.

use super::spawn::Exit;
use crate::value::Code;

/// Why an execution has no result of its guest's making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Deadline,
    Terminated,
    /// It has not told what confines it.
    Silent,
    /// It is given more than it can hold, or has taken more than the system lets it have.
    Memory,
    /// What it has sent is nothing that a child sends.
    Protocol(&'static str),
    Exited(Exit),
}

impl Cause {
    pub fn code(self) -> Code {
        match self {
            Cause::Deadline | Cause::Silent | Cause::Exited(Exit::Signal(libc::SIGXCPU)) => Code::Deadline,
            Cause::Terminated => Code::Disposed,
            Cause::Memory => Code::Memory,
            Cause::Protocol(_) => Code::Protocol,
            Cause::Exited(Exit::Signal(libc::SIGSYS)) => Code::SystemCall,
            Cause::Exited(_) => Code::Crash,
        }
    }

    pub fn message(self) -> String {
        const SIGNALLED: i32 = 128;
        match self {
            Cause::Silent => "The process has not told within 5 s what confines it".to_owned(),
            Cause::Protocol(what) => format!("Execution terminated (protocol violation: {what})"),
            Cause::Exited(Exit::Signal(libc::SIGSYS)) => "Execution terminated (refused system call)".to_owned(),
            Cause::Exited(Exit::Code(code)) => format!("Process exited with code {code}"),
            Cause::Exited(Exit::Signal(signal)) if signal != libc::SIGKILL && signal != libc::SIGXCPU => {
                format!("Process exited with code {}", SIGNALLED + signal)
            }
            _ => "Execution terminated (timeout or resource limit)".to_owned(),
        }
    }
}

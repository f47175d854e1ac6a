//! `SubprocessSandbox` is not available on Windows. Windows' restricted tokens, integrity levels and job objects would stop a guest that
//! has escaped V8 from doing much, but not from reading the user's files or from using the network.

use std::sync::Arc;

use super::{Execution, ProcessTemplate};
use crate::protocol::message;
use crate::value::{Code, Completion, ErrorClass, Fault};

fn unsupported() -> Fault {
    Fault::coded(ErrorClass::Error, message::NO_PROCESSES, Code::Unsupported)
}

pub fn start(execution: Execution) -> u64 {
    execution.requester.completion.complete(Err(unsupported()));
    0
}

pub fn check_confinement(_template: ProcessTemplate, _pool: usize, completion: Arc<dyn Completion>) {
    completion.complete(Err(unsupported()));
}

pub fn terminate(_id: u64) {}

pub fn terminate_of(_owner: u64) {}

//! Where no children can be had: on Windows. Its restricted tokens, integrity levels and jobs would keep a guest that has broken out from
//! much, but not from reading its user's files and the network.

use std::sync::Arc;

use super::{Job, Sort};
use crate::value::{Answer, Code, ErrorClass, Fault};

fn unsupported() -> Fault {
    Fault::coded(
        ErrorClass::Error,
        "Sandboxes in processes of their own exist on Linux and macOS only",
        Code::Unsupported,
    )
}

pub fn start(job: Job) -> u64 {
    job.answer.answer(Err(unsupported()));
    0
}

pub fn survey(_sort: Sort, _pool: usize, answer: Arc<dyn Answer>) {
    answer.answer(Err(unsupported()));
}

pub fn terminate(_id: u64) {}

pub fn terminate_of(_owner: u64) {}

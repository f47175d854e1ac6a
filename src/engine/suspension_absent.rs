//! Systems on which guests' threads are not suspended.

use super::code_ranges::Code;
use super::guest_thread::{Attempt, NOWHERE};

pub fn accept_signal() -> bool {
    false
}

pub fn own_code() -> (usize, usize) {
    NOWHERE
}

pub struct Turn;

impl Turn {
    pub fn begin(_thread: i32, _fiber: usize) -> Self {
        Self
    }

    pub fn suspend(&mut self, _code: &Code, _more: (usize, usize)) -> Attempt {
        Attempt::Unanswered
    }
}

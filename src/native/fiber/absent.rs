//! Platforms on which guests do not run on threads of hosts.

use std::convert::Infallible;
use std::ffi::c_void;

use super::context::ThreadContext;

/// Why control returns to the host's stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    Waiting,
    Done,
    Left,
    Failed,
}

pub struct Fiber(Infallible);

pub fn exist() -> bool {
    false
}

pub fn active() -> usize {
    0
}

pub fn suspend() -> bool {
    false
}

pub fn leave(_reason: Pause) {}

pub fn prepare_thread() -> bool {
    false
}

impl Fiber {
    pub fn new() -> Option<Box<Self>> {
        None
    }

    /// # Safety
    /// There is no fiber.
    pub unsafe fn begin(&self, _work: fn(*const c_void), _argument: *const c_void) {}

    pub fn unguarded(&self) -> (usize, usize) {
        match self.0 {}
    }

    pub fn reserve(&self) -> usize {
        match self.0 {}
    }

    pub fn context(&self) -> &ThreadContext {
        match self.0 {}
    }

    pub fn resume(&self) -> Pause {
        match self.0 {}
    }
}

#[cfg(target_os = "linux")]
pub use linux::{bounds, own_stack, redirect};

#[cfg(target_os = "linux")]
mod linux {
    pub fn bounds() -> Option<(usize, usize)> {
        None
    }

    pub fn own_stack() -> usize {
        0
    }

    /// # Safety
    /// There is no fiber.
    pub unsafe fn redirect(_context: *mut libc::ucontext_t, _to: usize, _value: usize) {}
}

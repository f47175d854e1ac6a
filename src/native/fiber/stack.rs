//! The memory of a stack. Its lowest part is inaccessible: a guard, and above it a reserve, as on the threads of ours (`native::stack`).

use std::ffi::c_void;
use std::ptr;

use crate::native::reserve::{GUARD, RESERVE};

/// As large as the stacks of threads of ours. Only what is used takes memory.
const SIZE: usize = 8 << 20;

pub struct Stack {
    start: usize,
}

impl Stack {
    /// `None` if there is no memory.
    pub fn new() -> Option<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: makes new pages, and protects a part of them.
        unsafe {
            let start = libc::mmap(ptr::null_mut(), SIZE, access, flags, -1, 0);
            if start == libc::MAP_FAILED {
                return None;
            }
            let stack = Self { start: start as usize };
            (libc::mprotect(start, GUARD + RESERVE, libc::PROT_NONE) == 0).then_some(stack)
        }
    }

    /// Where the reserve begins.
    pub fn reserve(&self) -> usize {
        self.start + GUARD
    }

    /// Its lowest and its highest address.
    pub fn bounds(&self) -> (usize, usize) {
        (self.start, self.start + SIZE)
    }
}

/// Gives this thread, which belongs to a host, a stack for signal handlers, if it has none. False if that is not possible.
pub fn prepare_host() -> bool {
    const SIZE: usize = 64 << 10;
    // SAFETY: zero is a valid value of every field; the new pages are used by nothing else, as long as the thread lives.
    unsafe {
        let mut before: libc::stack_t = std::mem::zeroed();
        if libc::sigaltstack(ptr::null(), &raw mut before) != 0 || before.ss_flags & libc::SS_DISABLE == 0 {
            return before.ss_flags & libc::SS_DISABLE == 0;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let memory = libc::mmap(ptr::null_mut(), SIZE, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: SIZE };
        memory != libc::MAP_FAILED && libc::sigaltstack(&raw const stack, ptr::null_mut()) == 0
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the pages are those that `new` has made; nothing uses them any more.
        unsafe { libc::munmap(self.start as *mut c_void, SIZE) };
    }
}

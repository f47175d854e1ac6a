//! The memory of a stack. Its lowest part is inaccessible: a guard, and above it a reserve, as on the threads of ours (`native::stack`).

use std::cell::Cell;
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

/// A stack for signal handlers that this library has given to a thread of a host.
struct Alternate(Cell<*mut c_void>);

thread_local! {
    static ALTERNATE: Alternate = const { Alternate(Cell::new(ptr::null_mut())) };
}

/// For a handler of ours, or of the host, with the state of all registers.
const ALTERNATE_SIZE: usize = 64 << 10;

/// What the thread has now.
fn alternate() -> Option<libc::stack_t> {
    // SAFETY: zero is a valid value of every field, which the call sets.
    unsafe {
        let mut stack: libc::stack_t = std::mem::zeroed();
        (libc::sigaltstack(ptr::null(), &raw mut stack) == 0).then_some(stack)
    }
}

/// Prepares this thread for fibers: gives it a stack for signal handlers, if it has none. False if that is not possible.
pub fn prepare_thread() -> bool {
    if alternate().is_some_and(|stack| stack.ss_flags & libc::SS_DISABLE == 0) {
        return true;
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the new pages are used by nothing else until `Alternate` is dropped, when the thread ends.
    unsafe {
        let memory =
            libc::mmap(ptr::null_mut(), ALTERNATE_SIZE, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        if memory == libc::MAP_FAILED {
            return false;
        }
        let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: ALTERNATE_SIZE };
        let is_set = libc::sigaltstack(&raw const stack, ptr::null_mut()) == 0;
        let is_kept = is_set && ALTERNATE.try_with(|alternate| alternate.0.set(memory)).is_ok();
        if !is_set {
            libc::munmap(memory, ALTERNATE_SIZE);
        }
        is_kept
    }
}

impl Drop for Alternate {
    fn drop(&mut self) {
        let memory = self.0.get();
        if memory.is_null() || alternate().is_none_or(|stack| stack.ss_sp != memory) {
            return;
        }
        let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: ALTERNATE_SIZE };
        // SAFETY: the pages are those of `prepare_thread`. No handler runs on them, since this does not run on them.
        unsafe {
            if libc::sigaltstack(&raw const none, ptr::null_mut()) == 0 {
                libc::munmap(memory, ALTERNATE_SIZE);
            }
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the pages are those that `new` has made; nothing uses them any more.
        unsafe { libc::munmap(self.start as *mut c_void, SIZE) };
    }
}

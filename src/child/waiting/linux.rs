//! For Linux: an event counter, process descriptors, and `ppoll`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::child::time::timespec;

pub struct Waker(OwnedFd);

impl Waker {
    pub fn new() -> io::Result<Self> {
        // SAFETY: takes numbers.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    pub fn wake(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: the bytes are valid for reads. It fails only if the counter is at its maximum, and then the waker is already woken.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    pub fn drain(&self) {
        let mut count = [0; 8];
        // SAFETY: the buffer is valid for writes of its length. There may be nothing to read.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

/// A descriptor that is readable once the process has ended.
pub struct Ended(OwnedFd);

impl Ended {
    pub fn of(process: libc::pid_t) -> io::Result<Self> {
        // SAFETY: takes a process's id and flags.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
        let Ok(descriptor @ 0..) = RawFd::try_from(descriptor) else { return Err(io::Error::last_os_error()) };
        // SAFETY: the kernel has just made this descriptor, which closes on exec, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }
}

/// What to wait for. The waker comes first.
pub struct Sources(Vec<libc::pollfd>);

impl Sources {
    pub fn new(waker: &Waker) -> Self {
        let mut sources = Self(Vec::new());
        sources.readable(&waker.0);
        sources
    }

    pub fn readable(&mut self, source: &impl AsRawFd) {
        self.0.push(libc::pollfd { fd: source.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    }

    pub fn writable(&mut self, source: &impl AsRawFd) {
        self.0.push(libc::pollfd { fd: source.as_raw_fd(), events: libc::POLLOUT, revents: 0 });
    }

    pub fn ended(&mut self, process: &Ended) {
        self.readable(&process.0);
    }

    /// Returns which of them are ready, in the order in which they were added.
    pub fn wait(mut self, _bell: &Waker, left: Option<Duration>) -> io::Result<Vec<usize>> {
        let timeout = left.map(timespec);
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let count = self.0.len() as libc::nfds_t;
        // SAFETY: the count is the number of descriptors, the time is valid or null, and no signal mask is given.
        if unsafe { libc::ppoll(self.0.as_mut_ptr(), count, timeout, std::ptr::null()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let happened = self.0.iter().enumerate().filter(|(_, descriptor)| descriptor.revents != 0);
        Ok(happened.map(|(index, _)| index).collect())
    }
}

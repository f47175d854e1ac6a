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
#[derive(Default)]
pub struct Sources {
    /// Each descriptor once: the kernel refuses more entries than the process may have descriptors.
    descriptors: Vec<libc::pollfd>,
    /// For each source, the index of its descriptor and its event.
    sources: Vec<(usize, libc::c_short)>,
}

/// Events that the kernel always reports.
const ALWAYS: libc::c_short = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;

impl Sources {
    pub fn new(waker: &Waker) -> Self {
        let mut sources = Self::default();
        sources.readable(&waker.0);
        sources
    }

    pub fn readable(&mut self, source: &impl AsRawFd) {
        self.add(source.as_raw_fd(), libc::POLLIN);
    }

    pub fn writable(&mut self, source: &impl AsRawFd) {
        self.add(source.as_raw_fd(), libc::POLLOUT);
    }

    pub fn ended(&mut self, process: &Ended) {
        self.readable(&process.0);
    }

    /// The sources of one descriptor are added one after the other.
    fn add(&mut self, fd: RawFd, event: libc::c_short) {
        match self.descriptors.last_mut().filter(|last| last.fd == fd) {
            Some(last) => last.events |= event,
            None => self.descriptors.push(libc::pollfd { fd, events: event, revents: 0 }),
        }
        self.sources.push((self.descriptors.len() - 1, event));
    }

    /// Returns which of them are ready, in the order in which they were added.
    pub fn wait(mut self, _waker: &Waker, left: Option<Duration>) -> io::Result<Vec<usize>> {
        let timeout = left.map(timespec);
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let count = self.descriptors.len() as libc::nfds_t;
        // SAFETY: the count is the number of descriptors, the time is valid or null, and no signal mask is given.
        if unsafe { libc::ppoll(self.descriptors.as_mut_ptr(), count, timeout, std::ptr::null()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let is_ready = |(index, event): (usize, libc::c_short)| {
            self.descriptors.get(index).is_some_and(|descriptor| descriptor.revents & (event | ALWAYS) != 0)
        };
        let happened = self.sources.iter().enumerate().filter(|(_, source)| is_ready(**source));
        Ok(happened.map(|(index, _)| index).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::{Sources, Waker};

    #[test]
    fn a_descriptor_is_listed_once() {
        let waker = Waker::new().unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (others, _quiet) = UnixStream::pair().unwrap();
        let wait = || {
            let mut sources = Sources::new(&waker);
            sources.readable(&ours);
            sources.writable(&ours);
            sources.readable(&others);
            assert_eq!(sources.descriptors.len(), 3);
            sources.wait(&waker, Some(Duration::from_secs(20))).unwrap()
        };
        assert_eq!(wait(), [2]);
        theirs.write_all(b"x").unwrap();
        assert_eq!(wait(), [1, 2]);
    }
}

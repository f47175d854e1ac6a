//! For macOS: one kernel queue, which is also the waker. Each wait registers its sources again. An earlier source that has not fired may
//! still do so later, and is then ignored.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use crate::child::time::timespec;

pub struct Waker(OwnedFd);

/// The waker's identifier in the queue.
const WAKER: libc::uintptr_t = 0;

impl Waker {
    pub fn new() -> io::Result<Self> {
        // SAFETY: has no preconditions.
        let queue = unsafe { libc::kqueue() };
        if queue < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor, and nothing else owns it. Queues are not inherited by `fork`.
        let waker = Self(unsafe { OwnedFd::from_raw_fd(queue) });
        waker.change(&event(WAKER, libc::EVFILT_USER, libc::EV_ADD | libc::EV_CLEAR, 0))?;
        Ok(waker)
    }

    pub fn wake(&self) {
        // This cannot fail: the event was added.
        let _ = self.change(&event(WAKER, libc::EVFILT_USER, 0, libc::NOTE_TRIGGER));
    }

    /// Nothing to do: the event clears itself.
    pub fn drain(&self) {}

    fn change(&self, change: &libc::kevent) -> io::Result<()> {
        // SAFETY: the count of changes to read is one, and no event is written.
        let told = unsafe { libc::kevent(self.0.as_raw_fd(), change, 1, ptr::null_mut(), 0, ptr::null()) };
        if told < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn event(ident: libc::uintptr_t, filter: i16, flags: u16, fflags: u32) -> libc::kevent {
    libc::kevent { ident, filter, flags, fflags, data: 0, udata: ptr::null_mut() }
}

/// The end of a process is reported by its id, which no other process gets until it is reaped.
pub struct Ended(libc::pid_t);

impl Ended {
    pub fn of(process: libc::pid_t) -> io::Result<Self> {
        Ok(Self(process))
    }
}

/// What to wait for. The waker comes first, and the queue already has it.
pub struct Sources(Vec<libc::kevent>);

impl Sources {
    pub fn new(_bell: &Waker) -> Self {
        Self(Vec::new())
    }

    pub fn readable(&mut self, source: &impl AsRawFd) {
        self.add(source.as_raw_fd(), libc::EVFILT_READ, 0);
    }

    pub fn writable(&mut self, source: &impl AsRawFd) {
        self.add(source.as_raw_fd(), libc::EVFILT_WRITE, 0);
    }

    pub fn ended(&mut self, process: &Ended) {
        self.add(process.0, libc::EVFILT_PROC, libc::NOTE_EXIT);
    }

    /// Descriptors and ids are not negative.
    fn add(&mut self, number: libc::c_int, filter: i16, fflags: u32) {
        let ident = libc::uintptr_t::try_from(number).unwrap_or(libc::uintptr_t::MAX);
        self.0.push(event(ident, filter, libc::EV_ADD | libc::EV_ONESHOT, fflags));
    }

    /// Returns which of them are ready, in the order in which they were added. One that cannot be registered counts as ready: a process
    /// that has ended is not found.
    pub fn wait(self, waker: &Waker, left: Option<Duration>) -> io::Result<Vec<usize>> {
        let timeout = left.map(timespec);
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        // Each change may fail, which is reported as its event.
        let mut events = vec![event(0, 0, 0, 0); self.0.len() + 1];
        let (changes, room) = (self.0.len() as libc::c_int, events.len() as libc::c_int);
        let queue = waker.0.as_raw_fd();
        // SAFETY: the counts are those of the changes and of the room for events, and the time is valid or null.
        let found = unsafe { libc::kevent(queue, self.0.as_ptr(), changes, events.as_mut_ptr(), room, timeout) };
        let Ok(found) = usize::try_from(found) else { return Err(io::Error::last_os_error()) };
        let happened = events.iter().take(found).filter_map(|event| {
            if event.filter == libc::EVFILT_USER {
                return Some(0);
            }
            if event.flags & libc::EV_ERROR != 0 && event.data == 0 {
                // Reports only that a change was made.
                return None;
            }
            let own = |source: &libc::kevent| source.ident == event.ident && source.filter == event.filter;
            self.0.iter().position(own).map(|index| index + 1)
        });
        Ok(happened.collect())
    }
}

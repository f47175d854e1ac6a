//! Ends this process with its parent: macOS's kernel cannot do that, so a thread waits for the parent. It is needed when the parent is
//! killed while another process also holds its end of the connection, because this process then does not see it close.

use std::io;
use std::ptr;
use std::thread;

use super::Refusal;

/// The exit code of a child whose parent is gone.
const ORPHANED: libc::c_int = 65;

const STACK_SIZE: usize = 64 << 10;

/// Ends this process when `parent` ends.
pub fn watch(parent: u32) -> Result<String, Refusal> {
    // SAFETY: has no preconditions.
    let queue = unsafe { libc::kqueue() };
    if queue < 0 {
        return Err(Refusal::of("kqueue"));
    }
    let exit = libc::kevent {
        ident: parent as libc::uintptr_t,
        filter: libc::EVFILT_PROC,
        flags: libc::EV_ADD,
        fflags: libc::NOTE_EXIT,
        data: 0,
        udata: ptr::null_mut(),
    };
    // SAFETY: one change is read, and no event is written.
    let added = unsafe { libc::kevent(queue, &raw const exit, 1, ptr::null_mut(), 0, ptr::null()) };
    let error = io::Error::last_os_error();
    // A process that is gone cannot be waited for, and its id may already belong to another one.
    if !is_there(parent) {
        end();
    }
    if added < 0 {
        return Err(Refusal::by("EVFILT_PROC", &error));
    }
    thread::Builder::new()
        .stack_size(STACK_SIZE)
        .spawn(move || wait(queue, parent))
        .map_err(|error| Refusal::by("thread", &error))?;
    Ok("a thread of it waits for the end of its parent".to_owned())
}

fn wait(queue: libc::c_int, parent: u32) -> ! {
    let mut event = libc::kevent { ident: 0, filter: 0, flags: 0, fflags: 0, data: 0, udata: ptr::null_mut() };
    loop {
        // SAFETY: there is room for one event, and a null pointer means no timeout.
        let found = unsafe { libc::kevent(queue, ptr::null(), 0, &raw mut event, 1, ptr::null()) };
        let interrupted = found < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        // If waiting fails, the parent can no longer be watched.
        if found > 0 || (found < 0 && !interrupted) || !is_there(parent) {
            end();
        }
    }
}

/// Whether this process is still a child of `parent`.
fn is_there(parent: u32) -> bool {
    // SAFETY: has no preconditions.
    u32::try_from(unsafe { libc::getppid() }) == Ok(parent)
}

fn end() -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(ORPHANED) }
}

//! Namespaces: parts of the system that this process has to itself. They need no rights where users may make user namespaces. Many
//! containers and some distributions do not allow that.
//!
//! Only a new process can be in a new process namespace. So the launcher makes a second process as a child of its own parent
//! (`CLONE_PARENT`), sends the parent its id, and ends. The second process continues where the first has stopped. Neither is left over, and
//! no process between the parent and the child has to be reaped.

use std::ffi::CStr;
use std::io;

use isolated_v8_launcher::handover;

use super::{Refusal, done};

/// The connection to the parent.
const CONNECTION: libc::c_int = 0;

/// The exit code of a child whose parent is gone.
pub const ORPHANED: libc::c_int = 65;

/// No user is mapped into the namespace. There this process has all rights over what is made in it, and none over anything else.
pub fn users() -> Result<String, Refusal> {
    unshare(libc::CLONE_NEWUSER, "maps no user of the system")
}

pub fn unshare(flag: libc::c_int, what: &str) -> Result<String, Refusal> {
    // SAFETY: the call concerns this process, which has one thread.
    done(unsafe { libc::unshare(flag) }, "unshare")?;
    Ok(what.to_owned())
}

/// A host name and a domain name that do not identify the machine.
pub fn names() -> Result<String, Refusal> {
    const NAME: &[u8] = b"sandbox";
    unshare(libc::CLONE_NEWUTS, "")?;
    // SAFETY: both are valid for reads of their lengths. The calls concern the namespace of this process.
    unsafe {
        done(libc::sethostname(NAME.as_ptr().cast(), NAME.len()), "sethostname")?;
        done(libc::setdomainname(NAME.as_ptr().cast(), 0), "setdomainname")?;
    }
    Ok("the host name is `sandbox`".to_owned())
}

/// Returns in the process that stays.
pub fn processes() -> Result<String, Refusal> {
    let mut pipe = [-1; 2];
    // SAFETY: `pipe` is valid for writes of two descriptors.
    done(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) }, "pipe2")?;
    let [held, holding] = pipe;
    let flags = libc::c_long::from(libc::CLONE_PARENT | libc::CLONE_NEWPID | libc::SIGCHLD);
    // SAFETY: like `fork`, of a process with one thread. The C library does not notice the clone, and takes the new process's only thread
    // for the old one. From here on, that thread only starts a thread for everything else (`src/child/main.rs`), and waits.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    let error = io::Error::last_os_error();
    if child == 0 {
        // The parent must have the number of this process before it gets its first message.
        // SAFETY: both are this process's own descriptors; `byte` is valid for writes of the byte that never comes.
        unsafe {
            libc::close(holding);
            let mut byte = 0_u8;
            while libc::read(held, (&raw mut byte).cast(), 1) < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
            libc::close(held);
        }
        return Ok("sees only its own process".to_owned());
    }
    if let Ok(child) = u32::try_from(child)
        && child > 0
    {
        let sent = tell(&handover::message(child));
        // Ending closes both ends of the pipe, which lets the child continue. A child whose number the parent does not have must not continue.
        // SAFETY: this process has created the child. The id stays the child's until the parent reaps it, which the parent does only after
        // it receives the message. Then this process ends.
        unsafe {
            if !sent {
                libc::kill(libc::pid_t::try_from(child).unwrap_or(0), libc::SIGKILL);
            }
            libc::_exit(if sent { 0 } else { ORPHANED });
        }
    }
    // SAFETY: both are this process's own descriptors.
    unsafe {
        libc::close(held);
        libc::close(holding);
    }
    Err(Refusal::by("clone", &error))
}

fn tell(message: &[u8]) -> bool {
    // SAFETY: the message is valid for reads. `MSG_NOSIGNAL` prevents a signal if the parent is gone.
    let sent = unsafe { libc::send(CONNECTION, message.as_ptr().cast(), message.len(), libc::MSG_NOSIGNAL) };
    usize::try_from(sent) == Ok(message.len())
}

/// Whether the parent has closed its end of the connection, and everything that it sent was read.
pub fn parent_has_gone() -> bool {
    let mut byte = 0_u8;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: `byte` is valid for writes of one byte.
    unsafe { libc::recv(CONNECTION, (&raw mut byte).cast(), 1, flags) == 0 }
}

/// Whether processes are counted per user namespace, as since Linux 5.14.
pub fn count_processes() -> bool {
    const SINCE: (u32, u32) = (5, 14);
    let mut system = std::mem::MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: writes C strings into the structure, which is also valid if zeroed.
    let release = unsafe {
        libc::uname(system.as_mut_ptr());
        CStr::from_ptr((*system.as_ptr()).release.as_ptr())
    };
    release.to_str().ok().and_then(version).is_some_and(|version| version >= SINCE)
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|character: char| !character.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn reads_versions() {
        assert_eq!(version("6.18.44-fc"), Some((6, 18)));
        assert_eq!(version("5.4-generic"), Some((5, 4)));
        assert_eq!(version(""), None);
    }
}

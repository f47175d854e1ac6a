//! The user of a child whose host is root: another one, that owns nothing and runs nothing else. Limits of processes count for such a user, which
//! they do not for root.

use std::ptr;

use super::{Refusal, done, privileges};

/// Users from here on are of children, one for each process id. No system gives ids of this range to anybody.
const FIRST: u32 = 0x7000_0000;

/// Where the range is not mapped into the container: the user that owns nothing. It may run other processes.
const NOBODY: u32 = 65_534;

pub struct User {
    pub detail: String,
    /// No other process has the user.
    pub is_alone: bool,
}

/// Becomes another user than root, and keeps root's capabilities for the layers that need them.
pub fn leave_root() -> Result<User, Refusal> {
    // SAFETY: have no preconditions.
    let (user, effective) = unsafe { (libc::getuid(), libc::geteuid()) };
    if user != 0 && effective != 0 {
        return Ok(User { detail: "the user of the host, who is not root".to_owned(), is_alone: false });
    }
    // A host that may not end a process of another user would leave its children behind.
    if !privileges::is_permitted(privileges::KILL) {
        return Err(Refusal("the host has no right to end processes of other users".to_owned()));
    }
    // SAFETY: concerns this process only.
    unsafe {
        done(libc::prctl(libc::PR_SET_KEEPCAPS, 1, 0, 0, 0), "PR_SET_KEEPCAPS")?;
        done(libc::setgroups(0, ptr::null()), "setgroups")?;
    }
    let own = FIRST + std::process::id();
    let id = if become_user(own).is_ok() {
        own
    } else {
        become_user(NOBODY)?;
        NOBODY
    };
    privileges::use_all()?;
    Ok(User { detail: format!("user {id}, without groups"), is_alone: id == own })
}

fn become_user(id: u32) -> Result<(), Refusal> {
    // SAFETY: concerns this process, which has one thread.
    unsafe {
        done(libc::setresgid(id, id, id), "setresgid")?;
        done(libc::setresuid(id, id, id), "setresuid")
    }
}

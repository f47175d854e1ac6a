//! The user of a child whose host is root: another user, which owns nothing and runs nothing else. Process limits apply to such a user, but
//! not to root.

use std::ptr;

use super::{Refusal, done, privileges};

/// Users from this id on are for children, one for each process id. No system assigns ids of this range.
const FIRST: u32 = 0x7000_0000;

/// For containers that do not map the range: the user that owns nothing. It may also run other processes.
const NOBODY: u32 = 65_534;

pub struct User {
    pub detail: String,
    /// No other process has the user.
    pub is_alone: bool,
}

/// Switches from root to another user, and keeps root's capabilities for the layers that need them.
pub fn leave_root() -> Result<User, Refusal> {
    // SAFETY: the calls have no preconditions.
    let (user, effective) = unsafe { (libc::getuid(), libc::geteuid()) };
    if user != 0 && effective != 0 {
        return Ok(User { detail: "the user of the host, who is not root".to_owned(), is_alone: false });
    }
    // A host that may not end a process of another user would leave its children behind.
    if !privileges::is_permitted(privileges::KILL) {
        return Err(Refusal("the host has no right to end processes of other users".to_owned()));
    }
    // SAFETY: the calls concern this process only.
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
    // SAFETY: the calls concern this process, which has one thread.
    unsafe {
        done(libc::setresgid(id, id, id), "setresgid")?;
        done(libc::setresuid(id, id, id), "setresuid")
    }
}

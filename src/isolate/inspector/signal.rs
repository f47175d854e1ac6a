//! The signal that V8's profiler samples by. Its handler belongs to the process, and a V8 that puts one up takes it down
//! again as if nobody else had any: where the host's V8 samples as well, and the two do not end in the reverse order of their
//! beginning, one is left with signals that nobody handles, and those end the process.

use std::sync::{Mutex, PoisonError};

/// The handler of our V8, once it was seen. V8 may leave it behind.
static OWN: Mutex<Option<usize>> = Mutex::new(None);

fn current() -> Option<libc::sigaction> {
    // SAFETY: all zeroes is a valid sigaction; the call only writes to it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(libc::SIGPROF, std::ptr::null(), &raw mut action) == 0).then_some(action)
    }
}

/// Makes the signal one that ends no process. A session may have V8 sample without asking here.
pub fn soften() {
    let _own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(action) = current().filter(|action| action.sa_sigaction == libc::SIG_DFL) {
        ignore(action);
    }
}

fn ignore(mut action: libc::sigaction) {
    action.sa_sigaction = libc::SIG_IGN;
    // SAFETY: sets the disposition of one signal that nobody handles, from a valid sigaction.
    unsafe { libc::sigaction(libc::SIGPROF, &raw const action, std::ptr::null_mut()) };
}

/// Starts sampling by `start`, unless somebody else in the process samples. Who begins while we do is safe: what is there
/// after both is never the default, which is to end the process.
pub fn sample<T>(start: impl FnOnce() -> T) -> Option<T> {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let action = current()?;
    if action.sa_sigaction == libc::SIG_DFL {
        ignore(action);
    } else if action.sa_sigaction != libc::SIG_IGN && *own != Some(action.sa_sigaction) {
        return None;
    }
    let started = start();
    *own = current().map(|action| action.sa_sigaction).filter(|handler| *handler != libc::SIG_IGN);
    Some(started)
}

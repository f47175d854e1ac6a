//! The signal that V8's profiler samples with. Its handler is process-wide, but each V8 installs and removes its handler as if there were
//! no other. If the host's V8 samples too, and the two do not stop in the reverse order of their start, one of them is left with signals
//! that have no handler, and those end the process.

use crate::native::lock;
use std::sync::Mutex;

/// The handler of our V8, once it was seen. V8 may leave it installed.
static OWN: Mutex<Option<usize>> = Mutex::new(None);

fn current() -> Option<libc::sigaction> {
    // SAFETY: all zeroes is a valid sigaction; the call only writes to it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(libc::SIGPROF, std::ptr::null(), &raw mut action) == 0).then_some(action)
    }
}

/// Makes the signal ignored if its action is the default one, which ends the process. A session may make V8 sample without calling
/// [`sample`].
pub fn ignore_default() {
    let _own = lock(&OWN);
    if let Some(action) = current().filter(|action| action.sa_sigaction == libc::SIG_DFL) {
        ignore(action);
    }
}

fn ignore(mut action: libc::sigaction) {
    action.sa_sigaction = libc::SIG_IGN;
    // SAFETY: sets the disposition of one signal that has no handler, from a valid sigaction.
    unsafe { libc::sigaction(libc::SIGPROF, &raw const action, std::ptr::null_mut()) };
}

/// Starts sampling with `start`, unless other code in the process samples. Code that starts to sample while we do is safe: the action that
/// remains after both is never the default, which ends the process.
pub fn sample<T>(start: impl FnOnce() -> T) -> Option<T> {
    let mut own = lock(&OWN);
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

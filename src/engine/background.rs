//! Work that no caller waits for: creating isolates in advance, and ending isolates whose owner already has the result. On Linux, a thread
//! that wakes from a short sleep preempts a thread that is just about to run, even when another processor is free. Under the scheduler's
//! batch policy, such work preempts no other thread.

#[cfg(target_os = "linux")]
pub use linux::set;

/// Sets whether this thread does background work from now on.
#[cfg(not(target_os = "linux"))]
pub fn set(_background: bool) {}

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::Cell;

    #[derive(Clone, Copy, PartialEq)]
    enum Policy {
        Unknown,
        Normal,
        Batch,
        /// The process has another policy, or the policy may not be changed.
        Fixed,
    }

    thread_local! {
        static POLICY: Cell<Policy> = const { Cell::new(Policy::Unknown) };
    }

    /// Sets whether this thread does background work from now on.
    pub fn set(background: bool) {
        let before = match POLICY.get() {
            Policy::Unknown => match policy_of(0) {
                libc::SCHED_OTHER => Policy::Normal,
                // Started by a thread that was doing background work.
                libc::SCHED_BATCH if policy_of(std::process::id().cast_signed()) == libc::SCHED_OTHER => Policy::Batch,
                _ => Policy::Fixed,
            },
            known => known,
        };
        let after = match before {
            Policy::Fixed => Policy::Fixed,
            Policy::Normal if background => choose(libc::SCHED_BATCH, Policy::Batch),
            Policy::Batch if !background => choose(libc::SCHED_OTHER, Policy::Normal),
            same => same,
        };
        POLICY.set(after);
    }

    /// The policy of a thread by its id; 0 is this thread. The id of the process is that of its first thread.
    fn policy_of(thread: libc::pid_t) -> libc::c_int {
        // SAFETY: only reads the policy.
        unsafe { libc::sched_getscheduler(thread) }
    }

    fn choose(number: libc::c_int, policy: Policy) -> Policy {
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: `parameters` is valid for reads; the call affects only this thread.
        let done = unsafe { libc::sched_setscheduler(0, number, &raw const parameters) } == 0;
        if done { policy } else { Policy::Fixed }
    }

    #[cfg(test)]
    mod tests {
        use std::thread;

        use super::policy_of;

        #[test]
        fn moves_to_the_background_and_back() {
            let seen = thread::spawn(|| {
                [true, true, false, false, true].map(|background| {
                    super::set(background);
                    policy_of(0)
                })
            });
            let (batch, normal) = (libc::SCHED_BATCH, libc::SCHED_OTHER);
            assert_eq!(seen.join().unwrap(), [batch, batch, normal, normal, batch]);
        }

        #[test]
        fn a_thread_started_in_the_background_leaves_it() {
            let start = || {
                super::set(true);
                let started = thread::spawn(|| {
                    let before = policy_of(0);
                    super::set(false);
                    [before, policy_of(0)]
                });
                started.join().unwrap()
            };
            assert_eq!(thread::spawn(start).join().unwrap(), [libc::SCHED_BATCH, libc::SCHED_OTHER]);
        }

        #[test]
        fn keeps_a_chosen_priority() {
            let seen = thread::spawn(|| {
                let parameters = libc::sched_param { sched_priority: 0 };
                // SAFETY: `parameters` is valid for reads; the call affects only this thread.
                let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) };
                assert_eq!(done, 0);
                [true, false].map(|background| {
                    super::set(background);
                    policy_of(0)
                })
            });
            assert_eq!(seen.join().unwrap(), [libc::SCHED_IDLE; 2]);
        }
    }
}

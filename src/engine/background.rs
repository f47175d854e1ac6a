//! Work that nobody waits for: making isolates for whoever may come, and ending those whose owner has his answer. On Linux a thread
//! that comes back from a short sleep takes the processor from one that is just getting to run, even where another is free. Done by
//! the scheduler's batch policy, such work takes it from nobody.

#[cfg(target_os = "linux")]
pub use linux::set;

/// Whether what this thread does from now on is such work.
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
        /// Somebody has chosen another for the process, or it may not be changed.
        Fixed,
    }

    thread_local! {
        static POLICY: Cell<Policy> = const { Cell::new(Policy::Unknown) };
    }

    /// Whether what this thread does from now on is such work.
    pub fn set(background: bool) {
        let before = match POLICY.get() {
            Policy::Unknown => match policy_of(0) {
                libc::SCHED_OTHER => Policy::Normal,
                // Started by a thread that was doing such work.
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

    /// Of a thread by its number, of this one by 0. The process' first thread has its number.
    fn policy_of(thread: libc::pid_t) -> libc::c_int {
        // SAFETY: only asks.
        unsafe { libc::sched_getscheduler(thread) }
    }

    fn choose(number: libc::c_int, policy: Policy) -> Policy {
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: `parameters` is valid for reads; it is about this thread alone.
        let done = unsafe { libc::sched_setscheduler(0, number, &raw const parameters) } == 0;
        if done { policy } else { Policy::Fixed }
    }

    #[cfg(test)]
    mod tests {
        use std::thread;

        use super::policy_of;

        #[test]
        fn goes_to_the_background_and_back() {
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
        fn a_thread_that_is_started_in_the_background_leaves_it() {
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
        fn leaves_what_somebody_has_chosen() {
            let seen = thread::spawn(|| {
                let parameters = libc::sched_param { sched_priority: 0 };
                // SAFETY: `parameters` is valid for reads; it is about this thread alone.
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

//! Isolates that are created before they are needed. A warm isolate is counted separately until it is taken into use.

use std::thread;
use std::time::Duration;

use super::registry;
use crate::isolate::remote::Remote;
use crate::value::spin;

/// The actual sleep is several times as long.
const YIELD_TIME: Duration = Duration::from_micros(20);

/// How long a thread spins for work that is about to arrive.
const SPIN_TIME: Duration = Duration::from_micros(150);

impl Remote {
    /// Yields this thread's processor to the thread that waits for the outcome, before this thread disposes of the isolate.
    pub(in crate::isolate) fn yield_to_waiter(&self) {
        if self.creation.serves_one() {
            thread::sleep(YIELD_TIME);
        }
    }

    /// The isolate is about to be taken: borrows a thread for it in advance.
    pub fn prewarm(&self) {
        let queues = self.mailbox.lock();
        if self.lifecycle.is_idle() {
            self.creation.prewarm();
            self.signal(queues);
        }
    }

    /// Spins for the work that it was prewarmed for. True if something has changed since `version`.
    pub(in crate::isolate) fn expect_work(&self, version: u32) -> bool {
        self.creation.take_prewarmed() && spin(SPIN_TIME, || self.mailbox.version() != version)
    }

    /// Takes a warm isolate into use, once. False if it has ended since, or was taken before.
    pub fn take_into_use(&self) -> bool {
        let _inbox = self.mailbox.lock();
        if self.is_disposed() || !self.creation.take() {
            return false;
        }
        self.accounts.meter.reset();
        self.accounts.account.take_into_use();
        if self.lifecycle.is_idle() {
            registry::enter_idle();
        }
        true
    }
}

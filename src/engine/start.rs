//! One-time initialization. Unlike with `OnceLock`, other threads do not wait forever if the initializing thread runs out of memory inside
//! V8 and never returns.

use crate::native::lock;
use std::cell::Cell;
use std::sync::{Condvar, Mutex, OnceLock};

thread_local! {
    /// Where this thread is starting something.
    static TURN: Cell<Option<&'static Gate>> = const { Cell::new(None) };
}

/// This thread never returns from what it does. If it is starting something, that has failed.
pub fn give_up() {
    if let Ok(Some(gate)) = TURN.try_with(Cell::take) {
        gate.set(State::Failed(Unavailable::Memory));
    }
}

/// Why something cannot be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// The process has no memory for it.
    Memory,
    /// Limits would not be enforced.
    Unlimited,
    /// The system starts no more threads for the process.
    Threads,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Idle,
    Starting,
    /// Permanently.
    Failed(Unavailable),
}

struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, state: State) {
        *lock(&self.state) = state;
        self.changed.notify_all();
    }
}

/// Ends the turn of this thread, also if it panics.
struct Turn;

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(gate) = TURN.take() {
            gate.set(State::Idle);
        }
    }
}

pub struct Once<T> {
    value: OnceLock<T>,
    gate: Gate,
}

impl<T> Once<T> {
    pub const fn new() -> Self {
        Self { value: OnceLock::new(), gate: Gate { state: Mutex::new(State::Idle), changed: Condvar::new() } }
    }

    /// The value, made by `start` on the first call. An error if `check` says that this is not possible now, or if it has failed. What
    /// has failed once is not started again.
    pub fn get_or_start(
        &'static self,
        check: impl FnOnce() -> Result<(), Unavailable>,
        start: impl FnOnce() -> Result<T, Unavailable>,
    ) -> Result<&'static T, Unavailable> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        {
            let mut state = lock(&self.gate.state);
            while *state == State::Starting {
                state = state.wait(&self.gate.changed);
            }
            if let Some(value) = self.value.get() {
                return Ok(value);
            }
            if let State::Failed(reason) = *state {
                return Err(reason);
            }
            check()?;
            *state = State::Starting;
        }
        TURN.set(Some(&self.gate));
        let _turn = Turn;
        match start() {
            Ok(value) => Ok(self.value.get_or_init(|| value)),
            Err(reason) => {
                TURN.set(None);
                self.gate.set(State::Failed(reason));
                Err(reason)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::{Once, Unavailable, give_up};

    #[test]
    fn starts_once() {
        static ONCE: Once<u8> = Once::new();
        assert_eq!(ONCE.get_or_start(|| Err(Unavailable::Memory), || Ok(1)), Err(Unavailable::Memory));
        assert!(thread::spawn(|| ONCE.get_or_start(|| Ok(()), || panic!())).join().is_err());
        assert_eq!(ONCE.get_or_start(|| Ok(()), || Ok(2)), Ok(&2));
        assert_eq!(ONCE.get_or_start(|| Err(Unavailable::Memory), || Ok(3)), Ok(&2));
    }

    #[test]
    fn does_not_retry_a_failed_start() {
        static ONCE: Once<u8> = Once::new();
        assert_eq!(ONCE.get_or_start(|| Ok(()), || Err(Unavailable::Unlimited)), Err(Unavailable::Unlimited));
        assert_eq!(ONCE.get_or_start(|| Ok(()), || Ok(1)), Err(Unavailable::Unlimited));
        let other = thread::spawn(|| ONCE.get_or_start(|| Ok(()), || Ok(1)));
        assert_eq!(other.join().unwrap(), Err(Unavailable::Unlimited));
    }

    #[test]
    fn does_not_wait_for_an_abandoned_thread() {
        static ONCE: Once<u8> = Once::new();
        let (begun, begins) = mpsc::channel();
        let (lose, lost) = mpsc::channel::<()>();
        thread::spawn(move || {
            ONCE.get_or_start(
                || Ok(()),
                || {
                    let _ = begun.send(());
                    let _ = lost.recv();
                    give_up();
                    loop {
                        thread::park();
                    }
                },
            )
        });
        begins.recv().unwrap();
        let waiting = thread::spawn(|| ONCE.get_or_start(|| Ok(()), || Ok(1)));
        lose.send(()).unwrap();
        assert_eq!(waiting.join().unwrap(), Err(Unavailable::Memory));
        assert_eq!(ONCE.get_or_start(|| Ok(()), || Ok(2)), Err(Unavailable::Memory));
    }
}

//! How an isolate ends: by its owner, by its host, out of memory, or because its thread does not come back.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::job::Kind;
use super::remote::{Remote, TERMINATION_GRACE};
use super::{Job, clock};
use crate::value::{Answer, Fault, Outcome, Value};

/// Why an isolate is at its end. The first reason stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stop {
    None = 0,
    Disposed = 1,
    Memory = 2,
    Environment = 3,
    /// Its thread did not come back.
    Lost = 4,
}

impl Stop {
    pub(super) fn from_u8(value: u8) -> Self {
        match value {
            0 => Stop::None,
            1 => Stop::Disposed,
            2 => Stop::Memory,
            3 => Stop::Environment,
            _ => Stop::Lost,
        }
    }

    /// What a call that was running gets; `None` for an isolate that goes on.
    pub fn fault(self) -> Option<Fault> {
        match self {
            Stop::None => None,
            Stop::Disposed => Some(Fault::disposed_during_execution()),
            Stop::Memory => Some(Fault::out_of_memory()),
            Stop::Environment => Some(Fault::environment_gone()),
            Stop::Lost => Some(Fault::unresponsive()),
        }
    }
}

#[derive(Default)]
pub(super) struct Departures {
    gone: bool,
    waiting: Vec<Arc<dyn Answer>>,
}

impl Remote {
    /// Ends the isolate: whatever runs is terminated, every call gets the reason. False when it had ended before.
    pub fn stop(&self, reason: Stop) -> bool {
        if self.stop.compare_exchange(0, reason as u8, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return false;
        }
        if let Some(v8) = self.v8.get() {
            v8.terminate_execution();
        }
        let fault = reason.fault().unwrap_or(Fault::Stopped);
        self.answer_end(&fault);
        if self.entries.is_running() {
            self.give_up_after(TERMINATION_GRACE);
        }
        self.signal(self.lock());
        true
    }

    /// `answer` hears of the isolate's end, at once if that has come.
    pub fn when_ended(&self, answer: Arc<dyn Answer>) {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        if let Some(fault) = self.stop_reason().fault() {
            self.answer_end(&fault);
        }
    }

    /// `answer` hears when the isolate's V8 side is gone or given up, at once if that has come.
    pub fn when_gone(&self, answer: Arc<dyn Answer>) {
        let mut departures = self.departures.lock().unwrap_or_else(PoisonError::into_inner);
        if departures.gone {
            drop(departures);
            return answer.answer(Ok(Value::Undefined));
        }
        departures.waiting.push(answer);
    }

    /// Waits until the isolate's V8 side is gone or given up. Not on a thread of an isolate.
    pub fn await_gone(&self) {
        struct Gone(Mutex<bool>, Condvar);
        impl Answer for Gone {
            fn answer(&self, _outcome: Outcome) {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
                self.1.notify_all();
            }
        }
        let answer = Arc::new(Gone(Mutex::new(false), Condvar::new()));
        self.when_gone(Arc::clone(&answer) as Arc<dyn Answer>);
        let mut gone = answer.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*gone {
            gone = answer.1.wait(gone).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn announce_gone(&self) {
        let mut departures = self.departures.lock().unwrap_or_else(PoisonError::into_inner);
        departures.gone = true;
        let waiting = std::mem::take(&mut departures.waiting);
        drop(departures);
        for answer in waiting {
            answer.answer(Ok(Value::Undefined));
        }
    }

    fn answer_end(&self, fault: &Fault) {
        self.entries.answer_all(fault);
        let ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(ending) = ending {
            ending.answer(Err(fault.clone()));
        }
    }

    /// Unless the thread has come back by then, the isolate counts as lost.
    fn give_up_after(&self, grace: Duration) {
        let remote = self.me.clone();
        clock::after(grace, move || {
            if let Some(remote) = remote.upgrade().filter(|remote| remote.entries.is_running()) {
                remote.give_up("Script failed to terminate");
            }
        });
    }

    /// The thread is not expected back: answers every call, queued ones too, and leaves the thread alone. Also called by
    /// V8's out-of-memory handler, on the thread itself.
    pub fn give_up(&self, problem: &str) {
        let first = !self.lost.swap(true, Ordering::AcqRel);
        // An earlier reason stays.
        let _ = self.stop.compare_exchange(0, Stop::Lost as u8, Ordering::AcqRel, Ordering::Acquire);
        self.meter.lower_priority();
        let fault = self.stop_reason().fault().unwrap_or(Fault::Stopped);
        // Before the calls: a host stays alive for those, not for promises.
        self.abandon_promises();
        self.answer_end(&fault);
        self.fail_queued(&fault);
        self.announce_gone();
        if first && let Some(callback) = &self.settings.on_catastrophe {
            callback(problem);
        }
    }

    /// Answers everything that has not started.
    pub(super) fn fail_queued(&self, fault: &Fault) {
        let mut inbox = self.lock();
        let jobs: Vec<Job> = {
            self.waiting_calls.store(0, Ordering::Release);
            let inbox = &mut *inbox;
            inbox.calls.drain(..).chain(inbox.tasks.drain(..)).collect()
        };
        drop(inbox);
        for job in jobs {
            job.answer.answer(Err(fault.clone()));
            if job.kind == Kind::Loose {
                self.finish_loose();
            }
        }
    }

    pub(super) fn abandon_promises(&self) {
        let awaited = std::mem::take(&mut *self.awaited.lock().unwrap_or_else(PoisonError::into_inner));
        for (_, (answer, _)) in awaited {
            answer.answer(Err(Fault::promise_abandoned()));
        }
    }
}

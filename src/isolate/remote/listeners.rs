//! Listeners that are notified when an isolate ends.

use std::sync::{Arc, Mutex, OnceLock};

use super::undelivered::Undelivered;
use crate::native::lock;
use crate::value::{Completion, Fault, Value};

/// Receives a description of what went wrong.
pub type Notify = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Default)]
pub struct EndListeners {
    /// Called when the isolate is abandoned.
    abandoned: OnceLock<Notify>,
    /// Answered when the isolate ends, for callers that wait for more than a call.
    ended: Mutex<Option<Arc<dyn Completion>>>,
    /// Answered when nothing of the isolate can run any more.
    gone: Mutex<Vec<Arc<dyn Completion>>>,
    /// Unread messages of the isolate, which may outlive it.
    pub undelivered: Arc<Undelivered>,
}

impl EndListeners {
    /// Has an effect once.
    pub fn when_abandoned(&self, notify: Notify) {
        // Fails only if it was set before.
        let _ = self.abandoned.set(notify);
    }

    pub fn when_ended(&self, completion: Arc<dyn Completion>) {
        *lock(&self.ended) = Some(completion);
    }

    /// `is_gone` is read under the lock that [`EndListeners::announce_gone`] takes.
    pub fn when_gone(&self, completion: Arc<dyn Completion>, is_gone: impl FnOnce() -> bool) {
        let mut gone = lock(&self.gone);
        if !is_gone() {
            return gone.push(completion);
        }
        drop(gone);
        completion.complete(Ok(Value::Undefined));
    }

    pub fn announce_abandoned(&self, problem: &str) {
        if let Some(notify) = self.abandoned.get() {
            notify(problem);
        }
    }

    pub fn announce_ended(&self, fault: &Fault) {
        let ended = lock(&self.ended).take();
        if let Some(ended) = ended {
            ended.complete(Err(fault.clone()));
        }
    }

    pub fn announce_gone(&self) {
        let gone = std::mem::take(&mut *lock(&self.gone));
        for completion in gone {
            completion.complete(Ok(Value::Undefined));
        }
    }
}

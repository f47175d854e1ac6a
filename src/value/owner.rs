//! Where things live: an isolate or a host environment, each with a table of slots. When the last copy of a slot is
//! dropped, wherever that is, its owner is told.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::{Answer, Chain, Charge, Fault, Value};

/// What owns slots: an isolate or a host environment.
pub trait Owner: Any + Send + Sync {
    /// Unique in the process.
    fn id(&self) -> u64;
    /// The last handle on `slot` is gone. Called on any thread; must not block or run guest code.
    fn release(&self, slot: u32);
    /// For the layer that knows isolates.
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    /// This owner as a host environment, if it is one.
    fn as_host(self: Arc<Self>) -> Option<Arc<dyn Host>> {
        None
    }
}

/// A host environment: its values are reached by asking its thread.
pub trait Host: Owner {
    /// Puts the request to the host's thread. The answer comes in any case, if only to say that the host is gone.
    fn ask(&self, request: Request);

    /// Whether a call that nobody waits for may be asked now. If not, `answer` hears when to try again. A guest that is
    /// `broke`, unable to pay for the call before others of its own are served, has to wait if the host is busy. A fault where
    /// waiting is no use, because the host's thread waits at the root of `chain`.
    fn admit(&self, chain: &Chain, broke: bool, answer: &Arc<dyn Answer>) -> Result<bool, Fault>;
}

/// What an isolate asks of a host about one of the host's slots.
pub struct Request {
    /// An operation's number.
    pub op: u32,
    pub slot: u32,
    pub args: Vec<Value>,
    pub chain: Chain,
    pub answer: Arc<dyn Answer>,
    /// What it costs the guest that asks, until it is served.
    pub charge: Charge,
}

/// One slot of an owner's table, counted.
pub struct Slot {
    owner: Arc<dyn Owner>,
    index: u32,
}

impl Slot {
    pub fn new(owner: Arc<dyn Owner>, index: u32) -> Arc<Self> {
        Arc::new(Self { owner, index })
    }

    pub fn owner(&self) -> &Arc<dyn Owner> {
        &self.owner
    }

    pub fn index(&self) -> u32 {
        self.index
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.owner.release(self.index);
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.owner.id(), self.index)
    }
}

//! Owners of slots: an isolate or a host environment, each with a table of slots. When the last copy of a slot is dropped, anywhere, its
//! owner is notified.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

use super::{Chain, Charge, Completion, Fault, Value};

/// An owner of slots: an isolate or a host environment.
pub trait Owner: Any + Send + Sync {
    /// Unique in the process.
    fn id(&self) -> u64;
    /// The last handle on `slot` is gone. Called on any thread; must not block or run guest code.
    fn release(&self, slot: u32);
    /// Bytes of answers that it may have before it reads them; 0 if there is no limit for it alone.
    fn max_answers(&self) -> usize {
        0
    }
    /// A promise of its guest that others await has settled, perhaps without the guest: at a deadline, or since its caller has aborted the call.
    /// Called on any thread, without locks.
    fn has_settled(&self) {}
    /// For the layer that knows isolates.
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    /// This owner as a host environment, if it is one that can be on this thread.
    fn host(&self) -> Option<&dyn Host> {
        None
    }
    /// This owner as a host environment, if it is one.
    fn as_host(self: Arc<Self>) -> Option<Arc<dyn Host>> {
        None
    }
}

/// A host environment: its values are reached by asking its thread.
pub trait Host: Owner {
    /// Makes `isolate` end with this host.
    fn register(&self, isolate: &Arc<dyn Owner>);

    /// Whether the host is here and waits at the root of `chain`, so that it looks at what a guest on a fiber asks as soon as that waits.
    fn answers_here(&self, _chain: &Chain) -> bool {
        false
    }

    /// Sends the request to the host's thread. It is always answered, even if only to say that the host is gone.
    fn request(&self, request: Request);

    /// Whether the isolate `requester` may now send a call that nothing waits for. If not, `completion` is answered when it should try again.
    /// A guest whose calls are `over_budget` has to wait until some of them are served, if the host is busy. Returns a fault if waiting is
    /// useless, because the host's thread waits at the root of `chain`.
    fn admit(
        &self,
        requester: u64,
        chain: &Chain,
        over_budget: bool,
        completion: &Arc<dyn Completion>,
    ) -> Result<bool, Fault>;

    /// Makes the host's thread look again at what it waits for in a sync call.
    fn notify(&self);

    /// An operation among guests begins, for which the host's event loop stays alive.
    fn begin(&self);

    /// The operation has ended.
    fn end(&self);
}

/// Keeps the event loop of a host alive for as long as this exists.
pub struct KeepAlive(Weak<dyn Host>);

impl KeepAlive {
    pub fn with(host: &Weak<dyn Host>) -> Option<Self> {
        host.upgrade()?.begin();
        Some(Self(Weak::clone(host)))
    }
}

impl Drop for KeepAlive {
    fn drop(&mut self) {
        if let Some(host) = self.0.upgrade() {
            host.end();
        }
    }
}

/// A request of an isolate about one of a host's slots.
pub struct Request {
    /// An operation's number.
    pub op: u32,
    /// Kept until the request is served.
    pub slot: Arc<Slot>,
    pub args: Vec<Value>,
    /// The isolate or the child process that sends the request.
    pub requester: Option<Weak<dyn Owner>>,
    pub chain: Chain,
    pub completion: Arc<dyn Completion>,
    /// The charge to the guest that asks, until the request is served.
    pub charge: Charge,
}

impl Request {
    /// Bytes that its arguments take outside any heap.
    pub fn byte_size(&self) -> usize {
        self.args.iter().map(Value::byte_size).sum()
    }
}

/// One counted slot of an owner's table.
pub struct Slot {
    owner: Arc<dyn Owner>,
    index: u32,
    _charge: Charge,
}

impl Slot {
    pub fn new(owner: Arc<dyn Owner>, index: u32) -> Arc<Self> {
        Self::charged(owner, index, Charge::default())
    }

    /// A slot that is charged to its requester.
    pub fn charged(owner: Arc<dyn Owner>, index: u32, charge: Charge) -> Arc<Self> {
        Arc::new(Self { owner, index, _charge: charge })
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

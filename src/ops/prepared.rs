//! Calls that are ready to be started, and where they run.

use std::sync::{Arc, Weak};

use crate::engine;
use crate::isolate::{Job, Kind, Limits, Remote, Stop, Work, caller_thread};
use crate::protocol::op;
use crate::value::{
    Chain, Charge, Completion, ContextHandle, Fault, Handle, Host, Outcome, Owner, Reference, Request, Slot, TypeOf,
    Value, Wrapper,
};

/// A call that is ready to be started.
pub enum Prepared {
    /// Already done: there is nothing to wait for.
    Done(Outcome),
    /// Work in an isolate.
    Enter { remote: Arc<Remote>, limits: Limits, work: Work },
    /// Creation of a context.
    MakeContext { remote: Arc<Remote>, work: Work },
    /// A request to a host about one of its own values.
    Request { host: Arc<dyn Host>, op: u32, slot: Arc<Slot>, args: Vec<Value>, requester: Option<Weak<dyn Owner>> },
}

impl Prepared {
    /// Starts the call. `charge` is held until the call has been served.
    pub fn dispatch(self, kind: Kind, chain: Chain, charge: Charge, completion: Arc<dyn Completion>) {
        match self {
            Prepared::Done(outcome) => completion.complete(outcome),
            Prepared::Enter { remote, limits, work } => {
                remote.post(Job::new(kind, completion, work).limited(limits).in_chain(chain).charged(charge));
            }
            Prepared::MakeContext { remote, work } => {
                let completion = if kind == Kind::Call { completion } else { outlast_disposal(&remote, completion) };
                // It runs no guest code, but may have to wait for some that is running.
                remote
                    .post(Job::new(kind, completion, work).limited(Limits::standard()).in_chain(chain).charged(charge));
            }
            Prepared::Request { host, op, slot, args, requester } => {
                host.request(Request { op, slot, args, requester, chain, completion, charge });
            }
        }
    }

    /// Begins the call on this thread, which is that of `host`, if its isolate is idle and belongs to that host; `None` then. Returns the
    /// call otherwise.
    pub fn begin_on_caller(self, host: *const (), chain: &Chain, completion: &Arc<dyn Completion>) -> Option<Self> {
        let (remote, limits, work, makes_context) = match self {
            Prepared::Enter { remote, limits, work } => (remote, limits, work, false),
            Prepared::MakeContext { remote, work } => (remote, Limits::standard(), work, true),
            prepared => return Some(prepared),
        };
        let is_own = remote.settings.host.as_ref().is_some_and(|own| std::ptr::eq(own.as_ptr().cast(), host));
        let job = Job::new(Kind::Call, Arc::clone(completion), work).limited(limits).in_chain(chain.clone());
        let job = Box::new(job);
        let begun = if is_own { remote.begin_on_caller(job) } else { Err(job) };
        begun.err().map(|job| {
            let work = job.work;
            if makes_context {
                Prepared::MakeContext { remote, work }
            } else {
                Prepared::Enter { remote, limits, work }
            }
        })
    }

    /// Whether a guest on this thread, of a host, ends when the host does. A worker cannot be terminated while its thread is in a built-in function of V8
    /// that does not end, and neither can the process; so there has to be a limit.
    pub fn ends_with_host(&self) -> bool {
        engine::is_main_thread()
            || self.limits().is_some()
            // Runs only code of the library.
            || matches!(self, Prepared::MakeContext { .. })
    }

    /// Begins the call on the thread of the guest of `caller`, which waits for it next, if that is a thread of the host of both; `None` then. Returns the
    /// call otherwise.
    pub fn begin_beside(self, caller: &Arc<Remote>, chain: &Chain, completion: &Arc<dyn Completion>) -> Option<Self> {
        if !caller_thread::is_wanted() || !chain.is_awaited() || !self.ends_with_host() {
            return Some(self);
        }
        let (peer, limits, work, makes_context) = match self {
            Prepared::Enter { remote, limits, work } => (remote, limits, work, false),
            Prepared::MakeContext { remote, work } => (remote, Limits::standard(), work, true),
            prepared => return Some(prepared),
        };
        let job = Job::new(Kind::Call, Arc::clone(completion), work).limited(limits).in_chain(chain.clone());
        let has_same_host = match (&caller.settings.host, &peer.settings.host) {
            (Some(host), Some(other)) => Weak::ptr_eq(host, other),
            _ => false,
        };
        let job = Box::new(job);
        let begun = if has_same_host { caller.call_beside(&peer, job) } else { Err(job) };
        begun.err().map(|job| {
            let (remote, work) = (peer, job.work);
            if makes_context {
                Prepared::MakeContext { remote, work }
            } else {
                Prepared::Enter { remote, limits, work }
            }
        })
    }

    /// Starts a task that others may follow immediately. Returns the isolate that must then be notified ([`Remote::flush_wake_ups`]), if it sleeps.
    pub fn enqueue(self, chain: Chain, completion: Arc<dyn Completion>) -> Option<Arc<Remote>> {
        match self {
            Prepared::Enter { remote, limits, work } => {
                let job = Job::new(Kind::Task, completion, work).limited(limits).in_chain(chain);
                remote.enqueue_without_wake(job).then_some(remote)
            }
            prepared => {
                prepared.dispatch(Kind::Task, chain, Charge::default(), completion);
                None
            }
        }
    }

    /// The limits of the call; none if no guest code runs.
    pub fn limits(&self) -> Limits {
        match self {
            Prepared::Enter { limits, .. } => *limits,
            _ => Limits::default(),
        }
    }

    /// The same call with limits that are no wider than `outer`. Creating a context runs no guest code.
    pub fn within(self, outer: Limits) -> Self {
        match self {
            Prepared::Enter { remote, limits, work } => Prepared::Enter { remote, limits: limits.within(outer), work },
            prepared => prepared,
        }
    }

    /// The same call, requested by the guest of `remote`.
    pub fn requested_by(self, remote: &Arc<Remote>) -> Self {
        match self {
            Prepared::Request { host, op, slot, args, .. } => {
                let op = if remote.settings.host_stacks { op | op::SHOWS_STACKS } else { op };
                let requester: Weak<dyn Owner> = Arc::<Remote>::downgrade(remote);
                Prepared::Request { host, op, slot, args, requester: Some(requester) }
            }
            prepared => prepared,
        }
    }

    /// The isolate that does the work, if any.
    pub fn remote(&self) -> Weak<Remote> {
        match self {
            Prepared::Enter { remote, .. } | Prepared::MakeContext { remote, .. } => Arc::downgrade(remote),
            Prepared::Done(_) | Prepared::Request { .. } => Weak::new(),
        }
    }
}

impl From<Fault> for Prepared {
    fn from(fault: Fault) -> Self {
        Prepared::Done(Err(fault))
    }
}

/// Forwards the outcome of a context that is created asynchronously. If the isolate is disposed before the context exists, the outcome is
/// still a context, which is as useless as any other of that isolate. isolated-vm does the same, and programs do not expect a rejection.
fn outlast_disposal(remote: &Arc<Remote>, completion: Arc<dyn Completion>) -> Arc<dyn Completion> {
    struct Outlasting(Weak<Remote>, Arc<dyn Completion>);
    impl Wrapper for Outlasting {
        fn inner(&self) -> &dyn Completion {
            &*self.1
        }

        fn forward(&self, outcome: Outcome) {
            let remote = self.0.upgrade().filter(|remote| remote.stop_reason() == Some(Stop::Disposed));
            self.1.complete(match (outcome, remote) {
                (Err(_), Some(remote)) => Ok(Value::Handle(Handle::Context(lifeless_context(&remote)))),
                (outcome, _) => outcome,
            });
        }
    }
    if remote.is_disposed() { completion } else { Arc::new(Outlasting(Arc::downgrade(remote), completion)) }
}

/// A context of a disposed isolate. Its slots are empty.
fn lifeless_context(remote: &Arc<Remote>) -> Arc<ContextHandle> {
    let slot = || {
        remote.slots.add_handle();
        Slot::new(Arc::clone(remote) as Arc<dyn Owner>, u32::MAX)
    };
    let global = Reference { slot: slot(), type_of: TypeOf::Object, accessors: false, inherit: false };
    Arc::new(ContextHandle { slot: slot(), global: Arc::new(global) })
}

/// The isolate or the host that owns `slot`.
pub fn locate(slot: &Arc<Slot>) -> Result<Location, Fault> {
    let owner = slot.owner();
    if let Some(host) = Arc::clone(owner).as_host() {
        return Ok(Location::Host(host));
    }
    Remote::from_owner(owner).map(Location::Isolate).ok_or_else(Fault::environment_gone)
}

pub enum Location {
    Isolate(Arc<Remote>),
    Host(Arc<dyn Host>),
}

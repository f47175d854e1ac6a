//! The operation table: what each call of the surface does, written once for hosts and guests. A call consists of its number, the handle
//! that it applies to, and arguments as neutral values. [`prepare`] turns it into something that a caller can wait for.

mod args;
mod cache;
mod caller;
mod compilation;
mod context;
mod copy;
mod evals;
mod function;
mod inspector;
mod isolate;
mod link;
mod module;
pub mod reference;
mod script;
pub mod snapshot;
mod transfer;

use std::sync::{Arc, Weak};

pub use args::{Args, Record, malformed, milliseconds};
#[cfg(any(test, fuzzing))]
pub use cache::contents_of as cache_contents;
pub use caller::{Caller, may_end_caller, returns_number};
#[cfg(any(test, fuzzing))]
pub use evals::may_call_eval;
pub use function::{call_callable, call_function};
pub use isolate::{DEFAULT_MEMORY, Plan, plan_child};
pub use link::check_attributes;
pub use module::{MAX_SPECIFIER, attributes_of, evaluate, evaluate_compiled, numbered};
pub use script::{Origin, compile, run_unbound};
pub use transfer::{MAX_NAME, Transfer, transfer_out};

use crate::isolate::{Guest, Held, IsolateScope, Job, Kind, Limits, Place, Realm, Remote, Work, async_context};
pub use crate::protocol::op;
use crate::value::{Chain, Charge, Completion, Fault, Host, Outcome, Owner, Request, Slot, Value};

/// A call that is ready to be started.
pub enum Prepared {
    /// Already done: there is nothing to wait for.
    Done(Outcome),
    /// Work in an isolate.
    Enter { remote: Arc<Remote>, limits: Limits, work: Work },
    /// Creation of a context.
    MakeContext { remote: Arc<Remote>, work: Work },
    /// A request to a host about one of its own values.
    Ask { host: Arc<dyn Host>, op: u32, slot: Arc<Slot>, args: Vec<Value>, asker: Option<Weak<dyn Owner>> },
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
                let completion =
                    if kind == Kind::Call { completion } else { isolate::outlast_disposal(&remote, completion) };
                // It runs no guest code, but may have to wait for some that is running.
                remote
                    .post(Job::new(kind, completion, work).limited(Limits::standard()).in_chain(chain).charged(charge));
            }
            Prepared::Ask { host, op, slot, args, asker } => {
                host.ask(Request { op, slot, args, asker, chain, completion, charge });
            }
        }
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
    pub fn asked_by(self, remote: &Arc<Remote>) -> Self {
        match self {
            Prepared::Ask { host, op, slot, args, .. } => {
                let op = if remote.settings.host_stacks { op | op::SHOWS_STACKS } else { op };
                let asker: Weak<dyn Owner> = Arc::<Remote>::downgrade(remote);
                Prepared::Ask { host, op, slot, args, asker: Some(asker) }
            }
            prepared => prepared,
        }
    }

    /// The isolate that does the work, if any.
    pub fn remote(&self) -> Weak<Remote> {
        match self {
            Prepared::Enter { remote, .. } | Prepared::MakeContext { remote, .. } => Arc::downgrade(remote),
            Prepared::Done(_) | Prepared::Ask { .. } => Weak::new(),
        }
    }
}

impl From<Fault> for Prepared {
    fn from(fault: Fault) -> Self {
        Prepared::Done(Err(fault))
    }
}

/// Prepares a call of the surface. `target` is the value of its handle id.
pub fn prepare(op: u32, target: Option<Value>, args: Vec<Value>, caller: &dyn Caller) -> Prepared {
    prepared(op, target, args, caller).unwrap_or_else(Prepared::from)
}

fn prepared(op: u32, target: Option<Value>, mut args: Vec<Value>, caller: &dyn Caller) -> Result<Prepared, Fault> {
    if caller.is_guest() {
        caller::restrict(op, &mut args)?;
    }
    let args = Args::new(args);
    match op {
        op::CREATE_ISOLATE => isolate::create(args, caller.settings()),
        op::CREATE_CONTEXT => isolate::create_context(target, args),
        op::COMPILE_SCRIPT => script::compile_script(target, args),
        op::COMPILE_MODULE => module::compile(target, args),
        op::MODULE_REQUESTS => module::requests(target),
        op::MODULE_EVALUATE => module::prepare_evaluation(target, args),
        op::MODULE_NAMESPACE => module::namespace(target),
        op::LINK_BEGIN => link::begin(target, args),
        op::LINK_WATCH => link::watch(target),
        op::LINK => link::link(target, args),
        op::INSTANTIATE => link::instantiate(target, args),
        op::SCRIPT_CACHED_DATA => script::cached_data(target),
        op::CREATE_SNAPSHOT => snapshot::create(args, caller),
        op::DISPOSE => isolate::dispose(target, caller),
        op::HEAP_STATISTICS => isolate::heap_statistics(target, args),
        op::HEAP_FIGURES => isolate::heap_figures(target),
        op::CPU_TIME | op::WALL_TIME | op::IS_DISPOSED | op::REFERENCE_COUNT => isolate::counter(op, target),
        op::RUN => script::run(target, args, caller),
        op::EVAL => context::eval(target, args),
        op::EVAL_CLOSURE => context::eval_closure(target, args),
        op::GLOBAL => context::global(target),
        op::REF_COPY | op::REF_GET | op::REF_SET | op::REF_DELETE => reference::access(op, target, args),
        op::REF_APPLY | op::REF_APPLY_SYNC_PROMISE => reference::apply(op, target, args),
        op::COPY_NEW => copy::create(args),
        op::COPY_COPY => copy::copy(target, args),
        op::COPY_TOTAL_SIZE => copy::total_size(),
        op::CALL => function::call(target, args),
        op::OPEN_SESSION => inspector::open_session(target, args),
        op::SESSION_SEND => inspector::send(target, args),
        op::SESSION_RUN => inspector::run(target),
        op::START_PROFILER => inspector::start_profiler(target, args),
        op::STOP_PROFILER => inspector::stop_profiler(target, args),
        _ => Err(malformed()),
    }
}

/// The isolate or the host that owns `slot`.
fn locate(slot: &Arc<Slot>) -> Result<Location, Fault> {
    let owner = slot.owner();
    if let Some(remote) = Remote::from_owner(owner) {
        return Ok(Location::Isolate(remote));
    }
    Arc::clone(owner).as_host().map(Location::Host).ok_or_else(Fault::environment_gone)
}

enum Location {
    Isolate(Arc<Remote>),
    Host(Arc<dyn Host>),
}

/// Work that runs in the realm of a held value.
fn work_on_value(
    slot: Arc<Slot>,
    work: impl for<'s, 'i> FnOnce(&mut v8::PinScope<'s, 'i>, &Place, v8::Local<'s, v8::Value>) -> Outcome + Send + 'static,
) -> Work {
    Box::new(move |scope: &mut IsolateScope<'_, '_>, guest: &Arc<Guest>| {
        let held = guest.held(&slot, |held| match held {
            Held::Value(realm, value) => Some((Arc::clone(realm), v8::Local::new(scope, value))),
            _ => None,
        });
        let (realm, value) = held.ok_or_else(malformed)?;
        let context = v8::Local::new(scope, &realm.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        let place = Place { guest: Arc::clone(guest), realm };
        async_context::within(scope, guest, |scope| work(scope, &place, value))
    })
}

/// Work that runs in a realm.
pub fn work_in_realm(
    slot: Arc<Slot>,
    work: impl for<'s, 'i> FnOnce(&mut v8::PinScope<'s, 'i>, &Place) -> Outcome + Send + 'static,
) -> Work {
    Box::new(move |scope: &mut IsolateScope<'_, '_>, guest: &Arc<Guest>| {
        let realm: Option<Arc<Realm>> = guest.held(&slot, |held| match held {
            Held::Context(realm) => Some(Arc::clone(realm)),
            _ => None,
        });
        let realm = realm.ok_or_else(malformed)?;
        let context = v8::Local::new(scope, &realm.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        let place = Place { guest: Arc::clone(guest), realm };
        async_context::within(scope, guest, |scope| work(scope, &place))
    })
}

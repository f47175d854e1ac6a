//! The operation table: what each call of the surface does, written once for hosts and guests. A call consists of its number, the handle
//! that it applies to, and arguments as neutral values. [`prepare`] turns it into something that a caller can wait for.

mod args;
mod cache;
mod caller;
mod compilation;
mod compiling;
mod context;
mod copy;
mod evals;
mod function;
mod inspector;
mod isolate;
mod link;
mod module;
mod prepared;
pub mod reference;
mod script;
pub mod snapshot;
mod transfer;
mod work;

pub use args::{Args, DEFAULT_MEMORY, Record, malformed, milliseconds};
#[cfg(any(test, fuzzing))]
pub use cache::contents_of as cache_contents;
pub use caller::{Caller, may_end_caller, returns_number};
pub use compilation::Origin;
pub use compiling::{Compiling, Form};
#[cfg(any(test, fuzzing))]
pub use evals::may_call_eval;
pub use function::{call_callable, call_function};
pub use isolate::{Plan, plan_child};
pub use link::check_attributes;
pub use module::{MAX_SPECIFIER, attributes_of, evaluate, evaluate_compiled, numbered};
pub use prepared::Prepared;
pub use script::{compile, run_unbound};
pub use transfer::{MAX_NAME, Transfer, transfer_out};
pub use work::work_in_realm;

pub use crate::protocol::op;
use crate::value::{Fault, Value};

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
        op::LINK_REQUESTS => link::requests(target, args),
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

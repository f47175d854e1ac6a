//! `Isolate`: creates, queries and disposes of isolates.

use std::sync::{Arc, Weak};

use super::args::{Args, malformed};
use super::caller::Caller;
use super::function::call_callable;
use super::prepared::Prepared;
use super::snapshot;
use crate::isolate::{Guest, HeapFigures, Kind, Limits, Notify, Realm, Remote, Settings, SlotValue, Stop};
use crate::protocol::op;
use crate::value::{
    BigInt, Chain, Charge, Code, ContextHandle, ErrorClass, Fault, Handle, IsolateHandle, NoCompletion, Reference,
    Text, TypeOf, Value,
};

pub fn create(args: Args, settings: &Settings) -> Result<Prepared, Fault> {
    let Plan { settings, on_catastrophe, warm } = plan(args, settings, Limits::default(), true)?;
    let remote = match settings.maker.as_ref().and_then(Weak::upgrade) {
        Some(maker) => maker.make(settings, warm),
        None => Remote::create(settings),
    };
    if let Some(notify) = on_catastrophe {
        remote.listeners.when_abandoned(notify);
    }
    Ok(Prepared::Done(Ok(Value::Handle(Handle::Isolate(IsolateHandle(remote))))))
}

/// The configuration of a new isolate that a guest creates, requested as on a host. A guest may not provide data that V8 reads without
/// checking it, and in the new isolate no code sees more than the guest itself. The callback for a catastrophe runs under the guest's
/// `limits`.
pub fn plan_child(args: Vec<Value>, settings: &Settings, limits: Limits) -> Result<Plan, Fault> {
    let refused = |option: &str| {
        let message = format!("`{option}` is not available inside isolates");
        Fault::coded(ErrorClass::Error, &message, Code::Unsupported)
    };
    if !matches!(args.get(1), None | Some(Value::Undefined)) {
        return Err(refused("snapshot"));
    }
    if matches!(args.get(2), Some(Value::Boolean(true))) {
        return Err(refused("inspector"));
    }
    let mut plan = plan(Args::new(args), settings, limits, settings.host_stacks)?;
    // The time to compile a text would tell the guest whether others run it.
    plan.settings.shares_code = false;
    Ok(plan)
}

/// The configuration of a new isolate.
pub struct Plan {
    pub settings: Settings,
    pub on_catastrophe: Option<Notify>,
    /// How many isolates like it should be kept ready.
    pub warm: usize,
}

fn plan(mut args: Args, settings: &Settings, limits: Limits, may_show_stacks: bool) -> Result<Plan, Fault> {
    let memory_limit = args.memory_limit(settings)?;
    let snapshot = args.value();
    let inspector = args.boolean();
    let on_catastrophe = args.optional_function()?;
    let host_stacks = args.boolean();
    // The cast saturates.
    let warm = args.number()? as usize;
    let importer = args.optional_function()?;
    let mut settings = settings.clone();
    settings.memory_limit = memory_limit;
    settings.snapshot = snapshot::open(snapshot, &settings, settings.memory_limit)?;
    settings.inspector = inspector;
    settings.importer = importer;
    settings.host_stacks = host_stacks && may_show_stacks;
    let on_catastrophe = on_catastrophe.map(|callback| {
        let notify = move |problem: &str| {
            if let Ok(call) = call_callable(&callback, vec![Value::String(Text::from(problem))]) {
                let call = call.within(limits.renewed());
                call.dispatch(Kind::Task, Chain::default(), Charge::default(), Arc::new(NoCompletion));
            }
        };
        Arc::new(notify) as Notify
    });
    Ok(Plan { settings, on_catastrophe, warm })
}

pub fn remote_of(target: Option<Value>) -> Result<Arc<Remote>, Fault> {
    match target {
        Some(Value::Handle(Handle::Isolate(isolate))) => Remote::from_owner(&isolate.0).ok_or_else(malformed),
        _ => Err(malformed()),
    }
}

pub fn create_context(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    let inspect = args.boolean();
    if inspect && !remote.settings.inspector {
        return Err(not_inspectable());
    }
    Ok(Prepared::MakeContext {
        remote,
        work: Guest::work(move |scope, guest| {
            let remote = guest.remote()?;
            let realm = match guest.realms.take_prepared() {
                Some(realm) => realm,
                None => {
                    make_room(scope, &remote)?;
                    Realm::create(scope, guest)?
                }
            };
            let context = v8::Local::new(scope, &realm.context);
            if let Some(agent) = guest.agent().filter(|_| inspect) {
                agent.show_context(scope, context);
            }
            let global: v8::Local<v8::Value> = context.global(scope).into();
            let global = v8::Global::new(scope, global);
            let global = Arc::new(Reference {
                slot: guest.new_slot(SlotValue::Value(Arc::clone(&realm), global))?,
                type_of: TypeOf::Object,
                accessors: false,
                inherit: false,
            });
            let slot = guest.new_slot(SlotValue::Context(realm))?;
            Ok(Value::Handle(Handle::Context(Arc::new(ContextHandle { slot, global }))))
        }),
    })
}

/// A context that starts from a snapshot takes the snapshot's memory at once, and V8 has no way to report a failure.
fn make_room(scope: &mut v8::Isolate, remote: &Remote) -> Result<(), Fault> {
    let Some(snapshot) = &remote.settings.snapshot else { return Ok(()) };
    let size = snapshot.size();
    let limit = remote.settings.memory_limit;
    let fits = |scope: &mut v8::Isolate| {
        scope.get_heap_statistics().used_heap_size().saturating_add(size.heap) <= limit
            && remote.accounts.budget.has(size.buffers)
    };
    if !fits(scope) {
        scope.low_memory_notification();
        if !fits(scope) {
            let message = "Another context of this snapshot takes more memory than `memoryLimit` allows";
            return Err(Fault::coded(ErrorClass::Error, message, Code::Memory));
        }
    }
    Ok(())
}

/// The isolate was created without the option.
pub fn not_inspectable() -> Fault {
    Fault::coded(ErrorClass::Error, "Inspector is not enabled for this isolate", Code::Unsupported)
}

pub fn dispose(target: Option<Value>, caller: &dyn Caller) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    caller.disposes(&remote);
    if remote.stop(Stop::Disposed) {
        return Ok(Prepared::Done(Ok(Value::Undefined)));
    }
    Err(Fault::coded(ErrorClass::Error, "Isolate is already disposed", Code::Disposed))
}

/// V8's heap statistics, each at its index of `HEAP_STATISTIC`, after a collection of all garbage if that is wanted.
pub fn heap_statistics(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    let collects = args.boolean();
    Ok(Prepared::Enter {
        remote,
        limits: Limits::standard(),
        work: Guest::work(move |scope, guest| {
            let remote = guest.remote()?;
            if collects {
                scope.low_memory_notification();
            }
            Ok(figures(&remote.measure(scope)))
        }),
    })
}

/// The most recently measured heap statistics; `undefined` before the first measurement and after the isolate's end.
pub fn heap_figures(target: Option<Value>) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    let measured = if remote.is_disposed() { None } else { remote.accounts.figures() };
    Ok(Prepared::Done(Ok(measured.map_or(Value::Undefined, |heap| figures(&heap)))))
}

fn figures(heap: &HeapFigures) -> Value {
    Value::List(heap.iter().map(|figure| Value::Number(*figure as f64)).collect())
}

pub fn counter(op: u32, target: Option<Value>) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    if op == op::IS_DISPOSED {
        return Ok(Prepared::Done(Ok(Value::Boolean(remote.is_disposed()))));
    }
    if remote.is_disposed() {
        return Err(Fault::disposed(false));
    }
    let nanoseconds = |time: u64| Value::BigInt(Box::new(BigInt { negative: false, words: [time].into() }));
    Ok(Prepared::Done(Ok(match op {
        op::CPU_TIME => nanoseconds(remote.accounts.meter.cpu_time()),
        op::WALL_TIME => nanoseconds(remote.accounts.meter.wall_time()),
        _ => Value::Number(f64::from(remote.slots.handles())),
    })))
}

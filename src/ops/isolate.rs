//! `Isolate`: making, asking, ending.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::{Args, Prepared, malformed, snapshot};
use crate::isolate::{HeapFigures, Held, Limits, Notify, Realm, Remote, Settings, Stop};
use crate::value::{
    Answer, BigInt, Chain, Charge, Code, ContextHandle, ErrorClass, Fault, Handle, IsolateHandle, Nobody, Outcome,
    Owner, Reference, Request, Slot, Text, TypeOf, Value,
};

pub fn create(mut args: Args, settings: &Settings) -> Result<Prepared, Fault> {
    let megabytes = args.number()?;
    let snapshot = args.value();
    let inspector = args.boolean();
    let on_catastrophe = args.optional_function()?;
    let mut settings = settings.clone();
    // The surface has checked that the number is whole and at least 8; the cast saturates.
    settings.memory_limit = (megabytes as usize).saturating_mul(1 << 20);
    settings.snapshot = snapshot::open(snapshot, &settings, settings.memory_limit)?;
    settings.inspector = inspector;
    settings.on_catastrophe = on_catastrophe.map(|callback| {
        let notify = move |problem: &str| {
            let Some(host) = Arc::clone(callback.slot.owner()).as_host() else {
                return;
            };
            host.ask(Request {
                op: super::op::CALL,
                slot: callback.slot.index(),
                args: vec![Value::String(Text::from(problem))],
                chain: Chain::default(),
                answer: Arc::new(Nobody),
                charge: Charge::default(),
            });
        };
        Arc::new(notify) as Notify
    });
    let remote = Remote::create(settings);
    Ok(Prepared::Done(Ok(Value::Handle(Handle::Isolate(IsolateHandle(remote))))))
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
        work: Box::new(move |scope, guest| {
            let remote = guest.remote()?;
            make_room(scope, &remote)?;
            let realm = Realm::create(scope, guest);
            let context = v8::Local::new(scope, &realm.context);
            if let Some(agent) = guest.agent().filter(|_| inspect) {
                agent.show_context(scope, context);
            }
            let global: v8::Local<v8::Value> = context.global(scope).into();
            let global = v8::Global::new(scope, global);
            let global = Arc::new(Reference {
                slot: guest.hold(Held::Value(Arc::clone(&realm), global))?,
                type_of: TypeOf::Object,
                accessors: false,
                inherit: false,
            });
            let slot = guest.hold(Held::Context(realm))?;
            Ok(Value::Handle(Handle::Context(Arc::new(ContextHandle { slot, global }))))
        }),
    })
}

/// A context that starts from a snapshot takes what that holds, at once, and V8 has no way to fail.
fn make_room(scope: &mut v8::Isolate, remote: &Remote) -> Result<(), Fault> {
    let Some(snapshot) = &remote.settings.snapshot else { return Ok(()) };
    let size = snapshot.size();
    let limit = remote.settings.memory_limit;
    let fits = |scope: &mut v8::Isolate| {
        scope.get_heap_statistics().used_heap_size().saturating_add(size.heap) <= limit
            && remote.budget.has(size.buffers)
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

/// The isolate was made without the option.
pub fn not_inspectable() -> Fault {
    Fault::coded(ErrorClass::Error, "Inspector is not enabled for this isolate", Code::Unsupported)
}

/// Passes on what comes of a context that nobody waits for. Where the isolate is disposed before it is made, there is one all the
/// same, of no more use than any other of that isolate: so it is in isolated-vm, and programs do not expect a rejection.
pub fn outlast_disposal(remote: &Arc<Remote>, answer: Arc<dyn Answer>) -> Arc<dyn Answer> {
    struct Outlasting(Weak<Remote>, Arc<dyn Answer>);
    impl Answer for Outlasting {
        fn answer(&self, outcome: Outcome) {
            let remote = self.0.upgrade().filter(|remote| remote.stop_reason() == Stop::Disposed);
            self.1.answer(match (outcome, remote) {
                (Err(_), Some(remote)) => Ok(Value::Handle(Handle::Context(lifeless_context(&remote)))),
                (outcome, _) => outcome,
            });
        }

        fn is_answered(&self) -> bool {
            self.1.is_answered()
        }

        fn recipient(&self) -> Option<Arc<dyn Owner>> {
            self.1.recipient()
        }
    }
    if remote.is_disposed() { answer } else { Arc::new(Outlasting(Arc::downgrade(remote), answer)) }
}

/// A context of a disposed isolate. Its slots hold nothing.
fn lifeless_context(remote: &Arc<Remote>) -> Arc<ContextHandle> {
    let slot = || {
        remote.handles.fetch_add(1, Ordering::Relaxed);
        Slot::new(Arc::clone(remote) as Arc<dyn Owner>, u32::MAX)
    };
    let global = Reference { slot: slot(), type_of: TypeOf::Object, accessors: false, inherit: false };
    Arc::new(ContextHandle { slot: slot(), global: Arc::new(global) })
}

pub fn dispose(target: Option<Value>) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    if remote.stop(Stop::Disposed) {
        return Ok(Prepared::Done(Ok(Value::Undefined)));
    }
    Err(Fault::coded(ErrorClass::Error, "Isolate is already disposed", Code::Disposed))
}

/// Figures of V8's heap in the order that `surface/heap.js` names them.
pub fn heap_statistics(target: Option<Value>) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    Ok(Prepared::Enter {
        remote,
        limits: Limits::default(),
        work: Box::new(|scope, guest| {
            let remote = guest.remote()?;
            Ok(figures(&remote.measure(scope)))
        }),
    })
}

/// The same as they were when they were measured last; `undefined` before that and after the isolate's end.
pub fn heap_figures(target: Option<Value>) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    let measured = if remote.is_disposed() { None } else { remote.measured() };
    Ok(Prepared::Done(Ok(measured.map_or(Value::Undefined, |heap| figures(&heap)))))
}

fn figures(heap: &HeapFigures) -> Value {
    Value::List(heap.iter().map(|figure| Value::Number(*figure as f64)).collect())
}

pub fn counter(op: u32, target: Option<Value>) -> Result<Prepared, Fault> {
    let remote = remote_of(target)?;
    if op == super::op::IS_DISPOSED {
        return Ok(Prepared::Done(Ok(Value::Boolean(remote.is_disposed()))));
    }
    if remote.is_disposed() {
        return Err(Fault::disposed(false));
    }
    let nanoseconds = |time: u64| Value::BigInt(Box::new(BigInt { negative: false, words: [time].into() }));
    Ok(Prepared::Done(Ok(match op {
        super::op::CPU_TIME => nanoseconds(remote.meter.cpu_time()),
        super::op::WALL_TIME => nanoseconds(remote.meter.wall_time()),
        _ => Value::Number(f64::from(remote.handles.load(Ordering::Relaxed))),
    })))
}

//! Compiles and runs scripts.

use std::rc::Rc;
use std::sync::Arc;

use super::args::malformed;
use super::compilation::{Compilation, Origin};
use super::compiling::{Compiling, Form};
use super::{Args, Caller, Prepared, Transfer, cache, work_in_realm};
use crate::convert;
use crate::isolate::{CompiledScript, Guest, GuestRealm, Limits, Remote, SlotValue, Unit};
use crate::value::{Code, ErrorClass, Fault, Handle, Outcome, Text, Value};

/// Compiles `code` for any context of its isolate.
pub fn compile<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    code: &Text,
    origin: &Origin,
) -> Result<v8::Local<'s, v8::UnboundScript>, Fault> {
    let compiling = Compiling::begin(scope, code, origin, Form::Script);
    let code = convert::text_to_v8(scope, code)?;
    let origin = origin.to_v8(scope)?;
    let (mut source, options) = compiling.source(code, &origin);
    compile_source(scope, &mut source, options, compiling)
}

fn compile_source<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    source: &mut v8::script_compiler::Source,
    options: v8::script_compiler::CompileOptions,
    compiling: Compiling,
) -> Result<v8::Local<'s, v8::UnboundScript>, Fault> {
    v8::tc_scope!(let scope, scope);
    let reason = v8::script_compiler::NoCacheReason::NoReason;
    let script = v8::script_compiler::compile_unbound_script(scope, source, options, reason)
        .ok_or_else(|| convert::fault_from_compilation(scope).unwrap_or(Fault::Stopped))?;
    compiling.end(scope, source, |scope| Unit::Script(v8::Global::new(scope, script)));
    Ok(script)
}

/// Runs a compiled script in the current context and transfers its last value out.
pub fn run_unbound<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    script: v8::Local<'s, v8::UnboundScript>,
    transfer: Transfer,
) -> Outcome {
    let script = script.bind_to_current_context(scope);
    run_bound(scope, at, script, transfer)
}

fn run_bound<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    script: v8::Local<'s, v8::Script>,
    transfer: Transfer,
) -> Outcome {
    v8::tc_scope!(let scope, scope);
    match script.run(scope) {
        Some(value) => super::transfer_out(scope, at, value, transfer),
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    }
}

pub fn compile_script(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let (remote, compilation) = Compilation::read(target, &mut args, false)?;
    Ok(Prepared::Enter {
        remote,
        limits: Limits::standard(),
        work: Guest::work(move |scope, guest| {
            let realm = guest.utility_realm(scope)?;
            let context = v8::Local::new(scope, &realm.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            let origin = compilation.origin.to_v8(scope)?;
            let compiling = compilation.begin(scope, Form::Script);
            let (mut source, options) = compilation.source(scope, &origin, &compiling)?;
            let script = compile_source(scope, &mut source, options, compiling)?;
            let cache_rejected = compilation.cache_rejected(&source);
            let cache = compilation.cache(cache_rejected, || script.create_code_cache());
            let script = v8::Global::new(scope, script);
            let value = SlotValue::Script(Rc::new(CompiledScript::new(script, cache_rejected, cache)));
            Ok(Value::Handle(Handle::Script(guest.new_slot(value)?)))
        }),
    })
}

/// `[rejected, data]` of a script's or module's compilation cache. `rejected` is `undefined` if no cache was passed, `data` is `undefined`
/// if none was produced.
pub fn cached_data(target: Option<Value>) -> Result<Prepared, Fault> {
    let script = match target {
        Some(Value::Handle(Handle::Script(slot))) => slot,
        Some(Value::Handle(Handle::Module(module))) => Arc::clone(&module.slot),
        _ => return Err(malformed()),
    };
    let remote = Remote::from_owner(script.owner()).ok_or_else(malformed)?;
    Ok(Prepared::Enter {
        remote,
        limits: Limits::standard(),
        work: Guest::work(move |_scope, guest| {
            let found = guest.read_slot(&script, |value| match value {
                SlotValue::Script(script) => Some((script.cache_rejected, script.cache.clone())),
                SlotValue::Module(module) => Some((module.cache_rejected, module.cache.clone())),
                _ => None,
            });
            let (rejected, cache) = found.ok_or_else(malformed)?;
            let rejected = rejected.map_or(Value::Undefined, Value::Boolean);
            let cache = cache.as_ref().map_or(Value::Undefined, cache::to_value);
            Ok(Value::List(vec![rejected, cache]))
        }),
    })
}

/// The first argument is the number of the context's handle.
pub fn run(script: Option<Value>, mut args: Args, caller: &dyn Caller) -> Result<Prepared, Fault> {
    let context = args.value().as_number().and_then(|id| caller.handle(id as usize));
    let (Some(Value::Handle(Handle::Script(script))), Some(Value::Handle(Handle::Context(context)))) =
        (script, context)
    else {
        return Err(malformed());
    };
    if script.owner().id() != context.slot.owner().id() {
        return Err(Fault::coded(ErrorClass::Error, "Invalid context", Code::InvalidArgument));
    }
    let transfer = Transfer::from_number(args.number()?);
    let limits = args.limits()?;
    let remote = Remote::from_owner(script.owner()).ok_or_else(malformed)?;
    let work = work_in_realm(Arc::clone(&context.slot), move |scope, at| {
        let found = at.guest.read_slot(&script, |value| match value {
            SlotValue::Script(compiled) => Some(Rc::clone(compiled)),
            _ => None,
        });
        let script = found.ok_or_else(malformed)?.bind(scope, &at.realm);
        run_bound(scope, at, script, transfer)
    });
    Ok(Prepared::Enter { remote, limits, work })
}

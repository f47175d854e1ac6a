//! `Isolate.createSnapshot`: runs the scripts whose result V8 then writes to a snapshot.

use std::cell::Cell;
use std::sync::Arc;

use super::compilation::Origin;
use super::evals::may_call_eval;
use super::{Args, Caller, Prepared, cache, compile};
use crate::convert;
use crate::engine::{self, Snapshot};
use crate::isolate::{Guest, IsolateScope, Realm, Remote, Settings};
use crate::protocol::message;
use crate::value::{Code, ErrorClass, ExternalCopy, Fault, Handle, Outcome, Payload, Text, Value};

thread_local! {
    /// A script has created code that may call `eval`.
    static MADE_EVAL: Cell<bool> = const { Cell::new(false) };
}

struct Source {
    code: Text,
    origin: Origin,
}

impl Source {
    fn from_args(args: &mut Args) -> Result<Option<Self>, Fault> {
        let Some(code) = args.optional_text()? else { return Ok(None) };
        Ok(Some(Self { code, origin: Origin::from_args(args)? }))
    }
}

pub fn create(mut args: Args, caller: &dyn Caller) -> Result<Prepared, Fault> {
    let settings = caller.settings();
    let memory_limit = args.memory_limit(settings)?;
    let limits = args.limits()?;
    let warmup = args.optional_text()?;
    let web = args.number()? as u32;
    let install_web = settings.install_snapshot_web;
    let mut sources = Vec::new();
    while let Some(source) = Source::from_args(&mut args)? {
        sources.push(source);
    }
    // Compiled code stays compiled in the snapshot, unless it may call `eval`.
    let keep = !sources.iter().map(|source| &source.code).chain(&warmup).any(may_call_eval);
    // Its code becomes part of the snapshot, so it is compiled for it alone.
    let settings = Settings { memory_limit, snapshot: None, shares_code: false, importer: None, ..settings.clone() };
    let remote = Remote::create_snapshot_creator(settings);
    caller.owns(&remote);
    Ok(Prepared::Enter {
        remote,
        limits,
        work: Guest::work(move |scope, guest| {
            let kept = Realm::create(scope, guest)?;
            // The effects of warming up are not wanted, so its realm is not kept.
            let warmed = warmup.is_some().then(|| Realm::create(scope, guest)).transpose()?;
            MADE_EVAL.set(false);
            if keep {
                scope.set_modify_code_generation_from_strings_callback(note_eval);
                allow_strings(scope, &kept, false);
            }
            let disconnect = if web == 0 { None } else { Some(within(scope, &kept, |scope| install_web(scope, web))?) };
            let check = prepare(scope, &kept)?;
            if let Some(warmed) = &warmed {
                if web != 0 {
                    within(scope, warmed, |scope| install_web(scope, web))?;
                }
                prepare(scope, warmed)?;
            }
            for source in &sources {
                let script = run(scope, &kept, source, false)?;
                if let Some(warmed) = &warmed {
                    run_again(scope, warmed, &script)?;
                }
            }
            if let (Some(warmed), Some(code)) = (warmed, warmup) {
                run(scope, &warmed, &Source { code, origin: Origin::nowhere() }, true)?;
            }
            apply(scope, &kept, &check)?;
            if let Some(disconnect) = disconnect {
                call(scope, &kept, &disconnect)?;
            }
            allow_strings(scope, &kept, true);
            guest.realms.keep(kept);
            Ok(Value::Boolean(keep && !MADE_EVAL.get()))
        }),
    })
}

/// Sets whether strings are compiled without calling [`note_eval`].
fn allow_strings(scope: &mut IsolateScope<'_, '_>, realm: &Realm, allow: bool) {
    v8::scope!(let scope, scope);
    v8::Local::new(scope, &realm.context).set_allow_generation_from_strings(allow);
}

fn note_eval<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    source: v8::Local<'s, v8::Value>,
    _is_code_like: bool,
) -> v8::ModifyCodeGenerationFromStringsResult<'s> {
    if let Ok(source) = v8::Local::<v8::String>::try_from(source)
        && convert::text_from_v8(scope, source, usize::MAX).is_ok_and(|source| may_call_eval(&source))
    {
        MADE_EVAL.set(true);
    }
    v8::ModifyCodeGenerationFromStringsResult { codegen_allowed: true, modified_source: None }
}

/// Removes from a realm what must not be in a snapshot. The resulting function must be called when the scripts have run.
fn prepare(scope: &mut IsolateScope<'_, '_>, realm: &Realm) -> Result<v8::Global<v8::Function>, Fault> {
    v8::scope!(let scope, scope);
    let context = v8::Local::new(scope, &realm.context);
    let scope = &mut v8::ContextScope::new(scope, context);
    let script = v8::String::new(scope, INTRINSICS).and_then(|source| v8::Script::compile(scope, source, None));
    let check = script.and_then(|script| script.run(scope)).ok_or(Fault::Stopped)?;
    let check = v8::Local::<v8::Function>::try_from(check).map_err(|_| Fault::Stopped)?;
    Ok(v8::Global::new(scope, check))
}

const INTRINSICS: &str = include_str!("intrinsics.js");

/// Checks what the scripts have done to the realm's built-ins, and restores what was removed.
fn apply(scope: &mut IsolateScope<'_, '_>, realm: &Realm, check: &v8::Global<v8::Function>) -> Result<(), Fault> {
    let Some(problem) = call(scope, realm, check)? else { return Ok(()) };
    let message = format!("A snapshot cannot be made: {problem}");
    Err(Fault::coded(ErrorClass::Error, &message, Code::Unsupported))
}

/// Calls a function of the library without arguments. Returns the string that it returns, if it is one.
fn call(
    scope: &mut IsolateScope<'_, '_>,
    realm: &Realm,
    function: &v8::Global<v8::Function>,
) -> Result<Option<String>, Fault> {
    within(scope, realm, |scope| {
        let receiver = v8::undefined(scope).into();
        let result = v8::Local::new(scope, function).call(scope, receiver, &[]).ok_or(Fault::Stopped)?;
        Ok(result.is_string().then(|| result.to_rust_string_lossy(scope)))
    })
}

fn within<T>(
    scope: &mut IsolateScope<'_, '_>,
    realm: &Realm,
    run: impl FnOnce(&mut v8::PinScope<'_, '_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    v8::scope!(let scope, scope);
    let context = v8::Local::new(scope, &realm.context);
    let scope = &mut v8::ContextScope::new(scope, context);
    run(scope)
}

/// Compiles and runs a script, then the microtasks that it has queued. If `located`, an error states where it was thrown.
fn run(
    scope: &mut IsolateScope<'_, '_>,
    realm: &Realm,
    source: &Source,
    located: bool,
) -> Result<v8::Global<v8::UnboundScript>, Fault> {
    v8::scope!(let scope, scope);
    let context = v8::Local::new(scope, &realm.context);
    let scope = &mut v8::ContextScope::new(scope, context);
    let script = compile(scope, &source.code, &source.origin)?;
    run_in(scope, script, located)?;
    Ok(v8::Global::new(scope, script))
}

fn run_again(
    scope: &mut IsolateScope<'_, '_>,
    realm: &Realm,
    script: &v8::Global<v8::UnboundScript>,
) -> Result<(), Fault> {
    v8::scope!(let scope, scope);
    let context = v8::Local::new(scope, &realm.context);
    let scope = &mut v8::ContextScope::new(scope, context);
    let script = v8::Local::new(scope, script);
    run_in(scope, script, false)
}

fn run_in<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    script: v8::Local<'s, v8::UnboundScript>,
    located: bool,
) -> Result<(), Fault> {
    v8::tc_scope!(let scope, scope);
    if script.bind_to_current_context(scope).run(scope).is_none() {
        let fault = if located { convert::fault_from_compilation(scope) } else { convert::fault_from_caught(scope) };
        return Err(fault.unwrap_or(Fault::Stopped));
    }
    scope.perform_microtask_checkpoint();
    // Calls of hosts have no part in it.
    let _ = engine::take_terminated_microtask(scope);
    if scope.has_terminated() { Err(Fault::Stopped) } else { Ok(()) }
}

/// Like [`open`], but returns an immutable copy, which does not depend on the value that the surface passed.
pub fn keep(value: Value, settings: &Settings, memory_limit: usize) -> Outcome {
    open(value, settings, memory_limit)?.map_or(Ok(Value::Undefined), |snapshot| {
        let payload = Payload::buffer(Arc::clone(snapshot.sealed()));
        Ok(Value::Handle(Handle::ExternalCopy(ExternalCopy::new(Value::Payload(Box::new(payload))))))
    })
}

/// The snapshot that the surface passed for a new isolate with this heap limit; `None` for `undefined`.
pub fn open(value: Value, settings: &Settings, memory_limit: usize) -> Result<Option<Snapshot>, Fault> {
    if matches!(value, Value::Undefined) {
        return Ok(None);
    }
    let wrong = |message| Fault::coded(ErrorClass::TypeError, message, Code::InvalidArgument);
    let sealed = cache::buffer_of(value).ok_or_else(|| wrong(message::NOT_A_SNAPSHOT))?;
    let snapshot = (settings.engine)()?
        .open_snapshot(sealed)
        .ok_or_else(|| wrong("`snapshot` was not made by this version of isolated-v8, or is damaged"))?;
    let size = snapshot.size();
    if size.heap > memory_limit || size.buffers > memory_limit {
        let message = "The snapshot takes more memory than `memoryLimit` allows";
        return Err(Fault::coded(ErrorClass::Error, message, Code::Memory));
    }
    Ok(Some(snapshot))
}

//! Compiles and evaluates modules.

use std::rc::Rc;
use std::sync::Arc;

use super::args::malformed;
use super::compilation::Compilation;
use super::compiling::Form;
use super::{Args, Prepared, Transfer, transfer_out};
use crate::convert;
use crate::isolate::{CompiledModule, Guest, GuestRealm, Limits, Remote, SlotValue, Unit, async_context};
use crate::value::{
    Callable, Code, ErrorClass, Fault, Handle, ModuleHandle, ModuleRequest, Outcome, Reference, Text, TypeOf, Value,
};

pub fn module_of(target: Option<Value>) -> Result<Arc<ModuleHandle>, Fault> {
    match target {
        Some(Value::Handle(Handle::Module(module))) => Ok(module),
        _ => Err(malformed()),
    }
}

pub fn remote_of(module: &ModuleHandle) -> Result<Arc<Remote>, Fault> {
    Remote::from_owner(module.slot.owner()).ok_or_else(malformed)
}

/// An error for a mistake of the caller.
pub fn misuse(message: &str) -> Fault {
    Fault::coded(ErrorClass::Error, message, Code::InvalidArgument)
}

pub fn compile(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let (remote, compilation) = Compilation::read(target, &mut args, true)?;
    let meta = args.optional_function()?;
    Ok(Prepared::Enter {
        remote,
        limits: Limits::standard(),
        work: Guest::work(move |scope, guest| {
            let realm = guest.utility_realm(scope)?;
            let context = v8::Local::new(scope, &realm.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            let imports = calls_import(&compilation.code);
            let number = guest.modules.next_number();
            let options = imports.then(|| numbered(scope, number));
            let (module, cache_rejected) = compile_source(scope, &compilation, options)?;
            let cache = compilation.cache(cache_rejected, || {
                let script = module.get_unbound_module_script(scope);
                script.create_code_cache()
            });
            let requests = requests_of(scope, module)?;
            let meta = meta.map(|meta| own_function(scope, guest, &meta)).transpose()?;
            let has_meta = meta.is_some();
            let compiled = CompiledModule {
                module: v8::Global::new(scope, module),
                number,
                realm: None.into(),
                meta,
                cache_rejected,
                cache,
                imports: Vec::new().into(),
                evaluation: None.into(),
                begun_by: None.into(),
                cut_off: false.into(),
            };
            let slot = guest.new_slot(SlotValue::Module(Rc::new(compiled)))?;
            if has_meta {
                let is_module = |index| {
                    guest.read_slot_at(index, |value| matches!(value, SlotValue::Module(_)).then_some(())).is_some()
                };
                guest.modules.add_meta(module.get_identity_hash(), slot.index(), is_module);
            }
            Ok(Value::Handle(Handle::Module(ModuleHandle::new(slot, requests, imports))))
        }),
    })
}

/// The value that V8 passes along when the code calls `import()`.
pub fn numbered<'s>(scope: &mut v8::PinScope<'s, '_>, number: u32) -> v8::Local<'s, v8::Data> {
    let options = v8::PrimitiveArray::new(scope, 1);
    let number = v8::Number::new(scope, f64::from(number));
    options.set(scope, 0, number.into());
    options.into()
}

fn compile_source<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    compilation: &Compilation,
    options: Option<v8::Local<'s, v8::Data>>,
) -> Result<(v8::Local<'s, v8::Module>, Option<bool>), Fault> {
    use v8::script_compiler::{NoCacheReason, compile_module2};
    let origin = compilation.origin.to_v8_module(scope, options)?;
    let compiling = compilation.begin(scope, Form::Module);
    let (mut source, how) = compilation.source(scope, &origin, &compiling)?;
    v8::tc_scope!(let scope, scope);
    let module = compile_module2(scope, &mut source, how, NoCacheReason::NoReason)
        .ok_or_else(|| convert::fault_from_compilation(scope).unwrap_or(Fault::Stopped))?;
    compiling.end(scope, &source, |scope| Unit::of_module(scope, module));
    Ok((module, compilation.cache_rejected(&source)))
}

/// A function of this same isolate.
fn own_function(
    scope: &mut v8::PinScope<'_, '_>,
    guest: &Guest,
    callable: &Callable,
) -> Result<v8::Global<v8::Function>, Fault> {
    let refused = || misuse("`meta` callback must belong to entered isolate");
    if !guest.owns(&callable.slot) {
        return Err(refused());
    }
    let function = guest.read_slot(&callable.slot, |value| match value {
        SlotValue::Value(_, value) => v8::Local::<v8::Function>::try_from(v8::Local::new(scope, value)).ok(),
        _ => None,
    });
    Ok(v8::Global::new(scope, function.ok_or_else(refused)?))
}

fn requests_of(
    scope: &mut v8::PinScope<'_, '_>,
    module: v8::Local<'_, v8::Module>,
) -> Result<Vec<ModuleRequest>, Fault> {
    let list = module.get_module_requests();
    if list.length() > MAX_REQUESTS {
        return Err(Fault::beyond(&format!("Module has more than {MAX_REQUESTS} imports")));
    }
    let mut requests = Vec::with_capacity(list.length());
    for index in 0..list.length() {
        let request = list.get(scope, index).and_then(|data| v8::Local::<v8::ModuleRequest>::try_from(data).ok());
        let request = request.ok_or_else(malformed)?;
        if request.get_phase() == v8::ModuleImportPhase::kSource {
            let message = "Source phase imports are not supported";
            return Err(Fault::coded(ErrorClass::SyntaxError, message, Code::Unsupported));
        }
        let specifier = convert::text_from_v8(scope, request.get_specifier(), MAX_SPECIFIER)?;
        // Each attribute consists of a key, a value and a position.
        let attributes = attributes_of(scope, request.get_import_attributes(), 3)?;
        requests.push(ModuleRequest { specifier, attributes });
    }
    Ok(requests)
}

/// Maximum number of modules that one module may import directly. V8 makes the list of them in one piece.
const MAX_REQUESTS: usize = 100_000;

/// Maximum size in bytes of a specifier or an attribute.
pub const MAX_SPECIFIER: usize = 64 << 20;

/// Import attributes. V8 provides `stride` items for each.
pub fn attributes_of(
    scope: &mut v8::PinScope<'_, '_>,
    list: v8::Local<'_, v8::FixedArray>,
    stride: usize,
) -> Result<Vec<(Text, Text)>, Fault> {
    let text = |scope: &mut v8::PinScope<'_, '_>, index| {
        let value = list.get(scope, index).and_then(|data| v8::Local::<v8::Value>::try_from(data).ok());
        let string = value.and_then(|value| v8::Local::<v8::String>::try_from(value).ok());
        string.map_or_else(|| Ok(Text::from("")), |string| convert::text_from_v8(scope, string, MAX_SPECIFIER))
    };
    (0..list.length()).step_by(stride).map(|index| Ok((text(scope, index)?, text(scope, index + 1)?))).collect()
}

/// Whether the code may call `import()`; only then is its resolver kept for later. Also true if `import(` occurs in a string or a comment,
/// or if a comment follows the word. Reads each character once or twice.
fn calls_import(code: &Text) -> bool {
    match code {
        Text::Latin1(bytes) => calls_import_in(bytes, |byte| u16::from(*byte)),
        Text::Utf16(units) => calls_import_in(units, |unit| *unit),
    }
}

fn calls_import_in<T>(code: &[T], unit: impl Fn(&T) -> u16) -> bool {
    const WORD: &[u8] = b"import";
    let is = |rest: &[T], byte: u8| rest.first().is_some_and(|first| unit(first) == u16::from(byte));
    let mut rest = code;
    while let Some((_, after_first)) = rest.split_first() {
        let is_word = rest.len() > WORD.len() && WORD.iter().zip(rest).all(|(byte, at)| unit(at) == u16::from(*byte));
        if !is_word {
            rest = after_first;
            continue;
        }
        rest = &rest[WORD.len()..];
        // A non-ASCII character here is a space, or part of another word.
        let spaces = rest.iter().take_while(|at| unit(at) <= 0x20 || unit(at) > 0x7f).count();
        rest = &rest[spaces..];
        if is(rest, b'(') || is(rest, b'/') {
            return true;
        }
    }
    false
}

pub fn requests(target: Option<Value>) -> Result<Prepared, Fault> {
    let module = module_of(target)?;
    let specifiers = module.requests.iter().map(|request| Value::String(request.specifier.clone()));
    Ok(Prepared::Done(Ok(Value::List(specifiers.collect()))))
}

pub fn namespace(target: Option<Value>) -> Result<Prepared, Fault> {
    let namespace = module_of(target)?.namespace();
    let namespace = namespace.ok_or_else(|| misuse("Module has not been instantiated."))?;
    Ok(Prepared::Done(Ok(Value::Handle(Handle::Reference(namespace)))))
}

pub fn prepare_evaluation(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let module = module_of(target)?;
    let remote = remote_of(&module)?;
    let transfer = Transfer::from_number(args.number()?);
    let limits = args.limits()?;
    Ok(Prepared::Enter {
        remote,
        limits,
        work: Guest::work(move |scope, guest| {
            let found = guest.read_slot(&module.slot, |value| match value {
                SlotValue::Module(compiled) => Some(Rc::clone(compiled)),
                _ => None,
            });
            let compiled = found.ok_or_else(malformed)?;
            let realm = compiled.realm.borrow().clone().ok_or_else(|| misuse("Module is uninstantiated"))?;
            let context = v8::Local::new(scope, &realm.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            let at = GuestRealm { guest: Rc::clone(guest), realm };
            let request = guest.request();
            let promise = async_context::within(scope, request, |scope| evaluate_compiled(scope, guest, &compiled))?;
            if module.namespace().is_none() {
                let namespace = v8::Local::new(scope, &compiled.module).get_module_namespace();
                let value = SlotValue::Value(Arc::clone(&at.realm), v8::Global::new(scope, namespace));
                module.set_namespace(Arc::new(Reference {
                    slot: guest.new_slot(value)?,
                    type_of: TypeOf::Object,
                    accessors: true,
                    inherit: false,
                }));
            }
            // What continues with the end of the evaluation belongs to the call, too.
            async_context::within(scope, request, |scope| finish(scope, &at, promise, transfer))
        }),
    })
}

/// The result of an evaluation for the caller: nothing, a promise for its end, or the error that was thrown at once.
fn finish<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    promise: v8::Local<'s, v8::Promise>,
    transfer: Transfer,
) -> Outcome {
    if transfer.0 & Transfer::PROMISE != 0 {
        return transfer_out(scope, at, promise.into(), transfer);
    }
    if promise.state() != v8::PromiseState::Rejected {
        return Ok(Value::Undefined);
    }
    let reason = promise.result(scope);
    handle(scope, promise);
    Err(convert::fault_from_exception(scope, reason))
}

/// The error of the promise is reported, so it is no unhandled rejection.
fn handle(scope: &mut v8::PinScope<'_, '_>, promise: v8::Local<'_, v8::Promise>) {
    if let Some(noop) = v8::Function::new(
        scope,
        |_: &mut v8::PinScope<'_, '_>, _: v8::FunctionCallbackArguments<'_>, _: v8::ReturnValue<'_, v8::Value>| {},
    ) {
        let _ = promise.catch(scope, noop);
    }
}

/// Evaluates an instantiated module in the current context. The promise is rejected if a limit stops the evaluation.
pub fn evaluate_compiled<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    guest: &Guest,
    compiled: &Rc<CompiledModule>,
) -> Result<v8::Local<'s, v8::Promise>, Fault> {
    async_context::within_evaluation(
        scope,
        || guest.modules.next_evaluation(),
        |scope| evaluate_within(scope, guest, compiled),
    )
}

fn evaluate_within<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    guest: &Guest,
    compiled: &Rc<CompiledModule>,
) -> Result<v8::Local<'s, v8::Promise>, Fault> {
    let module = v8::Local::new(scope, &compiled.module);
    let promise = evaluate(scope, module).inspect_err(|fault| {
        if matches!(fault, Fault::Stopped) {
            guest.modules.note_cut_off(scope, compiled);
        }
    })?;
    if promise.state() == v8::PromiseState::Rejected
        && promise.result(scope).is_null()
        && guest.modules.waits_for_stopped(scope, compiled)
    {
        handle(scope, promise);
        return Err(Fault::module_stopped());
    }
    if promise.state() != v8::PromiseState::Pending {
        return Ok(promise);
    }
    if let Some(evaluation) = &*compiled.evaluation.borrow() {
        return evaluation.promise(scope);
    }
    if guest.modules.waits_for_stopped(scope, compiled) {
        return Err(Fault::module_stopped());
    }
    guest.modules.follow(scope, compiled, promise)?.promise(scope)
}

/// Evaluates an instantiated module in the current context. A second call returns the same promise.
pub fn evaluate<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    module: v8::Local<'s, v8::Module>,
) -> Result<v8::Local<'s, v8::Promise>, Fault> {
    use v8::ModuleStatus::{Errored, Evaluating, Instantiating, Uninstantiated};
    // V8 ends the process if this is called in a wrong state.
    match module.get_status() {
        Uninstantiated | Instantiating => return Err(misuse("Module is uninstantiated")),
        Evaluating => return Err(misuse("Module is being evaluated")),
        _ => {}
    }
    v8::tc_scope!(let scope, scope);
    let Some(value) = module.evaluate(scope) else {
        return Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped));
    };
    let promise = v8::Local::<v8::Promise>::try_from(value).map_err(|_| malformed())?;
    if module.get_status() == Errored && promise.state() == v8::PromiseState::Pending {
        // A limit or the end of the isolate has stopped it. V8 never settles the promise of such a module.
        return Err(Fault::module_stopped());
    }
    Ok(promise)
}

#[cfg(test)]
mod tests {
    use super::calls_import;
    use crate::value::Text;

    #[test]
    fn finds_import_calls() {
        for code in [
            "import('a')",
            "await import ( x )",
            "/* ü */ import/* ( */ // (\n (x)",
            "importimport\u{2028}(1)",
            "ā import(1)",
            "import /* (",
            "import //(",
        ] {
            assert!(calls_import(&Text::from(code)), "{code}");
        }
        for code in ["", "import", "import 'a'", "import.meta", "impor(t)", "import a from 'a'; (1)"] {
            assert!(!calls_import(&Text::from(code)), "{code}");
        }
    }
}

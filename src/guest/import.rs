//! Handles requests of running modules: `import()` and `import.meta`.

use std::rc::Rc;
use std::sync::Arc;

use super::outgoing;
use crate::convert;
use crate::isolate::{Guest, GuestRealm, SlotValue};
use crate::ops;
use crate::value::{
    Callable, Code, Completion, ContextHandle, ErrorClass, Fault, Handle, Outcome, Reference, Text, TypeOf, Value,
};

/// Makes V8 call the functions of this module.
pub fn install(isolate: &mut v8::Isolate) {
    isolate.set_host_import_module_dynamically_callback(import);
    isolate.set_host_initialize_import_meta_object_callback(initialize_meta);
}

/// Called when `import.meta` is read for the first time.
unsafe extern "C" fn initialize_meta(
    context: v8::Local<'_, v8::Context>,
    module: v8::Local<'_, v8::Module>,
    meta: v8::Local<'_, v8::Object>,
) {
    // SAFETY: V8 calls this on the isolate's thread, between two instructions of the module.
    v8::callback_scope!(unsafe let scope, context);
    let Ok(guest) = Guest::of(scope) else { return };
    let slots = guest.modules.metas(module.get_identity_hash());
    let fill = slots.iter().find_map(|slot| guest.read_slot_at(*slot, |value| value.meta_of(scope, module)));
    if let Some(fill) = fill {
        let receiver = v8::undefined(scope).into();
        let meta = v8::Local::new(scope, meta).into();
        // An exception of the callback is thrown where `import.meta` is read.
        let _ = fill.call(scope, receiver, &[meta]);
    }
}

/// Called when code calls `import()`.
fn import<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    options: v8::Local<'s, v8::Data>,
    resource_name: v8::Local<'s, v8::Value>,
    specifier: v8::Local<'s, v8::String>,
    attributes: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    let _lifted = convert::cap::lift();
    let at = GuestRealm::current(scope).ok()?;
    let resolver = v8::PromiseResolver::new(scope)?;
    let loader = match number_of(scope, options).and_then(|number| at.realm.loaders.get(number)) {
        Some(loader) => Some((loader.load, Value::Number(f64::from(loader.index)))),
        None => importer_of(scope, &at, resource_name),
    };
    let requested = convert::text_from_v8(scope, specifier, ops::MAX_SPECIFIER)
        .and_then(|specifier| Ok((specifier, ops::attributes_of(scope, attributes, 2)?)))
        .and_then(|(specifier, attributes)| request(scope, &at, resolver, loader, specifier, attributes));
    if let Err(fault) = requested {
        reject(scope, &at, resolver, &fault);
    }
    Some(resolver.get_promise(scope))
}

/// The function that loads what a script imports, and the name of the script's file.
fn importer_of(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    resource_name: v8::Local<'_, v8::Value>,
) -> Option<(Arc<Callable>, Value)> {
    let importer = at.guest.remote().ok()?.settings.importer.clone()?;
    let name = v8::Local::<v8::String>::try_from(resource_name).ok();
    Some((importer, name.map_or(Value::Undefined, |name| Value::String(convert::beginning(scope, name, MAX_FILENAME)))))
}

/// The maximum number of characters of a file's name that an importer gets.
const MAX_FILENAME: usize = 10_000;

/// The number of the module that contains the calling code.
pub fn number_of(scope: &mut v8::PinScope<'_, '_>, options: v8::Local<'_, v8::Data>) -> Option<u32> {
    let options = v8::Local::<v8::FixedArray>::try_from(options).ok()?;
    let number = v8::Local::<v8::Value>::try_from(options.get(scope, 0)?).ok()?;
    Some(v8::Local::<v8::Number>::try_from(number).ok()?.value() as u32)
}

/// Asks the loader that resolved the module's own imports, or that of the isolate's scripts; `resolver` settles later. A loader comes with what
/// tells it where the import is.
fn request(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    resolver: v8::Local<'_, v8::PromiseResolver>,
    loader: Option<(Arc<Callable>, Value)>,
    specifier: Text,
    attributes: Vec<(Text, Text)>,
) -> Result<(), Fault> {
    at.guest.check_stopping()?;
    let (load, place) = loader.ok_or_else(|| Fault::coded(ErrorClass::Error, "Not supported", Code::Unsupported))?;
    ops::check_attributes(&attributes, ErrorClass::TypeError)?;
    let mut args = vec![context_of(scope, at)?, place, Value::String(specifier)];
    args.extend(attributes.into_iter().flat_map(|(key, value)| [Value::String(key), Value::String(value)]));
    let bytes = args.iter().map(Value::byte_size).sum();
    let resolver = v8::Global::new(scope, resolver);
    let completion = outgoing::later(scope, at, false, move |scope, at, outcome| {
        let importer = v8::Local::new(scope, &resolver);
        match arrive(scope, at, importer, outcome) {
            Ok(()) => {}
            // A limit has stopped the module. The importer is notified in a new task, which has time again.
            Err(Fault::Stopped) => {
                let notify = move |scope: &mut v8::PinScope<'_, '_>, at: &GuestRealm, _outcome| {
                    let importer = v8::Local::new(scope, &resolver);
                    reject(scope, at, importer, &Fault::module_stopped());
                };
                if let Ok(later) = outgoing::later(scope, at, false, notify) {
                    later.complete(Ok(Value::Undefined));
                }
            }
            Err(fault) => reject(scope, at, importer, &fault),
        }
    })?;
    let prepared = ops::call_callable(&load, args)?.within(at.guest.limits());
    outgoing::start(scope, at, prepared, bytes, Arc::new(Awaited(completion)))
}

/// Rejects the promise of `import()`.
pub fn reject(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    resolver: v8::Local<'_, v8::PromiseResolver>,
    fault: &Fault,
) {
    let exception = convert::exception_from_fault(scope, fault, |scope, value| convert::to_v8(scope, at, value).ok());
    // A promise that cannot be settled belongs to an isolate that is being stopped.
    let _ = exception.and_then(|exception| resolver.reject(scope, exception));
}

/// A handle to the current context, for the code that instantiates the imported module.
fn context_of(scope: &mut v8::PinScope<'_, '_>, at: &GuestRealm) -> Result<Value, Fault> {
    let global: v8::Local<v8::Value> = scope.get_current_context().global(scope).into();
    let global = v8::Global::new(scope, global);
    let global = Arc::new(Reference {
        slot: at.guest.new_slot(SlotValue::Value(Arc::clone(&at.realm), global))?,
        type_of: TypeOf::Object,
        accessors: false,
        inherit: false,
    });
    let slot = at.guest.new_slot(SlotValue::Context(Arc::clone(&at.realm)))?;
    Ok(Value::Handle(Handle::Context(Arc::new(ContextHandle { slot, global }))))
}

/// Forwards an outcome. If it is a promise, forwards what that settles with.
struct Awaited(Arc<dyn Completion>);

impl Completion for Awaited {
    fn complete(&self, outcome: Outcome) {
        match outcome {
            Ok(Value::Promise(settlement)) => {
                let completion = Arc::clone(&self.0);
                settlement.subscribe(None, Box::new(move |outcome| completion.complete(outcome)));
            }
            outcome => self.0.complete(outcome),
        }
    }

    fn recipient(&self) -> Option<Arc<dyn crate::value::Owner>> {
        self.0.recipient()
    }
}

/// Evaluates the loaded and instantiated module. `resolver` settles with its namespace afterwards.
fn arrive(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    resolver: v8::Local<'_, v8::PromiseResolver>,
    outcome: Outcome,
) -> Result<(), Fault> {
    let Value::Handle(Handle::Module(module)) = outcome? else {
        return Err(ops::malformed());
    };
    if !at.guest.owns(&module.slot) {
        return Err(ops::malformed());
    }
    let compiled = at.guest.read_slot(&module.slot, |value| match value {
        SlotValue::Module(compiled) => Some(Rc::clone(compiled)),
        _ => None,
    });
    let compiled = compiled.ok_or_else(ops::malformed)?;
    let evaluated = ops::evaluate_compiled(scope, &at.guest, &compiled)?;
    let module = v8::Local::new(scope, &compiled.module);
    settle_after(scope, resolver, module, evaluated)
}

/// Evaluates an instantiated module. `resolver` settles with its namespace afterwards.
pub fn evaluate_for<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    resolver: v8::Local<'_, v8::PromiseResolver>,
    module: v8::Local<'s, v8::Module>,
) -> Result<(), Fault> {
    let evaluated = ops::evaluate(scope, module)?;
    settle_after(scope, resolver, module, evaluated)
}

/// Settles `resolver` with the module's namespace when `evaluated`, the promise of its evaluation, is fulfilled.
fn settle_after<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    resolver: v8::Local<'_, v8::PromiseResolver>,
    module: v8::Local<'s, v8::Module>,
    evaluated: v8::Local<'s, v8::Promise>,
) -> Result<(), Fault> {
    let namespace = module.get_module_namespace();
    // Does not resolve with a promise, because that would look up a `then` that guest code may have replaced.
    if evaluated.state() == v8::PromiseState::Fulfilled {
        return resolver.resolve(scope, namespace).map(drop).ok_or(Fault::Stopped);
    }
    let resolver = v8::Local::new(scope, resolver);
    let both = importer_data(scope, resolver, namespace);
    let done = v8::Function::builder(on_evaluated).data(both).build(scope).ok_or(Fault::Stopped)?;
    let failed = v8::Function::builder(on_failed).data(both).build(scope).ok_or(Fault::Stopped)?;
    evaluated.then2(scope, done, failed).map(drop).ok_or(Fault::Stopped)
}

fn on_evaluated<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    if let Some((resolver, namespace)) = importer(scope, &args) {
        let _ = resolver.resolve(scope, namespace);
    }
}

fn on_failed<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    if let Some((resolver, _)) = importer(scope, &args) {
        let _ = resolver.reject(scope, args.get(0));
    }
}

/// The data of a callback that settles the importer's promise: its resolver, and another value, such as the module's namespace. Guest code
/// has no access to it.
pub fn importer_data<'s>(
    scope: &v8::PinScope<'s, '_>,
    resolver: v8::Local<'s, v8::PromiseResolver>,
    value: v8::Local<'s, v8::Value>,
) -> v8::Local<'s, v8::Value> {
    v8::Array::new_with_elements(scope, &[resolver.into(), value]).into()
}

/// The parts of [`importer_data`].
pub fn importer<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: &v8::FunctionCallbackArguments<'s>,
) -> Option<(v8::Local<'s, v8::PromiseResolver>, v8::Local<'s, v8::Value>)> {
    let both = v8::Local::<v8::Array>::try_from(args.data()).ok()?;
    let resolver = convert::resolver_from(both.get_index(scope, 0)?)?;
    Some((resolver, both.get_index(scope, 1)?))
}

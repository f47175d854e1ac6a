//! What modules ask for while they run: `import()` and `import.meta`.

use std::sync::Arc;

use super::outgoing;
use crate::convert;
use crate::isolate::{Guest, Held, Loader, Place, meta_of};
use crate::ops;
use crate::value::{Answer, Code, ContextHandle, ErrorClass, Fault, Handle, Outcome, Reference, Text, TypeOf, Value};

/// Makes V8 ask here.
pub fn install(isolate: &mut v8::Isolate) {
    isolate.set_host_import_module_dynamically_callback(import);
    isolate.set_host_initialize_import_meta_object_callback(initialize_meta);
}

/// `import.meta` is read for the first time.
unsafe extern "C" fn initialize_meta(
    context: v8::Local<'_, v8::Context>,
    module: v8::Local<'_, v8::Module>,
    meta: v8::Local<'_, v8::Object>,
) {
    // SAFETY: V8 calls this on the isolate's thread, between two instructions of the module.
    v8::callback_scope!(unsafe let scope, context);
    let Ok(guest) = Guest::of(scope) else { return };
    let slots = guest.modules.metas(module.get_identity_hash());
    let fill = slots.iter().find_map(|slot| guest.peek(*slot, |held| meta_of(scope, held, module)));
    if let Some(fill) = fill {
        let receiver = v8::undefined(scope).into();
        let meta = v8::Local::new(scope, meta).into();
        // What it throws is thrown where `import.meta` stands.
        let _ = fill.call(scope, receiver, &[meta]);
    }
}

/// Code calls `import()`.
fn import<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    options: v8::Local<'s, v8::Data>,
    _resource_name: v8::Local<'s, v8::Value>,
    specifier: v8::Local<'s, v8::String>,
    attributes: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    let at = Place::current(scope).ok()?;
    let resolver = v8::PromiseResolver::new(scope)?;
    let specifier = convert::text_from_v8(scope, specifier);
    let attributes = ops::attributes_of(scope, attributes, 2);
    let loader = number_of(scope, options).and_then(|number| at.realm.loaders.get(number));
    if let Err(fault) = request(scope, &at, resolver, loader, specifier, attributes) {
        let exception =
            convert::exception_from_fault(scope, &fault, |scope, value| convert::to_v8(scope, &at, value).ok())?;
        resolver.reject(scope, exception)?;
    }
    Some(resolver.get_promise(scope))
}

/// The number of the module whose code it is.
fn number_of(scope: &mut v8::PinScope<'_, '_>, options: v8::Local<'_, v8::Data>) -> Option<u32> {
    let options = v8::Local::<v8::FixedArray>::try_from(options).ok()?;
    let number = v8::Local::<v8::Value>::try_from(options.get(scope, 0)?).ok()?;
    Some(v8::Local::<v8::Number>::try_from(number).ok()?.value() as u32)
}

/// Asks whoever resolved the module's own imports; `resolver` hears of it later.
fn request(
    scope: &mut v8::PinScope<'_, '_>,
    at: &Place,
    resolver: v8::Local<'_, v8::PromiseResolver>,
    loader: Option<Loader>,
    specifier: Text,
    attributes: Vec<(Text, Text)>,
) -> Result<(), Fault> {
    at.guest.check_stopping()?;
    let loader = loader.ok_or_else(|| Fault::coded(ErrorClass::Error, "Not supported", Code::Unsupported))?;
    ops::check_attributes(&attributes)?;
    let mut args = vec![context_of(scope, at)?, Value::Number(f64::from(loader.index)), Value::String(specifier)];
    args.extend(attributes.into_iter().flat_map(|(key, value)| [Value::String(key), Value::String(value)]));
    let bytes = args.iter().map(Value::byte_size).sum();
    let resolver = v8::Global::new(scope, resolver);
    let answer = outgoing::later(at, bytes, move |scope, at, outcome| {
        let resolver = v8::Local::new(scope, &resolver);
        // A promise that cannot be settled belongs to an isolate that is being stopped.
        let _ = match arrive(scope, at, outcome) {
            Ok(namespace) => resolver.resolve(scope, namespace),
            Err(fault) => {
                convert::exception_from_fault(scope, &fault, |scope, value| convert::to_v8(scope, at, value).ok())
                    .and_then(|exception| resolver.reject(scope, exception))
            }
        };
    })?;
    let prepared = ops::call_callable(&loader.load, args)?;
    outgoing::start(scope, at, prepared, Arc::new(Awaited(answer)))
}

/// A handle on the current context, for whoever instantiates what is imported.
fn context_of(scope: &mut v8::PinScope<'_, '_>, at: &Place) -> Result<Value, Fault> {
    let global: v8::Local<v8::Value> = scope.get_current_context().global(scope).into();
    let global = v8::Global::new(scope, global);
    let global = Arc::new(Reference {
        slot: at.guest.hold(Held::Value(Arc::clone(&at.realm), global))?,
        type_of: TypeOf::Object,
        accessors: false,
        inherit: false,
    });
    let slot = at.guest.hold(Held::Context(Arc::clone(&at.realm)))?;
    Ok(Value::Handle(Handle::Context(Arc::new(ContextHandle { slot, global }))))
}

/// Passes on what the promise that comes settles to.
struct Awaited(Arc<dyn Answer>);

impl Answer for Awaited {
    fn answer(&self, outcome: Outcome) {
        match outcome {
            Ok(Value::Promise(settlement)) => {
                let answer = Arc::clone(&self.0);
                settlement.subscribe(None, Box::new(move |outcome| answer.answer(outcome)));
            }
            outcome => self.0.answer(outcome),
        }
    }

    fn recipient(&self) -> Option<Arc<dyn crate::value::Owner>> {
        self.0.recipient()
    }
}

/// The module has come and is instantiated: evaluates it. The result settles with its namespace.
fn arrive<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &Place,
    outcome: Outcome,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let Value::Handle(Handle::Module(module)) = outcome? else {
        return Err(ops::malformed());
    };
    if !at.guest.owns(&module.slot) {
        return Err(ops::malformed());
    }
    let module = at.guest.held(&module.slot, |held| match held {
        Held::Module(compiled) => Some(v8::Local::new(scope, &compiled.module)),
        _ => None,
    });
    let module = module.ok_or_else(ops::malformed)?;
    let evaluated = ops::evaluate(scope, module)?;
    let give = v8::Function::builder(give).data(module.get_module_namespace()).build(scope).ok_or(Fault::Stopped)?;
    evaluated.then(scope, give).map(Into::into).ok_or(Fault::Stopped)
}

fn give<'s>(
    _scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    result.set(args.data());
}

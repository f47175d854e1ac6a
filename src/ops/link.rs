//! Instantiates modules. The first caller to link a module resolves everything that it imports, on its own side. A linker records what was
//! found, and keeps other callers away from these modules. Then V8 links them in one step, without any further requests.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use super::args::malformed;
use super::module::{MAX_SPECIFIER, attributes_of, misuse, module_of, remote_of};
use super::{Args, Prepared, work_in_realm};
use crate::convert;
use crate::isolate::{Guest, GuestRealm, Limits, Loader, Remote, Resolutions, SlotValue, Stop};
use crate::native::{Guard, lock};
use crate::value::{
    Callable, Code, Completion, ErrorClass, Fault, Handle, ModuleHandle, ModuleRequest, Outcome, Settlement, Text,
    Value,
};

/// A module that a linker has claimed, and what was found for each of its requests.
struct Claim {
    module: Arc<ModuleHandle>,
    found: Vec<Option<Arc<ModuleHandle>>>,
}

/// Modules that are being instantiated. Dropping it cancels the instantiation.
struct Linker {
    number: u64,
    root: Arc<ModuleHandle>,
    remote: Weak<Remote>,
    claims: Mutex<Vec<Claim>>,
    /// The isolate's number for the completion that is answered if the isolate ends meanwhile.
    watch: Mutex<Option<usize>>,
}

static LINKERS: AtomicU64 = AtomicU64::new(1);

impl Linker {
    fn claims(&self) -> Guard<'_, Vec<Claim>> {
        lock(&self.claims)
    }

    /// Releases the modules.
    fn end(&self, linked: bool) {
        for claim in std::mem::take(&mut *self.claims()) {
            claim.module.unclaim(self.number, linked);
        }
        let watch = lock(&self.watch).take();
        if let (Some(id), Some(remote)) = (watch, self.remote.upgrade())
            && let Some((completion, _)) = remote.promises.take(id)
        {
            completion.complete(Ok(Value::Undefined));
        }
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        self.end(false);
    }
}

fn linker_of(target: Option<Value>) -> Result<Arc<Linker>, Fault> {
    match target {
        Some(Value::Handle(Handle::Linker(linker))) => linker.downcast::<Linker>().map_err(|_| malformed()),
        _ => Err(malformed()),
    }
}

/// The error for a call of an isolate that is ending.
fn ended(remote: &Remote, sync: bool) -> Fault {
    match remote.stop_reason() {
        None | Some(Stop::Disposed) => Fault::disposed(sync),
        Some(reason) => reason.fault(),
    }
}

pub fn begin(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let root = module_of(target)?;
    let remote = remote_of(&root)?;
    let sync = args.boolean();
    if remote.is_disposed() {
        return Err(ended(&remote, sync));
    }
    let linker = Arc::new(Linker {
        number: LINKERS.fetch_add(1, Ordering::Relaxed),
        root,
        remote: Arc::downgrade(&remote),
        claims: Mutex::default(),
        watch: Mutex::default(),
    });
    Ok(Prepared::Done(Ok(Value::Handle(Handle::Linker(linker)))))
}

/// A promise that is rejected when the isolate ends before the linker does.
pub fn watch(target: Option<Value>) -> Result<Prepared, Fault> {
    /// Reports why the isolate is ending, not that a promise was abandoned.
    struct Ended(Arc<Settlement>, Weak<Remote>);
    impl Completion for Ended {
        fn complete(&self, outcome: Outcome) {
            let reason = |fault| self.1.upgrade().map_or(fault, |remote| ended(&remote, false));
            self.0.complete(outcome.map_err(reason));
        }
    }
    let linker = linker_of(target)?;
    let remote = linker.remote.upgrade().ok_or_else(|| Fault::disposed(false))?;
    let settlement = Arc::new(Settlement::default());
    let completion: Arc<dyn Completion> = Arc::new(Ended(Arc::clone(&settlement), Weak::clone(&linker.remote)));
    let id = remote.promises.insert(completion, 0, 0, None);
    *lock(&linker.watch) = Some(id);
    // The isolate may have ended before the completion was registered.
    if remote.is_disposed()
        && let Some((completion, _)) = remote.promises.take(id)
    {
        completion.complete(Err(Fault::disposed(false)));
    }
    Ok(Prepared::Done(Ok(Value::Promise(settlement))))
}

/// The attribute that resolvers receive. Any other is an error, as the language requires.
const TYPE: &str = "type";

/// `class` is the error class that the language defines for the kind of import.
pub fn check_attributes(attributes: &[(Text, Text)], class: ErrorClass) -> Result<(), Fault> {
    match attributes.iter().find(|(key, _)| *key != Text::from(TYPE)) {
        None => Ok(()),
        Some((key, _)) => {
            let message = format!("Import attribute \"{key}\" is not supported");
            Err(Fault::coded(class, &message, Code::Unsupported))
        }
    }
}

/// Most requests of a module that a caller gets at a time. A host reads them in one piece, and code may import a module again and again that cannot
/// be linked.
const MAX_LISTED: usize = 256;

/// The next requests of a module, from the one at `first` on: `[specifier, key, value, …]` each.
fn listed(module: &ModuleHandle, first: usize) -> impl Iterator<Item = Value> {
    module.requests.iter().skip(first).take(MAX_LISTED).map(|request| {
        let attributes = request.attributes.iter().flat_map(|(key, value)| [key, value]);
        let texts = std::iter::once(&request.specifier).chain(attributes);
        Value::List(texts.map(|text| Value::String(text.clone())).collect())
    })
}

/// The next requests of a module that the linker has claimed, see [`link`].
pub fn requests(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let linker = linker_of(target)?;
    let (index, first) = (args.number()?, args.number()?);
    let module = linker.claims().get(index as usize).map(|claim| Arc::clone(&claim.module)).ok_or_else(malformed)?;
    Ok(Prepared::Done(Ok(Value::List(listed(&module, first as usize).collect()))))
}

/// Records that `referrer` gets `module` for one of its requests; the root module has no referrer. Unless the module is already known,
/// returns how many requests it has, and the first ones: `[index, imports, isolate, count, [specifier, key, value, …], …]`.
pub fn link(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let linker = linker_of(target)?;
    let (referrer, request) = (args.number()?, args.number()?);
    let module = module_of(Some(args.value()))?;
    if module.slot.owner().id() != linker.root.slot.owner().id() {
        let message = "Resolved dependency belongs to another isolate";
        return Err(Fault::coded(ErrorClass::TypeError, message, Code::InvalidArgument));
    }
    let mut claims = linker.claims();
    if referrer >= 0.0 {
        let claim = claims.get_mut(referrer as usize).ok_or_else(malformed)?;
        *claim.found.get_mut(request as usize).ok_or_else(malformed)? = Some(Arc::clone(&module));
    }
    if !module.claim(linker.number)? {
        return Ok(Prepared::Done(Ok(Value::Undefined)));
    }
    let isolate = module.slot.owner().id() as f64;
    let (index, count) = (claims.len() as f64, module.requests.len());
    claims.push(Claim { module: Arc::clone(&module), found: vec![None; count] });
    drop(claims);
    for request in &module.requests {
        check_attributes(&request.attributes, ErrorClass::SyntaxError)?;
    }
    let facts =
        [Value::Number(index), Value::Boolean(module.imports), Value::Number(isolate), Value::Number(count as f64)];
    let list = facts.into_iter().chain(listed(&module, 0)).collect();
    Ok(Prepared::Done(Ok(Value::List(list))))
}

pub fn instantiate(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let linker = linker_of(target)?;
    let remote = remote_of(&linker.root)?;
    let Value::Handle(Handle::Context(context)) = args.value() else {
        return Err(malformed());
    };
    let load = args.optional_function()?;
    if context.slot.owner().id() != linker.root.slot.owner().id() {
        return Err(misuse("Invalid context"));
    }
    let work = work_in_realm(Arc::clone(&context.slot), move |scope, at| {
        let root = module_at(scope, &at.guest, &linker.root)?;
        if root.get_status() == v8::ModuleStatus::Uninstantiated {
            let resolutions = resolutions(scope, &at.guest, &linker.claims())?;
            v8::tc_scope!(let scope, scope);
            let done = at.guest.modules.resolving(resolutions, || root.instantiate_module(scope, resolve));
            if done != Some(true) || scope.has_caught() {
                return Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped));
            }
            settle(at, &linker.claims(), load.as_ref());
        }
        linker.end(true);
        Ok(Value::Undefined)
    });
    Ok(Prepared::Enter { remote, limits: Limits::standard(), work })
}

fn module_at<'s>(
    scope: &v8::PinScope<'s, '_>,
    guest: &Guest,
    module: &ModuleHandle,
) -> Result<v8::Local<'s, v8::Module>, Fault> {
    let found = guest.read_slot(&module.slot, |value| match value {
        SlotValue::Module(compiled) => Some(v8::Local::new(scope, &compiled.module)),
        _ => None,
    });
    found.ok_or_else(malformed)
}

/// The modules that V8 must find for each request.
fn resolutions(scope: &v8::PinScope<'_, '_>, guest: &Guest, claims: &[Claim]) -> Result<Resolutions, Fault> {
    let mut resolutions = Resolutions::default();
    for claim in claims {
        let module = module_at(scope, guest, &claim.module)?;
        let mut found = HashMap::with_capacity(claim.found.len());
        for (request, dependency) in claim.module.requests.iter().zip(&claim.found) {
            let dependency = dependency.as_ref().ok_or_else(|| misuse("Dependency was left unresolved"))?;
            let dependency = module_at(scope, guest, dependency)?;
            found.insert(request.clone(), v8::Global::new(scope, dependency));
        }
        resolutions.add(module.get_identity_hash(), v8::Global::new(scope, module), found);
    }
    Ok(resolutions)
}

/// Records the realm and the imports of instantiated modules, and the function that loads what they import.
fn settle(at: &GuestRealm, claims: &[Claim], load: Option<&Arc<Callable>>) {
    let imported = |module: &Arc<ModuleHandle>| {
        at.guest.read_slot(&module.slot, |value| match value {
            SlotValue::Module(compiled) => Some(Rc::downgrade(compiled)),
            _ => None,
        })
    };
    for (index, claim) in claims.iter().enumerate() {
        let imports = claim.found.iter().flatten().filter_map(imported).collect();
        at.guest.read_slot(&claim.module.slot, |value| {
            let SlotValue::Module(compiled) = value else { return None };
            *compiled.realm.borrow_mut() = Some(Arc::clone(&at.realm));
            *compiled.imports.borrow_mut() = imports;
            if let Some(load) = load.filter(|_| claim.module.imports) {
                // Each claim required a call, so there are fewer than 2³².
                let loader = Loader { load: Arc::clone(load), index: index as u32 };
                at.realm.loaders.add(compiled.number, loader);
            }
            Some(())
        });
    }
}

/// V8 requests the module for an import.
fn resolve<'s>(
    context: v8::Local<'s, v8::Context>,
    specifier: v8::Local<'s, v8::String>,
    attributes: v8::Local<'s, v8::FixedArray>,
    referrer: v8::Local<'s, v8::Module>,
) -> Option<v8::Local<'s, v8::Module>> {
    // SAFETY: V8 calls this on the isolate's thread, from within `instantiate_module`, with the context it was given.
    v8::callback_scope!(unsafe let scope, context);
    let guest = Guest::of(scope).ok()?;
    let request = ModuleRequest {
        specifier: convert::text_from_v8(scope, specifier, MAX_SPECIFIER).ok()?,
        attributes: attributes_of(scope, attributes, 3).ok()?,
    };
    let found = guest.modules.resolve(scope, referrer, &request);
    if found.is_none() {
        let message = v8::String::new(scope, "Dependency was left unresolved")?;
        let exception = v8::Exception::error(scope, message);
        scope.throw_exception(exception);
    }
    found
}

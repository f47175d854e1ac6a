//! Modules on the V8 side: what an isolate stores about each, and how V8 resolves their imports when it links them.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::iter;
use std::num::NonZeroI32;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use super::realm::Realm;
use crate::convert;
use crate::isolate::IsolateScope;
use crate::isolate::async_context;
use crate::value::{Fault, ModuleRequest};

/// A compiled module. V8 stores what it imports; this stores what V8 does not.
pub struct CompiledModule {
    pub module: v8::Global<v8::Module>,
    /// Its number among the isolate's modules, which identifies it when its code calls `import()`.
    pub number: u32,
    /// The realm in which it was instantiated.
    pub realm: RefCell<Option<Arc<Realm>>>,
    /// Fills `import.meta`.
    pub meta: Option<v8::Global<v8::Function>>,
    /// Whether the compilation cache that was provided was rejected.
    pub cache_rejected: Option<bool>,
    /// The compilation cache, if one was requested.
    pub cache: Option<Arc<Vec<u8>>>,
    /// What it imports, once it is instantiated. Something else must keep these modules.
    pub imports: RefCell<Vec<Weak<CompiledModule>>>,
    /// Its evaluation, if that did not end at once.
    pub evaluation: RefCell<Option<Rc<Evaluation>>>,
    /// The evaluation during which it began to run: its own, or that of a module that imports it.
    pub begun_by: RefCell<Option<Rc<Evaluation>>>,
    /// A limit has stopped it before it returned for the first time. V8 makes others that evaluate it throw `null`.
    pub cut_off: Cell<bool>,
}

impl CompiledModule {
    /// Records that this module and all that it imports, directly or indirectly, have begun to run, unless they have begun before. What has begun
    /// before has begun together with what it imports.
    fn begin(self: &Rc<Self>, evaluation: &Rc<Evaluation>) {
        let begins = |module: &Rc<Self>| {
            let mut begun_by = module.begun_by.borrow_mut();
            let begins = begun_by.is_none();
            begun_by.get_or_insert_with(|| Rc::clone(evaluation));
            begins
        };
        let mut begun = vec![Rc::clone(self)];
        begun.retain(begins);
        while let Some(module) = begun.pop() {
            begun.extend(module.imports.borrow().iter().filter_map(Weak::upgrade).filter(begins));
        }
    }

    /// Whether a limit has stopped this module, so that it never ends. V8 settles the promise of an evaluation that has ended.
    fn is_stopped(&self, scope: &mut v8::PinScope<'_, '_>) -> bool {
        use v8::ModuleStatus::{Errored, Evaluated};
        if self.cut_off.get() {
            return true;
        }
        if !self.begun_by.borrow().as_ref().is_some_and(|evaluation| evaluation.stopped.get()) {
            return false;
        }
        let module = v8::Local::new(scope, &self.module);
        // It has begun already, so no code runs.
        let promise = matches!(module.get_status(), Evaluated | Errored).then(|| module.evaluate(scope)).flatten();
        let promise = promise.and_then(|promise| v8::Local::<v8::Promise>::try_from(promise).ok());
        promise.is_some_and(|promise| promise.state() == v8::PromiseState::Pending)
    }
}

/// Modules, and the numbers of those that import each of them, by its number.
type Importers = (Vec<Rc<CompiledModule>>, HashMap<u32, Vec<u32>>);

/// `roots` and all that they import, directly or indirectly.
fn with_imports(roots: impl Iterator<Item = Rc<CompiledModule>>) -> Importers {
    let mut found = Vec::new();
    let mut importers = HashMap::<u32, Vec<u32>>::new();
    let mut find = |module: Rc<CompiledModule>, importer: Option<u32>, found: &mut Vec<Rc<CompiledModule>>| {
        let known = importers.entry(module.number).or_insert_with(|| {
            found.push(module);
            Vec::new()
        });
        // A module may import another one often.
        if importer.is_some() && known.last().copied() != importer {
            known.extend(importer);
        }
    };
    for root in roots {
        find(root, None, &mut found);
    }
    let mut position = 0;
    while let Some(module) = found.get(position).cloned() {
        for import in module.imports.borrow().iter().filter_map(Weak::upgrade) {
            find(import, Some(module.number), &mut found);
        }
        position += 1;
    }
    (found, importers)
}

/// The numbers of the modules that a limit has stopped, and of those that wait for one of them, among `roots` and all that these import.
fn waiting_for_stopped(
    scope: &mut v8::PinScope<'_, '_>,
    roots: impl Iterator<Item = Rc<CompiledModule>>,
) -> HashSet<u32> {
    let (found, mut importers) = with_imports(roots);
    let mut waiting: Vec<u32> =
        found.iter().filter(|module| module.is_stopped(scope)).map(|module| module.number).collect();
    let mut all: HashSet<u32> = waiting.iter().copied().collect();
    while let Some(number) = waiting.pop() {
        let of_module = importers.remove(&number).unwrap_or_default();
        waiting.extend(of_module.into_iter().filter(|importer| all.insert(*importer)));
    }
    all
}

/// The evaluation of a module that awaits something. V8's own promise never settles if a limit stops the evaluation, so callers get another
/// promise, which is rejected then.
pub struct Evaluation {
    resolver: v8::Global<v8::PromiseResolver>,
    /// What its code belongs to: the async call of the host that has begun it, or an evaluation.
    owner: i64,
    module: Weak<CompiledModule>,
    stopped: Cell<bool>,
}

impl Evaluation {
    /// The promise of the evaluation; an error if it was stopped.
    pub fn promise<'s>(&self, scope: &v8::PinScope<'s, '_>) -> Result<v8::Local<'s, v8::Promise>, Fault> {
        if self.stopped.get() {
            return Err(Fault::module_stopped());
        }
        Ok(v8::Local::new(scope, &self.resolver).get_promise(scope))
    }

    fn is_pending(&self, scope: &v8::PinScope<'_, '_>) -> bool {
        v8::Local::new(scope, &self.resolver).get_promise(scope).state() == v8::PromiseState::Pending
    }

    /// Rejects the promise, unless the evaluation has ended.
    fn stop(&self, scope: &mut v8::PinScope<'_, '_>) {
        if !self.is_pending(scope) {
            return;
        }
        self.stopped.set(true);
        let resolver = v8::Local::new(scope, &self.resolver);
        let Some(context) = resolver.get_creation_context(scope) else { return };
        let scope = &mut v8::ContextScope::new(scope, context);
        v8::tc_scope!(let scope, scope);
        // The call that was stopped has failed already.
        resolver.get_promise(scope).mark_as_handled();
        if let Some(exception) = convert::exception_from_fault(scope, &Fault::module_stopped(), |_, _| None) {
            let _ = resolver.reject(scope, exception);
        }
    }
}

fn on_evaluated<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    if let Some(resolver) = resolver_of(&args) {
        let _ = resolver.resolve(scope, args.get(0));
    }
}

fn on_failed<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    if let Some(resolver) = resolver_of(&args) {
        let _ = resolver.reject(scope, args.get(0));
    }
}

fn resolver_of<'s>(args: &v8::FunctionCallbackArguments<'s>) -> Option<v8::Local<'s, v8::PromiseResolver>> {
    convert::resolver_from(args.data())
}

/// The imports of the modules that are being instantiated, and what they resolve to.
#[derive(Default)]
pub struct Resolutions {
    referrers: HashMap<NonZeroI32, Vec<Referrer>>,
}

struct Referrer {
    module: v8::Global<v8::Module>,
    found: HashMap<ModuleRequest, v8::Global<v8::Module>>,
}

impl Resolutions {
    pub fn add(
        &mut self,
        hash: NonZeroI32,
        module: v8::Global<v8::Module>,
        found: HashMap<ModuleRequest, v8::Global<v8::Module>>,
    ) {
        self.referrers.entry(hash).or_default().push(Referrer { module, found });
    }

    fn get(&self, referrer: v8::Local<'_, v8::Module>, request: &ModuleRequest) -> Option<&v8::Global<v8::Module>> {
        let same = self.referrers.get(&referrer.get_identity_hash())?;
        same.iter().find(|each| each.module == referrer)?.found.get(request)
    }
}

/// The modules of one isolate.
#[derive(Default)]
pub struct Modules {
    last_number: Cell<u32>,
    /// Set while V8 instantiates.
    resolutions: RefCell<Resolutions>,
    /// Slots of modules that fill `import.meta`, by V8's hash of the module.
    metas: RefCell<BTreeMap<NonZeroI32, Vec<u32>>>,
    /// Evaluations that have not ended, and some that have.
    evaluations: RefCell<Vec<Rc<Evaluation>>>,
    last_evaluation: Cell<i64>,
    /// A limit has stopped a module.
    has_stopped: Cell<bool>,
}

impl Modules {
    pub fn next_number(&self) -> u32 {
        let number = self.last_number.get().wrapping_add(1);
        self.last_number.set(number);
        number
    }

    /// Makes `resolutions` available to V8 while `instantiate` runs.
    pub fn resolving<T>(&self, resolutions: Resolutions, instantiate: impl FnOnce() -> T) -> T {
        *self.resolutions.borrow_mut() = resolutions;
        let result = instantiate();
        drop(std::mem::take(&mut *self.resolutions.borrow_mut()));
        result
    }

    pub fn resolve<'s>(
        &self,
        scope: &v8::PinScope<'s, '_>,
        referrer: v8::Local<'_, v8::Module>,
        request: &ModuleRequest,
    ) -> Option<v8::Local<'s, v8::Module>> {
        self.resolutions.borrow().get(referrer, request).map(|found| v8::Local::new(scope, found))
    }

    /// Registers the module at `slot`, which fills `import.meta`. `is_module` says whether a known slot still holds a module.
    pub fn add_meta(&self, hash: NonZeroI32, slot: u32, is_module: impl Fn(u32) -> bool) {
        let mut metas = self.metas.borrow_mut();
        if metas.len().is_power_of_two() {
            metas.retain(|_, slots| {
                slots.retain(|slot| is_module(*slot));
                !slots.is_empty()
            });
        }
        metas.entry(hash).or_default().push(slot);
    }

    /// Slots at which the module with this hash may be.
    pub fn metas(&self, hash: NonZeroI32) -> Vec<u32> {
        self.metas.borrow().get(&hash).cloned().unwrap_or_default()
    }

    /// A number for an evaluation that belongs to no async call.
    pub fn next_evaluation(&self) -> i64 {
        let number = self.last_evaluation.get().wrapping_add(1);
        self.last_evaluation.set(number);
        number
    }

    /// The evaluation of `module`, whose promise of V8's is `promise`.
    pub fn follow(
        &self,
        scope: &mut v8::PinScope<'_, '_>,
        module: &Rc<CompiledModule>,
        promise: v8::Local<'_, v8::Promise>,
    ) -> Result<Rc<Evaluation>, Fault> {
        let resolver = v8::PromiseResolver::new(scope).ok_or(Fault::Stopped)?;
        let done = v8::Function::builder(on_evaluated).data(resolver.into()).build(scope).ok_or(Fault::Stopped)?;
        let failed = v8::Function::builder(on_failed).data(resolver.into()).build(scope).ok_or(Fault::Stopped)?;
        promise.then2(scope, done, failed).ok_or(Fault::Stopped)?;
        let evaluation = Rc::new(Evaluation {
            resolver: v8::Global::new(scope, resolver),
            owner: async_context::owner(scope),
            module: Rc::downgrade(module),
            stopped: Cell::new(false),
        });
        *module.evaluation.borrow_mut() = Some(Rc::clone(&evaluation));
        module.begin(&evaluation);
        let mut evaluations = self.evaluations.borrow_mut();
        if evaluations.len().is_power_of_two() {
            evaluations.retain(|each| each.is_pending(scope));
        }
        evaluations.push(Rc::clone(&evaluation));
        Ok(evaluation)
    }

    /// Whether the evaluation of `module` waits for a module that a limit has stopped.
    pub fn waits_for_stopped(&self, scope: &mut v8::PinScope<'_, '_>, module: &Rc<CompiledModule>) -> bool {
        self.has_stopped.get() && waiting_for_stopped(scope, iter::once(Rc::clone(module))).contains(&module.number)
    }

    /// A limit has stopped the evaluation of `module` before it returned. V8 records that for each module that had begun and not returned.
    pub fn note_cut_off(&self, scope: &v8::PinScope<'_, '_>, module: &Rc<CompiledModule>) {
        self.has_stopped.set(true);
        for module in with_imports(iter::once(Rc::clone(module))).0 {
            let it = v8::Local::new(scope, &module.module);
            if it.get_status() == v8::ModuleStatus::Errored && it.get_exception().is_null() {
                module.cut_off.set(true);
            }
        }
    }

    /// A limit has stopped code of `owner`, an async call or an evaluation, so what it evaluates may never end. Returns false if it evaluates
    /// nothing. `realm`: any realm.
    pub(in crate::isolate) fn stop(&self, scope: &mut IsolateScope<'_, '_>, realm: &Realm, owner: i64) -> bool {
        let is_of_owner = |each: &Rc<Evaluation>| each.owner == owner;
        if !self.evaluations.borrow().iter().any(is_of_owner) {
            return false;
        }
        let (stopped, others): (Vec<_>, Vec<_>) = self.evaluations.take().into_iter().partition(is_of_owner);
        v8::scope!(let scope, scope);
        let context = v8::Local::new(scope, &realm.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        self.has_stopped.set(true);
        for evaluation in &stopped {
            evaluation.stop(scope);
        }
        // In one search: thousands of evaluations may wait for modules that import as many others.
        let waiting = waiting_for_stopped(scope, others.iter().filter_map(|evaluation| evaluation.module.upgrade()));
        for evaluation in others {
            if evaluation.module.upgrade().is_some_and(|module| waiting.contains(&module.number)) {
                evaluation.stop(scope);
            } else {
                self.evaluations.borrow_mut().push(evaluation);
            }
        }
        true
    }

    pub(in crate::isolate) fn clear(&self) {
        drop(std::mem::take(&mut *self.resolutions.borrow_mut()));
        drop(std::mem::take(&mut *self.evaluations.borrow_mut()));
    }
}

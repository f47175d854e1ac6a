//! Modules on the V8 side: what an isolate stores about each, how V8 resolves their imports when it links them, and what loads their
//! dynamic imports.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroI32;
use std::sync::Arc;

use super::guest::Held;
use super::realm::Realm;
use crate::value::{Callable, ModuleRequest};

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

    pub(super) fn clear(&self) {
        drop(std::mem::take(&mut *self.resolutions.borrow_mut()));
    }
}

/// The function that fills the `import.meta` of `module`, if `held` is that module.
pub fn meta_of<'s>(
    scope: &v8::PinScope<'s, '_>,
    held: &Held,
    module: v8::Local<'_, v8::Module>,
) -> Option<v8::Local<'s, v8::Function>> {
    match held {
        Held::Module(compiled) if compiled.module == module => {
            compiled.meta.as_ref().map(|meta| v8::Local::new(scope, meta))
        }
        _ => None,
    }
}

/// Loads what a module imports while it runs: a function, and the module's index among the modules that were linked with it.
#[derive(Clone)]
pub struct Loader {
    pub load: Arc<Callable>,
    pub index: u32,
}

/// The loaders of a realm's modules, by the modules' numbers. They live as long as the realm, which lives as long as something may make it
/// run: a handle on it or in it, an awaited promise of it, or an answer that it waits for.
#[derive(Default)]
pub struct Loaders(RefCell<BTreeMap<u32, Loader>>);

impl Loaders {
    pub fn add(&self, number: u32, loader: Loader) {
        self.0.borrow_mut().insert(number, loader);
    }

    pub fn get(&self, number: u32) -> Option<Loader> {
        self.0.borrow().get(&number).cloned()
    }
}

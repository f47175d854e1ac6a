//! The contexts of an isolate, and what loads the dynamic imports of their modules.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use crate::convert::{KnownNames, PlainLists};
use crate::native::lock;
use crate::value::Callable;

/// A context of an isolate.
pub struct Realm {
    pub context: v8::Global<v8::Context>,
    pub loaders: Loaders,
    pub plain_lists: PlainLists,
    pub(super) scripts: BoundScripts,
}

impl Realm {
    pub(in crate::isolate) fn new(scope: &v8::Isolate, context: v8::Local<'_, v8::Context>) -> Arc<Self> {
        let context = v8::Global::new(scope, context);
        Arc::new(Self {
            context,
            loaders: Loaders::default(),
            plain_lists: PlainLists::default(),
            scripts: BoundScripts::default(),
        })
    }
}

/// Scripts that have run here more than once in a row, bound to the realm's context. They live as long as the realm and the script's handle.
#[derive(Default)]
pub(super) struct BoundScripts(Mutex<BTreeMap<usize, v8::Global<v8::Script>>>);

impl BoundScripts {
    pub(super) fn get<'s>(&self, scope: &v8::PinScope<'s, '_>, id: usize) -> Option<v8::Local<'s, v8::Script>> {
        lock(&self.0).get(&id).map(|bound| v8::Local::new(scope, bound))
    }

    pub(super) fn keep(&self, scope: &v8::PinScope<'_, '_>, id: usize, bound: v8::Local<'_, v8::Script>) {
        lock(&self.0).insert(id, v8::Global::new(scope, bound));
    }

    pub(super) fn remove(&self, id: usize) {
        let bound = lock(&self.0).remove(&id);
        drop(bound);
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
pub struct Loaders(Mutex<BTreeMap<u32, Loader>>);

impl Loaders {
    pub fn add(&self, number: u32, loader: Loader) {
        lock(&self.0).insert(number, loader);
    }

    pub fn get(&self, number: u32) -> Option<Loader> {
        lock(&self.0).get(&number).cloned()
    }
}

/// The realms of one isolate.
pub struct Realms {
    /// By an index that is never reused: a function may outlive its realm's last handle.
    all: RefCell<BTreeMap<u32, Weak<Realm>>>,
    next: Cell<u32>,
    /// Kept although it has no handle, for work that needs a context before there is one.
    kept: RefCell<Option<Arc<Realm>>>,
    /// Created in advance, for the first context that is created.
    prepared: RefCell<Option<Arc<Realm>>>,
    /// Realms that the running job has returned to, until it ends: their continuations run at its end.
    retained: RefCell<Vec<Arc<Realm>>>,
    /// The names of objects that they have received.
    pub(super) known_names: KnownNames,
}

impl Default for Realms {
    fn default() -> Self {
        Self {
            all: RefCell::default(),
            next: Cell::new(1),
            kept: RefCell::default(),
            prepared: RefCell::default(),
            retained: RefCell::default(),
            known_names: KnownNames::default(),
        }
    }
}

impl Realms {
    /// Returns the index of the realm.
    pub fn add(&self, realm: &Arc<Realm>) -> u32 {
        let index = self.next.get();
        self.next.set(index.wrapping_add(1));
        let mut all = self.all.borrow_mut();
        if all.len().is_power_of_two() {
            all.retain(|_, realm| realm.strong_count() > 0);
        }
        all.insert(index, Arc::downgrade(realm));
        index
    }

    /// Adds a realm whose context has outlived the last handle on it.
    pub fn revive(&self, index: u32, realm: &Arc<Realm>) {
        self.all.borrow_mut().insert(index, Arc::downgrade(realm));
    }

    pub fn get(&self, index: u32) -> Option<Arc<Realm>> {
        self.all.borrow().get(&index).and_then(Weak::upgrade)
    }

    pub fn any(&self) -> Option<Arc<Realm>> {
        self.all.borrow().values().find_map(Weak::upgrade)
    }

    /// Keeps alive a realm that has no handle.
    pub fn keep(&self, realm: Arc<Realm>) {
        *self.kept.borrow_mut() = Some(realm);
    }

    /// Keeps a realm in which no guest code has run, for [`Realms::take_prepared`].
    pub fn prepare(&self, realm: Arc<Realm>) {
        *self.prepared.borrow_mut() = Some(realm);
    }

    pub fn take_prepared(&self) -> Option<Arc<Realm>> {
        self.prepared.borrow_mut().take()
    }

    /// Keeps a realm until the running job ends, including its microtasks.
    pub fn retain(&self, realm: &Arc<Realm>) {
        self.retained.borrow_mut().push(Arc::clone(realm));
    }

    /// The outermost job has ended.
    pub(in crate::isolate) fn release_retained(&self) {
        drop(self.retained.take());
    }

    pub(in crate::isolate) fn clear(&self) {
        drop(self.all.take());
        drop(self.kept.take());
        drop(self.prepared.take());
        self.known_names.clear();
    }
}

//! Handles and functions that guest code holds, by their ids in guest code, until guest code releases them or V8 collects the objects that
//! represent them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::guest::{Guest, Held};
use super::remote::Remote;
use crate::engine;
use crate::value::{Budget, ContextHandle, Handle, IsolateHandle, Reference, Slot, TypeOf, Value};

/// Smaller ids are those of the module: 0 is the module itself, 1 its `lib`.
const FIRST_ID: usize = 2;

/// References to values of hosts, and functions of hosts, that a guest may hold at its own request. With a large memory limit,
/// [`BYTES_PER_REFERENCE`] allows more.
const MAX_REFERENCES: usize = 10_000;
/// Bytes of the memory limit for each such reference, if that allows more than [`MAX_REFERENCES`].
const BYTES_PER_REFERENCE: usize = 16 << 10;

/// Handles on values of a guest that others may hold before it may hand out no more. With a large memory limit, [`BYTES_PER_HANDLE`] allows
/// more.
const MAX_HANDED_OUT: u32 = 100_000;
/// Bytes of the memory limit for each such handle, if that allows more than [`MAX_HANDED_OUT`].
const BYTES_PER_HANDLE: usize = 1 << 10;

/// References that may be garbage before V8 is asked to collect them.
const MIN_COLLECTED: usize = 1_000;
/// Time between two such collections, as a multiple of the duration of the last one.
const COLLECTION_SHARE: u32 = 4;

/// The budget for references of an isolate with this memory limit.
pub fn references(memory_limit: usize) -> Arc<Budget> {
    Budget::new(MAX_REFERENCES.max(memory_limit / BYTES_PER_REFERENCE))
}

/// Something that guest code refers to by an id.
struct Entry {
    carried: Carried,
    /// The object that represents it, once known.
    object: Option<engine::Weak>,
}

enum Carried {
    Foreign(Value),
    /// A handle on something in this isolate. Kept without the handle's own slot, which would keep the isolate alive forever.
    Own(Own),
}

enum Own {
    Isolate,
    Context { context: Held, global: Held },
    Script(Held),
    Reference { held: Held, type_of: TypeOf, accessors: bool, inherit: bool },
}

pub struct Handles {
    entries: RefCell<HashMap<usize, Entry>>,
    /// The next id. Ids are never reused, so putting an id down twice cannot affect another entry.
    next: Cell<usize>,
    /// Objects that were collected since entries were last removed.
    collected: Rc<Cell<usize>>,
    collection: Cell<Collection>,
}

/// The last collection requested to find references that the guest no longer holds.
#[derive(Clone, Copy)]
struct Collection {
    /// References that remained.
    left: usize,
    /// References at which the next collection is due.
    due: usize,
    end: Option<Instant>,
    took: Duration,
}

impl Collection {
    fn is_due(&self, budget: &Budget) -> bool {
        let used = budget.used();
        if used < self.due {
            return false;
        }
        // Collecting a large heap takes long. So the next collection waits, unless the next call may be refused.
        let is_rested = self.end.is_none_or(|end| end.elapsed() >= self.took * COLLECTION_SHARE);
        let is_near_limit = used > self.left && used >= budget.limit() / 4 * 3;
        is_rested || is_near_limit || budget.take_refusal()
    }
}

impl Default for Handles {
    fn default() -> Self {
        let fixed = |handle| Entry { carried: Carried::Foreign(Value::Handle(handle)), object: None };
        let collection = Collection { left: 0, due: MIN_COLLECTED, end: None, took: Duration::ZERO };
        Self {
            entries: RefCell::new(HashMap::from([(0, fixed(Handle::Ivm)), (1, fixed(Handle::Lib))])),
            next: Cell::new(FIRST_ID),
            collected: Rc::default(),
            collection: Cell::new(collection),
        }
    }
}

impl Remote {
    /// Handles on values of the guest that others may hold before it may hand out no more. A host releases the handles that it drops on a
    /// turn of its event loop.
    pub fn max_handles(&self) -> u32 {
        let share = u32::try_from(self.settings.memory_limit / BYTES_PER_HANDLE).unwrap_or(u32::MAX);
        share.max(MAX_HANDED_OUT)
    }
}

impl Handles {
    /// Drops all entries.
    pub fn clear(&self) {
        let entries = std::mem::take(&mut *self.entries.borrow_mut());
        drop(entries);
    }

    /// Removes the entries whose objects were collected.
    fn take_collected(&self) -> Vec<Entry> {
        if self.collected.take() == 0 {
            return Vec::new();
        }
        let is_collected = |entry: &Entry| entry.object.as_ref().is_some_and(engine::Weak::is_empty);
        self.entries.borrow_mut().extract_if(|_, entry| is_collected(entry)).map(|(_, entry)| entry).collect()
    }
}

impl Guest {
    /// Keeps a handle or function for guest code. Returns its id in guest code.
    pub fn carry(&self, value: Value) -> usize {
        self.put_down_collected();
        let carried = match self.own(&value) {
            Some(own) => Carried::Own(own),
            None => Carried::Foreign(value),
        };
        let id = self.handles.next.get();
        self.handles.next.set(id + 1);
        self.handles.entries.borrow_mut().insert(id, Entry { carried, object: None });
        id
    }

    /// Puts down what is carried as `id` when `object`, which represents it, is collected.
    pub fn track(&self, isolate: &mut v8::Isolate, id: usize, object: v8::Local<'_, v8::Object>) {
        let weak = engine::Weak::new(isolate, object, &self.handles.collected);
        let before = self.handles.entries.borrow_mut().get_mut(&id).and_then(|entry| entry.object.replace(weak));
        drop(before);
    }

    /// How to carry a handle on something in this isolate; `None` for any other value.
    fn own(&self, value: &Value) -> Option<Own> {
        let Value::Handle(handle) = value else { return None };
        let held = |slot: &Slot| {
            let own = self.owns(slot).then(|| self.slots.borrow().get(slot.index() as usize).cloned());
            own.flatten()
        };
        match handle {
            Handle::Isolate(isolate) => (self.owner_id() == Some(isolate.0.id())).then_some(Own::Isolate),
            Handle::Context(context) => {
                Some(Own::Context { context: held(&context.slot)?, global: held(&context.global.slot)? })
            }
            Handle::Script(script) => Some(Own::Script(held(script)?)),
            Handle::Reference(reference) => Some(Own::Reference {
                held: held(&reference.slot)?,
                type_of: reference.type_of,
                accessors: reference.accessors,
                inherit: reference.inherit,
            }),
            Handle::ExternalCopy(_) | Handle::Module(_) | Handle::Linker(_) | Handle::Session(_) => None,
            Handle::Ivm | Handle::Lib => None,
        }
    }

    pub fn carried(&self, id: usize) -> Option<Value> {
        let entries = self.handles.entries.borrow();
        let own = match &entries.get(&id)?.carried {
            Carried::Foreign(value) => return Some(value.clone()),
            Carried::Own(own) => own,
        };
        Some(Value::Handle(match own {
            Own::Isolate => Handle::Isolate(IsolateHandle(self.remote().ok()?)),
            Own::Context { context, global } => Handle::Context(Arc::new(ContextHandle {
                slot: self.hold(context.clone()).ok()?,
                global: Arc::new(Reference {
                    slot: self.hold(global.clone()).ok()?,
                    type_of: TypeOf::Object,
                    accessors: false,
                    inherit: false,
                }),
            })),
            Own::Script(script) => Handle::Script(self.hold(script.clone()).ok()?),
            Own::Reference { held, type_of, accessors, inherit } => Handle::Reference(Arc::new(Reference {
                slot: self.hold(held.clone()).ok()?,
                type_of: *type_of,
                accessors: *accessors,
                inherit: *inherit,
            })),
        }))
    }

    /// The value of this isolate that a carried Reference refers to.
    pub fn referred<'s>(&self, scope: &v8::PinScope<'s, '_>, id: usize) -> Option<v8::Local<'s, v8::Value>> {
        match &self.handles.entries.borrow().get(&id)?.carried {
            Carried::Own(Own::Reference { held: Held::Value(_, value), .. }) => Some(v8::Local::new(scope, value)),
            _ => None,
        }
    }

    pub fn put_down(&self, id: usize) {
        if id >= FIRST_ID {
            let entry = self.handles.entries.borrow_mut().remove(&id);
            drop(entry);
        }
    }

    /// Puts down the entries whose objects V8 has collected.
    pub fn put_down_collected(&self) {
        let entries = self.handles.take_collected();
        // Not while the table is borrowed: this may drop the last handle of an isolate.
        drop(entries);
    }

    /// Called before the guest calls a host, which may give it references. If one is due, runs a collection to release references that the
    /// guest no longer holds.
    pub fn collect_references(&self, isolate: &mut v8::Isolate, remote: &Remote) {
        let budget = &remote.accounts.references;
        let collection = self.handles.collection.get();
        if budget.used() < collection.due {
            return;
        }
        self.put_down_collected();
        if !collection.is_due(budget) {
            return;
        }
        let start = Instant::now();
        isolate.low_memory_notification();
        self.put_down_collected();
        let left = budget.used();
        let room = budget.limit().saturating_sub(left);
        let due = left + left.max(MIN_COLLECTED).min(room);
        let end = Instant::now();
        self.handles.collection.set(Collection { left, due, end: Some(end), took: end - start });
    }

    /// Runs a collection and puts down everything that the guest no longer holds.
    pub fn collect_handles(&self, isolate: &mut v8::Isolate) {
        isolate.low_memory_notification();
        self.put_down_collected();
    }
}

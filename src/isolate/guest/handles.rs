//! Handles and functions that guest code holds, by their ids in guest code, until guest code releases them or V8 collects the objects that
//! represent them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::slot_value::SlotValue;
use crate::engine;
use crate::value::{Budget, CallbackMode, Handle, Slot, TypeOf, Value};

/// Smaller ids are those of the module: 0 is the module itself, 1 its `lib`.
const FIRST_ID: usize = 2;

/// References that may be garbage before V8 is asked to collect them.
const MIN_COLLECTED: usize = 1_000;
/// Time between two such collections, as a multiple of the duration of the last one.
const COLLECTION_SHARE: u32 = 4;

/// Something that guest code refers to by an id.
struct Entry {
    carried: Carried,
    /// The object that represents it, once known.
    object: Option<engine::Weak>,
}

#[derive(Clone)]
pub enum Carried {
    Foreign(Value),
    /// A handle on something in this isolate. Kept without the handle's own slot, which would keep the isolate alive forever.
    Own(Own),
}

#[derive(Clone)]
pub enum Own {
    Isolate,
    Context { context: SlotValue, global: SlotValue },
    Script(SlotValue),
    Reference { value: SlotValue, type_of: TypeOf, accessors: bool, inherit: bool },
}

/// Spreads ids. They are given one after the other, so a guest cannot choose ids that collide.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, id: usize) {
        /// The golden ratio's fraction: the high bits of the product differ for ids that follow each other.
        const RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0 ^ id as u64).wrapping_mul(RATIO);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub struct Handles {
    /// Every call of the guest into its host looks here.
    entries: RefCell<HashMap<usize, Entry, BuildHasherDefault<IdHasher>>>,
    /// The next id. Ids are never reused, so releasing an id twice cannot affect another entry.
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
            entries: RefCell::new([(0, fixed(Handle::Ivm)), (1, fixed(Handle::Lib))].into_iter().collect()),
            next: Cell::new(FIRST_ID),
            collected: Rc::default(),
            collection: Cell::new(collection),
        }
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

    /// Keeps `carried` for guest code. Returns its id in guest code.
    pub(in crate::isolate) fn insert(&self, carried: Carried) -> usize {
        self.release_collected();
        let id = self.next.get();
        self.next.set(id + 1);
        self.entries.borrow_mut().insert(id, Entry { carried, object: None });
        id
    }

    pub(in crate::isolate) fn get(&self, id: usize) -> Option<Carried> {
        self.entries.borrow().get(&id).map(|entry| entry.carried.clone())
    }

    /// Uses the slot of a carried function that is called synchronously.
    #[inline(always)]
    pub fn with_sync_function<T>(&self, id: usize, use_it: impl FnOnce(&Slot) -> T) -> Option<T> {
        match &self.entries.borrow().get(&id)?.carried {
            Carried::Foreign(Value::Function(callable)) if callable.mode == CallbackMode::Sync => {
                Some(use_it(&callable.slot))
            }
            _ => None,
        }
    }

    /// Uses the slot of a carried Reference to a value elsewhere.
    #[inline(always)]
    pub fn with_foreign_reference<T>(&self, id: usize, use_it: impl FnOnce(&Slot) -> T) -> Option<T> {
        match &self.entries.borrow().get(&id)?.carried {
            Carried::Foreign(Value::Handle(Handle::Reference(reference))) => Some(use_it(&reference.slot)),
            _ => None,
        }
    }

    /// Releases what is carried as `id` when `object`, which represents it, is collected.
    pub fn track(&self, isolate: &mut v8::Isolate, id: usize, object: v8::Local<'_, v8::Object>) {
        let weak = engine::Weak::new(isolate, object, &self.collected);
        let before = self.entries.borrow_mut().get_mut(&id).and_then(|entry| entry.object.replace(weak));
        drop(before);
    }

    /// The value of this isolate that a carried Reference refers to.
    pub fn referred<'s>(&self, scope: &v8::PinScope<'s, '_>, id: usize) -> Option<v8::Local<'s, v8::Value>> {
        match &self.entries.borrow().get(&id)?.carried {
            Carried::Own(Own::Reference { value: SlotValue::Value(_, value), .. }) => {
                Some(v8::Local::new(scope, value))
            }
            _ => None,
        }
    }

    pub fn release(&self, id: usize) {
        if id >= FIRST_ID {
            let entry = self.entries.borrow_mut().remove(&id);
            drop(entry);
        }
    }

    /// Releases the entries whose objects V8 has collected.
    pub(in crate::isolate) fn release_collected(&self) {
        let entries = self.take_collected();
        // Not while the table is borrowed: this may drop the last handle of an isolate.
        drop(entries);
    }

    /// Called before the guest calls a host, which may give it references. If one is due, runs a collection to release references that the
    /// guest no longer holds.
    pub fn collect_references(&self, isolate: &mut v8::Isolate, budget: &Budget) {
        let collection = self.collection.get();
        if budget.used() < collection.due {
            return;
        }
        self.release_collected();
        if !collection.is_due(budget) {
            return;
        }
        let start = Instant::now();
        isolate.low_memory_notification();
        self.release_collected();
        let left = budget.used();
        let room = budget.limit().saturating_sub(left);
        let due = left + left.max(MIN_COLLECTED).min(room);
        let end = Instant::now();
        self.collection.set(Collection { left, due, end: Some(end), took: end - start });
    }

    /// Runs a collection and releases everything that the guest no longer holds.
    pub fn collect(&self, isolate: &mut v8::Isolate) {
        isolate.low_memory_notification();
        self.release_collected();
    }
}

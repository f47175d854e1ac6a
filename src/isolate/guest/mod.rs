//! The V8 side of an isolate: its table of slots, its realms, and what its guest code holds. Only the thread that has entered the isolate
//! and holds its lock may use it.

pub(super) mod attachments;
pub(super) mod codegen;
pub(super) mod compiled;
pub(super) mod console_guard;
pub(super) mod contexts;
pub(super) mod guest_realm;
pub(super) mod handles;
pub(super) mod modules;
pub(super) mod realm;
pub(super) mod slot_value;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::sync::{Arc, Weak};

use slab::Slab;

use attachments::{attach_to_thread, attached_to_thread};
use compiled::CompiledSources;
use guest_realm::Binding;
use handles::{Carried, Handles, Own};
use modules::Modules;
use realm::Realms;
use slot_value::SlotValue;

use super::inspector::Agent;
use super::job::{Deadline, IsolateScope, Limits, Work};
use super::remote::Remote;
use super::remote::accounts::max_outside;
use crate::convert;
use crate::engine;
use crate::native::context;
use crate::value::{
    Chain, ContextHandle, DirectCall, Fault, Handle, Host, IsolateHandle, Outcome, Owner, Reference, Reply,
    SharedMemory, Slot, TypeOf, Value,
};

/// New slots between two cleanups of released ones: a guest that runs for long releases slots while it runs.
const SLOTS_PER_TIDY: u32 = 1_000;

/// Capacity that an empty table keeps.
const MAX_SPARE_SLOTS: usize = 4_096;

/// What runs in an isolate.
#[derive(Default)]
struct Running {
    /// One per running job.
    chains: RefCell<Vec<(Chain, Limits)>>,
    /// The host's event loop stays alive until the running job ends.
    keeps_host_alive: Cell<bool>,
    /// Owners of code that was stopped since the queue of microtasks was last empty: async calls and evaluations; 0 for neither.
    stopped: RefCell<HashSet<i64>>,
    /// Limits of the last call that had any; tasks that V8 runs by itself get them.
    last_limits: Cell<Limits>,
    /// For the next call of a host.
    spare_direct_call: Cell<Option<Rc<DirectCall>>>,
}

/// It belongs to one isolate, with which it moves from thread to thread. It is neither `Send` nor `Sync`, so that nothing outside can refer to it.
pub struct Guest {
    remote: Weak<Remote>,
    /// The most bytes of one value outside the heap.
    pub max_outside: usize,
    pub(super) slots: RefCell<Slab<SlotValue>>,
    /// Counts all slots ever given.
    slots_given: Cell<u32>,
    pub realms: Realms,
    pub modules: Modules,
    /// Code that may go into the process's cache.
    pub compiled: CompiledSources,
    /// Handles and functions that guest code holds.
    pub handles: Handles,
    /// How realms represent handles.
    pub(super) binding: OnceCell<&'static dyn Binding>,
    /// Shared memory that is known in this isolate, by its address, so that the same buffer is always passed as the same memory.
    shared: RefCell<BTreeMap<usize, Weak<SharedMemory>>>,
    /// At least one realm has received a handle.
    pub has_surface: Cell<bool>,
    /// The surface's script, compiled.
    pub surface: RefCell<Option<v8::Global<v8::UnboundScript>>>,
    running: Running,
    /// Rejected promises without a handler, in order.
    rejections: RefCell<Vec<(v8::Global<v8::Promise>, v8::Global<v8::Value>)>>,
    /// Set if the isolate can be inspected.
    pub(super) agent: RefCell<Option<Rc<Agent>>>,
}

impl Guest {
    /// The guest of a new isolate, attached to that.
    pub(super) fn attach(isolate: &mut v8::Isolate, remote: &Arc<Remote>) -> Rc<Self> {
        let guest = Rc::new(Self {
            remote: Arc::downgrade(remote),
            max_outside: max_outside(remote.settings.memory_limit),
            slots: RefCell::default(),
            slots_given: Cell::new(0),
            realms: Realms::default(),
            modules: Modules::default(),
            compiled: CompiledSources::default(),
            handles: Handles::default(),
            binding: OnceCell::new(),
            shared: RefCell::default(),
            has_surface: Cell::new(false),
            surface: RefCell::default(),
            running: Running::default(),
            rejections: RefCell::default(),
            agent: RefCell::default(),
        });
        // SAFETY: it is new. All other code gets it from an isolate of which it has a scope, and keeps it on its stack or in what belongs to the
        // isolate: neither the guest nor any shared part of it is `Send`.
        unsafe { attach_to_thread(isolate, Rc::clone(&guest)) };
        engine::drop_microtasks_if(|isolate, owner| Self::of(isolate).is_ok_and(|guest| guest.has_stopped(owner)));
        guest
    }

    /// Work for a job, which gets the guest.
    pub fn work(work: impl FnOnce(&mut IsolateScope<'_, '_>, &Rc<Self>) -> Outcome + Send + 'static) -> Work {
        Box::new(move |scope| {
            let guest = Self::of(scope)?;
            work(scope, &guest)
        })
    }

    /// Sets how realms represent handles, once.
    pub fn bind(&self, binding: &'static dyn Binding) {
        // Fails only if it was set before.
        let _ = self.binding.set(binding);
    }

    /// The guest of the isolate that `scope` is in.
    pub fn of(scope: &v8::Isolate) -> Result<Rc<Guest>, Fault> {
        attached_to_thread(scope).ok_or_else(Fault::disposed_during_execution)
    }

    /// The isolate as other threads see it.
    pub fn remote(&self) -> Result<Arc<Remote>, Fault> {
        self.remote.upgrade().ok_or_else(Fault::disposed_during_execution)
    }

    /// Uses the isolate as other threads see it, without counting.
    #[inline(always)]
    pub fn with_remote<T>(&self, use_it: impl FnOnce(&Remote) -> T) -> Result<T, Fault> {
        let current = context::with(|context| context.isolate.get()).cast::<Remote>();
        if current.is_null() || current != self.remote.as_ptr() {
            return self.remote().map(|remote| use_it(&remote));
        }
        // SAFETY: as in `current`: the pointer is set as long as this thread works for the isolate.
        Ok(use_it(unsafe { &*current }))
    }

    /// Drops everything, before the isolate is disposed of.
    pub(super) fn clear(&self) {
        // First: it refers to contexts, and its sessions end a pause.
        drop(self.agent.take());
        drop(std::mem::take(&mut *self.slots.borrow_mut()));
        self.handles.clear();
        self.modules.clear();
        self.compiled.clear();
        drop(std::mem::take(&mut *self.rejections.borrow_mut()));
        self.realms.clear();
        drop(self.surface.take());
    }

    /// The names of objects that its realms have received.
    pub fn known_names(&self) -> &convert::KnownNames {
        &self.realms.known_names
    }

    #[inline]
    pub(super) fn has_agent(&self) -> bool {
        self.agent.borrow().is_some()
    }

    pub fn agent(&self) -> Option<Rc<Agent>> {
        self.agent.borrow().clone()
    }

    /// Gives `value` a slot. Returns a counted handle on it.
    pub fn new_slot(&self, value: SlotValue) -> Result<Arc<Slot>, Fault> {
        let remote = self.remote()?;
        let count = self.slots_given.get().wrapping_add(1);
        self.slots_given.set(count);
        if count.is_multiple_of(SLOTS_PER_TIDY) {
            self.free_slots(&remote);
        }
        let index = self.slots.borrow_mut().insert(value);
        // A table of four billion slots exceeds every heap limit.
        let index = u32::try_from(index).map_err(|_| Fault::beyond("Too many handles"))?;
        remote.slots.add_handle();
        Ok(Slot::new(remote, index))
    }

    /// Reads a slot of this isolate.
    pub fn read_slot<T>(&self, slot: &Slot, read: impl FnOnce(&SlotValue) -> Option<T>) -> Option<T> {
        self.slots.borrow().get(slot.index() as usize).and_then(read)
    }

    /// Reads the slot at an index of the table, if it is in use.
    pub fn read_slot_at<T>(&self, index: u32, read: impl FnOnce(&SlotValue) -> Option<T>) -> Option<T> {
        self.slots.borrow().get(index as usize).and_then(read)
    }

    /// Keeps a handle or function for guest code. Returns its id in guest code.
    pub fn carry(&self, value: Value) -> usize {
        self.handles.insert(match self.own(&value) {
            Some(own) => Carried::Own(own),
            None => Carried::Foreign(value),
        })
    }

    /// How to carry a handle on something in this isolate; `None` for any other value.
    fn own(&self, value: &Value) -> Option<Own> {
        let Value::Handle(handle) = value else { return None };
        let value_of = |slot: &Slot| {
            let own = self.owns(slot).then(|| self.slots.borrow().get(slot.index() as usize).cloned());
            own.flatten()
        };
        match handle {
            Handle::Isolate(isolate) => (self.owner_id() == Some(isolate.0.id())).then_some(Own::Isolate),
            Handle::Context(context) => {
                Some(Own::Context { context: value_of(&context.slot)?, global: value_of(&context.global.slot)? })
            }
            Handle::Script(script) => Some(Own::Script(value_of(script)?)),
            Handle::Reference(reference) => Some(Own::Reference {
                value: value_of(&reference.slot)?,
                type_of: reference.type_of,
                accessors: reference.accessors,
                inherit: reference.inherit,
            }),
            Handle::ExternalCopy(_) | Handle::Module(_) | Handle::Linker(_) | Handle::Session(_) => None,
            Handle::Ivm | Handle::Lib => None,
        }
    }

    pub fn carried(&self, id: usize) -> Option<Value> {
        let own = match self.handles.get(id)? {
            Carried::Foreign(value) => return Some(value),
            Carried::Own(own) => own,
        };
        Some(Value::Handle(match own {
            Own::Isolate => Handle::Isolate(IsolateHandle(self.remote().ok()?)),
            Own::Context { context, global } => Handle::Context(Arc::new(ContextHandle {
                slot: self.new_slot(context).ok()?,
                global: Arc::new(Reference {
                    slot: self.new_slot(global).ok()?,
                    type_of: TypeOf::Object,
                    accessors: false,
                    inherit: false,
                }),
            })),
            Own::Script(script) => Handle::Script(self.new_slot(script).ok()?),
            Own::Reference { value, type_of, accessors, inherit } => {
                Handle::Reference(Arc::new(Reference { slot: self.new_slot(value).ok()?, type_of, accessors, inherit }))
            }
        }))
    }

    /// Whether `slot` belongs to this isolate.
    pub fn owns(&self, slot: &Slot) -> bool {
        self.owner_id() == Some(slot.owner().id())
    }

    /// A reply that this isolate's thread can wait for.
    pub fn reply(&self) -> Arc<Reply<Remote>> {
        Reply::new(self.remote.clone())
    }

    /// What identifies this isolate as an owner.
    pub fn owner_id(&self) -> Option<u64> {
        self.with_remote(Owner::id).ok()
    }

    /// Releases what guest code no longer holds, and frees the slots whose last handle is gone.
    pub(super) fn tidy(&self, remote: &Remote) {
        self.handles.release_collected();
        self.free_slots(remote);
    }

    fn free_slots(&self, remote: &Remote) {
        let released = remote.slots.take_released();
        if released.is_empty() {
            return;
        }
        for index in released {
            let value = self.slots.borrow_mut().try_remove(index as usize);
            drop(value);
        }
        let mut slots = self.slots.borrow_mut();
        if slots.capacity() > MAX_SPARE_SLOTS && slots.capacity() / 4 > slots.len() {
            slots.shrink_to_fit();
        }
    }

    /// Returns true for the outermost job.
    pub(super) fn push_chain(&self, chain: Chain, limits: Limits) -> bool {
        if limits.is_some() {
            self.running.last_limits.set(limits);
        }
        let mut chains = self.running.chains.borrow_mut();
        let chain = match chains.last() {
            Some((below, _)) => chain.nested_in(below),
            None => chain,
        };
        chains.push((chain, limits));
        chains.len() == 1
    }

    pub(super) fn pop_chain(&self) {
        let mut chains = self.running.chains.borrow_mut();
        chains.pop();
        if chains.is_empty() {
            self.realms.release_retained();
        }
    }

    /// A promise that others await may settle only after the running job has ended. Keeps their host alive until then.
    pub(super) fn keep_host_alive(&self, remote: &Remote) {
        if !self.running.keeps_host_alive.replace(true) {
            remote.keep_alives.begin_running();
        }
    }

    /// The outermost job has ended.
    pub(super) fn release_host(&self, remote: &Remote) {
        if self.running.keeps_host_alive.take() {
            remote.keep_alives.end_running(|| remote.is_disposed());
        }
    }

    /// The chain of the running job.
    pub fn chain(&self) -> Chain {
        self.running.chains.borrow().last().map(|(chain, ..)| chain.clone()).unwrap_or_default()
    }

    /// The host's number for the asynchronous call that the running job belongs to; 0 for none.
    pub fn request(&self) -> i64 {
        self.running.chains.borrow().last().map_or(0, |(chain, ..)| chain.request())
    }

    /// A record for a call of a host, which nothing else has.
    #[inline]
    pub fn take_direct_call(&self) -> Rc<DirectCall> {
        self.running.spare_direct_call.take().unwrap_or_default()
    }

    /// The call is over.
    #[inline]
    pub fn keep_direct_call(&self, mut shared: Rc<DirectCall>) {
        // If the guest was stopped, the host may still look at it.
        if let Some(direct) = Rc::get_mut(&mut shared) {
            direct.reset();
            self.running.spare_direct_call.set(Some(shared));
        }
    }

    /// Whether `host` answers on this thread what the running job asks.
    #[inline]
    pub fn is_answered_on_this_thread(&self, host: &dyn Host) -> bool {
        self.running.chains.borrow().last().is_some_and(|(chain, ..)| host.answers_here(chain))
    }

    /// Whether a host's thread waits for a job that runs here.
    pub(super) fn serves_waiting_host(&self) -> bool {
        self.running.chains.borrow().iter().any(|(chain, ..)| chain.is_awaited())
    }

    /// The limits of the running job, for what it causes.
    pub fn limits(&self) -> Limits {
        self.running.chains.borrow().last().map(|(_, limits)| *limits).unwrap_or_default()
    }

    /// The deadline of the running job.
    pub fn deadline(&self) -> Option<Deadline> {
        self.limits().deadline
    }

    pub(super) fn last_limits(&self) -> Limits {
        self.running.last_limits.get()
    }

    pub(super) fn has_rejections(&self) -> bool {
        !self.rejections.borrow().is_empty()
    }

    /// Takes the first rejection that stayed unhandled. The others are dropped, as in isolated-vm.
    pub(super) fn take_rejection(&self, scope: &mut IsolateScope<'_, '_>) -> Option<Fault> {
        let rejections = std::mem::take(&mut *self.rejections.borrow_mut());
        let (_, reason) = rejections.into_iter().next()?;
        let realm = self.realms.any()?;
        let context = v8::Local::new(scope, &realm.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        let reason = v8::Local::new(scope, &reason);
        Some(convert::fault_from_exception(scope, reason))
    }

    pub(super) fn forget_rejections(&self) {
        let rejections = std::mem::take(&mut *self.rejections.borrow_mut());
        drop(rejections);
    }

    /// A limit has stopped code of this owner, while no other job was running; see [`Modules::stop`].
    pub(super) fn note_stopped(&self, scope: &mut IsolateScope<'_, '_>, owner: i64) -> bool {
        self.running.stopped.borrow_mut().insert(owner);
        self.stop_modules(scope, owner)
    }

    /// No microtasks are left that stopped code could continue.
    pub(super) fn forget_stopped(&self) {
        let mut stopped = self.running.stopped.borrow_mut();
        if !stopped.is_empty() {
            *stopped = HashSet::new();
        }
    }

    fn has_stopped(&self, owner: i64) -> bool {
        self.running.stopped.borrow().contains(&owner)
    }

    /// A limit has stopped code of this owner; see [`Modules::stop`].
    pub(super) fn stop_modules(&self, scope: &mut IsolateScope<'_, '_>, owner: i64) -> bool {
        self.realms.any().is_some_and(|realm| self.modules.stop(scope, &realm, owner))
    }

    pub fn remember_shared(&self, memory: &Arc<SharedMemory>) {
        let mut shared = self.shared.borrow_mut();
        if shared.len().is_power_of_two() {
            shared.retain(|_, memory| memory.strong_count() > 0);
        }
        shared.insert(memory.pointer() as usize, Arc::downgrade(memory));
    }

    pub fn shared_at(&self, address: usize) -> Option<Arc<SharedMemory>> {
        self.shared.borrow().get(&address).and_then(Weak::upgrade)
    }

    /// [`Fault::Stopped`] if the guest is being stopped. V8 lets it run to its next check, but nothing that it does until then may leave
    /// the isolate.
    pub fn check_stopping(&self) -> Result<(), Fault> {
        if self.with_remote(Remote::is_stopping)? { Err(Fault::Stopped) } else { Ok(()) }
    }

    /// The same, and terminates execution in that case: V8 may run thousands of rounds of a loop until its next check.
    pub fn end_if_stopping(&self, scope: &mut IsolateScope<'_, '_>) -> Result<(), Fault> {
        self.check_stopping().inspect_err(|_| self.terminate(scope))
    }

    /// Terminates execution now. V8 by itself would notice only at the next loop or call, and run on until then.
    pub fn terminate(&self, scope: &mut IsolateScope<'_, '_>) {
        scope.terminate_execution();
        // V8 must not compile while it terminates execution; it only asserts that in builds with checks.
        if scope.is_execution_terminating() {
            return;
        }
        let Some(realm) = self.realms.any() else { return };
        v8::scope!(let scope, scope);
        let context = v8::Local::new(scope, &realm.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        // V8 also checks when it enters a script.
        let script = v8::String::new(scope, "0").and_then(|source| v8::Script::compile(scope, source, None));
        let _ = script.and_then(|script| script.run(scope));
    }
}

/// Rejections that are kept; only the first that stays unhandled is ever reported.
const MAX_REJECTIONS: usize = 10_000;

/// V8 calls this when a promise is rejected without a handler, and when a handler is added later.
pub(super) unsafe extern "C" fn on_promise_reject(message: v8::PromiseRejectMessage) {
    // SAFETY: V8 calls this on the isolate's thread with a message that lives for the call.
    v8::callback_scope!(unsafe let scope, &message);
    let _lifted = convert::cap::lift();
    let Ok(guest) = Guest::of(scope) else { return };
    let promise = v8::Global::new(scope, message.get_promise());
    match message.get_event() {
        v8::PromiseRejectEvent::PromiseRejectWithNoHandler => {
            let reason = message.get_value().unwrap_or_else(|| v8::undefined(scope).into());
            let reason = v8::Global::new(scope, reason);
            let mut rejections = guest.rejections.borrow_mut();
            if rejections.len() < MAX_REJECTIONS {
                rejections.push((promise, reason));
            }
        }
        v8::PromiseRejectEvent::PromiseHandlerAddedAfterReject => {
            guest.rejections.borrow_mut().retain(|(rejected, _)| *rejected != promise);
        }
        _ => {}
    }
}

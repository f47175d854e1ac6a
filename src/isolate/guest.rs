//! The V8 side of an isolate: its table of slots, its realms, what its guest code holds. Touched only by the thread
//! that has borrowed the isolate and holds its lock.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};

use slab::Slab;

use super::handles::Handles;
use super::inspector::{Agent, drain};
use super::modules::{CompiledModule, Modules};
use super::remote::Remote;
use super::{Deadline, IsolateScope, Job, Limits, Realm, entry};
use crate::convert;
use crate::value::{Answer, Chain, Fault, Outcome, Owner, Reply, SharedMemory, Slot};

/// What a slot of this isolate holds.
#[derive(Clone)]
pub enum Held {
    Context(Arc<Realm>),
    Script(Rc<CompiledScript>),
    Module(Rc<CompiledModule>),
    Value(Arc<Realm>, v8::Global<v8::Value>),
}

/// A script that any context of the isolate can run.
pub struct CompiledScript {
    pub script: v8::Global<v8::UnboundScript>,
    /// Whether the compilation cache that came with it was refused.
    pub cache_rejected: Option<bool>,
    /// A compilation cache that was asked for.
    pub cache: Option<Arc<Vec<u8>>>,
}

/// A guest that runs for long gives slots back all the while.
const HOLDS_PER_TIDY: u32 = 1_000;

/// Room that an empty table keeps.
const MAX_SPARE_SLOTS: usize = 4_096;

pub struct Guest {
    remote: Weak<Remote>,
    pub(super) slots: RefCell<Slab<Held>>,
    /// Counts what was ever given a slot.
    holds: Cell<u32>,
    /// By an index that is never used again: a function may outlive its realm's last handle.
    realms: RefCell<BTreeMap<u32, Weak<Realm>>>,
    next_realm: Cell<u32>,
    pub modules: Modules,
    /// Handles and functions that guest code holds.
    pub(super) handles: Handles,
    /// Shared memory that is known here, by its address: the same buffer travels as the same memory.
    shared: RefCell<BTreeMap<usize, Weak<SharedMemory>>>,
    /// For what needs a context before there is one.
    spare_realm: RefCell<Option<Arc<Realm>>>,
    /// Made beforehand, for whoever makes the first one.
    pub(super) prepared: RefCell<Option<Arc<Realm>>>,
    /// Some realm has met a handle.
    pub has_surface: Cell<bool>,
    /// One per entry on the stack.
    chains: RefCell<Vec<(Chain, Limits)>>,
    /// Realms that what runs now has come back to, until it is over: their continuations run at its end.
    staying: RefCell<Vec<Arc<Realm>>>,
    /// The host stays until what runs now is over.
    lingers: Cell<bool>,
    /// Those of the last call that had any; what V8 runs by itself gets them.
    last_limits: Cell<Limits>,
    /// Rejected promises nobody handles, in order.
    rejections: RefCell<Vec<(v8::Global<v8::Promise>, v8::Global<v8::Value>)>>,
    /// Where the isolate can be inspected.
    agent: RefCell<Option<Rc<Agent>>>,
}

// SAFETY: a `Guest` belongs to one isolate and is reached only through it, on the thread that holds the isolate's
// `v8::Locker`; moving the isolate to another thread happens under that lock, which orders all accesses.
unsafe impl Send for Guest {}
// SAFETY: as above: never two threads at once.
unsafe impl Sync for Guest {}

impl Guest {
    pub(super) fn new(remote: &Arc<Remote>) -> Arc<Self> {
        Arc::new(Self {
            remote: Arc::downgrade(remote),
            slots: RefCell::default(),
            holds: Cell::new(0),
            realms: RefCell::default(),
            next_realm: Cell::new(1),
            modules: Modules::default(),
            handles: Handles::default(),
            shared: RefCell::default(),
            spare_realm: RefCell::default(),
            prepared: RefCell::default(),
            has_surface: Cell::new(false),
            chains: RefCell::default(),
            staying: RefCell::default(),
            lingers: Cell::new(false),
            last_limits: Cell::default(),
            rejections: RefCell::default(),
            agent: RefCell::default(),
        })
    }

    /// The guest of the isolate that `scope` is in.
    pub fn of(scope: &v8::Isolate) -> Result<Arc<Guest>, Fault> {
        scope.get_slot::<Arc<Guest>>().cloned().ok_or_else(Fault::disposed_during_execution)
    }

    /// The same isolate as others see it.
    pub fn remote(&self) -> Result<Arc<Remote>, Fault> {
        self.remote.upgrade().ok_or_else(Fault::disposed_during_execution)
    }

    pub(super) fn add_realm(&self, realm: &Arc<Realm>) -> u32 {
        let index = self.next_realm.get();
        self.next_realm.set(index.wrapping_add(1));
        let mut realms = self.realms.borrow_mut();
        if realms.len().is_power_of_two() {
            realms.retain(|_, realm| realm.strong_count() > 0);
        }
        realms.insert(index, Arc::downgrade(realm));
        index
    }

    pub(super) fn revive_realm(&self, index: u32, realm: &Arc<Realm>) {
        self.realms.borrow_mut().insert(index, Arc::downgrade(realm));
    }

    pub(super) fn realm(&self, index: u32) -> Option<Arc<Realm>> {
        self.realms.borrow().get(&index).and_then(Weak::upgrade)
    }

    /// Lets go of everything, before the isolate is disposed.
    pub(super) fn clear(&self) {
        // First of all: it knows contexts, and its sessions end a pause.
        drop(self.agent.take());
        drop(std::mem::take(&mut *self.slots.borrow_mut()));
        self.handles.clear();
        self.modules.clear();
        drop(std::mem::take(&mut *self.rejections.borrow_mut()));
        drop(std::mem::take(&mut *self.realms.borrow_mut()));
        drop(std::mem::take(&mut *self.spare_realm.borrow_mut()));
        drop(std::mem::take(&mut *self.prepared.borrow_mut()));
    }

    /// Makes the isolate one that can be inspected.
    pub(super) fn open_inspector(&self, scope: &mut IsolateScope<'_, '_>, remote: &Arc<Remote>) {
        let agent = Agent::new(scope, remote);
        *self.agent.borrow_mut() = Some(Rc::clone(&agent));
        let realm = self.spare_realm(scope);
        let context = v8::Local::new(scope, &realm.context);
        agent.show_default_context(scope, context);
    }

    pub fn agent(&self) -> Option<Rc<Agent>> {
        self.agent.borrow().clone()
    }

    /// Gives `held` a slot and a counted handle on it.
    pub fn hold(&self, held: Held) -> Result<Arc<Slot>, Fault> {
        let remote = self.remote()?;
        let count = self.holds.get().wrapping_add(1);
        self.holds.set(count);
        if count.is_multiple_of(HOLDS_PER_TIDY) {
            self.free_slots(&remote);
        }
        let index = self.slots.borrow_mut().insert(held);
        // A table of four billion slots does not fit any heap limit.
        let index = u32::try_from(index).map_err(|_| Fault::beyond("Too many handles"))?;
        remote.handles.fetch_add(1, Ordering::Relaxed);
        Ok(Slot::new(remote, index))
    }

    /// Reads a slot of this isolate.
    pub fn held<T>(&self, slot: &Slot, read: impl FnOnce(&Held) -> Option<T>) -> Option<T> {
        self.slots.borrow().get(slot.index() as usize).and_then(read)
    }

    /// Reads whatever is at an index of the table of slots.
    pub fn peek<T>(&self, index: u32, read: impl FnOnce(&Held) -> Option<T>) -> Option<T> {
        self.slots.borrow().get(index as usize).and_then(read)
    }

    /// Runs `job` on top of what runs now.
    pub fn run_nested(self: &Arc<Self>, scope: &mut IsolateScope<'_, '_>, job: Job) -> Result<(), Fault> {
        let remote = self.remote()?;
        entry::run(scope, self, &remote, job);
        Ok(())
    }

    /// `slot` belongs to this isolate.
    pub fn owns(&self, slot: &Slot) -> bool {
        self.owner_id() == Some(slot.owner().id())
    }

    /// A reply that this isolate's thread can wait for.
    pub fn reply(&self) -> Arc<Reply<Remote>> {
        Reply::new(self.remote.clone())
    }

    /// What identifies this isolate as an owner.
    pub fn owner_id(&self) -> Option<u64> {
        self.remote.upgrade().map(|remote| Owner::id(&*remote))
    }

    /// Lets go of what guest code does not hold any more, and of the slots whose last handle is gone.
    pub(super) fn tidy(&self, remote: &Remote) {
        self.put_down_collected();
        self.free_slots(remote);
    }

    fn free_slots(&self, remote: &Remote) {
        if !remote.has_released.swap(false, Ordering::AcqRel) {
            return;
        }
        let released = std::mem::take(&mut *remote.released.lock().unwrap_or_else(PoisonError::into_inner));
        for index in released {
            let held = self.slots.borrow_mut().try_remove(index as usize);
            drop(held);
        }
        let mut slots = self.slots.borrow_mut();
        if slots.capacity() > MAX_SPARE_SLOTS && slots.capacity() / 4 > slots.len() {
            slots.shrink_to_fit();
        }
    }

    /// True for the outermost entry.
    pub(super) fn push_chain(&self, chain: Chain, limits: Limits) -> bool {
        if limits.is_some() {
            self.last_limits.set(limits);
        }
        let mut chains = self.chains.borrow_mut();
        chains.push((chain, limits));
        chains.len() == 1
    }

    pub(super) fn pop_chain(&self) {
        let mut chains = self.chains.borrow_mut();
        chains.pop();
        if chains.is_empty() {
            drop(std::mem::take(&mut *self.staying.borrow_mut()));
        }
    }

    /// A promise that others wait for may settle only when what runs now is over: their host stays until then.
    pub(super) fn linger(&self, remote: &Remote) {
        if !self.lingers.replace(true) {
            remote.keep_host();
        }
    }

    /// What ran is over.
    pub(super) fn stop_lingering(&self, remote: &Remote) {
        if self.lingers.take() {
            remote.let_host_go();
        }
    }

    /// Keeps a realm until what runs now is over, microtasks included.
    pub fn stay(&self, realm: &Arc<Realm>) {
        self.staying.borrow_mut().push(Arc::clone(realm));
    }

    /// The chain that runs now.
    pub fn chain(&self) -> Chain {
        self.chains.borrow().last().map(|(chain, ..)| chain.clone()).unwrap_or_default()
    }

    /// A host's thread waits for something that runs here.
    pub(super) fn serves_waiting_host(&self) -> bool {
        self.chains.borrow().iter().any(|(chain, ..)| chain.is_rooted())
    }

    /// The limits of what runs now, for what it brings about.
    pub fn limits(&self) -> Limits {
        self.chains.borrow().last().map(|(_, limits)| *limits).unwrap_or_default()
    }

    /// The deadline of what runs now.
    pub fn deadline(&self) -> Option<Deadline> {
        self.limits().deadline
    }

    pub(super) fn last_limits(&self) -> Limits {
        self.last_limits.get()
    }

    /// The first rejection that stayed unhandled; the rest is forgotten, as in isolated-vm.
    pub(super) fn take_rejection(&self, scope: &mut IsolateScope<'_, '_>) -> Option<Fault> {
        let rejections = std::mem::take(&mut *self.rejections.borrow_mut());
        let (_, reason) = rejections.into_iter().next()?;
        let realm = self.any_realm()?;
        let context = v8::Local::new(scope, &realm.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        let reason = v8::Local::new(scope, &reason);
        Some(convert::fault_from_exception(scope, reason))
    }

    pub(super) fn forget_rejections(&self) {
        let rejections = std::mem::take(&mut *self.rejections.borrow_mut());
        drop(rejections);
    }

    pub(super) fn any_realm(&self) -> Option<Arc<Realm>> {
        self.realms.borrow().values().find_map(Weak::upgrade)
    }

    /// Keeps a realm that no handle keeps.
    pub fn keep_realm(&self, realm: Arc<Realm>) {
        *self.spare_realm.borrow_mut() = Some(realm);
    }

    /// Some realm, to do in what depends on none.
    pub fn spare_realm(&self, scope: &mut IsolateScope<'_, '_>) -> Arc<Realm> {
        if let Some(realm) = self.any_realm() {
            return realm;
        }
        let realm = Realm::create(scope, self);
        self.keep_realm(Arc::clone(&realm));
        realm
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

    /// [`Fault::Stopped`] where the guest is being stopped: V8 lets it run on to its next check, but nothing of it shall
    /// reach anybody.
    pub fn check_stopping(&self) -> Result<(), Fault> {
        if self.remote()?.is_stopping() { Err(Fault::Stopped) } else { Ok(()) }
    }

    /// Terminates what runs, now: V8 itself would only notice at the next loop or call, and run on until then.
    pub fn terminate(&self, scope: &mut IsolateScope<'_, '_>) {
        scope.terminate_execution();
        let Some(realm) = self.any_realm() else { return };
        v8::scope!(let scope, scope);
        let context = v8::Local::new(scope, &realm.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        // Entering any script is such a moment.
        let script = v8::String::new(scope, "0").and_then(|source| v8::Script::compile(scope, source, None));
        let _ = script.and_then(|script| script.run(scope));
    }

    /// Waits on this thread until `reply` is there. Serves sync calls to this isolate meanwhile. Timeouts stand still where the
    /// guest waits for a `host`; other guests it may wait for no longer than it may run.
    pub fn wait(self: &Arc<Self>, scope: &mut IsolateScope<'_, '_>, reply: &Reply<Remote>, host: bool) -> Outcome {
        let remote = self.remote()?;
        let paused = remote.pause(host);
        let outcome = loop {
            let version = remote.version.load(Ordering::Acquire);
            // First of all: an answer may have come, and the guest must not go on with it.
            if remote.is_stopping() {
                // What has not begun for it need not.
                reply.answer(Err(Fault::Stopped));
                self.terminate(scope);
                break Err(Fault::Stopped);
            }
            if let Some(outcome) = reply.take() {
                break outcome;
            }
            drain(self);
            match remote.take_call() {
                Some(job) => entry::run(scope, self, &remote, job),
                None if remote.spin(version) => {}
                None => {
                    // The thread is about to sleep: there is time.
                    remote.check_memory(scope);
                    remote.sleep(version);
                }
            }
        };
        remote.resume(&paused);
        outcome
    }
}

/// Rejections that are remembered; only the first that stays unhandled is ever told.
const MAX_REJECTIONS: usize = 10_000;

/// V8 calls this when a promise is rejected without a handler, and when a handler comes after all.
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

//! One host environment on its own thread, which it never leaves: a realm of Node, Bun or Deno that has loaded the addon.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use slab::Slab;

use super::abortable::Abortable;
use super::answers::{Answers, PendingRequest};
use super::arena::Arena;
use super::context::CallContext;
use super::environment_handle::EnvironmentHandle;
use super::event::{Event, Origin};
use super::functions::Functions;
use super::js::{Js, JsResult, JsValue};
use super::pins::Pins;
use super::reference::Reference;
use super::shared_memory::Adopted;
use super::signal::Signal;
use super::streams::Retained;
use crate::isolate::caller_thread::DirectCaller;
use crate::isolate::{Kind, Limits, Remote, Settings, Stop};
use crate::ops::Prepared;
use crate::value::{
    Chain, Charge, ChargedSettlement, Completion, DirectCall, Fault, Handle, Host, Outcome, Owner, Request, Settlement,
    SharedMemory, Slot, Value, charged,
};

/// The environment on its own thread.
pub struct Environment {
    pub handle: Arc<EnvironmentHandle>,
    pub settings: Settings,
    pub(super) functions: Functions,
    /// Handles that the surface refers to by number.
    handles: RefCell<Slab<Value>>,
    pub(super) answers: Answers,
    pub(super) context: CallContext,
    loop_reference: LoopReference,
    pub(super) pins: Pins,
    pub(super) adopted: Adopted,
    pub(super) abortable: Abortable,
    pub(super) arena: Arena,
    /// The deepest place on the stack that was found to have room to serve a request.
    roomy: Cell<usize>,
    /// Set if this host has no handle scopes: a function of ours that serves `next`. Handles that are created during its call end with it.
    pub(super) serve_next: OnceCell<Reference>,
    pub(super) next: Cell<Option<Next>>,
    wake_ups: WakeUps,
}

/// What is served next while a sync call waits.
pub(super) enum Next {
    Request(Request),
    Direct(DirectCaller, Rc<DirectCall>),
}

/// The reference to the event loop, which keeps it alive.
#[derive(Default)]
struct LoopReference {
    /// Pending async calls and messages. The event loop stays alive while there is one.
    pending: Cell<u32>,
    /// The event loop is kept alive.
    is_held: Cell<bool>,
    /// Isolates that were answered, or have answered, and may send more.
    follow_ups: RefCell<HashMap<usize, Weak<Remote>>>,
}

/// The async calls of this turn.
#[derive(Default)]
struct WakeUps {
    /// One was made.
    called: Cell<bool>,
    /// Sleeping isolates that were called since then.
    unwoken: RefCell<Vec<Arc<Remote>>>,
}

impl Environment {
    /// The numbers of the module itself and of its `lib`, which are never released.
    pub(super) const IVM: usize = 0;
    pub(super) const LIB: usize = 1;

    /// Opens the environment that has these functions.
    pub fn open(functions: Functions, settings: Settings) -> &'static Environment {
        let handle = EnvironmentHandle::open();
        let host: Weak<dyn Host> = handle.me.clone();
        let maker = Arc::downgrade(&handle.warm_pool);
        let install_snapshot_web = crate::web::install_for_snapshot;
        let settings = Settings { host: Some(host), maker: Some(maker), install_snapshot_web, ..settings };
        let mut handles = Slab::new();
        // `Environment::IVM` and `Environment::LIB`.
        handles.insert(Value::Handle(Handle::Ivm));
        handles.insert(Value::Handle(Handle::Lib));
        // Never freed: Node-API defines no moment after which no callback can come.
        Box::leak(Box::new(Environment {
            pins: Pins::new(Arc::clone(&handle)),
            handle,
            settings,
            functions,
            handles: RefCell::new(handles),
            answers: Answers::default(),
            context: CallContext::default(),
            loop_reference: LoopReference::default(),
            adopted: Adopted::default(),
            abortable: Abortable::default(),
            arena: Arena::default(),
            roomy: Cell::new(usize::MAX),
            serve_next: OnceCell::new(),
            next: Cell::default(),
            wake_ups: WakeUps::default(),
        }))
    }

    /// Must be called if this host keeps all handles until control returns to it. `serve_next` serves the request in `next`.
    pub(super) fn has_no_scopes(&self, js: Js<'_>, serve_next: JsValue<'_>) -> JsResult<()> {
        let _ = self.serve_next.set(js.reference(serve_next)?);
        Ok(())
    }

    pub(super) fn signal(&self) -> &Signal {
        &self.handle.signal
    }

    /// Closes the environment, which is shutting down.
    pub fn close(&self) {
        self.wake_ups.unwoken.take();
        let holders = self.pins.revoke_host_memory();
        self.handle.close();
        // Their memory ends with the environment. An isolate that does not stop is abandoned after a while, so this wait ends.
        for remote in holders {
            remote.stop(Stop::Environment);
            if !remote.waits_on_this_thread() {
                remote.await_gone();
            }
        }
        drop(std::mem::take(&mut *self.handles.borrow_mut()));
        for pending in self.answers.take_all() {
            pending.completion.complete(Err(Fault::environment_gone()));
        }
    }

    pub fn handle(&self, id: usize) -> Option<Value> {
        self.handles.borrow().get(id).cloned()
    }

    /// Gives a handle a number for the surface.
    pub fn keep(&self, value: Value) -> usize {
        self.handles.borrow_mut().insert(value)
    }

    pub fn release(&self, id: usize) {
        if id > Self::LIB {
            let value = self.handles.borrow_mut().try_remove(id);
            // Outside the borrow: this may be the last handle of an isolate.
            drop(value);
        }
    }

    /// The handle of that number. The surface has kept its row by `entry` for this call only.
    pub fn take_handle(&self, js: Js<'_>, id: usize, entry: JsValue<'_>) -> JsResult<Option<Value>> {
        let value = self.handle(id);
        js.call(js.dereference(&self.functions.leave)?, &[entry])?;
        Ok(value)
    }

    /// Makes the surface keep a value, with a note, in a slot of its own table. The slot is charged to the guest that asks.
    pub fn own_slot(&self, js: Js<'_>, value: JsValue<'_>, note: JsValue<'_>) -> JsResult<Result<Arc<Slot>, Fault>> {
        let charge = match &*self.context.requester.borrow() {
            None => Charge::default(),
            Some(remote) => match Charge::take(&remote.accounts.references, 1) {
                Some(charge) => charge,
                None => return Ok(Err(Fault::too_many_references(remote.accounts.references.limit()))),
            },
        };
        let index = js.read_number(js.call(js.dereference(&self.functions.own)?, &[value, note])?)? as u32;
        Ok(Ok(Slot::charged(Arc::clone(&self.handle) as Arc<dyn Owner>, index, charge)))
    }

    /// Whether a guest has requested the value that is being read.
    pub fn serves_guest(&self) -> bool {
        self.context.requester.borrow().is_some()
    }

    pub fn owns(&self, slot: &Slot) -> bool {
        slot.owner().id() == self.handle.id
    }

    /// A promise that the surface settles by a call of `reply` with this number. The guest that has requested it is charged for an outcome that
    /// it has not asked for yet.
    pub fn expect_reply(&self, request: i64) -> Arc<Settlement> {
        let settlement = Arc::new(Settlement::default());
        let pending = match &*self.context.requester.borrow() {
            None => PendingRequest { completion: Arc::clone(&settlement) as Arc<dyn Completion>, requester: None },
            Some(remote) => {
                let answers = Arc::clone(&remote.accounts.answers);
                let completion = Arc::new(ChargedSettlement::new(Arc::clone(&settlement), answers));
                PendingRequest { completion, requester: Some(Arc::downgrade(remote) as Weak<dyn Owner>) }
            }
        };
        self.answers.promise(request, pending);
        settlement
    }

    /// A promise of the surface that has settled. The guest that has requested it is charged for the outcome until it has read it.
    pub fn settled(&self, outcome: Outcome) -> Arc<Settlement> {
        let (outcome, charge) = match &*self.context.requester.borrow() {
            None => (outcome, Charge::default()),
            Some(remote) => charged(&remote.accounts.answers, outcome),
        };
        let settlement = Settlement::settled(None, outcome);
        settlement.charge(charge);
        settlement
    }

    /// Keeps the event loop alive until the guest of `remote` has no more work.
    fn keep_alive_until_drained(&self, js: Js<'_>, remote: &Arc<Remote>) {
        let completion = self.drain(js, Arc::downgrade(remote));
        remote.when_drained(completion);
    }

    /// Keeps the event loop alive until `remote` is gone: the promises that it abandons must still be reported.
    pub fn keep_alive_until_gone(&self, js: Js<'_>, remote: &Remote) {
        remote.when_gone(self.drain(js, Weak::new()));
    }

    /// Keeps the event loop alive until the returned answer gets an outcome.
    pub fn drain(&self, js: Js<'_>, remote: Weak<Remote>) -> Arc<dyn Completion> {
        struct Drain(Weak<EnvironmentHandle>, Weak<Remote>, AtomicBool);
        impl Completion for Drain {
            fn complete(&self, _outcome: Outcome) {
                if !self.2.swap(true, Ordering::AcqRel)
                    && let Some(handle) = self.0.upgrade()
                {
                    let _ = handle.send(Event::Drained(self.1.clone()));
                }
            }

            fn is_discarded(&self) -> bool {
                true
            }
        }
        self.begin(js);
        Arc::new(Drain(self.handle.me.clone(), remote, AtomicBool::new(false)))
    }

    /// The number under which the surface will get the outcome of `settlement`.
    pub fn promise(&self, js: Js<'_>, settlement: &Arc<Settlement>) -> f64 {
        let held = settlement.is_timed();
        if held {
            self.begin(js);
        }
        let request = self.answers.next_promise();
        self.abortable.promise(request, settlement);
        let handle = self.handle.me.clone();
        let remote = settlement.origin().and_then(|isolate| Remote::from_owner(&isolate));
        let origin = remote.as_ref().map(|remote| Origin::of(remote)).unwrap_or_default();
        // The host has not asked for what a guest sends as an argument, and may not get a turn of its event loop for long.
        let outstanding = remote
            .filter(|_| self.context.purpose.get().is_argument)
            .map(|remote| Arc::clone(&remote.accounts.outstanding));
        let call = self.context.current.get().call;
        let limits = boxed(self.context.limits.get());
        settlement.subscribe(
            None,
            Box::new(move |outcome| {
                if let Some(handle) = handle.upgrade() {
                    let (outcome, charge) = match &outstanding {
                        Some(budget) => charged(budget, outcome),
                        None => (outcome, Charge::default()),
                    };
                    let _ = handle.send(Event::Settle {
                        request,
                        outcome,
                        charge,
                        held,
                        follow_ups: Weak::new(),
                        origin,
                        call,
                        limits,
                    });
                }
            }),
        );
        request as f64
    }

    /// The answer that settles `request` of the surface.
    pub fn async_completion(&self, js: Js<'_>, request: i64, remote: Weak<Remote>) -> Arc<dyn Completion> {
        self.limited_completion(js, request, remote, Limits::default())
    }

    /// The same for a call with limits.
    pub fn limited_completion(
        &self,
        js: Js<'_>,
        request: i64,
        remote: Weak<Remote>,
        limits: Limits,
    ) -> Arc<dyn Completion> {
        self.begin(js);
        let handle = self.handle.me.clone();
        let origin = remote.upgrade().map(|remote| OnceLock::from(Origin::of(&remote))).unwrap_or_default();
        let follow_ups = remote.clone();
        let completion: Arc<dyn Completion> = Arc::new(AsyncCompletion {
            handle,
            request,
            follow_ups,
            origin,
            limits,
            completed: AtomicBool::new(false),
        });
        self.abortable.begin(request, &completion, &remote);
        completion
    }

    /// Makes an async call. The first one of a turn wakes the isolate's thread at once, if it sleeps. Later ones, also in a turn that
    /// begins while a call is pending, are combined: a microtask wakes each isolate once.
    pub fn call_later(&self, js: Js<'_>, prepared: Prepared, chain: Chain, completion: Arc<dyn Completion>) {
        if !self.wake_ups.called.replace(true) {
            return prepared.dispatch(Kind::Task, chain, Charge::default(), completion);
        }
        let Some(remote) = prepared.enqueue(chain, completion) else { return };
        let is_first = {
            let mut unwoken = self.wake_ups.unwoken.borrow_mut();
            unwoken.push(remote);
            unwoken.len() == 1
        };
        // Hooks of the program run here, which may make calls.
        if is_first && js.dereference(&self.functions.flush_later).and_then(|later| js.call(later, &[])).is_err() {
            // The host is shutting down.
            self.flush_wake_ups();
        }
    }

    /// Wakes the isolates that were called. Another turn begins.
    pub fn flush_wake_ups(&self) {
        self.wake_ups.called.set(false);
        for remote in self.wake_ups.unwoken.take() {
            remote.flush_wake_ups();
        }
    }

    /// A call or message is pending.
    fn begin(&self, js: Js<'_>) {
        self.loop_reference.pending.set(self.loop_reference.pending.get() + 1);
        if !self.loop_reference.is_held.replace(true) {
            self.signal().reference(js);
        }
    }

    pub(super) fn end(&self) {
        self.loop_reference.pending.set(self.loop_reference.pending.get().saturating_sub(1));
    }

    /// A sync call has returned. It may have started work that continues: what a guest has sent meanwhile, and the promise that it
    /// returned.
    pub fn returned(&self, js: Js<'_>, origin: &Weak<Remote>, promised: bool) {
        let has_follow_up = promised || origin.upgrade().is_some_and(|remote| remote.has_detached_work());
        if has_follow_up {
            self.add_follow_up(origin);
        }
        if has_follow_up || self.handle.signalled.load(Ordering::Acquire) || self.handle.guests_are_busy() {
            self.update_hold(js);
        }
    }

    /// Keeps the event loop alive exactly while something is pending: a call, including calls between guests, a message that has arrived,
    /// or a guest's processing of an answer.
    pub(super) fn update_hold(&self, js: Js<'_>) {
        if self.loop_reference.pending.get() == 0 {
            for remote in self.loop_reference.follow_ups.take().values().filter_map(Weak::upgrade) {
                if remote.has_detached_work() {
                    self.keep_alive_until_drained(js, &remote);
                }
            }
        }
        // In this order: work that is over has sent its message before it ended.
        let busy = self.loop_reference.pending.get() > 0
            || self.handle.listen()
            || self.handle.signalled.load(Ordering::Acquire);
        if self.loop_reference.is_held.replace(busy) != busy {
            if busy { self.signal().reference(js) } else { self.signal().unreference(js) }
        }
    }

    /// More may come from `origin`, although no call waits for it yet.
    pub(super) fn add_follow_up(&self, origin: &Weak<Remote>) {
        if origin.strong_count() > 0 {
            // No other isolate can have this address while the weak reference is kept.
            self.loop_reference.follow_ups.borrow_mut().insert(origin.as_ptr().addr(), origin.clone());
        }
    }

    /// Keeps an object that a carrier refers to only by number, until the surface has read the carrier.
    pub fn retain_for_reader(&self, object: Retained) {
        self.context.retained.borrow_mut().push(object);
    }

    /// Whether the stack has room for a function of the host, and for the surface to handle the promise that it returns. A promise that
    /// rejects without that room stays unhandled, and guests decide how deeply calls are nested. If there is no room, an exception is
    /// pending.
    pub(super) fn has_room(&self, js: Js<'_>) -> bool {
        let marker = 0_u8;
        let here = (&raw const marker).addr();
        if here >= self.roomy.get() {
            return true;
        }
        // Arguments lie on the stack of the callee.
        let ping = |js: Js<'_>, environment: &Self| {
            let mut args = vec![js.undefined()?; ROOM / size_of::<JsValue>()];
            args[0] = js.number(0.0)?;
            js.call(js.dereference(&environment.functions.settle)?, &args).map(drop)
        };
        let is_roomy = matches!(js.scoped(self, ping), Ok(Ok(())));
        if is_roomy {
            self.roomy.set(here);
        }
        is_roomy
    }

    /// The surface's number for this memory; 0 if the memory is not the surface's.
    pub fn shared_key(&self, memory: &SharedMemory) -> u32 {
        match memory.origin {
            Some((owner, key)) if owner == self.handle.id => key,
            _ => 0,
        }
    }
}

/// Bytes of the stack that must be free when a host function is called.
const ROOM: usize = 64 * 1024;

/// Boxed, because few calls have limits and there are many events.
fn boxed(limits: Limits) -> Option<Box<Limits>> {
    limits.is_some().then(|| Box::new(limits))
}

struct AsyncCompletion {
    handle: Weak<EnvironmentHandle>,
    request: i64,
    /// The isolate that may send more.
    follow_ups: Weak<Remote>,
    origin: OnceLock<Origin>,
    limits: Limits,
    completed: AtomicBool,
}

impl Drop for AsyncCompletion {
    /// A call that could not be made at all must not keep the event loop alive.
    fn drop(&mut self) {
        self.complete(Err(Fault::promise_abandoned()));
    }
}

impl Completion for AsyncCompletion {
    fn is_complete(&self) -> bool {
        self.completed.load(Ordering::Acquire)
    }

    fn complete(&self, outcome: Outcome) {
        if !self.completed.swap(true, Ordering::AcqRel)
            && let Some(handle) = self.handle.upgrade()
        {
            let (request, follow_ups, limits) = (self.request, self.follow_ups.clone(), boxed(self.limits));
            let origin = self.origin.get().cloned().unwrap_or_default();
            let (charge, call) = (Charge::default(), request);
            let _ =
                handle.send(Event::Settle { request, outcome, charge, held: true, follow_ups, origin, call, limits });
        }
    }

    fn comes_from(&self, origin: &Arc<dyn Owner>) {
        // Set once.
        let _ = self.origin.set(Origin::of_owner(origin));
    }
}

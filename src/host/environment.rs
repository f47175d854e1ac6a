//! One host environment on its own thread, which it never leaves: a realm of Node, Bun or Deno that has loaded the addon.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use napi::sys;
use slab::Slab;

use super::js::{Js, JsResult, JsValue};
use super::shared::{Event, Shared};
use super::signal::Signal;
use super::{carrier, signal};
use crate::isolate::{Job, Kind, Remote, Settings};
use crate::ops::op;
use crate::value::{Answer, Chain, Fault, Handle, Outcome, Owner, Request, Settlement, SharedMemory, Slot, Value};

/// How long events are handled before others get a turn of the event loop.
const TURN: Duration = Duration::from_millis(8);

/// The environment on its own thread.
pub struct Local {
    pub shared: Arc<Shared>,
    pub settings: Settings,
    settle: sys::napi_ref,
    serve: sys::napi_ref,
    serve_for: sys::napi_ref,
    defer: sys::napi_ref,
    /// Handles that the surface knows by number. 0 is the module itself.
    handles: RefCell<Slab<Value>>,
    /// Answers that the surface was asked for, by number less one.
    asked: RefCell<Slab<Arc<dyn Answer>>>,
    /// Answers that the surface has promised, by its numbers, which are negative.
    promised: RefCell<HashMap<i64, Arc<dyn Answer>>>,
    last_promise: Cell<i64>,
    /// Async calls and messages under way. The event loop stays alive while there is one.
    pending: Cell<u32>,
    /// The event loop is kept alive.
    held: Cell<bool>,
    /// Isolates that were answered, or have answered, and may have more to say.
    owing: RefCell<HashMap<usize, Weak<Remote>>>,
    /// The sync call that this thread is in, and the chain it belongs to.
    pub(super) chain: RefCell<Option<Chain>>,
    /// Slots of the surface's table that have come since it asked last.
    pub(super) taken: RefCell<Vec<u32>>,
    /// Pins of shared memory: references to views of it.
    pins: RefCell<Slab<sys::napi_ref>>,
}

impl Local {
    /// Opens the environment that `js` is in.
    pub fn open(
        js: Js<'_>,
        [settle, serve, serve_for, defer]: [JsValue; 4],
        settings: Settings,
    ) -> JsResult<&'static Local> {
        let shared = Shared::open();
        let mut handles = Slab::new();
        handles.insert(Value::Handle(Handle::Ivm));
        // Never freed: Node-API names no moment after which no callback can come.
        let local: &'static Local = Box::leak(Box::new(Local {
            shared,
            settings,
            settle: js.reference(settle)?,
            serve: js.reference(serve)?,
            serve_for: js.reference(serve_for)?,
            defer: js.reference(defer)?,
            handles: RefCell::new(handles),
            asked: RefCell::default(),
            promised: RefCell::default(),
            last_promise: Cell::new(0),
            pending: Cell::new(0),
            held: Cell::new(false),
            owing: RefCell::default(),
            chain: RefCell::default(),
            taken: RefCell::default(),
            pins: RefCell::default(),
        }));
        signal::attach(js, local)?;
        Ok(local)
    }

    pub(super) fn signal(&self) -> &Signal {
        &self.shared.signal
    }

    /// The environment goes down.
    pub fn close(&self) {
        self.shared.close();
        drop(std::mem::take(&mut *self.handles.borrow_mut()));
        let asked = std::mem::take(&mut *self.asked.borrow_mut());
        let promised = std::mem::take(&mut *self.promised.borrow_mut());
        for answer in asked.into_iter().map(|(_, answer)| answer).chain(promised.into_values()) {
            answer.answer(Err(Fault::environment_gone()));
        }
    }

    pub fn handle(&self, id: usize) -> Option<Value> {
        self.handles.borrow().get(id).cloned()
    }

    /// Gives a handle a number for the surface.
    pub fn keep(&self, value: Value) -> usize {
        if let Value::Handle(Handle::Isolate(isolate)) = &value
            && let Some(remote) = Remote::from_owner(&isolate.0)
        {
            self.shared.register(&remote);
        }
        self.handles.borrow_mut().insert(value)
    }

    pub fn release(&self, id: usize) {
        if id != 0 {
            let value = self.handles.borrow_mut().try_remove(id);
            // Outside the borrow: this may be the last handle of an isolate.
            drop(value);
        }
    }

    /// A counted handle on a slot of the surface's own table.
    pub fn own_slot(&self, index: u32) -> Arc<Slot> {
        self.taken.borrow_mut().push(index);
        Slot::new(Arc::clone(&self.shared) as Arc<dyn Owner>, index)
    }

    pub fn owns(&self, slot: &Slot) -> bool {
        slot.owner().id() == self.shared.id
    }

    /// The surface will call `reply` with this number.
    pub fn expect_reply(&self, request: i64, answer: Arc<dyn Answer>) {
        self.promised.borrow_mut().insert(request, answer);
    }

    /// The surface answers.
    pub fn reply(&self, js: Js<'_>, request: i64, outcome: Outcome) {
        let answer = match usize::try_from(request - 1) {
            Ok(asked) => self.asked.borrow_mut().try_remove(asked),
            Err(_) => self.promised.borrow_mut().remove(&request),
        };
        let Some(answer) = answer else { return };
        let recipient = answer.recipient();
        answer.answer(outcome);
        if let Some(remote) = recipient.as_ref().and_then(Remote::from_owner) {
            self.owes(&Arc::downgrade(&remote));
            self.update_hold(js);
        }
    }

    /// Keeps the event loop alive until `remote` has done what was sent to it so far.
    fn stay_until_digested(&self, js: Js<'_>, remote: &Arc<Remote>) {
        let answer = self.digest(js, Arc::downgrade(remote));
        remote.post(Job::new(Kind::Task, answer, Box::new(|_scope, _guest| Ok(Value::Undefined))));
    }

    /// Keeps the event loop alive until `remote` is gone: promises it abandons are still to be heard of.
    pub fn stay_until_gone(&self, js: Js<'_>, remote: &Remote) {
        remote.when_gone(self.digest(js, Weak::new()));
    }

    /// An answer until which the event loop stays alive.
    fn digest(&self, js: Js<'_>, remote: Weak<Remote>) -> Arc<dyn Answer> {
        struct Digest(Weak<Shared>, Weak<Remote>, AtomicBool);
        impl Answer for Digest {
            fn answer(&self, _outcome: Outcome) {
                if !self.2.swap(true, Ordering::AcqRel)
                    && let Some(shared) = self.0.upgrade()
                {
                    let _ = shared.send(Event::Digested(self.1.clone()));
                }
            }
        }
        self.begin(js);
        Arc::new(Digest(self.shared.me.clone(), remote, AtomicBool::new(false)))
    }

    /// The number under which the surface will hear of `settlement`.
    pub fn promise(&self, js: Js<'_>, settlement: &Settlement) -> f64 {
        let held = settlement.is_timed();
        if held {
            self.begin(js);
        }
        let request = self.last_promise.get() - 1;
        self.last_promise.set(request);
        let shared = self.shared.me.clone();
        settlement.subscribe(
            None,
            Box::new(move |outcome| {
                if let Some(shared) = shared.upgrade() {
                    let _ = shared.send(Event::Settle { request, outcome, held, origin: Weak::new() });
                }
            }),
        );
        request as f64
    }

    /// The answer that settles `request` of the surface.
    pub fn async_answer(&self, js: Js<'_>, request: i64, origin: Weak<Remote>) -> Arc<dyn Answer> {
        self.begin(js);
        Arc::new(AsyncAnswer { shared: self.shared.me.clone(), request, origin, answered: AtomicBool::new(false) })
    }

    /// Something is under way.
    fn begin(&self, js: Js<'_>) {
        self.pending.set(self.pending.get() + 1);
        if !self.held.replace(true) {
            self.signal().hold(js);
        }
    }

    fn end(&self) {
        self.pending.set(self.pending.get().saturating_sub(1));
    }

    /// Everything that other threads have sent, on a turn of the event loop.
    pub fn handle_events(&self, js: Js<'_>) {
        let until = Instant::now() + TURN;
        let mut events = self.shared.take_events();
        while let Some(event) = events.pop_front() {
            // A refusal means that the host is going down, or that an exception is pending which it will report.
            let _ = js.scoped(|| self.handle_event(js, event));
            if Instant::now() >= until {
                break;
            }
        }
        if self.shared.put_back(events) {
            // Others want the event loop as well. Not through the thread-safe function: hosts call that again at once.
            let _ = js.scoped(|| js.call(js.dereference(self.defer)?, &[]));
        } else {
            self.update_hold(js);
        }
    }

    /// A sync call has returned. What it has set going is not over with it: what a guest has sent meanwhile, and the promise
    /// that came out of it.
    pub fn returned(&self, js: Js<'_>, promised_by: Option<&Weak<Remote>>) {
        if let Some(origin) = promised_by {
            self.owes(origin);
        }
        if promised_by.is_some() || self.shared.signalled.load(Ordering::Acquire) {
            self.update_hold(js);
        }
    }

    /// Keeps the event loop alive exactly while something is under way: a call, a message that has come, or what a guest
    /// still does with an answer that it got.
    fn update_hold(&self, js: Js<'_>) {
        if self.pending.get() == 0 {
            for remote in self.owing.take().values().filter_map(Weak::upgrade) {
                if remote.has_loose_work() {
                    self.stay_until_digested(js, &remote);
                }
            }
        }
        // In this order: work that is over by now has sent its message before.
        let busy = self.pending.get() > 0 || self.shared.signalled.load(Ordering::Acquire);
        if self.held.replace(busy) != busy {
            if busy { self.signal().hold(js) } else { self.signal().let_go(js) }
        }
    }

    /// More may come from `origin`, although nobody waits for it yet.
    fn owes(&self, origin: &Weak<Remote>) {
        if origin.strong_count() > 0 {
            // The address is the isolate's alone for as long as this is kept.
            self.owing.borrow_mut().insert(origin.as_ptr().addr(), origin.clone());
        }
    }

    fn handle_event(&self, js: Js<'_>, event: Event) -> JsResult<()> {
        match event {
            Event::Settle { request, outcome, held, origin } => {
                self.owes(&origin);
                if held {
                    self.end();
                }
                // What the host has no room for is told, so that nobody waits for ever.
                let carrier = carrier::write(js, self, outcome).or_else(|_| {
                    js.clear_exception();
                    carrier::write(js, self, Err(Fault::range_error("The value could not be brought into the host")))
                })?;
                js.call(js.dereference(self.settle)?, &[js.number(request as f64)?, carrier])?;
            }
            Event::Ask(request) => self.serve(js, request),
            Event::Disown(slot) => {
                let args = [js.number(0.0)?, js.number(f64::from(op::REF_RELEASE))?, js.number(f64::from(slot))?];
                js.call(js.dereference(self.serve)?, &args)?;
            }
            Event::Digested(origin) => {
                self.owes(&origin);
                self.end();
            }
            Event::Unpin(pin) => {
                let pin = self.pins.borrow_mut().try_remove(pin);
                if let Some(pin) = pin {
                    js.delete_reference(pin);
                }
            }
        }
        Ok(())
    }

    /// Whether JavaScript still runs here. A worker that is being terminated only shows when it is tried: nothing tells a
    /// thread that waits in native code.
    pub fn is_alive(&self, js: Js<'_>) -> bool {
        // Request 0 settles nothing.
        let ping = || js.call(js.dereference(self.settle)?, &[js.number(0.0)?, js.undefined()?]);
        // Deep in a recursion even this may throw; whoever throws is alive.
        matches!(js.scoped(ping), Ok(Ok(_))) || js.clear_exception()
    }

    /// Lets the surface answer a request, now or later.
    pub fn serve(&self, js: Js<'_>, request: Request) {
        let Request { op, slot, args, answer, chain, charge } = request;
        // A slab's key fits.
        let number = self.asked.borrow_mut().insert(answer) as i64 + 1;
        // While a sync call waits, what it asks for runs where it stands.
        let waits = chain.waits_in(self.shared.id);
        let caller = if waits { 0 } else { chain.request() };
        let outer = self.chain.replace(waits.then_some(chain));
        let carried = self.call_serve(js, caller, number, op, slot, args);
        *self.chain.borrow_mut() = outer;
        drop(charge);
        match carried {
            // `undefined`: the surface replies itself.
            Ok(None) => {}
            Ok(Some(outcome)) => self.reply(js, number, outcome),
            Err(_) => {
                // The surface lets no exception out, but at the end of the stack it cannot help it.
                let thrown = js.clear_exception();
                let fault = if thrown {
                    Fault::range_error("Maximum call stack size exceeded")
                } else {
                    Fault::environment_gone()
                };
                self.reply(js, number, Err(fault));
                // A guest may take that for an error and call again, for ever.
                if !thrown && !self.is_alive(js) {
                    self.close();
                }
            }
        }
    }

    /// `caller` is the async call of this environment on whose behalf it is asked, or 0.
    fn call_serve(
        &self,
        js: Js<'_>,
        caller: i64,
        number: i64,
        op: u32,
        slot: u32,
        args: Vec<Value>,
    ) -> JsResult<Option<Outcome>> {
        let mut values = Vec::with_capacity(args.len() + 4);
        if caller != 0 {
            values.push(js.number(caller as f64)?);
        }
        values.push(js.number(number as f64)?);
        values.push(js.number(f64::from(op))?);
        values.push(js.number(f64::from(slot))?);
        for arg in args {
            values.push(carrier::write(js, self, Ok(arg))?);
        }
        let serve = if caller == 0 { self.serve } else { self.serve_for };
        let carrier = js.call(js.dereference(serve)?, &values)?;
        Ok(match carrier::read(js, self, carrier)? {
            Ok(Value::Undefined) => None,
            outcome => Some(outcome),
        })
    }

    /// Pins the memory of a shared buffer for as long as an isolate uses it.
    pub fn share_memory(
        &self,
        js: Js<'_>,
        view: JsValue,
        key: u32,
        data: *mut u8,
        length: usize,
    ) -> JsResult<Arc<SharedMemory>> {
        /// Lets go of the view on the environment's thread.
        struct Pin(Weak<Shared>, usize);
        impl Drop for Pin {
            fn drop(&mut self) {
                if let Some(shared) = self.0.upgrade() {
                    let _ = shared.send(Event::Unpin(self.1));
                }
            }
        }
        let pin = self.pins.borrow_mut().insert(js.reference(view)?);
        let pin = Box::new(Pin(self.shared.me.clone(), pin));
        // SAFETY: the host gave address and length of a shared buffer's memory, which does not move; the strong reference
        // to a view keeps it until the pin is dropped. An environment that goes down stops its isolates first.
        Ok(Arc::new(unsafe { SharedMemory::new(data, length, Some((self.shared.id, key)), pin) }))
    }

    /// The number under which the surface knows this memory; 0 if it is not the surface's.
    pub fn shared_key(&self, memory: &SharedMemory) -> u32 {
        match memory.origin {
            Some((owner, key)) if owner == self.shared.id => key,
            _ => 0,
        }
    }
}

struct AsyncAnswer {
    shared: Weak<Shared>,
    request: i64,
    origin: Weak<Remote>,
    answered: AtomicBool,
}

impl Drop for AsyncAnswer {
    /// A call that could not be made at all: the event loop must not stay alive for it.
    fn drop(&mut self) {
        self.answer(Err(Fault::promise_abandoned()));
    }
}

impl Answer for AsyncAnswer {
    fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }

    fn answer(&self, outcome: Outcome) {
        if !self.answered.swap(true, Ordering::AcqRel)
            && let Some(shared) = self.shared.upgrade()
        {
            let _ =
                shared.send(Event::Settle { request: self.request, outcome, held: true, origin: self.origin.clone() });
        }
    }
}

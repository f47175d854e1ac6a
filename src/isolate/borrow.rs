//! An idle isolate runs one sync call on the thread of the host that makes the call, on a fiber. So the call needs no other thread.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::body::Body;
use super::current::{address, as_current, entered};
use super::deferred_disposal::{self, DeferredDisposal};
use super::guest::Guest;
use super::job::Job;
use super::lifecycle::{Action, Event};
use super::reason::Stop;
use super::remote::Remote;
use super::{entry, run};
use crate::engine;
use crate::native::context::Context;
use crate::native::fiber::{self, Fiber, Pause};
use crate::native::{self, locks};

/// An isolate that this thread has borrowed.
struct Borrowed {
    remote: Arc<Remote>,
    fiber: Rc<Fiber>,
    /// What the thread is to the guest, while it waits; and to its host, while the guest runs.
    context: Context,
    /// The version of the mailbox when the guest began to wait.
    version: Cell<u32>,
    /// V8's isolate, once the guest has begun.
    isolate: Cell<Option<v8::UnsafeRawIsolatePtr>>,
}

thread_local! {
    /// In the order in which they were borrowed. Their guests wait, except one that runs now.
    static BORROWED: RefCell<Vec<Rc<Borrowed>>> = const { RefCell::new(Vec::new()) };
    /// Fibers without work.
    static SPARE: RefCell<Vec<Rc<Fiber>>> = const { RefCell::new(Vec::new()) };
}

/// Fibers that a thread keeps. Each takes the memory that the deepest guest has used.
const MAX_SPARE: usize = 4;

impl Remote {
    /// Begins `job` on this thread, if the isolate is idle. Returns the job if it is not. [`resume`] must follow until it is done.
    pub fn begin_here(self: &Arc<Self>, job: Job) -> Result<(), Box<Job>> {
        // V8 may report fatal errors where it reads a snapshot of a host; threads of ours survive these.
        let keeps_thread = self.settings.inspector || self.settings.snapshot.is_some();
        if keeps_thread || self.inspector.profiles.are_wanted() || fiber::active() != 0 {
            return Err(Box::new(job));
        }
        // If a thread of ours has it, that returns it as soon as there is no work.
        self.execution.want();
        let spare = SPARE.with(|spare| spare.borrow_mut().pop());
        let Some(fiber) = spare.or_else(|| if fiber::prepare_thread() { Fiber::new() } else { None }) else {
            return Err(Box::new(job));
        };
        let inbox = self.mailbox.lock();
        let Action::Enter(body) = self.transition(&inbox, Event::Borrow).action else {
            drop(inbox);
            keep(fiber);
            return Err(Box::new(job));
        };
        self.execution.lend(true);
        drop(inbox);
        let remote = Arc::clone(self);
        let isolate = Cell::new(None);
        let context = Context::of_guest(fiber.reserve(), as_current(self));
        let borrowed = Rc::new(Borrowed { remote, fiber, context, version: Cell::new(0), isolate });
        let remote = Arc::clone(self);
        // SAFETY: the work borrows nothing.
        unsafe { borrowed.fiber.begin(move || serve(&remote, body, job)) };
        BORROWED.with(|all| all.borrow_mut().push(Rc::clone(&borrowed)));
        borrowed.resume();
        Ok(())
    }

    /// The guest waits until something has changed since `version`. This does not count as running time.
    pub(super) fn sleep(&self, version: u32) {
        let ran = self.accounts.meter.set_running(false);
        if !suspend(self, version) {
            self.mailbox.park(version, None);
        }
        self.accounts.meter.set_running(ran);
    }

    /// Whether a guest of this isolate waits on this thread.
    pub fn waits_here(&self) -> bool {
        let is_own = |borrowed: &Rc<Borrowed>| std::ptr::eq(&*borrowed.remote, self);
        BORROWED.try_with(|all| all.borrow().iter().any(is_own)).unwrap_or(false)
    }
}

/// The guest of `remote`, which runs on a fiber of this thread, waits until something has changed since `version`. False if it does not run on a
/// fiber.
fn suspend(remote: &Remote, version: u32) -> bool {
    if fiber::active() == 0 {
        return false;
    }
    let own = BORROWED.with(|all| {
        let all = all.borrow();
        all.iter().rev().find(|one| std::ptr::eq(&*one.remote, remote)).map(Rc::clone)
    });
    let Some(own) = own else { return false };
    own.version.set(version);
    own.isolate.set(entered());
    let isolate = own.isolate.get();
    // A guest that is left keeps no reference.
    drop(own);
    fiber::suspend();
    // On the fiber: V8 takes the bounds of the stack when it enters an isolate.
    if let Some(isolate) = isolate.filter(|isolate| !same(Some(*isolate), entered())) {
        set_entered(isolate, true);
    }
    true
}

/// Resumes the guest of `remote`, which was stopped while it waited on this thread, until it has returned.
pub fn unwind(remote: &Remote) {
    let own = BORROWED.with(|all| {
        let all = all.borrow();
        all.iter().rev().find(|one| std::ptr::eq(&*one.remote, remote)).map(Rc::clone)
    });
    if let Some(own) = own {
        while remote.is_stopping() && own.fiber.state() == Pause::Waiting {
            own.resume();
        }
    }
}

/// Resumes a guest that waits on this thread, if one has something to look at.
pub fn resume() -> bool {
    let found = BORROWED.with(|all| {
        let all = all.borrow();
        all.iter().rev().find(|one| one.version.get() != one.remote.mailbox.version()).map(Rc::clone)
    });
    found.is_some_and(|borrowed| {
        borrowed.resume();
        true
    })
}

fn keep(fiber: Rc<Fiber>) {
    SPARE.with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < MAX_SPARE {
            spare.push(fiber);
        }
    });
}

/// Enters or exits an isolate, which this thread has locked.
fn set_entered(isolate: v8::UnsafeRawIsolatePtr, enters: bool) {
    // SAFETY: the callers name isolates that are locked by this thread, which are alive, and exit only the one that was entered last.
    unsafe {
        let isolate = v8::Isolate::from_raw_isolate_ptr(isolate);
        if enters { isolate.enter() } else { isolate.exit() }
    }
}

fn same(one: Option<v8::UnsafeRawIsolatePtr>, other: Option<v8::UnsafeRawIsolatePtr>) -> bool {
    one.map(address) == other.map(address)
}

impl Borrowed {
    fn resume(self: &Rc<Self>) {
        // One isolate is entered at a time. The guest enters its own again.
        if let Some(other) = entered().filter(|entered| !same(Some(*entered), self.isolate.get())) {
            set_entered(other, false);
        }
        #[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
        let allowed = engine::Allowed::now();
        self.context.exchange();
        let pause = self.fiber.resume();
        self.context.exchange();
        match pause {
            Pause::Waiting => {}
            Pause::Done => self.end(),
            Pause::Left | Pause::Failed => {
                #[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
                allowed.restore();
                while let Some(own) = entered() {
                    set_entered(own, false);
                }
                self.end();
                self.remote.was_left(pause == Pause::Failed, self.context.entered());
            }
        }
    }

    /// Removes it from this thread.
    fn end(self: &Rc<Self>) {
        BORROWED.with(|all| all.borrow_mut().retain(|one| !Rc::ptr_eq(one, self)));
        let fiber = Rc::clone(&self.fiber);
        if fiber.state() == Pause::Done {
            keep(fiber);
        } else {
            // V8's own threads may refer to its frames.
            std::mem::forget(fiber);
        }
    }
}

/// Runs on the fiber.
fn serve(remote: &Arc<Remote>, body: Box<Body>, job: Job) {
    /// A panic is a bug of ours; without this, the callers of the isolate would wait forever.
    struct Watch<'a>(&'a Arc<Remote>);
    impl Drop for Watch<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.abandon("Internal error");
            }
        }
    }
    let _watch = Watch(remote);
    let accounts = &remote.accounts;
    engine::draw_on(&accounts.budget, &accounts.space, || {
        native::draw_on(accounts.quota.as_ref(), || {
            // Dropped before the body, also on a panic.
            let lent = remote.execution.thread.lend();
            {
                let mut locker = body.shared.lock();
                locks::disregard_held();
                let Ok(guest) = Guest::of(&locker) else { return };
                #[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
                engine::limit_stack(&locker);
                guest.tidy(remote);
                v8::scope!(let scope, &mut *locker);
                entry::run(scope, &guest, remote, job);
            }
            drop(lent);
        });
    });
    remote.take_back(body);
}

impl Remote {
    /// The call that has borrowed the isolate is over. If there is more work, a thread of ours goes on.
    fn take_back(self: &Arc<Self>, body: Box<Body>) {
        let inbox = self.mailbox.lock();
        self.execution.lend(false);
        let body = if inbox.is_empty() && !self.is_disposed() {
            match self.transition(&inbox, Event::Rest(body)).action {
                Action::Continue(body) => body,
                _ => return,
            }
        } else {
            body
        };
        drop(inbox);
        if self.is_disposed() {
            deferred_disposal::defer(DeferredDisposal::Stopped(body, Arc::clone(self)));
        } else {
            run::start(Arc::clone(self), Some(body));
        }
    }

    /// Its guest was left on this thread, inside `entered` tasks of V8. It `failed`: V8 has run out of memory.
    fn was_left(self: &Arc<Self>, failed: bool, entered: usize) {
        self.execution.lend(false);
        if failed {
            self.execution.thread.park();
            self.give_back_heap(entered);
            native::draw_on(self.accounts.quota.as_ref(), engine::abandon_texts);
            self.stop(Stop::Memory);
            self.abandon("Catastrophic out-of-memory error");
        } else {
            // The one that has requested it does the rest.
            self.execution.thread.was_left();
            self.abandon("Script failed to terminate");
        }
        self.accounts.account.freeze();
    }
}

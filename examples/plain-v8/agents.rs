//! Agents: isolates on threads of their own, that end with the process or on request.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use crate::host::{define, set, with_state};
use crate::run::{compile, pump};

const PAUSE: Duration = Duration::from_millis(1);

/// What a broadcast brings. The memory is atomically counted.
struct Message(v8::SharedRef<v8::BackingStore>, f64);
// SAFETY: shared memory, which V8 itself hands from thread to thread in this way.
unsafe impl Send for Message {}

/// The agents of one test, and what they have reported.
#[derive(Default)]
pub struct Agents {
    reports: Mutex<VecDeque<String>>,
    mailboxes: Mutex<Vec<mpsc::Sender<Message>>>,
    handles: Mutex<Vec<v8::IsolateHandle>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Agents {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn end(&self) {
        lock(&self.mailboxes).clear();
        for handle in lock(&self.handles).drain(..) {
            handle.terminate_execution();
        }
    }
}

type Arguments<'s> = v8::FunctionCallbackArguments<'s>;
type Answer<'s> = v8::ReturnValue<'s, v8::Value>;

/// `$262.agent` of a test.
pub fn install_parent(scope: &mut v8::PinScope<'_, '_>, agent: v8::Local<'_, v8::Object>) -> Option<()> {
    install_clocks(scope, agent)?;
    define(scope, agent, "start", start)?;
    define(scope, agent, "broadcast", broadcast)?;
    define(scope, agent, "getReport", get_report)
}

fn install_clocks(scope: &mut v8::PinScope<'_, '_>, agent: v8::Local<'_, v8::Object>) -> Option<()> {
    define(scope, agent, "sleep", sleep)?;
    define(scope, agent, "monotonicNow", monotonic_now)
}

fn sleep(scope: &mut v8::PinScope<'_, '_>, args: Arguments<'_>, _answer: Answer<'_>) {
    let time = args.get(0).number_value(scope).unwrap_or_default().max(0.0);
    std::thread::sleep(Duration::try_from_secs_f64(time / 1e3).unwrap_or_default());
}

fn monotonic_now(_scope: &mut v8::PinScope<'_, '_>, _args: Arguments<'_>, mut answer: Answer<'_>) {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    answer.set_double(START.elapsed().as_secs_f64() * 1e3);
}

fn start(scope: &mut v8::PinScope<'_, '_>, args: Arguments<'_>, _answer: Answer<'_>) {
    let source = args.get(0).to_rust_string_lossy(scope);
    let Some(agents) = with_state(|state| Arc::clone(&state.agents)) else { return };
    let (mailbox, letters) = mpsc::channel();
    lock(&agents.mailboxes).push(mailbox);
    let (ready, is_ready) = mpsc::channel();
    std::thread::spawn(move || {
        let isolate = &mut v8::Isolate::new(v8::CreateParams::default().allow_atomics_wait(true));
        lock(&agents.handles).push(isolate.thread_safe_handle());
        let _ = ready.send(());
        AGENT.replace(Some(Agent { agents, receive: None }));
        live(isolate, &source, &letters);
        drop(AGENT.replace(None));
    });
    let _ = is_ready.recv();
}

fn broadcast(scope: &mut v8::PinScope<'_, '_>, args: Arguments<'_>, _answer: Answer<'_>) {
    let number = args.get(1).number_value(scope).unwrap_or_default();
    let Ok(buffer) = v8::Local::<v8::SharedArrayBuffer>::try_from(args.get(0)) else { return };
    with_state(|state| {
        for mailbox in &*lock(&state.agents.mailboxes) {
            // One that has ended takes no letters.
            let _ = mailbox.send(Message(buffer.get_backing_store(), number));
        }
    });
}

fn get_report<'s>(scope: &mut v8::PinScope<'s, '_>, _args: Arguments<'s>, mut answer: Answer<'s>) {
    let report = with_state(|state| lock(&state.agents.reports).pop_front()).flatten();
    match report.and_then(|report| v8::String::new(scope, &report)) {
        Some(report) => answer.set(report.into()),
        None => answer.set_null(),
    }
}

/// An agent's own state.
struct Agent {
    agents: Arc<Agents>,
    receive: Option<v8::Global<v8::Function>>,
}

thread_local! {
    static AGENT: RefCell<Option<Agent>> = const { RefCell::new(None) };
}

fn live(isolate: &mut v8::Isolate, source: &str, letters: &mpsc::Receiver<Message>) -> Option<()> {
    v8::scope!(let scope, isolate);
    let context = v8::Context::new(scope, v8::ContextOptions::default());
    let scope = &mut v8::ContextScope::new(scope, context);
    let (global, host, agent) = (context.global(scope), v8::Object::new(scope), v8::Object::new(scope));
    install_clocks(scope, agent)?;
    define(scope, agent, "receiveBroadcast", receive_broadcast)?;
    define(scope, agent, "report", report)?;
    define(scope, agent, "leaving", leaving)?;
    set(scope, host, "agent", agent.into())?;
    set(scope, global, "$262", host.into())?;

    v8::tc_scope!(let scope, scope);
    compile(scope, source, "agent").and_then(|script| script.run(scope))?;
    loop {
        scope.perform_microtask_checkpoint();
        pump(scope);
        let receive = AGENT.with_borrow_mut(|agent| agent.as_mut().and_then(|agent| agent.receive.clone()));
        let letter = letters.recv_timeout(PAUSE);
        if matches!(letter, Err(mpsc::RecvTimeoutError::Disconnected)) {
            return None;
        }
        if let (Some(receive), Ok(Message(store, number))) = (receive, letter) {
            let buffer = v8::SharedArrayBuffer::with_backing_store(scope, &store).into();
            let (receiver, number) = (v8::undefined(scope).into(), v8::Number::new(scope, number).into());
            v8::Local::new(scope, &receive).call(scope, receiver, &[buffer, number])?;
        }
    }
}

fn receive_broadcast(scope: &mut v8::PinScope<'_, '_>, args: Arguments<'_>, _answer: Answer<'_>) {
    let receive = v8::Local::<v8::Function>::try_from(args.get(0)).ok().map(|receive| v8::Global::new(scope, receive));
    AGENT.with_borrow_mut(|agent| {
        if let Some(agent) = agent {
            agent.receive = receive;
        }
    });
}

fn report(scope: &mut v8::PinScope<'_, '_>, args: Arguments<'_>, _answer: Answer<'_>) {
    let text = args.get(0).to_rust_string_lossy(scope);
    AGENT.with_borrow(|agent| {
        if let Some(agent) = agent {
            lock(&agent.agents.reports).push_back(text);
        }
    });
}

fn leaving(_scope: &mut v8::PinScope<'_, '_>, _args: Arguments<'_>, _answer: Answer<'_>) {}

//! An isolate without a host, and calls to it that cannot block for long.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::isolate::{Kind, Limits, Remote};
use crate::native::lock;
use crate::ops::{self, Prepared, Transfer, op};
use crate::value::{Chain, Charge, Completion, Fault, Handle, Outcome, Text, Value};

/// The deadline of everything that may loop. Most calls take far less.
const DEADLINE: Duration = Duration::from_millis(50);
/// A call that takes this long is stuck: the deadline and the grace period are over by then, on any machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Megabytes.
const MEMORY: f64 = 32.0;

struct Mailbox(Mutex<Option<Sender<Outcome>>>);

impl Completion for Mailbox {
    fn complete(&self, outcome: Outcome) {
        if let Some(sender) = lock(&self.0).take() {
            let _ = sender.send(outcome);
        }
    }
}

/// The outcome of a call that may never end.
pub fn settle(prepared: Prepared) -> Outcome {
    settle_within(DEADLINE, prepared)
}

/// The outcome of a call. A call without an answer is a bug; a dropped answer counts as a fault.
pub fn settle_within(deadline: Duration, prepared: Prepared) -> Outcome {
    let (sender, receiver) = channel();
    let completion: Arc<dyn Completion> = Arc::new(Mailbox(Mutex::new(Some(sender))));
    let prepared = prepared.within(Limits::new(None, Some(deadline)));
    prepared.dispatch(Kind::Call, Chain::default(), Charge::default(), completion);
    match receiver.recv_timeout(TIMEOUT) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Disconnected) => Err(Fault::Stopped),
        Err(RecvTimeoutError::Timeout) => panic!("a call without an answer"),
    }
}

/// An isolate and a context of it.
pub struct Pair {
    pub isolate: Value,
    pub context: Value,
    uses: u32,
}

impl Pair {
    pub fn new(inspector: bool) -> Self {
        let settings = crate::guest::settings();
        let args = vec![Value::Number(MEMORY), Value::Undefined, Value::Boolean(inspector)];
        let isolate = settle(ops::prepare(op::CREATE_ISOLATE, None, args, &settings)).expect("an isolate");
        let args = vec![Value::Boolean(inspector)];
        let made = settle(ops::prepare(op::CREATE_CONTEXT, Some(isolate.clone()), args, &settings));
        Self { isolate, context: made.expect("a context"), uses: 0 }
    }

    pub fn remote(&self) -> Arc<Remote> {
        match &self.isolate {
            Value::Handle(Handle::Isolate(isolate)) => Remote::from_owner(&isolate.0).expect("an isolate"),
            _ => panic!("an isolate"),
        }
    }
}

/// The body of a function, with an argument that is copied in, and a result that is copied out.
pub fn closure(pair: &Pair, code: &str, argument: Value) -> Prepared {
    let none = || Value::Undefined;
    let copied = Value::Number(f64::from(Transfer::COPY));
    let args = vec![Value::String(Text::from(code)), none(), none(), none(), copied, none(), none(), argument];
    ops::prepare(op::EVAL_CLOSURE, Some(pair.context.clone()), args, &crate::guest::settings())
}

/// Keeps a pair for many inputs, because making one takes longer than running an input.
pub struct Kept {
    pair: Mutex<Option<Pair>>,
    make: fn() -> Pair,
}

impl Kept {
    pub const fn new(make: fn() -> Pair) -> Self {
        Self { pair: Mutex::new(None), make }
    }

    /// Runs with a pair that still works, and has run fewer than `most` inputs.
    pub fn with<T>(&self, most: u32, run: impl FnOnce(&Pair) -> T) -> T {
        let mut kept = lock(&self.pair);
        if kept.as_ref().is_some_and(|pair| pair.uses >= most || pair.remote().is_disposed())
            && let Some(pair) = kept.take()
        {
            let _ = settle(ops::prepare(op::DISPOSE, Some(pair.isolate), vec![], &crate::guest::settings()));
        }
        let pair = kept.get_or_insert_with(self.make);
        pair.uses += 1;
        run(pair)
    }
}

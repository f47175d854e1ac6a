//! An isolate without any host: jobs in, outcomes out.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{Kind, Remote, Stop};
use crate::native::lock;
use crate::ops::{self, Prepared, op};
use crate::value::{Chain, Charge, Completion, Fault, Outcome, Text, Value};

struct Mailbox(Mutex<Option<Sender<Outcome>>>);

impl Completion for Mailbox {
    fn complete(&self, outcome: Outcome) {
        if let Some(sender) = lock(&self.0).take() {
            let _ = sender.send(outcome);
        }
    }
}

const TIMEOUT: Duration = Duration::from_secs(20);

fn post(prepared: Prepared) -> Receiver<Outcome> {
    let (sender, receiver) = channel();
    let completion: Arc<dyn Completion> = Arc::new(Mailbox(Mutex::new(Some(sender))));
    prepared.dispatch(Kind::Call, Chain::default(), Charge::default(), completion);
    receiver
}

fn settle(prepared: Prepared) -> Outcome {
    post(prepared).recv_timeout(TIMEOUT).expect("an answer in time")
}

/// A new isolate and a context in it.
fn isolate(megabytes: f64) -> (Value, Value) {
    let settings = crate::guest::settings();
    let isolate = settle(ops::prepare(op::CREATE_ISOLATE, None, vec![Value::Number(megabytes)], &settings)).unwrap();
    let context = settle(ops::prepare(op::CREATE_CONTEXT, Some(isolate.clone()), vec![], &settings)).unwrap();
    (isolate, context)
}

fn eval(context: &Value, code: &str, timeout: f64) -> Prepared {
    let args = vec![
        Value::String(Text::from(code)),
        Value::Undefined,
        Value::Undefined,
        Value::Undefined,
        Value::Number(0.0),
        Value::Number(timeout),
    ];
    ops::prepare(op::EVAL, Some(context.clone()), args, &crate::guest::settings())
}

fn message(outcome: Outcome) -> String {
    outcome.expect_err("a fault").message()
}

#[test]
fn runs_code() {
    let (_isolate, context) = isolate(32.0);
    let sum = settle(eval(&context, "1 + 1", 0.0)).unwrap();
    assert_eq!(sum.as_number(), Some(2.0));
    assert_eq!(message(settle(eval(&context, "throw new TypeError('x')", 0.0))), "x");
}

#[test]
fn stops_at_the_timeout_and_goes_on() {
    let (_isolate, context) = isolate(32.0);
    for code in ["for(;;);", "for(;;){ new Array(1000).fill(1.5) }", "/^(a+)+$/.test('a'.repeat(40) + 'b')"] {
        let start = Instant::now();
        assert_eq!(message(settle(eval(&context, code, 50.0))), "Script execution timed out.", "{code}");
        assert!(start.elapsed() >= Duration::from_millis(50), "{code}");
        assert_eq!(settle(eval(&context, "2", 0.0)).unwrap().as_number(), Some(2.0), "{code}");
    }
}

#[test]
fn ends_at_the_memory_limit() {
    let (_isolate, context) = isolate(16.0);
    let outcome = settle(eval(&context, "const a = []; for (;;) a.push(new Array(1000).fill({}))", 0.0));
    assert_eq!(message(outcome), Fault::out_of_memory().message());
    assert!(settle(eval(&context, "1", 0.0)).is_err());
}

#[test]
fn disposing_answers_what_runs() {
    let (isolate, context) = isolate(32.0);
    let running = post(eval(&context, "for(;;);", 0.0));
    let Value::Handle(crate::value::Handle::Isolate(handle)) = &isolate else { panic!("an isolate") };
    let remote = Remote::from_owner(&handle.0).unwrap();
    assert!(remote.stop(Stop::Disposed));
    assert!(!remote.stop(Stop::Disposed));
    let outcome = running.recv_timeout(TIMEOUT).expect("an answer in time");
    assert_eq!(message(outcome), Fault::disposed_during_execution().message());
}

#[test]
fn gives_up_what_cannot_be_stopped() {
    let (_isolate, context) = isolate(32.0);
    let start = Instant::now();
    let code = "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)";
    assert_eq!(message(settle(eval(&context, code, 50.0))), Fault::unresponsive().message());
    // Takes 1.3 seconds if a processor is free for it.
    assert!(start.elapsed() < Duration::from_millis(50 + 4_000 + 250));
}

#[test]
fn the_startup_snapshot_holds_the_surface() {
    let (_isolate, context) = isolate(32.0);
    // A handle creates the realm's surface, which comes from the snapshot.
    let args = vec![
        Value::String(Text::from("return typeof $0.copy")),
        Value::Undefined,
        Value::Undefined,
        Value::Undefined,
        Value::Number(0.0),
        Value::Undefined,
        Value::Undefined,
        Value::Handle(crate::value::Handle::ExternalCopy(crate::value::ExternalCopy::new(Value::Number(1.0)))),
    ];
    let outcome = settle(ops::prepare(op::EVAL_CLOSURE, Some(context), args, &crate::guest::settings()));
    assert!(matches!(outcome, Ok(Value::String(text)) if text == Text::from("function")));
}

/// Without the linker's help, V8 gives a view that is a part of its buffer a wrong address.
#[cfg(target_os = "linux")]
#[test]
fn a_snapshot_that_v8_does_not_restore_is_refused() {
    let snapshot = |code: &str| {
        let number = || Value::Number(0.0);
        let script = [Value::String(Text::from(code)), Value::Undefined, number(), number()];
        let args = [number(), number(), number(), Value::Undefined, number()].into_iter().chain(script).collect();
        settle(ops::prepare(op::CREATE_SNAPSHOT, None, args, &crate::guest::settings()))
    };
    let buffer = "const b = new ArrayBuffer(16); const v = new DataView(b, 4); b.v = v;";
    let refused = message(snapshot(&format!("{{ {buffer} globalThis.b = b; }}")));
    assert_eq!(refused, "A buffer in a snapshot must not have several views and properties of its own");
    let resizable = "const b = new ArrayBuffer(16, { maxByteLength: 64 }); const c = new Uint8Array(b);";
    let code = format!(
        "{{ {buffer} globalThis.v = v; }} {{ {resizable} globalThis.c = [c, b, new DataView(b, 4)]; }}
        {{ const b = new ArrayBuffer(16); globalThis.d = [new Uint8Array(b), new DataView(b, 4), new Uint8Array(b)]; b.transfer(); }}
        globalThis.e = [new Uint8Array(0), new Float64Array(5), new ArrayBuffer(0), /a/g, new Map([[{{}}, 1]]), new Error('e'), Symbol('s')];"
    );
    assert!(snapshot(&code).is_ok());
}

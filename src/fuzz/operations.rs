//! Operations that no surface would ask for: any number, on any handle, with any arguments.

use std::sync::Arc;

use super::input::Input;
use super::isolate::{Kept, Pair, settle};
use crate::isolate::Settings;
use crate::ops::{self, Caller, op};
use crate::value::{BigInt, Completion, ExternalCopy, Fault, Handle, Payload, Settlement, Text, Value};

static KEPT: Kept = Kept::new(|| Pair::new(true));
const MAX_USES: u32 = 100;
const MAX_OPERATIONS: usize = 12;
const MAX_ARGUMENTS: usize = 9;
const DEEPEST: u32 = 3;

const SNIPPETS: [&str; 20] = [
    "1",
    "({})",
    "throw 1",
    "[1,2]",
    "(a, b) => a",
    "globalThis",
    "x = { a: { b: 1 }, get c() { return 1 } }",
    "return $0",
    "return [...arguments]",
    "new Promise(() => {})",
    "Promise.resolve(1)",
    "for (;;);",
    "import x from 'y'; export default x",
    "export const a = await 1",
    "import('z')",
    "a",
    "then",
    "x.a.b.c",
    "(",
    "new Proxy({}, { get() { throw 1 } })",
];

/// Every operation is answered, by a value or a fault.
pub fn operations(data: &[u8]) {
    let mut input = Input::new(data);
    KEPT.with(MAX_USES, |pair| run(&mut input, pair));
}

fn run(input: &mut Input<'_>, pair: &Pair) {
    let settings = crate::guest::settings();
    let mut pool = vec![pair.isolate.clone(), pair.context.clone()];
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        let number = u32::from(input.byte());
        // A snapshot takes longer than everything else, and so does waiting for a promise that never settles.
        if number == op::CREATE_SNAPSHOT || number == op::LINK_WATCH {
            continue;
        }
        let target = if input.below(8) > 0 { input.pick(&pool).cloned() } else { None };
        let args = (0..input.below(MAX_ARGUMENTS + 1)).map(|_| value(input, &pool, 0)).collect();
        let outcome = settle(ops::prepare(number, target, args, &Pooled { settings: &settings, pool: &pool }));
        match outcome {
            Ok(Value::Promise(settlement)) if settlement.is_unclaimed() => pool.push(Value::Promise(settlement)),
            Ok(value) => pool.push(value),
            Err(Fault::Thrown(value)) => pool.push(value),
            Err(Fault::Error(error)) => assert!(!error.message.is_empty() || error.code.is_none()),
            Err(Fault::Stopped) => {}
        }
    }
}

/// A caller whose handles are the values of a pool.
struct Pooled<'a> {
    settings: &'a Settings,
    pool: &'a [Value],
}

impl Caller for Pooled<'_> {
    fn settings(&self) -> &Settings {
        self.settings
    }

    fn handle(&self, id: usize) -> Option<Value> {
        self.pool.get(id % self.pool.len()).cloned()
    }
}

fn value(input: &mut Input<'_>, pool: &[Value], depth: u32) -> Value {
    let again = |input: &mut Input<'_>| value(input, pool, depth + 1);
    match input.byte() % if depth < DEEPEST { 18 } else { 12 } {
        0 => Value::Undefined,
        1 => Value::Null,
        2 => Value::Boolean(input.byte() & 1 == 1),
        3 => Value::Number(f64::from(input.byte())),
        4 => Value::Number(f64::from_bits(input.word())),
        5 => Value::BigInt(Box::new(BigInt { negative: input.byte() & 1 == 1, words: [input.word()].into() })),
        6 => Value::String(input.text()),
        7 | 8 => Value::String(Text::from(*input.pick(&SNIPPETS).unwrap_or(&""))),
        9..=11 => input.pick(pool).cloned().unwrap_or(Value::Undefined),
        12 => {
            let mut bytes = Payload::VERSION.to_vec();
            bytes.extend_from_slice(input.some_bytes());
            let moved = input.byte() & 1 == 1;
            Value::Payload(Box::new(Payload { bytes: Arc::new(bytes), table: Vec::new(), moved }))
        }
        13 => Value::Payload(Box::new(Payload::buffer(Arc::new(input.some_bytes().to_vec())))),
        14 => Value::List((0..input.below(4)).map(|_| again(input)).collect()),
        15 => Value::Handle(Handle::ExternalCopy(ExternalCopy::new(again(input)))),
        16 => {
            let settlement = Arc::new(Settlement::default());
            settlement.complete(if input.byte() & 1 == 1 { Ok(again(input)) } else { Err(Fault::error("rejected")) });
            Value::Promise(settlement)
        }
        _ => match input.pick(pool) {
            Some(Value::Handle(Handle::Reference(reference))) => Value::Dereference(Arc::clone(reference)),
            Some(Value::Handle(Handle::ExternalCopy(copy))) => Value::CopyInto {
                copy: Arc::clone(copy),
                transfer_in: input.byte() & 1 == 1,
                checked: input.byte() & 1 == 1,
            },
            _ => Value::Handle(Handle::Lib),
        },
    }
}

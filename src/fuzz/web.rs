//! The web APIs of guests, with arguments that are read from the fuzzer's bytes.

use std::sync::Arc;
use std::time::Duration;

use super::isolate::{Kept, Pair, closure, settle_within};
use crate::sandbox::{self, ContextGlobals, Names};
use crate::value::{Fault, Handle, Payload, Value};

static KEPT: Kept = Kept::new(with_web);
const MAX_USES: u32 = 5_000;
/// Nothing here loops. Only a busy machine takes long.
const DEADLINE: Duration = Duration::from_secs(10);
const EVERYTHING: u32 = u32::MAX;

fn with_web() -> Pair {
    let pair = Pair::new(false);
    let Value::Handle(Handle::Context(context)) = &pair.context else { panic!("a context") };
    let globals = ContextGlobals {
        timers: None,
        web: Names::from_bits(EVERYTHING),
        modules: None,
        log_length: None,
        is_plugin: false,
    };
    settle_within(DEADLINE, sandbox::install(context, globals)).expect("the web");
    pair
}

/// The functions keep their contracts: decoding in pieces gives the same as decoding at once, a URL that was parsed can be parsed again,
/// and only the errors of the specifications are thrown.
pub fn web(data: &[u8]) {
    let bytes = Value::Payload(Box::new(Payload::buffer(Arc::new(data.to_vec()))));
    KEPT.with(MAX_USES, |pair| {
        let prepared = closure(pair, include_str!("web.js"), bytes);
        match settle_within(DEADLINE, prepared) {
            Ok(Value::Undefined) => {}
            Ok(other) => panic!("the program gives {other:?}"),
            // The heap was full, or the deadline has passed.
            Err(Fault::Error(error)) if error.code.is_some() => {}
            Err(fault) => panic!("{}", fault.message()),
        }
    });
}

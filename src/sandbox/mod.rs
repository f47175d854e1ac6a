//! The ready-made sandboxes, native: one call in, one completion out. Each execution has an isolate of its own, made for
//! it and disposed with it.

mod console;
mod session;
mod timers;
mod tools;

use std::sync::Arc;
use std::time::Duration;

pub use session::start;

use crate::value::{Answer, Callable, Text, Value};

/// How console calls become log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStyle {
    /// As they are; few and short (`createSandbox`).
    Plain,
    /// Errors and warnings marked `[ERROR] ` and `[WARN] ` (`IsolatedVMSandbox`).
    Marked,
}

/// One execution.
pub struct Spec {
    /// What is run: the body of a function that gives the result or a promise of it.
    pub code: Body,
    /// Run instead where the user's code is one function as a whole: gives that function, whose result is the result.
    pub function: Option<FunctionForm>,
    /// `globalThis` is shadowed: undefined in the code itself.
    pub shadow_global: bool,
    /// Bytes of heap, and again as many of buffers.
    pub memory_limit: usize,
    /// Wall-clock time for everything, host functions included.
    pub timeout: Duration,
    /// Bytes of UTF-8 that the result may take as JSON.
    pub max_output: usize,
    pub log_style: LogStyle,
    pub timers: bool,
    /// An object whose properties become globals.
    pub globals: Value,
    /// Functions of the host by their names inside.
    pub tools: Vec<Tool>,
    /// Gets `[ok, result or error message, log, log, …]` as a list.
    /// The host's number for the execution.
    pub request: i64,
    pub answer: Arc<dyn Answer>,
}

/// The body of a function.
pub struct Body {
    pub text: Text,
    /// How many characters come before the user's own.
    pub prefix: i32,
}

/// Code that may be one function as a whole.
pub struct FunctionForm {
    pub code: Body,
    /// Compiles only where it is not.
    pub guard: Text,
}

/// A function of the host under `namespace.method`.
pub struct Tool {
    pub namespace: Text,
    pub method: Text,
    pub function: Arc<Callable>,
}

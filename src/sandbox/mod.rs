//! The ready-made sandboxes, native: one call in, one completion out. Each execution has an isolate of its own, which nobody has
//! used before it and which is disposed with it.

mod actors;
mod builtins;
pub mod console;
mod equip;
mod modules;
mod outfit;
mod session;
mod shadows;
mod timers;
mod tools;
mod warm;

use std::sync::Arc;
use std::time::Duration;

pub use actors::{Enactment, enact};
pub use builtins::RECIPE as BUILTINS;
pub use equip::{Equipment, adopt, equip};
pub use modules::Sources;
pub use outfit::{Outfit, RealmOutfit};
pub use session::{Supply, most_clone, start};
pub use warm::Pool;

use crate::value::{Answer, Callable, Text, Value};
pub use crate::web::Names;

/// How console calls become log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogStyle {
    /// As they are (`createSandbox`).
    #[default]
    Plain,
    /// Errors and warnings marked `[ERROR] ` and `[WARN] ` (`IsolatedVMSandbox`).
    Marked,
    /// JSON of the one argument, or of all as a list, marked with the level (`SubprocessSandbox`).
    Tagged,
}

/// What becomes of console calls.
#[derive(Default)]
pub struct Logging {
    pub style: LogStyle,
    /// Lines that are kept, and characters of each.
    pub most_lines: usize,
    pub most_length: usize,
    /// A function of the host that hears of each line at once, with its level.
    pub listener: Option<Arc<Callable>>,
}

/// One execution.
pub struct Spec {
    /// What is run: the body of a function that gives the result or a promise of it.
    pub code: Body,
    /// Run instead where the user's code is one function as a whole: gives that function, whose result is the result.
    pub function: Option<FunctionForm>,
    /// What the code can import, if anything.
    pub modules: Option<Modules>,
    pub outfit: Outfit,
    /// The prototypes of the standard classes cannot be changed.
    pub freeze_builtins: bool,
    /// Wall-clock time for everything, host functions included.
    pub timeout: Duration,
    /// Bytes of UTF-8 that the result may take as JSON.
    pub max_output: usize,
    pub logging: Logging,
    /// An object whose properties become globals.
    pub globals: Value,
    /// Functions of the host by their names inside.
    pub tools: Vec<Tool>,
    /// They take their params as JSON, not as copies of what that stands for.
    pub tools_take_text: bool,
    /// The host's number for the execution.
    pub request: i64,
    /// Gets `[ok, value or error message, error's code, name and frames, processor time and wall-clock time in nanoseconds, heap's peak in
    /// bytes, calls of the host, lines lost, line, line, …]` as a list.
    pub answer: Arc<dyn Answer>,
}

/// The body of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    pub text: Text,
    /// Where the text begins as the user counts: its first line, and the column of its first character, which is negative where
    /// characters come before the user's own.
    pub line: i32,
    pub column: i32,
}

/// What code can import.
pub struct Modules {
    pub sources: Sources,
    /// The code as a module, which is run where it is no body of a function.
    pub main: Body,
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

//! The ready-made sandboxes in native code: one call in, one completion out. Each execution has an isolate of its own, which runs nothing
//! before it and is disposed after it.

mod actors;
mod builtins;
pub mod console;
mod equip;
mod modules;
mod result;
mod session;
mod shadows;
mod template;
mod timers;
mod tools;
mod warm;

use std::sync::Arc;
use std::time::Duration;

pub use actors::{Enactment, enact};
pub use builtins::RECIPE as BUILTINS;
pub use equip::{Equipment, adopt, equip};
pub use modules::Sources;
pub use result::ExecutionResult;
pub use session::{Supply, most_clone, start};
pub use template::{IsolateTemplate, RealmTemplate};
pub use warm::Pool;

use crate::value::{Callable, Completion, Text, Value};
pub use crate::web::Names;

/// How console calls become log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogStyle {
    /// As they are (`createSandbox`).
    #[default]
    Plain,
    /// With `[ERROR] ` or `[WARN] ` before errors and warnings (`IsolatedVMSandbox`).
    Marked,
    /// JSON of the one argument, or of all arguments as a list, with the level before it (`SubprocessSandbox`).
    Tagged,
}

/// What happens to console calls.
#[derive(Default)]
pub struct Logging {
    pub style: LogStyle,
    /// The maximum number of lines that are kept, and of characters of each.
    pub most_lines: usize,
    pub most_length: usize,
    /// A function of the host that receives each line at once, with its level.
    pub listener: Option<Arc<Callable>>,
}

/// One execution.
pub struct Spec {
    /// The code: the body of a function that returns the result or a promise of it.
    pub code: Body,
    /// The first one that fits runs instead.
    pub forms: Vec<Form>,
    /// What the code can import, if anything.
    pub modules: Option<Modules>,
    pub template: IsolateTemplate,
    /// Whether the prototypes of the standard classes are frozen.
    pub freeze_builtins: bool,
    /// Wall-clock time for everything, including host functions.
    pub timeout: Duration,
    /// The maximum number of bytes of UTF-8 that the result may take as JSON.
    pub max_output: usize,
    pub logging: Logging,
    /// An object whose properties become globals.
    pub globals: Value,
    /// Functions of the host, by their names in the sandbox.
    pub tools: Vec<Tool>,
    /// Whether they take their params as JSON, rather than as a copy of the parsed JSON.
    pub tools_take_text: bool,
    /// The host's number for the execution.
    pub request: i64,
    /// Gets an [`ExecutionResult`] as a value.
    pub completion: Arc<dyn Completion>,
}

/// The body of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    pub text: Text,
    /// The position of the text as the user counts: its first line, and the column of its first character. The column is negative if
    /// characters precede the user's own.
    pub line: i32,
    pub column: i32,
}

/// What code can import.
pub struct Modules {
    pub sources: Sources,
    /// The code as a module, which runs if it is not the body of a function.
    pub main: Body,
}

/// What the user's code may be. It fits if it compiles and the guard agrees.
pub struct Form {
    pub code: Body,
    pub guard: Option<Guard>,
    /// The code returns a function, whose result is the result.
    pub is_function: bool,
}

/// Code that only has to compile, or must not.
pub struct Guard {
    pub text: Text,
    pub must_compile: bool,
}

/// A function of the host with the name `namespace.method`.
pub struct Tool {
    pub namespace: Text,
    pub method: Text,
    pub function: Arc<Callable>,
}

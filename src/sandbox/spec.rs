//! One execution, as its caller requests it.

use std::sync::Arc;
use std::time::Duration;

use super::code::{Form, UserCode};
use super::logs::Logging;
use super::modules::Sources;
use super::template::IsolateTemplate;
use super::tools::Tool;
use crate::value::{Completion, Value};

/// One execution.
pub struct Spec {
    /// The code: the body of a function that returns the result or a promise of it.
    pub code: UserCode,
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

/// What code can import.
pub struct Modules {
    pub sources: Sources,
    /// The code as a module, which runs if it is not the body of a function.
    pub main: UserCode,
}

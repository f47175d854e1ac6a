//! The ready-made sandboxes in native code: one call in, one completion out. Each execution has an isolate of its own, in which no
//! user code has run before, and which is disposed of afterwards.

mod actors;
mod builtins;
mod code;
mod console;
mod context_globals;
mod evaluation;
mod labels;
mod logs;
mod modules;
mod property;
mod refused_modules;
mod result;
mod session;
mod shadows;
mod spec;
mod specifier;
mod template;
mod timers;
mod tools;
mod warm;

pub use actors::{ActorScript, run_as_actor};
pub use builtins::SNAPSHOT_SOURCE as BUILTINS;
pub use code::{Form, FormGuard, UserCode};
pub use context_globals::{ContextGlobals, adopt, install};
pub use logs::{LogStyle, Logging, Logs};
pub use modules::Sources;
pub use result::ExecutionResult;
pub use session::{Supply, max_clone, start};
pub use spec::{Modules, Spec};
pub use template::{IsolateTemplate, RealmTemplate};
pub use tools::Tool;
pub use warm::Pool;

pub use crate::web::Names;

//! What an isolate is created from.

use std::sync::{Arc, Weak};

use crate::engine::{Engine, Snapshot, Unavailable};
use crate::isolate::remote::Remote;
use crate::native::TypeBudget;
use crate::value::{Budget, Callable, Fault, Host};

/// See [`Settings::install_snapshot_web`].
pub type InstallSnapshotWeb = fn(&mut v8::PinScope<'_, '_>, u32) -> Result<v8::Global<v8::Function>, Fault>;

#[derive(Clone)]
pub struct Settings {
    /// Starts the engine on the first call. `None` if the process has no memory for it.
    pub engine: fn() -> Result<&'static Engine, Unavailable>,
    /// Installs the callbacks of the layers above in a new isolate, and [`Guest::bind`]s it.
    ///
    /// [`Guest::bind`]: crate::isolate::Guest::bind
    pub install: fn(&mut v8::Isolate),
    /// Gives a realm from which a snapshot is made these web APIs. The result disconnects them.
    pub install_snapshot_web: InstallSnapshotWeb,
    /// Bytes of V8's heap, and the same number again of buffers.
    pub memory_limit: usize,
    /// What the isolate starts from instead of our own snapshot.
    pub snapshot: Option<Snapshot>,
    /// Sessions of V8's inspector can be opened.
    pub inspector: bool,
    /// Guests see the locations of the host's code, in the stacks of what the host's functions throw.
    pub host_stacks: bool,
    /// Its code may go into the cache of the process, and come from there.
    pub shares_code: bool,
    /// Hosts and other isolates can use memory that its guest shares with them.
    pub shares_memory: bool,
    /// Loads what scripts import: a function of the host, or of the guest that made the isolate.
    pub importer: Option<Arc<Callable>>,
    /// The budget for WebAssembly types, if it is not the isolate's own.
    pub types: Option<Arc<TypeBudget>>,
    /// The budget for references that hosts give its guests, if it is not the isolate's own.
    pub references: Option<Arc<Budget>>,
    /// The host whose end also ends the isolate.
    pub host: Option<Weak<dyn Host>>,
    /// Creates the host's isolates.
    pub maker: Option<Weak<dyn IsolateFactory>>,
}

/// Creates isolates for a host, possibly in advance.
pub trait IsolateFactory: Send + Sync {
    /// `warm`: how many isolates to keep ready for later callers when this one has ended.
    fn make(&self, settings: Settings, warm: usize) -> Arc<Remote>;
}

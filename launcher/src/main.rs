//! The executable of a child process: `isolated-v8-launcher ADDON SETTINGS`, with the connection to the parent as descriptor 0.

#[cfg(unix)]
mod confine;
#[cfg(unix)]
mod probe;
#[cfg(unix)]
mod start;

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    start::start()
}

/// This system has no children (`src/child/absent.rs`).
#[cfg(not(unix))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}

//! The layers that the launcher applies. Descriptors and the time zone come before the addon's file is loaded. Layers that would prevent
//! loading it come afterwards. Layers that need a running V8 are the addon's (`src/child/confinement/`).
//!
//! Each layer is best effort. If the system does not have it, or does not allow it, the report says why, and the other layers still hold.

mod limits;
mod zone;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod user;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
mod parent;

#[cfg(target_os = "linux")]
pub use linux::{after_load, before_load, stay_with_parent};
#[cfg(target_os = "macos")]
pub use macos::{after_load, before_load, stay_with_parent};

use std::io;

use isolated_v8_launcher::{Report, Settings};

/// Applies a layer, if it is switched on, and reports the result. Returns whether it holds.
fn layer(settings: &Settings, report: &mut Report, name: &str, work: impl FnOnce() -> Result<String, Refusal>) -> bool {
    if !settings.wants(name) {
        report.add(name, false, "switched off");
        return false;
    }
    match work() {
        Ok(what) => report.add(name, true, what),
        Err(Refusal(why)) => report.add(name, false, why),
    }
    report.layers.last().is_some_and(|layer| layer.active)
}

/// Why a layer does not hold.
struct Refusal(String);

impl Refusal {
    /// The system call that has just failed, and its error.
    fn of(call: &str) -> Self {
        Self::by(call, &io::Error::last_os_error())
    }

    fn by(call: &str, error: &io::Error) -> Self {
        let text = error.to_string();
        Self(format!("{call}: {}", text.split(" (os error").next().unwrap_or_default()))
    }
}

/// Ok if a system call has returned 0.
fn done(result: libc::c_int, call: &str) -> Result<(), Refusal> {
    if result == 0 { Ok(()) } else { Err(Refusal::of(call)) }
}

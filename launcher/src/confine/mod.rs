//! What the launcher puts itself under: descriptors and the time zone before the addon's file is loaded, everything that would keep it
//! from loading that afterwards. What needs V8 to be there is the addon's (`src/child/confinement/`).
//!
//! Every layer is best effort: where the system has none, or does not let it be used, the report says why, and the others hold all the
//! same.

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

/// Notes how a layer has turned out, if it is wanted; runs it only then. True if it holds.
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
    /// The system call that has just failed, and how.
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

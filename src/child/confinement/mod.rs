//! The layers of a child's confinement that the addon applies. Those that the launcher applies before are in `launcher/src/confine/`.
//!
//! Landlock binds a thread and the threads that it starts, so it is applied before V8, while there is one thread. The filter of system
//! calls binds all threads at once, and is installed when V8 and ICU have read what they need from the system. The same holds for macOS's
//! sandbox profile.

mod descriptors;
mod refusal;

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod landlock;

#[cfg(target_os = "macos")]
mod seatbelt;

use isolated_v8_launcher::{Report, Settings};
use refusal::Refusal;

fn layer(settings: &Settings, report: &mut Report, name: &str, work: impl FnOnce() -> Result<String, Refusal>) {
    if !settings.wants(name) {
        return report.add(name, false, "switched off");
    }
    match work() {
        Ok(what) => report.add(name, true, what),
        Err(Refusal(why)) => report.add(name, false, why),
    }
}

/// Applies the layers that must hold before V8's first thread exists. Must be called on the only thread.
#[cfg(target_os = "linux")]
pub fn before_engine(settings: &Settings, report: &mut Report) {
    layer(settings, report, "landlock", landlock::deny);
}

/// Does nothing: V8 cannot be started under any layer.
#[cfg(target_os = "macos")]
pub fn before_engine(_settings: &Settings, _report: &mut Report) {}

/// Applies the layers that hold from now on, on all threads. Afterwards this process must not need to open anything.
#[cfg(target_os = "linux")]
pub fn seal(settings: &Settings, report: &mut Report) {
    layer(settings, report, "descriptors", descriptors::close);
    layer(settings, report, "seccomp", filter::install);
}

/// Applies the profile first, because the system reads files to make it.
#[cfg(target_os = "macos")]
pub fn seal(settings: &Settings, report: &mut Report) {
    layer(settings, report, "seatbelt", seatbelt::deny);
    layer(settings, report, "descriptors", descriptors::close);
}

//! The layers of a child's confinement that this file brings. What the launcher does before is in `launcher/src/confine/`.
//!
//! Landlock binds a thread and those that it starts: so it comes before V8, while there is one thread. The filter of system calls
//! binds all threads at once, and comes when V8 and ICU have read what they read of the system; so does macOS's sandbox profile.

mod descriptors;

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod landlock;

#[cfg(target_os = "macos")]
mod seatbelt;

use std::io;

use isolated_v8_launcher::{Report, Settings};

/// Why a layer does not hold.
struct Refusal(String);

impl Refusal {
    fn by(call: &str, error: &io::Error) -> Self {
        let text = error.to_string();
        Self(format!("{call}: {}", text.split(" (os error").next().unwrap_or_default()))
    }
}

fn layer(settings: &Settings, report: &mut Report, name: &str, work: impl FnOnce() -> Result<String, Refusal>) {
    if !settings.wants(name) {
        return report.add(name, false, "switched off");
    }
    match work() {
        Ok(what) => report.add(name, true, what),
        Err(Refusal(why)) => report.add(name, false, why),
    }
}

/// What holds from before the first thread of V8's is there. To be called on the only thread.
#[cfg(target_os = "linux")]
pub fn before_engine(settings: &Settings, report: &mut Report) {
    layer(settings, report, "landlock", landlock::deny);
}

/// Nothing that V8 could be started under.
#[cfg(target_os = "macos")]
pub fn before_engine(_settings: &Settings, _report: &mut Report) {}

/// What holds from now on, on all threads. Nothing that this process needs to open is to be opened after it.
#[cfg(target_os = "linux")]
pub fn seal(settings: &Settings, report: &mut Report) {
    layer(settings, report, "descriptors", descriptors::close);
    layer(settings, report, "seccomp", filter::install);
}

/// The profile first: the system reads files to make it.
#[cfg(target_os = "macos")]
pub fn seal(settings: &Settings, report: &mut Report) {
    layer(settings, report, "seatbelt", seatbelt::deny);
    layer(settings, report, "descriptors", descriptors::close);
}

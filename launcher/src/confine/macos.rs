//! The layers of macOS that the launcher brings. The one that refuses most, a sandbox profile, would refuse V8's start as well: it is the
//! addon's (`src/child/confinement/seatbelt.rs`).

use std::ptr;

use isolated_v8_launcher::{Report, Settings};

use super::{done, layer, limits, parent, zone};

/// False when the process that has started this one is gone already.
pub fn stay_with_parent(parent: u32) -> bool {
    // SAFETY: has no preconditions.
    u32::try_from(unsafe { libc::getppid() }) == Ok(parent)
}

/// What is to be done before the addon's file is loaded.
pub fn before_load(_settings: &Settings) -> Report {
    zone::keep();
    Report::default()
}

/// What is to be done once the file is loaded and before any of it runs.
pub fn after_load(settings: &Settings, report: &mut Report) {
    layer(settings, report, "rlimits", || {
        // SAFETY: has no preconditions.
        let root = unsafe { libc::geteuid() } == 0;
        // The system counts the user's processes and not their threads: with none allowed there is no other. Root's are not counted.
        limits::set(settings, &[], (!root).then_some(0))
    });
    layer(settings, report, "parentDeath", || parent::watch(settings.parent));
    layer(settings, report, "noTracing", || {
        // SAFETY: concerns this process only.
        done(unsafe { libc::ptrace(libc::PT_DENY_ATTACH, 0, ptr::null_mut(), 0) }, "PT_DENY_ATTACH")?;
        Ok("debuggers cannot attach to it".to_owned())
    });
}

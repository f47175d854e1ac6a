//! The layers of macOS that the launcher applies. The addon applies the most restrictive one, a sandbox profile
//! (`src/child/confinement/seatbelt.rs`): V8 could not start under it.

use std::ptr;

use isolated_v8_launcher::{Report, Settings};

use super::{done, layer, limits, parent, zone};

/// False if the process that has started this one is already gone.
pub fn stay_with_parent(parent: u32) -> bool {
    // SAFETY: has no preconditions.
    u32::try_from(unsafe { libc::getppid() }) == Ok(parent)
}

/// Applies the layers that must come before the addon's file is loaded.
pub fn before_load(_settings: &Settings) -> Report {
    zone::keep();
    Report::default()
}

/// Applies the layers that come after the file is loaded and before any of it runs.
pub fn after_load(settings: &Settings, report: &mut Report) {
    layer(settings, report, "rlimits", || {
        // SAFETY: has no preconditions.
        let root = unsafe { libc::geteuid() } == 0;
        // The system counts the user's processes, not their threads, so a limit of 0 allows no other process. Root's are not counted.
        limits::set(settings, &[], (!root).then_some(0))
    });
    layer(settings, report, "parentDeath", || parent::watch(settings.parent));
    layer(settings, report, "noTracing", || {
        // SAFETY: concerns this process only.
        done(unsafe { libc::ptrace(libc::PT_DENY_ATTACH, 0, ptr::null_mut(), 0) }, "PT_DENY_ATTACH")?;
        Ok("debuggers cannot attach to it".to_owned())
    });
}

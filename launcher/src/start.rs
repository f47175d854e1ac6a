//! What a child does before V8 runs: it makes sure that it ends with its parent, closes what it inherited, and loads the addon's file.

use std::ffi::{CStr, CString, OsStr, OsString, c_char};
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;

use isolated_v8_launcher::{ENTRY, Entry, Settings};

use crate::{confine, probe};

/// Exit codes. 66 and 67 mean that this executable and the addon's file do not fit together.
const MISUSED: u8 = 64;
const ORPHANED: u8 = 65;
const NOT_LOADED: u8 = 66;
const NO_ENTRY: u8 = 67;

/// Runs the executable with its arguments.
pub fn start() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.len() == 4 && args.next().is_some_and(|first| first == "probe") {
        return match probe::run(args) {
            Some(Ok(())) => ExitCode::SUCCESS,
            _ => ExitCode::from(MISUSED),
        };
    }
    let (Some(addon), Some(settings)) = (args.next(), args.next()) else { return ExitCode::from(MISUSED) };
    let decoded = settings.to_str().and_then(Settings::decode);
    let (Some(settings), Ok(addon)) = (decoded, CString::new(addon.into_vec())) else { return ExitCode::from(MISUSED) };
    if !confine::stay_with_parent(settings.parent) {
        return ExitCode::from(ORPHANED);
    }
    drop_inherited();
    let mut report = confine::before_load(&settings);
    let entry = match load(&addon) {
        Ok(entry) => entry,
        Err(code) => return ExitCode::from(code),
    };
    // The addon reads its startup snapshot from it, and cannot open anything then.
    let file = File::open(OsStr::from_bytes(addon.as_bytes())).map_or(-1, IntoRawFd::into_raw_fd);
    confine::after_load(&settings, &mut report);
    let (settings, report) = (settings.encode(), report.encode());
    // SAFETY: the addon's file has this function with the type that both are built with; the texts live until it returns, and nothing else uses
    // the descriptor.
    let code = unsafe { entry(settings.as_ptr(), settings.len(), report.as_ptr(), report.len(), file) };
    // V8's threads still run, so the process must end without cleanup.
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Closes descriptors that the parent has left open, and leaves the inherited working directory.
fn drop_inherited() {
    if !close_all() {
        // SAFETY: this process uses no descriptors but the three standard ones.
        unsafe {
            let limit = libc::sysconf(libc::_SC_OPEN_MAX).clamp(256, 65_536);
            (FIRST..libc::c_int::try_from(limit).unwrap_or(256)).for_each(|descriptor| {
                libc::close(descriptor);
            });
        }
    }
    // If this fails, the directory stays as it is.
    let _ = std::env::set_current_dir("/");
}

/// The first descriptor after the standard ones.
const FIRST: libc::c_int = 3;

/// Closes all descriptors from [`FIRST`] on, if the system can list them.
#[cfg(target_os = "linux")]
fn close_all() -> bool {
    // SAFETY: this process uses no descriptors but the three standard ones.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn close_all() -> bool {
    let Ok(folder) = std::fs::read_dir("/dev/fd") else { return false };
    // Collect all of them first: reading the folder uses a descriptor too, which is closed afterwards.
    let open: Vec<libc::c_int> =
        folder.flatten().filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok())).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor >= FIRST) {
        // SAFETY: as above.
        unsafe { libc::close(descriptor) };
    }
    true
}

/// Loads the addon's file, and returns its function.
fn load(addon: &CStr) -> Result<Entry, u8> {
    // SAFETY: the path is a C string; only the addon's own initializers run.
    let library = unsafe { libc::dlopen(addon.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        complain();
        return Err(NOT_LOADED);
    }
    // SAFETY: the library was loaded above, and the name is a C string.
    let symbol = unsafe { libc::dlsym(library, ENTRY.as_ptr()) };
    if symbol.is_null() {
        complain();
        return Err(NO_ENTRY);
    }
    // SAFETY: the addon defines its entry with this type (`src/child/main.rs`).
    Ok(unsafe { std::mem::transmute::<*mut libc::c_void, Entry>(symbol) })
}

/// Prints the loader's error.
fn complain() {
    // SAFETY: `dlerror` returns null or a C string that is valid until the next call about libraries on this thread.
    let message: *const c_char = unsafe { libc::dlerror() };
    if !message.is_null() {
        // SAFETY: as above.
        let message = OsString::from_vec(unsafe { CStr::from_ptr(message) }.to_bytes().to_vec());
        // Nothing may be reading this.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{}\n", message.display()).as_bytes());
    }
}

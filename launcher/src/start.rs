//! A child's life before its first line of V8: it will not outlive its parent, has nothing of it, and has the addon's file loaded.

use std::ffi::{CStr, CString, OsString, c_char};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;

use isolated_v8_launcher::{ENTRY, Entry, Settings};

use crate::{confine, probe};

/// Exit codes. 66 and 67 say that this executable and the addon's file do not fit together.
const MISUSED: u8 = 64;
const ORPHANED: u8 = 65;
const NOT_LOADED: u8 = 66;
const NO_ENTRY: u8 = 67;

/// What the executable does with its arguments.
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
    leave_behind();
    let mut report = confine::before_load(&settings);
    let entry = match load(&addon) {
        Ok(entry) => entry,
        Err(code) => return ExitCode::from(code),
    };
    confine::after_load(&settings, &mut report);
    let (settings, report) = (settings.encode(), report.encode());
    // SAFETY: the addon's file has this function with the type that both are built with; the texts live until it returns.
    let code = unsafe { entry(settings.as_ptr(), settings.len(), report.as_ptr(), report.len()) };
    // Threads of V8's are still there: nothing is to be torn down below them.
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Lets go of what came along: descriptors that somebody in the parent has left open, its working directory.
fn leave_behind() {
    if !close_all() {
        // SAFETY: nothing in this process uses a descriptor but the three standard ones.
        unsafe {
            let limit = libc::sysconf(libc::_SC_OPEN_MAX).clamp(256, 65_536);
            (FIRST..libc::c_int::try_from(limit).unwrap_or(256)).for_each(|descriptor| {
                libc::close(descriptor);
            });
        }
    }
    // A failure leaves the directory as it is.
    let _ = std::env::set_current_dir("/");
}

/// The first descriptor that is none of the standard ones.
const FIRST: libc::c_int = 3;

/// Closes all descriptors from [`FIRST`] on, where the system knows which ones there are.
#[cfg(target_os = "linux")]
fn close_all() -> bool {
    // SAFETY: nothing in this process uses a descriptor but the three standard ones.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn close_all() -> bool {
    let Ok(folder) = std::fs::read_dir("/dev/fd") else { return false };
    // All of them first: the folder itself has one, which is closed by then.
    let open: Vec<libc::c_int> =
        folder.flatten().filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok())).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor >= FIRST) {
        // SAFETY: as above.
        unsafe { libc::close(descriptor) };
    }
    true
}

/// The function of the addon's file.
fn load(addon: &CStr) -> Result<Entry, u8> {
    // SAFETY: the path is a C string; what runs on loading is the addon's own.
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
    // SAFETY: the addon defines its entry with this type (`src/child/entry.rs`).
    Ok(unsafe { std::mem::transmute::<*mut libc::c_void, Entry>(symbol) })
}

/// Says what the loader has found.
fn complain() {
    // SAFETY: `dlerror` returns null or a C string that is valid until the next call about libraries on this thread.
    let message: *const c_char = unsafe { libc::dlerror() };
    if !message.is_null() {
        // SAFETY: as above.
        let message = OsString::from_vec(unsafe { CStr::from_ptr(message) }.to_bytes().to_vec());
        // Nobody may be listening.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{}\n", message.display()).as_bytes());
    }
}

//! A sandbox profile (`sandbox(7)`, also known as Seatbelt) that denies everything that V8 does not need: files, networks, other processes
//! and programs, the system's services. It holds for all threads, and cannot be removed.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use super::refusal::Refusal;

const PROFILE: &str = include_str!("seatbelt.sb");

unsafe extern "C" {
    /// A function of the system's library. If the flags are 0, the first argument is a profile's text. Returns zero, or writes an error's
    /// text to the third argument.
    fn sandbox_init(profile: *const c_char, flags: u64, error: *mut *mut c_char) -> c_int;
    fn sandbox_free_error(error: *mut c_char);
}

pub fn deny() -> Result<String, Refusal> {
    let profile = CString::new(PROFILE).map_err(|_| Refusal("the profile is no text".to_owned()))?;
    let mut error = ptr::null_mut();
    // SAFETY: the profile is a C string, and `error` is valid for writes of an address.
    if unsafe { sandbox_init(profile.as_ptr(), 0, &raw mut error) } != 0 {
        return Err(Refusal(format!("sandbox_init: {}", text(error))));
    }
    // Do not trust the profile until it has refused something.
    match refusal_of(c"/") {
        Some(libc::EPERM) => Ok("files, network, processes, services".to_owned()),
        Some(number) => Err(Refusal::by("sandbox_init, then open", &std::io::Error::from_raw_os_error(number))),
        None => Err(Refusal("sandbox_init has succeeded, but files can be opened".to_owned())),
    }
}

/// Returns the error number of opening a folder that is otherwise readable for all.
fn refusal_of(path: &CStr) -> Option<c_int> {
    // SAFETY: the path is a C string; the descriptor is closed again.
    unsafe {
        let descriptor = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if descriptor < 0 {
            return std::io::Error::last_os_error().raw_os_error();
        }
        libc::close(descriptor);
    }
    None
}

/// Returns the text of an error, and frees it.
fn text(error: *mut c_char) -> String {
    if error.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: the library has made this C string for the caller, and it is freed once.
    unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        sandbox_free_error(error);
        text
    }
}

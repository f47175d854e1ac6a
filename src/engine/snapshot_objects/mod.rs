//! The objects of a snapshot whose fields are addresses of memory that is not part of V8's heap: buffers and their views, strings outside of the
//! heap, and whatever refers to functions of V8. V8 leaves these addresses out of a snapshot, and sets them again when it reads it. If it sets a
//! wrong one, guests can read and write the memory of the process, and V8 itself checks nothing. So every object of the isolate in which a new
//! snapshot is tried out is compared here with what it depends on, and a snapshot with a wrong address is refused.
//!
//! Before V8 writes a snapshot, [`prepare`] also looks for what V8 cannot write.

#[cfg(target_os = "linux")]
pub(super) mod fields;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
#[cfg(target_os = "linux")]
mod verifier;

use std::ffi::c_void;

/// Why a snapshot cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum Unusable {
    /// No caller waits for it any more.
    Abandoned,
    /// What it contains, as the message of an error.
    Content(&'static str),
}

/// Looks at each object of the isolate that this thread has entered, which has read a snapshot and a context from it, and in which nothing has run
/// yet. `continues` is asked from time to time, and ends this with `false`.
#[cfg(target_os = "linux")]
pub fn verify(isolate: *const c_void, continues: impl FnMut() -> bool) -> Result<(), Unusable> {
    verifier::verify(isolate, continues)
}

/// Prepares the isolate that this thread has entered for V8, which is about to write it to a snapshot, and finds what V8 cannot write.
#[cfg(target_os = "linux")]
pub fn prepare(continues: impl FnMut() -> bool) -> Result<(), Unusable> {
    verifier::prepare(continues)
}

/// Elsewhere the names of V8's functions are not known.
#[cfg(not(target_os = "linux"))]
pub fn verify(_isolate: *const c_void, _continues: impl FnMut() -> bool) -> Result<(), Unusable> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub fn prepare(_continues: impl FnMut() -> bool) -> Result<(), Unusable> {
    Ok(())
}

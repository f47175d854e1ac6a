//! What the executable of a child process and the addon both know: what the child is told on its command line, and what it
//! tells of its confinement.

pub mod handover;
mod report;
mod settings;

pub use report::{Layer, Report};
pub use settings::Settings;

/// The one function of the addon's file that the launcher calls. It gets the texts of [`Settings`] and [`Report`], each as an
/// address and a length, and returns the process's exit code. The connection to the parent is descriptor 0.
pub type Entry = unsafe extern "C" fn(*const u8, usize, *const u8, usize) -> i32;

/// Its name, as C has it.
pub const ENTRY: &std::ffi::CStr = c"isolated_v8_child";

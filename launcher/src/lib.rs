//! What the executable of a child process and the addon share: the settings on the child's command line, and the report of its confinement.

pub mod handover;
mod report;
mod settings;

pub use report::{Layer, Report};
pub use settings::Settings;

/// The one function of the addon's file that the launcher calls. Its arguments are the texts of [`Settings`] and [`Report`], each as an
/// address and a length, and the descriptor of the addon's file, which it owns, or -1. It returns the process's exit code. The connection to
/// the parent is descriptor 0.
pub type Entry = unsafe extern "C" fn(*const u8, usize, *const u8, usize, i32) -> i32;

/// Its name as a C symbol.
pub const ENTRY: &std::ffi::CStr = c"isolated_v8_child";

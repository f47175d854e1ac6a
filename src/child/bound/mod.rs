//! The bound on a child's memory and threads that its parent sets for it.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
pub use linux::{Bound, LAYER};
#[cfg(target_os = "macos")]
pub use macos::{Bound, LAYER, report};

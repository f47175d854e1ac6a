//! Memory that V8 and its libraries take from the system while a guest runs: stacks of its parsers, buffers of its writers, syntax
//! trees, and all of ICU, which is behind `Intl` and `String.prototype.normalize`. V8 has no limit for it.
//!
//! Blocks count for the isolate that the thread works for, until they are freed by whichever thread. What Rust code takes is not
//! among them; that has limits of its own.

pub mod blocks;
pub mod locks;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod malloc;
mod ration;
#[cfg_attr(
    any(fuzzing, not(target_os = "linux")),
    allow(dead_code, reason = "only the linker of the addon on Linux sends `abort` here")
)]
pub mod refusal;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub mod stack;
mod system;
#[cfg(any(target_os = "linux", test))]
#[cfg_attr(any(test, fuzzing), allow(dead_code, reason = "the linker sends nobody here but in the addon"))]
mod table;
mod tasks;

/// Elsewhere it is not known what blocks are for.
#[cfg(not(all(target_os = "linux", not(any(test, fuzzing)))))]
pub fn give_back_blocks(_ration: &std::sync::Arc<Ration>) {}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use malloc::give_back as give_back_blocks;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use ration::draw_on_in_background;
pub use ration::{Held, Ration, Share, TypeBudget, Watch, current, draw_on};
pub use system::{System, calloc, free, malloc, trim};
pub use tasks::entered as entered_tasks;

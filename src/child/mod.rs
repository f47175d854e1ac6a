//! The subprocess variant of the sandboxes. Each execution has a process of its own, which loads this same file through a small executable
//! (`launcher/`) and runs the same session (`crate::sandbox`) as the other variants.
//!
//! `frame` and `codec` define what the two processes send each other. `main`, `link` and `confinement` run in the child. The rest runs in
//! the parent: one thread (`reactor`) does what others ask for (`commands`), keeps some children ready (`pool`) and watches over all
//! (`process`); others start them (`spawner`, `spawn`) and decode large messages (`decoder`). The parent trusts nothing that a child sends:
//! once a guest has escaped V8, the guest controls what the child sends.

#![cfg_attr(not(unix), allow(dead_code, reason = "other systems have no child processes"))]

mod codec;
mod execution;
pub mod frame;
pub mod splitter;

#[cfg(unix)]
mod arrivals;
#[cfg(unix)]
mod bound;
#[cfg(unix)]
mod calls;
#[cfg(unix)]
mod cause;
#[cfg(unix)]
mod commands;
#[cfg(unix)]
mod confinement;
#[cfg(unix)]
mod decoder;
#[cfg(unix)]
mod intake;
#[cfg(unix)]
mod link;
#[cfg(unix)]
mod main;
#[cfg(unix)]
mod outbox;
#[cfg(unix)]
mod output;
#[cfg(unix)]
mod pool;
#[cfg(unix)]
mod probe;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod reactor;
#[cfg(unix)]
mod running;
#[cfg(unix)]
mod spawn;
#[cfg(unix)]
mod spawner;
#[cfg(unix)]
mod starting;
#[cfg(unix)]
mod time;
#[cfg(unix)]
mod waiting;

#[cfg(target_os = "linux")]
mod footprint;
#[cfg(target_os = "linux")]
mod proof;

#[cfg(not(unix))]
mod absent;

#[cfg(not(unix))]
use absent as reactor;

pub use execution::{Execution, ProcessTemplate, Requester, environment};
pub use frame::Task;
pub use reactor::{check_confinement, start, terminate, terminate_of};

//! One isolate: its inbox, the thread it borrows, its limits, its realms. What calls do is not known here; they come as
//! [`Job`]s.

mod author;
pub mod behalf;
pub mod clock;
mod codegen;
mod ending;
mod entry;
mod guest;
mod inspector;
mod job;
mod memory;
mod meter;
mod modules;
mod realm;
mod remote;
mod run;
#[cfg(test)]
mod tests;

pub use ending::Stop;
pub use guest::{CompiledScript, Guest, Held};
pub use inspector::{Sink, drain};
pub use job::{Deadline, IsolateScope, Job, Kind, Limits, Work};
pub use memory::{HeapFigures, park};
pub use modules::{CompiledModule, Loader, Resolutions, meta_of};
pub use realm::{Binding, Place, Realm};
pub use remote::{Notify, Remote, Settings, next_owner_id};

//! One isolate: its inbox, the thread it borrows, its limits, its realms. What calls do is not known here; they come as
//! [`Job`]s.

pub mod clock;
mod codegen;
mod entry;
mod guest;
mod job;
mod memory;
mod meter;
mod realm;
mod remote;
mod run;
#[cfg(test)]
mod tests;

pub use guest::{CompiledScript, Guest, Held};
pub use job::{Deadline, IsolateScope, Job, Kind, Limits, Work};
pub use memory::{HeapFigures, park_out_of_memory};
pub use realm::{Binding, Place, Realm};
pub use remote::{Notify, Remote, Settings, Stop, next_owner_id};

//! One isolate: its inbox, the thread it borrows, its limits and its realms. This module does not know what calls do: they arrive as
//! [`Job`]s.

mod arrivals;
mod author;
pub mod behalf;
mod burial;
mod census;
pub mod clock;
mod codegen;
mod ending;
mod entry;
mod family;
mod grace;
mod guest;
mod handles;
mod inspector;
mod job;
mod legacy;
mod memory;
mod meter;
mod modules;
mod policy;
mod realm;
mod remote;
mod run;
mod spare;
#[cfg(test)]
mod tests;

pub use census::{Ledger, census};
pub use ending::Stop;
pub use family::MAX_OFFSPRING;
pub use guest::{CompiledScript, Guest, Held};
pub use inspector::{Sink, drain};
pub use job::{Deadline, IsolateScope, Job, Kind, Limits, Work};
pub use legacy::Legacy;
pub use memory::{HeapFigures, park};
pub use modules::{CompiledModule, Loader, Resolutions, meta_of};
pub use policy::Policy;
pub use realm::{Binding, Place, Realm};
pub use remote::{Maker, Notify, Remote, Settings, next_owner_id};
pub use spare::Prepare;

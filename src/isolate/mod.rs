//! One isolate: its inbox, the thread it borrows, its limits and its realms. This module does not know what calls do: they arrive as
//! [`Job`]s.

mod accounts;
mod arrivals;
pub mod async_context;
mod attachments;
pub mod clock;
mod codegen;
mod deferred_disposal;
mod delayed_tasks;
mod descendants;
mod detached;
mod ending;
mod entry;
mod execution;
mod grace;
mod guest;
mod handles;
mod inspector;
mod job;
mod keep_alives;
mod lifecycle;
mod listeners;
mod mailbox;
mod memory;
mod meter;
mod modules;
mod policy;
mod promises;
mod realm;
mod reason;
mod registry;
mod remote;
mod run;
mod slots;
mod snapshot_creator;
#[cfg(test)]
mod tests;
mod undelivered;
mod warm;

pub use attachments::{attach, attached};
pub use descendants::MAX_DESCENDANTS;
pub use guest::{CompiledScript, Guest, Held};
pub use inspector::{Sink, drain};
pub use job::{Deadline, IsolateScope, Job, Kind, Limits, Work};
pub use listeners::Notify;
pub use memory::{HeapFigures, park};
pub use modules::{CompiledModule, Loader, Resolutions, meta_of};
pub use policy::Policy;
pub use realm::{Binding, Place, Realm};
pub use reason::Stop;
pub use registry::{End, Ledger, registry};
pub use remote::{Maker, Remote, Settings};
pub use slots::next_owner_id;
pub use undelivered::Undelivered;
pub use warm::Prepare;

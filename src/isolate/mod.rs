//! One isolate: its mailbox, the thread it borrows, its limits and its realms. This module does not know what calls do: they arrive as
//! [`Job`]s.

pub mod async_context;
pub mod blocks;
pub mod clock;
mod guest;
mod inspector;
mod job;
mod policy;
mod remote;
#[cfg(test)]
mod tests;
mod thread;

pub use guest::Guest;
pub use guest::attachments::{attach, attached};
pub use guest::compiled::Unit;
pub use guest::guest_realm::{Binding, GuestRealm};
pub use guest::modules::{CompiledModule, Resolutions};
pub use guest::realm::{Loader, Realm};
pub use guest::slot_value::{CompiledScript, SlotValue};
pub use inspector::{Sink, console};
pub use job::{Deadline, IsolateScope, Job, Kind, Limits, Work};
pub use policy::{Policy, limits as default_limits};
pub use remote::Remote;
pub use remote::accounts::{HeapFigures, max_answers};
pub use remote::creation::Prepare;
pub use remote::descendants::MAX_DESCENDANTS;
pub use remote::listeners::Notify;
pub use remote::pending::{Caused, PendingEvent};
pub use remote::reason::{End, Stop};
pub use remote::registry::{MemoryObserver, registry};
pub use remote::settings::{IsolateFactory, Settings};
pub use remote::slots::next_owner_id;
pub use remote::undelivered::Undelivered;
pub use thread::caller_thread;
pub use thread::current::address_of;
pub use thread::parking::park;
pub use thread::sessions::drain;
pub use thread::suspension;

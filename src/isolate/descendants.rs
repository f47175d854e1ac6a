//! Isolates that guests create. They belong to the isolate at their root, which a host has created. Together they share one budget, no
//! matter which of them creates another, and they end with their creator.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::reason::Stop;
use super::remote::{Remote, Settings};
use crate::value::{Budget, Charge, Code, ErrorClass, Fault};

/// Isolates created by guests that may exist at once, for each isolate created by a host.
pub const MAX_DESCENDANTS: usize = 16;

/// The sum of their memory limits, as a multiple of the limit of the isolate that the host has created.
const MEMORY_SHARE: usize = 4;

/// The budget of the children of one isolate of a host, at all depths.
pub struct Descendants {
    places: Arc<Budget>,
    memory: Arc<Budget>,
    members: Mutex<Vec<Weak<Remote>>>,
}

/// A place among the descendants of an isolate, until the V8 side of the isolate is gone. An abandoned isolate keeps its place, because it keeps its thread.
#[derive(Default)]
pub struct Membership {
    _place: Charge,
    _memory: Charge,
}

/// The relatives of an isolate.
#[derive(Default)]
pub struct Children {
    /// Isolates that the guest has created.
    made: Mutex<Vec<Weak<Remote>>>,
    /// All descendants below the same root; set when the guest creates the first isolate, or if a guest has created this one.
    descendants: OnceLock<Arc<Descendants>>,
    membership: Mutex<Membership>,
}

impl Children {
    /// Called when the V8 side is gone.
    pub(super) fn take_membership(&self) -> Membership {
        std::mem::take(&mut *self.membership.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Descendants {
    fn of(root: &Settings) -> Arc<Self> {
        Arc::new(Self {
            places: Budget::new(MAX_DESCENDANTS),
            memory: Budget::new(root.memory_limit.saturating_mul(MEMORY_SHARE)),
            members: Mutex::default(),
        })
    }

    fn admit(&self, memory: usize) -> Option<Membership> {
        Some(Membership { _place: Charge::take(&self.places, 1)?, _memory: Charge::take(&self.memory, memory)? })
    }
}

fn remember(list: &Mutex<Vec<Weak<Remote>>>, made: &Arc<Remote>) {
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    list.retain(|other| other.strong_count() > 0);
    list.push(Arc::downgrade(made));
}

impl Remote {
    /// Creates an isolate for the guest of this one. `None` if there is no room for another descendant.
    pub fn create_child(&self, settings: Settings) -> Result<Option<Arc<Remote>>, Fault> {
        if settings.memory_limit > self.settings.memory_limit {
            let message = "`memoryLimit` must not be more than that of the isolate it is made in";
            return Err(Fault::coded(ErrorClass::RangeError, message, Code::Limit));
        }
        let descendants = self.children.descendants.get_or_init(|| Descendants::of(&self.settings));
        let Some(membership) = descendants.admit(settings.memory_limit) else { return Ok(None) };
        let types = self.accounts.quota.as_ref().map(|quota| Arc::clone(quota.types()));
        let references = Some(Arc::clone(&self.accounts.references));
        let made = Remote::create(Settings { types, references, ..settings });
        // Fails only if it was set before, but no other code has the isolate yet.
        let _ = made.children.descendants.set(Arc::clone(descendants));
        remember(&descendants.members, &made);
        *made.children.membership.lock().unwrap_or_else(PoisonError::into_inner) = membership;
        remember(&self.children.made, &made);
        // From here on, stopping this isolate also stops the new one.
        if self.is_disposed() {
            made.stop(Stop::Disposed);
            return Err(Fault::Stopped);
        }
        Ok(Some(made))
    }

    /// A descendant that was stopped, perhaps with its creator, and will be gone soon.
    pub fn ending_relative(&self) -> Option<Arc<Remote>> {
        let members: Vec<_> = {
            let members = self.children.descendants.get()?.members.lock().unwrap_or_else(PoisonError::into_inner);
            members.iter().filter_map(Weak::upgrade).collect()
        };
        members.into_iter().find(|member| member.is_disposed() && !member.is_gone())
    }

    /// Ends the isolates that the guest has created.
    pub(super) fn stop_children(&self) {
        let reason = self.stop_reason().filter(|reason| *reason == Stop::Environment).unwrap_or(Stop::Disposed);
        // Upgraded before the list is released: another thread may then drop what refers to them.
        let children: Vec<_> = {
            let mut children = self.children.made.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *children).iter().filter_map(Weak::upgrade).collect()
        };
        for made in children {
            made.stop(reason);
        }
    }
}

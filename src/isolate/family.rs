//! Isolates that guests make. They belong to the isolate of a host at the root of them all: together they get so much and no
//! more, whoever of them makes another, and they end with their maker.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::ending::Stop;
use super::remote::{Remote, Settings};
use crate::value::{Budget, Charge, Code, ErrorClass, Fault};

/// Isolates made by guests that may be there at once, for each isolate made by a host.
pub const MAX_OFFSPRING: usize = 16;

/// Their memory limits together, as a multiple of the limit of the isolate that the host has made.
const MEMORY_SHARE: usize = 4;

/// What the offspring of one isolate of a host may take, at all depths.
pub struct Family {
    places: Arc<Budget>,
    memory: Arc<Budget>,
    members: Mutex<Vec<Weak<Remote>>>,
}

/// A place in a family, until the V8 side of the isolate is gone. One that was given up keeps its place: it has its thread.
#[derive(Default)]
pub struct Membership {
    _place: Charge,
    _memory: Charge,
}

impl Family {
    fn of(root: &Settings) -> Arc<Self> {
        Arc::new(Self {
            places: Budget::new(MAX_OFFSPRING),
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
    /// An isolate that the guest of this one makes. `None` where its family has no room.
    pub fn create_offspring(&self, settings: Settings) -> Result<Option<Arc<Remote>>, Fault> {
        if settings.memory_limit > self.settings.memory_limit {
            let message = "`memoryLimit` must not be more than that of the isolate it is made in";
            return Err(Fault::coded(ErrorClass::RangeError, message, Code::Limit));
        }
        let family = self.family.get_or_init(|| Family::of(&self.settings));
        let Some(membership) = family.admit(settings.memory_limit) else { return Ok(None) };
        let types = self.ration.as_ref().map(|ration| Arc::clone(ration.types()));
        let references = Some(Arc::clone(&self.references));
        let made = Remote::create(Settings { types, references, ..settings });
        // Fails only if it was set before: nobody else knows the isolate yet.
        let _ = made.family.set(Arc::clone(family));
        remember(&family.members, &made);
        *made.membership.lock().unwrap_or_else(PoisonError::into_inner) = membership;
        remember(&self.offspring, &made);
        // Whoever stops this isolate from here on stops the new one as well.
        if self.is_disposed() {
            made.stop(Stop::Disposed);
            return Err(Fault::Stopped);
        }
        Ok(Some(made))
    }

    /// An isolate of the family that was stopped, perhaps with its maker, and will be gone soon.
    pub fn ending_relative(&self) -> Option<Arc<Remote>> {
        let members: Vec<_> = {
            let members = self.family.get()?.members.lock().unwrap_or_else(PoisonError::into_inner);
            members.iter().filter_map(Weak::upgrade).collect()
        };
        members.into_iter().find(|member| member.is_disposed() && !member.is_gone())
    }

    /// Ends the isolates that the guest has made.
    pub(super) fn stop_offspring(&self) {
        let reason = if self.stop_reason() == Stop::Environment { Stop::Environment } else { Stop::Disposed };
        // Held before they are let go: whoever else comes by may dispose of what refers to them.
        let offspring: Vec<_> = {
            let mut offspring = self.offspring.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *offspring).iter().filter_map(Weak::upgrade).collect()
        };
        for made in offspring {
            made.stop(reason);
        }
    }

    /// The V8 side is gone.
    pub(super) fn leave_family(&self) -> Membership {
        std::mem::take(&mut *self.membership.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

//! Isolates that guests create. They belong to the isolate at their root, which a host has created. Together they share one budget, no
//! matter which of them creates another, and they end with their creator.

use std::sync::{Arc, Mutex, OnceLock, Weak};

use crate::native::lock;
use crate::value::{Budget, Charge};

/// Isolates created by guests that may exist at once, for each isolate created by a host.
pub const MAX_DESCENDANTS: usize = 16;

/// The sum of their memory limits, as a multiple of the limit of the isolate that the host has created.
const MEMORY_SHARE: usize = 4;

/// The budget of the children of one isolate of a host, at all depths. `R`: an isolate.
pub struct Descendants<R> {
    places: Arc<Budget>,
    memory: Arc<Budget>,
    members: Mutex<Vec<Weak<R>>>,
}

/// A place among the descendants of an isolate, until the V8 side of the isolate is gone. An abandoned isolate keeps its place, because it
/// keeps its thread.
#[derive(Default)]
pub struct Membership {
    _place: Charge,
    _memory: Charge,
}

/// The relatives of an isolate.
pub struct CreatedIsolates<R> {
    /// Isolates that the guest has created.
    made: Mutex<Vec<Weak<R>>>,
    /// All descendants below the same root; set when the guest creates the first isolate, or if a guest has created this one.
    descendants: OnceLock<Arc<Descendants<R>>>,
    membership: Mutex<Membership>,
}

impl<R> Default for CreatedIsolates<R> {
    fn default() -> Self {
        Self { made: Mutex::default(), descendants: OnceLock::new(), membership: Mutex::default() }
    }
}

fn remember<R>(list: &Mutex<Vec<Weak<R>>>, made: &Arc<R>) {
    let mut list = lock(list);
    list.retain(|other| other.strong_count() > 0);
    list.push(Arc::downgrade(made));
}

/// A copy, because another thread may drop what refers to the isolates while they are used.
fn upgraded<R>(list: &[Weak<R>]) -> Vec<Arc<R>> {
    list.iter().filter_map(Weak::upgrade).collect()
}

impl<R> CreatedIsolates<R> {
    /// Called when the V8 side is gone.
    pub fn take_membership(&self) -> Membership {
        std::mem::take(&mut *lock(&self.membership))
    }

    /// A place for an isolate with the limit `memory`. `None` if there is no room. `own`: the memory limit of this isolate.
    pub fn admit(&self, memory: usize, own: usize) -> Option<Membership> {
        let descendants = self.descendants.get_or_init(|| {
            let memory = Budget::new(own.saturating_mul(MEMORY_SHARE));
            Arc::new(Descendants { places: Budget::new(MAX_DESCENDANTS), memory, members: Mutex::default() })
        });
        Some(Membership {
            _place: Charge::take(&descendants.places, 1)?,
            _memory: Charge::take(&descendants.memory, memory)?,
        })
    }

    /// Adds the isolate `made`, for which there is a `place`. `its`: the relatives of `made`.
    pub fn add(&self, made: &Arc<R>, its: &Self, place: Membership) {
        if let Some(descendants) = self.descendants.get() {
            remember(&descendants.members, made);
            // Fails only if it was set before, but no other code has the isolate yet.
            let _ = its.descendants.set(Arc::clone(descendants));
        }
        *lock(&its.membership) = place;
        remember(&self.made, made);
    }

    /// All isolates below the same root.
    pub fn relatives(&self) -> Vec<Arc<R>> {
        self.descendants.get().map_or_else(Vec::new, |descendants| upgraded(&lock(&descendants.members)))
    }

    /// Takes the isolates that the guest has created.
    pub fn take_made(&self) -> Vec<Arc<R>> {
        upgraded(&std::mem::take(&mut *lock(&self.made)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{CreatedIsolates, MAX_DESCENDANTS, MEMORY_SHARE};

    const OWN: usize = 100;

    #[derive(Default)]
    struct Isolate(CreatedIsolates<Isolate>);

    impl Isolate {
        fn make(&self, memory: usize) -> Option<Arc<Isolate>> {
            let place = self.0.admit(memory, OWN)?;
            let made = Arc::new(Isolate::default());
            self.0.add(&made, &made.0, place);
            Some(made)
        }
    }

    #[test]
    fn all_descendants_share_one_budget() {
        let root = Isolate::default();
        let child = root.make(OWN).unwrap();
        let grandchildren: Vec<_> = (1..MEMORY_SHARE).map(|_| child.make(OWN).unwrap()).collect();
        assert!(root.make(1).is_none() && grandchildren[0].make(1).is_none());
        assert_eq!(grandchildren[0].0.relatives().len(), MEMORY_SHARE);
        drop(grandchildren[0].0.take_membership());
        assert!(root.make(OWN).is_some());
    }

    #[test]
    fn their_number_is_limited() {
        let root = Isolate::default();
        let children: Vec<_> = std::iter::from_fn(|| root.make(1)).collect();
        assert_eq!(
            (children.len(), root.0.take_made().len(), root.0.take_made().len()),
            (MAX_DESCENDANTS, MAX_DESCENDANTS, 0)
        );
    }
}

//! Outcomes in the mailbox of an isolate that settle promises of its guest. They settle in their order: a guest may get a promise that has
//! already settled, while outcomes of promises that settled earlier are still in the mailbox.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::native::lock;
use crate::value::Moment;

/// When the promises of these outcomes have settled.
#[derive(Clone, Default)]
pub struct Outcomes(Arc<Mutex<BTreeSet<Moment>>>);

/// An outcome that is in the mailbox until this is dropped.
pub struct PendingOutcome(Outcomes, Moment);

impl Drop for PendingOutcome {
    fn drop(&mut self) {
        lock(&self.0.0).remove(&self.1);
    }
}

impl Outcomes {
    /// The outcome of a promise that has settled at `moment` is put into the mailbox.
    pub fn add(&self, moment: Moment) -> PendingOutcome {
        lock(&self.0).insert(moment);
        PendingOutcome(self.clone(), moment)
    }

    /// Whether the mailbox has an outcome of a promise that has settled before `moment`.
    pub fn are_any_before(&self, moment: Moment) -> bool {
        lock(&self.0).first().is_some_and(|first| *first < moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_earliest() {
        let outcomes = Outcomes::default();
        let [first, second, third] = [(); 3].map(|()| Moment::now());
        assert!(!outcomes.are_any_before(third));
        let pending = [outcomes.add(second), outcomes.add(first)];
        assert!(outcomes.are_any_before(third) && outcomes.are_any_before(second) && !outcomes.are_any_before(first));
        let [of_second, of_first] = pending;
        drop(of_first);
        assert!(outcomes.are_any_before(third) && !outcomes.are_any_before(second));
        drop(of_second);
        assert!(!outcomes.are_any_before(third));
    }
}

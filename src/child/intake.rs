//! Limits how many bytes of incomplete messages the parent keeps, of all children together. Each child may begin a large message, and may
//! never finish it.

use std::cmp::Reverse;

/// The maximum number of bytes of incomplete messages, as long as no message has more than half of them.
const MAX_BYTES: usize = 512 << 20;

/// The maximum that is reserved for what a message says that it will have. Saying so costs a child nothing.
const MAX_RESERVED: usize = MAX_BYTES / 2;

/// Messages of at most this many bytes are read without regard to others.
const SMALL: usize = 1 << 20;

/// A message of which a part has arrived.
#[derive(Clone, Copy)]
pub struct Partial {
    /// The number of its process.
    pub process: u64,
    pub arrived: usize,
    /// Bytes of the whole message.
    pub length: usize,
}

impl Partial {
    pub fn is_large(&self) -> bool {
        self.length > SMALL
    }
}

/// Which messages may be read further.
pub struct Intake {
    /// The process of the message of which most has arrived. It may always be read. A child that does not finish its message delays others
    /// in this way only if it has sent more than they.
    first: Option<u64>,
    is_full: bool,
}

impl Intake {
    /// `turn`: the number of bytes that may be read from one child before this is determined again.
    pub fn of(messages: impl Iterator<Item = Partial>, turn: usize) -> Self {
        let (mut arrived, mut longest, mut first) = (0_usize, 0, None);
        for message in messages.filter(Partial::is_large) {
            arrived = arrived.saturating_add(message.arrived);
            longest = longest.max(message.length);
            first = first.max(Some((message.arrived, Reverse(message.process))));
        }
        // Whichever message is the first, now or later, there is room for all of it, up to the reserve.
        let is_full = arrived.saturating_add(turn).saturating_add(longest.min(MAX_RESERVED)) > MAX_BYTES;
        Self { first: first.map(|(_, Reverse(process))| process), is_full }
    }

    pub fn admits(&self, message: &Partial) -> bool {
        !self.is_full || !message.is_large() || self.first == Some(message.process)
    }
}

#[cfg(test)]
mod tests {
    use super::{Intake, MAX_BYTES, MAX_RESERVED, Partial};

    const MB: usize = 1 << 20;
    const TURN: usize = MB;

    fn partial(process: u64, arrived: usize, length: usize) -> Partial {
        Partial { process, arrived, length }
    }

    /// Reads messages to their ends, except the last byte of those that stall, and returns the most that was there at any time.
    fn most(messages: Vec<Partial>, stalls: impl Fn(u64) -> bool) -> (usize, Vec<u64>) {
        max_until(messages, |message| message.length - usize::from(stalls(message.process)))
    }

    /// The same, where each message is read to the place that `end` returns.
    fn max_until(mut messages: Vec<Partial>, end: impl Fn(&Partial) -> usize) -> (usize, Vec<u64>) {
        let (mut most, mut done) = (0, Vec::new());
        loop {
            let intake = Intake::of(messages.iter().copied(), TURN);
            let before = messages.clone();
            for message in messages.iter_mut().filter(|message| intake.admits(message)) {
                message.arrived = (message.arrived + TURN).min(end(message));
            }
            most = most.max(messages.iter().map(|message| message.arrived).sum());
            messages.retain(|message| {
                let is_done = message.arrived == message.length;
                done.extend(is_done.then_some(message.process));
                !is_done
            });
            if messages.iter().zip(&before).all(|(now, then)| now.arrived == then.arrived)
                && messages.len() == before.len()
            {
                return (most, done);
            }
        }
    }

    #[test]
    fn all_are_read_within_the_budget() {
        let count = 8;
        let messages = (0..count).map(|order| partial(order, 0, 250 * MB)).collect();
        let (most, done) = most(messages, |_| false);
        assert!(most <= MAX_BYTES + count as usize * TURN, "{most}");
        assert_eq!(done.len(), count as usize);
    }

    #[test]
    fn those_that_stall_keep_no_more_than_the_budget() {
        let count = 8;
        let messages = (0..count).map(|order| partial(order, 0, 250 * MB)).collect();
        let (most, done) = most(messages, |_| true);
        assert!(most <= MAX_BYTES + count as usize * TURN, "{most}");
        assert!(done.is_empty());
    }

    #[test]
    fn one_that_is_larger_than_the_budget_is_read_alone() {
        let messages = vec![partial(1, 0, 2 * MAX_BYTES), partial(2, 0, 2 * MAX_BYTES), partial(3, 0, MB)];
        let (most, done) = most(messages, |_| false);
        assert!(most <= 2 * MAX_BYTES + MAX_RESERVED + 3 * TURN, "{most}");
        assert_eq!(done, [3, 1, 2]);
    }

    #[test]
    fn one_that_only_claims_to_be_large_delays_no_other() {
        for claimed in [u32::MAX as usize, 2 * MAX_BYTES, 250 * MB] {
            let mut messages: Vec<_> = (1..=4).map(|process| partial(process, 0, claimed)).collect();
            messages.extend([partial(5, 0, 250 * MB), partial(6, 0, 250 * MB)]);
            let (most, done) = max_until(messages, |message| if message.process <= 4 { 1 } else { message.length });
            assert_eq!(done, [5, 6], "{claimed}");
            assert!(most <= MAX_BYTES + 6 * TURN || claimed > MAX_RESERVED, "{most}");
        }
    }

    #[test]
    fn small_messages_do_not_count() {
        let held = [partial(1, 400 * MB, 500 * MB), partial(2, 100 * MB, 200 * MB), partial(3, 7, MB)];
        let intake = Intake::of(held.into_iter(), TURN);
        assert_eq!(held.map(|message| intake.admits(&message)), [true, false, true]);
    }
}

//! How much of incomplete messages the parent keeps, of all children together. Each child may send a large result, and no child has to
//! finish one.

/// The maximum number of bytes of incomplete messages. If one message may be larger, that one is the maximum.
const MAX_BYTES: usize = 512 << 20;

/// Messages of at most this many bytes are read without regard to others.
const SMALL: usize = 1 << 20;

/// A message of which a part has arrived.
#[derive(Clone, Copy)]
pub struct Partial {
    /// Greater than that of any message that began earlier.
    pub order: u64,
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
    /// The message that began first. It may always be read.
    oldest: Option<u64>,
    is_full: bool,
}

impl Intake {
    /// `turn`: the number of bytes that may be read from one child before this is determined again.
    pub fn of(messages: impl Iterator<Item = Partial>, turn: usize) -> Self {
        let (mut arrived, mut longest, mut oldest) = (0_usize, 0, None);
        for message in messages.filter(Partial::is_large) {
            arrived = arrived.saturating_add(message.arrived);
            longest = longest.max(message.length);
            oldest = Some(oldest.map_or(message.order, |oldest: u64| oldest.min(message.order)));
        }
        // Whichever message is the oldest, now or later, there is room for all of it.
        let is_full = arrived.saturating_add(turn).saturating_add(longest) > MAX_BYTES;
        Self { oldest, is_full }
    }

    pub fn admits(&self, message: &Partial) -> bool {
        !self.is_full || !message.is_large() || self.oldest == Some(message.order)
    }
}

#[cfg(test)]
mod tests {
    use super::{Intake, MAX_BYTES, Partial};

    const MB: usize = 1 << 20;
    const TURN: usize = MB;

    fn partial(order: u64, arrived: usize, length: usize) -> Partial {
        Partial { order, arrived, length }
    }

    /// Reads messages to their ends, except the last byte of those that stall, and returns the most that was there at any time.
    fn most(mut messages: Vec<Partial>, stalls: impl Fn(u64) -> bool) -> (usize, Vec<u64>) {
        let (mut most, mut done) = (0, Vec::new());
        loop {
            let intake = Intake::of(messages.iter().copied(), TURN);
            let before = messages.clone();
            for message in messages.iter_mut().filter(|message| intake.admits(message)) {
                let end = message.length - usize::from(stalls(message.order));
                message.arrived = (message.arrived + TURN).min(end);
            }
            most = most.max(messages.iter().map(|message| message.arrived).sum());
            messages.retain(|message| {
                let is_done = message.arrived == message.length;
                done.extend(is_done.then_some(message.order));
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
        assert!(most <= 2 * MAX_BYTES + 3 * TURN, "{most}");
        assert_eq!(done, [3, 1, 2]);
    }

    #[test]
    fn small_messages_do_not_count() {
        let held = [partial(1, 400 * MB, 500 * MB), partial(2, 100 * MB, 200 * MB), partial(3, 7, MB)];
        let intake = Intake::of(held.into_iter(), TURN);
        assert_eq!(held.map(|message| intake.admits(&message)), [true, false, true]);
    }
}

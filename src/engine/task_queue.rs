//! Tasks that wait for one of V8's own threads. V8 has few of them, and a task may take minutes, such as the optimization of a large
//! WebAssembly function. So that it does not delay the tasks of other isolates, helpers take over what has waited for some time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A task that has waited or run for this long is late or long.
const LONG: Duration = Duration::from_millis(100);

/// The most helpers. Each may run a long task of one isolate.
const MAX_HELPERS: usize = 8;

/// The isolate that a task runs for; 0 for none.
pub type Owner = usize;

struct Waiting<T> {
    task: T,
    owner: Owner,
    since: Instant,
}

struct Running {
    number: u64,
    owner: Owner,
    since: Instant,
}

/// Identifies a running task.
pub struct Ticket(u64);

pub struct TaskQueue<T> {
    waiting: VecDeque<Waiting<T>>,
    running: Vec<Running>,
    /// The number of tasks that were taken.
    taken: u64,
    helpers: usize,
    /// Helpers that look for a task.
    free: usize,
}

impl<T> TaskQueue<T> {
    pub const fn new() -> Self {
        Self { waiting: VecDeque::new(), running: Vec::new(), taken: 0, helpers: 0, free: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn add(&mut self, task: T, owner: Owner, now: Instant) {
        self.waiting.push_back(Waiting { task, owner, since: now });
    }

    /// The task that has waited for longest. [`TaskQueue::end`] must follow.
    pub fn take(&mut self, now: Instant) -> Option<(T, Ticket)> {
        let next = self.waiting.pop_front()?;
        Some(self.begin(next, now))
    }

    /// The same for a free helper: only a late task, and none of an isolate for which a long one runs. So each isolate keeps one thread busy.
    pub fn take_late(&mut self, now: Instant) -> Option<(T, Ticket)> {
        let is_past = |since: Instant| now.saturating_duration_since(since) >= LONG;
        let has_long =
            |owner: Owner| owner != 0 && self.running.iter().any(|it| it.owner == owner && is_past(it.since));
        let place = self.waiting.iter().position(|it| is_past(it.since) && !has_long(it.owner))?;
        let late = self.waiting.remove(place)?;
        self.free -= 1;
        Some(self.begin(late, now))
    }

    fn begin(&mut self, Waiting { task, owner, .. }: Waiting<T>, now: Instant) -> (T, Ticket) {
        self.taken += 1;
        self.running.push(Running { number: self.taken, owner, since: now });
        (task, Ticket(self.taken))
    }

    /// The task is done.
    pub fn end(&mut self, Ticket(number): Ticket) {
        self.running.retain(|it| it.number != number);
    }

    /// Whether a helper must start, because tasks wait while as many run as there are `threads`. It counts from now on.
    pub fn needs_helper(&mut self, threads: usize) -> bool {
        let is_needed =
            !self.is_empty() && self.running.len() >= threads && self.free == 0 && self.helpers < MAX_HELPERS;
        if is_needed {
            self.helpers += 1;
            self.free += 1;
        }
        is_needed
    }

    /// A helper that has taken a task looks for another.
    pub fn is_free(&mut self) {
        self.free += 1;
    }

    /// A free helper ends, or could not start.
    pub fn leave(&mut self) {
        self.helpers -= 1;
        self.free -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{LONG, MAX_HELPERS, TaskQueue};

    #[test]
    fn helpers_take_late_tasks_of_isolates_without_a_long_one() {
        let (start, mut queue) = (Instant::now(), TaskQueue::new());
        for (task, owner) in [("a", 1), ("b", 1), ("c", 2), ("d", 0)] {
            queue.add(task, owner, start);
        }
        let (task, ticket) = queue.take(start).unwrap();
        assert_eq!(task, "a");
        assert!(!queue.needs_helper(2));
        assert!(queue.needs_helper(1));
        assert!(!queue.needs_helper(1), "one is free");
        assert!(queue.take_late(start).is_none());
        let late = start + LONG;
        assert_eq!(queue.take_late(late).map(|(task, _)| task), Some("c"));
        assert!(queue.needs_helper(1), "none is free");
        assert_eq!(queue.take_late(late).map(|(task, _)| task), Some("d"));
        queue.is_free();
        assert!(queue.take_late(late).is_none());
        queue.end(ticket);
        assert_eq!(queue.take_late(late).map(|(task, _)| task), Some("b"));
        assert!(queue.is_empty());
    }

    #[test]
    fn bounds_the_helpers() {
        let (now, mut queue) = (Instant::now(), TaskQueue::new());
        let mut started = 0;
        for owner in 1..100 {
            queue.add((), owner, now);
            queue.take(now);
            // That of an isolate for which none runs.
            queue.add((), 1_000 + owner, now);
            if queue.needs_helper(1) {
                started += 1;
                queue.take_late(now + LONG);
            }
        }
        assert_eq!(started, MAX_HELPERS);
        queue.is_free();
        queue.leave();
        assert!(queue.needs_helper(1));
    }
}

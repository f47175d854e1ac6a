//! Tasks that wait for one of V8's own threads. V8 has few of them, and a task may take minutes, such as the optimization of a large
//! WebAssembly function. So that it does not delay the tasks of other isolates, helpers take over what has waited for some time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A task that has waited or run for this long is late or long.
const LONG: Duration = Duration::from_millis(100);

/// Maximum number of helpers.
const MAX_HELPERS: usize = 64;

/// Maximum number of helpers that do not have a low priority. Those with a long task do not count: a few isolates would delay all others.
const MAX_NORMAL: usize = 8;

fn is_past(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) >= LONG
}

/// The isolate that a task runs for; 0 for none.
pub type TaskOwner = usize;

struct Waiting<T> {
    task: T,
    owner: TaskOwner,
    since: Instant,
}

struct Running {
    number: u64,
    owner: TaskOwner,
    since: Instant,
    /// The system's number of the thread.
    thread: i32,
    helper: Option<Helper>,
}

/// The thread is a helper.
struct Helper {
    is_lowered: bool,
}

impl Running {
    /// Returns the thread if it is a helper that does not have a low priority yet. It has one from now on.
    fn lower(&mut self) -> Option<i32> {
        let helper = self.helper.as_mut().filter(|helper| !helper.is_lowered)?;
        helper.is_lowered = true;
        Some(self.thread)
    }
}

/// Identifies a running task.
pub struct Ticket(u64);

pub struct TaskQueue<T> {
    waiting: VecDeque<Waiting<T>>,
    running: Vec<Running>,
    /// The number of tasks that were taken.
    taken: u64,
    /// Helpers that do not have a low priority.
    normal: usize,
    /// Helpers that look for a task.
    free: usize,
    /// Helpers with a low priority.
    lowered: usize,
    /// Threads that have stopped permanently, and that the system has not replaced.
    missing: usize,
}

impl<T> TaskQueue<T> {
    pub const fn new() -> Self {
        Self { waiting: VecDeque::new(), running: Vec::new(), taken: 0, normal: 0, free: 0, lowered: 0, missing: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn add(&mut self, task: T, owner: TaskOwner, now: Instant) {
        self.waiting.push_back(Waiting { task, owner, since: now });
    }

    /// The task that has waited for longest. [`TaskQueue::end`] must follow.
    pub fn take(&mut self, now: Instant, thread: i32) -> Option<(T, Ticket)> {
        let next = self.waiting.pop_front()?;
        Some(self.begin(next, now, thread, None))
    }

    /// The same for a free helper: only a late task, and none of an isolate for which a long one runs. So each isolate keeps one thread busy.
    pub fn take_late(&mut self, now: Instant, thread: i32) -> Option<(T, Ticket)> {
        let has_long =
            |owner: TaskOwner| owner != 0 && self.running.iter().any(|it| it.owner == owner && is_past(it.since, now));
        let place = self.waiting.iter().position(|it| is_past(it.since, now) && !has_long(it.owner))?;
        let late = self.waiting.remove(place)?;
        self.free -= 1;
        Some(self.begin(late, now, thread, Some(Helper { is_lowered: false })))
    }

    fn begin(
        &mut self,
        Waiting { task, owner, .. }: Waiting<T>,
        now: Instant,
        thread: i32,
        helper: Option<Helper>,
    ) -> (T, Ticket) {
        self.taken += 1;
        self.running.push(Running { number: self.taken, owner, since: now, thread, helper });
        (task, Ticket(self.taken))
    }

    /// The task is done. Its helper is free again, unless it has a low priority, which is permanent. Returns true for such a helper, which must end.
    pub fn end(&mut self, Ticket(number): Ticket) -> bool {
        let ended = self.running.iter().position(|it| it.number == number).map(|place| self.running.swap_remove(place));
        let Some(Helper { is_lowered }) = ended.and_then(|it| it.helper) else { return false };
        if is_lowered {
            self.lowered -= 1;
        } else {
            self.free += 1;
        }
        is_lowered
    }

    /// The task of this thread never ends, because the thread has stopped permanently. Returns whether another one must replace it: helpers start
    /// when they are needed.
    pub fn lose(&mut self, thread: i32) -> bool {
        let lost = self.running.iter().position(|it| it.thread == thread).map(|place| self.running.swap_remove(place));
        match lost.and_then(|it| it.helper) {
            Some(Helper { is_lowered: true }) => self.lowered -= 1,
            Some(Helper { is_lowered: false }) => self.normal -= 1,
            None => return true,
        }
        false
    }

    /// The system has started no thread in the place of one that has stopped permanently.
    pub fn miss(&mut self) {
        self.missing += 1;
    }

    /// Whether such a thread must be started. It is not missing any more.
    pub fn take_missing(&mut self) -> bool {
        let is_missing = self.missing > 0;
        self.missing -= usize::from(is_missing);
        is_missing
    }

    /// The next helper whose task is long. It must get a low priority: a task that a caller waits for usually ends before.
    pub fn next_to_lower(&mut self, now: Instant) -> Option<i32> {
        let thread = self.running.iter_mut().filter(|it| is_past(it.since, now)).find_map(Running::lower)?;
        self.count_lowered();
        Some(thread)
    }

    fn count_lowered(&mut self) {
        self.normal -= 1;
        self.lowered += 1;
    }

    /// Whether nothing waits, and no helper runs a task that may become long.
    pub fn is_idle(&self) -> bool {
        self.is_empty() && !self.running.iter().any(|it| it.helper.as_ref().is_some_and(|helper| !helper.is_lowered))
    }

    /// Whether a helper must start, because tasks wait while as many run as there are `threads`. It counts from now on.
    pub fn needs_helper(&mut self, threads: usize) -> bool {
        !self.is_empty() && self.running.len() >= threads && self.needs_watch()
    }

    /// Whether a helper must start, because none is free to look after those that have taken a task. It counts from now on.
    pub fn needs_watch(&mut self) -> bool {
        let is_needed = self.free == 0 && self.normal < MAX_NORMAL && self.normal + self.lowered < MAX_HELPERS;
        if is_needed {
            self.normal += 1;
            self.free += 1;
        }
        is_needed
    }

    /// Whether no helper is free to look after this one, which runs a task. It must get a low priority then.
    pub fn lower_unwatched(&mut self, thread: i32) -> bool {
        if self.free > 0 {
            return false;
        }
        let lowered = self.running.iter_mut().find(|it| it.thread == thread).and_then(Running::lower);
        if lowered.is_some() {
            self.count_lowered();
        }
        true
    }

    /// A free helper ends, or could not start.
    pub fn leave(&mut self) {
        self.normal -= 1;
        self.free -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{LONG, MAX_HELPERS, MAX_NORMAL, TaskQueue};

    #[test]
    fn helpers_take_late_tasks_of_isolates_without_a_long_one() {
        let (start, mut queue) = (Instant::now(), TaskQueue::new());
        for (task, owner) in [("a", 1), ("b", 1), ("c", 2), ("d", 0)] {
            queue.add(task, owner, start);
        }
        let (task, ticket) = queue.take(start, 1).unwrap();
        assert_eq!(task, "a");
        assert!(!queue.needs_helper(2));
        assert!(queue.needs_helper(1));
        assert!(!queue.needs_helper(1), "one is free");
        assert!(queue.take_late(start, 7).is_none());
        let late = start + LONG;
        let (task, helped) = queue.take_late(late, 7).unwrap();
        assert_eq!(task, "c");
        assert!(queue.needs_helper(1), "none is free");
        assert_eq!(queue.take_late(late, 8).map(|(task, _)| task), Some("d"));
        assert!(!queue.end(helped));
        assert!(queue.take_late(late, 7).is_none());
        queue.end(ticket);
        let (task, last) = queue.take_late(late, 7).unwrap();
        assert_eq!(task, "b");
        assert!(!queue.end(last));
        queue.leave();
        assert!(queue.is_empty());
    }

    #[test]
    fn lowers_helpers_with_long_tasks_once() {
        let (start, mut queue) = (Instant::now(), TaskQueue::new());
        for (task, owner) in [("a", 1), ("b", 2), ("c", 3)] {
            queue.add(task, owner, start);
        }
        let (_, own) = queue.take(start, 1).unwrap();
        assert!(queue.needs_helper(1));
        let late = start + LONG;
        let (_, long) = queue.take_late(late, 7).unwrap();
        assert!(queue.needs_watch());
        assert!(!queue.needs_watch(), "one is free");
        assert!(!queue.lower_unwatched(7));
        let (_, short) = queue.take_late(late, 8).unwrap();
        assert!(!queue.end(short));
        assert_eq!(queue.next_to_lower(late), None);
        assert!(!queue.is_idle());
        assert_eq!(queue.next_to_lower(late + LONG), Some(7));
        assert_eq!(queue.next_to_lower(late + LONG), None);
        assert!(queue.is_idle());
        assert!(!queue.end(own), "V8's own thread");
        assert!(queue.end(long));
        queue.add("d", 4, late);
        let (_, unwatched) = queue.take_late(late + LONG, 7).unwrap();
        assert!(queue.lower_unwatched(7));
        assert!(queue.end(unwatched));
    }

    #[test]
    fn bounds_the_helpers() {
        let (now, mut queue) = (Instant::now(), TaskQueue::new());
        let mut started = 0;
        for owner in 1..100 {
            queue.add((), owner, now);
            queue.take(now, 1);
            // That of an isolate for which none runs.
            queue.add((), 1_000 + owner, now);
            if queue.needs_helper(1) {
                started += 1;
                queue.take_late(now + LONG, 100 + started);
            }
        }
        assert_eq!(started as usize, MAX_NORMAL);
        // Each of those whose task is long makes room for another one.
        let mut lowered = Vec::new();
        while let Some(thread) = queue.next_to_lower(now + 2 * LONG) {
            lowered.push(thread);
            if queue.needs_helper(1) {
                started += 1;
                queue.take_late(now + LONG, 100 + started);
            }
        }
        assert_eq!(started as usize, MAX_HELPERS);
        assert!(lowered.len() == MAX_HELPERS && !queue.needs_helper(1));
        assert!(!queue.lose(lowered[0]) && queue.needs_helper(1));
    }

    #[test]
    fn counts_no_thread_that_has_stopped() {
        let (now, mut queue) = (Instant::now(), TaskQueue::new());
        queue.add((), 1, now);
        assert!(queue.take(now, 1).is_some() && queue.lose(1) && queue.lose(2));
        for helper in 10..10 + 2 * i32::try_from(MAX_HELPERS).unwrap() {
            queue.add((), 0, now);
            assert!(queue.needs_watch(), "helper {helper} can start");
            assert!(queue.take_late(now + LONG, helper).is_some() && !queue.lose(helper));
        }
        queue.add((), 1, now);
        assert!(!queue.needs_helper(1), "none of V8's threads is busy");
        assert!(!queue.take_missing());
        queue.miss();
        assert!(queue.take_missing() && !queue.take_missing());
    }
}

//! Isolates that are ready for later executions. Each serves one, and ends with it, so an isolate that waits here has never run user code.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::outfit::{Outfit, RealmOutfit};
use crate::isolate::clock::{self, Alarm};
use crate::isolate::{Maker, Remote, Settings};
use crate::value::{Answer, Outcome, Owner, Value};

/// If a shelf has been empty for this long when a caller needs an isolate, the shelf is restocked at once.
const QUIET: Duration = Duration::from_millis(10);

/// How long to wait before restocking after an isolate was taken for longer than an execution.
const SETTLING: Duration = Duration::from_millis(50);

/// How long unused isolates are kept.
const KEEP: Duration = Duration::from_secs(60);

/// The maximum number of waiting isolates, of all outfits.
const MAX_WARM: usize = 64;

/// The isolates that wait for executions of one host.
pub struct Pool {
    me: Weak<Pool>,
    keep: Duration,
    shelves: Mutex<Shelves>,
}

#[derive(Default)]
struct Shelves {
    /// The most recently used shelf is the last.
    shelves: Vec<Shelf>,
    closed: bool,
}

/// Isolates of one outfit.
struct Shelf {
    outfit: Outfit,
    settings: Settings,
    /// How many isolates must wait here.
    wanted: usize,
    spares: Vec<Arc<Remote>>,
    /// Since when the shelf has been empty.
    empty: Instant,
    /// Clears the shelf.
    alarm: Option<Alarm>,
}

impl Shelves {
    fn find(&mut self, outfit: &Outfit) -> Option<&mut Shelf> {
        self.shelves.iter_mut().find(|shelf| shelf.outfit == *outfit)
    }

    fn count(&self) -> usize {
        self.shelves.iter().map(|shelf| shelf.spares.len()).sum()
    }

    /// Removes the shelves that were unused for longest, until there is room for `missing` isolates of an outfit.
    fn make_room(&mut self, outfit: &Outfit, missing: usize) -> Vec<Shelf> {
        let mut displaced = Vec::new();
        while self.count() + missing > MAX_WARM {
            let Some(oldest) = self.shelves.iter().position(|shelf| shelf.outfit != *outfit) else { break };
            displaced.push(self.shelves.remove(oldest));
        }
        displaced
    }
}

impl Pool {
    pub fn new() -> Arc<Self> {
        Self::keeping(KEEP)
    }

    fn keeping(keep: Duration) -> Arc<Self> {
        Arc::new_cyclic(|me| Self { me: me.clone(), keep, shelves: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an isolate of this outfit. Later, `wanted` isolates are made for other callers: see [`Pool::restock`].
    pub fn take(&self, outfit: &Outfit, wanted: usize, settings: &Settings) -> Arc<Remote> {
        if let Some(spare) = self.spare(outfit, wanted.min(MAX_WARM), settings) {
            return spare;
        }
        let quiet = wanted > 0 && self.lock().find(outfit).is_some_and(|shelf| shelf.empty.elapsed() >= QUIET);
        let made = Remote::create_prepared(outfit.settings(settings), outfit.preparation());
        register(&made);
        if quiet {
            self.restock(outfit);
        }
        made
    }

    fn spare(&self, outfit: &Outfit, wanted: usize, settings: &Settings) -> Option<Arc<Remote>> {
        if wanted == 0 {
            return None;
        }
        let mut shelves = self.lock();
        let place = shelves.shelves.iter().position(|shelf| shelf.outfit == *outfit);
        let mut shelf = match place {
            Some(place) => shelves.shelves.remove(place),
            None => {
                let (outfit, settings) = (outfit.clone(), settings.clone());
                Shelf { outfit, settings, wanted, spares: Vec::new(), empty: Instant::now(), alarm: None }
            }
        };
        // Other callers may want more of the same.
        shelf.wanted = shelf.wanted.max(wanted);
        shelf.alarm = None;
        // The oldest is the most likely to be ready. Failed ones are dropped.
        let found = shelf.spares.iter().position(|spare| spare.enlist());
        let mut passed: Vec<_> = shelf.spares.drain(..found.map_or(shelf.spares.len(), |found| found + 1)).collect();
        if found.is_some() && shelf.spares.is_empty() {
            shelf.empty = Instant::now();
        }
        shelves.shelves.push(shelf);
        drop(shelves);
        found.and_then(|_| passed.pop())
    }

    /// Wakes up a thread, because a call for this outfit is about to come.
    pub fn rouse(&self, outfit: &Outfit) {
        let mut shelves = self.lock();
        let first =
            shelves.find(outfit).and_then(|shelf| shelf.spares.iter().find(|spare| !spare.is_disposed()).cloned());
        drop(shelves);
        if let Some(first) = first {
            first.rouse();
        }
    }

    /// Makes the isolates that must wait for the next calls for this outfit. Call it when an execution is over or waits for something:
    /// earlier, it would compete for the processors.
    pub fn restock(&self, outfit: &Outfit) {
        let mut shelves = self.lock();
        if shelves.closed {
            return;
        }
        let Some(shelf) = shelves.find(outfit) else { return };
        let missing = shelf.wanted.saturating_sub(shelf.spares.len());
        let displaced = shelves.make_room(outfit, missing);
        let Some(shelf) = shelves.find(outfit) else { return };
        let made: Vec<_> = (0..missing).map(|_| outfit.spare(&shelf.settings, || {})).collect();
        shelf.spares.extend(made.iter().map(Arc::clone));
        let (me, key) = (self.me.clone(), outfit.clone());
        shelf.alarm = Some(clock::at(Instant::now() + self.keep, move || {
            if let Some(pool) = me.upgrade() {
                pool.clear(&key);
            }
        }));
        drop(shelves);
        drop(displaced);
        made.iter().for_each(register);
    }

    /// Removes an outfit that was unused for long.
    fn clear(&self, outfit: &Outfit) {
        let mut shelves = self.lock();
        let place = shelves.shelves.iter().position(|shelf| shelf.outfit == *outfit);
        let shelf = place.map(|place| shelves.shelves.remove(place));
        drop(shelves);
        drop(shelf);
    }

    /// Restocks the pool when an isolate that was just taken has had some time to work.
    pub fn restock_later(&self, outfit: &Outfit) {
        let restocking = self.restocking(outfit);
        clock::after(SETTLING, move || restocking.answer(Ok(Value::Undefined)));
    }

    /// Returns an answer that restocks the pool when it is given.
    pub fn restocking(&self, outfit: &Outfit) -> Arc<dyn Answer> {
        Arc::new(Restocking { pool: self.me.clone(), outfit: outfit.clone() })
    }

    /// The host is shutting down: no isolate waits any more.
    pub fn close(&self) {
        let mut shelves = self.lock();
        shelves.closed = true;
        let left = std::mem::take(&mut shelves.shelves);
        drop(shelves);
        drop(left);
    }
}

impl Maker for Pool {
    /// A host finds an isolate ready if an earlier one has ended, or if it makes one after another.
    fn make(&self, settings: Settings, warm: usize) -> Arc<Remote> {
        let is_plain = settings.snapshot.is_none() && !settings.inspector && !settings.host_stacks;
        if warm == 0 || !is_plain {
            let made = Remote::create(settings);
            register(&made);
            return made;
        }
        let outfit = Outfit { memory_limit: settings.memory_limit, snapshot: None, realm: RealmOutfit::Bare };
        let taken = self.take(&outfit, warm, &settings);
        taken.when_gone(self.restocking(&outfit));
        taken
    }
}

struct Restocking {
    pool: Weak<Pool>,
    outfit: Outfit,
}

impl Answer for Restocking {
    fn answer(&self, _outcome: Outcome) {
        if let Some(pool) = self.pool.upgrade() {
            pool.restock(&self.outfit);
        }
    }
}

/// Disposes the isolate with its host.
fn register(remote: &Arc<Remote>) {
    if let Some(host) = remote.settings.host.as_ref().and_then(Weak::upgrade) {
        let owner: Arc<dyn Owner> = Arc::clone(remote) as Arc<dyn Owner>;
        host.register(&owner);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::super::{Names, Outfit, RealmOutfit};
    use super::{MAX_WARM, Pool};
    use crate::isolate::Stop;

    fn outfit(megabytes: usize) -> Outfit {
        let realm = RealmOutfit::Sandbox { shadow_global: true, timers: true, web: Names::from_bits(511) };
        Outfit { memory_limit: megabytes << 20, snapshot: None, realm }
    }

    /// Waits until a slow condition holds.
    fn eventually(what: &str, holds: impl Fn() -> bool) {
        let until = Instant::now() + Duration::from_secs(20);
        while !holds() {
            assert!(Instant::now() < until, "{what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn gives_each_isolate_once() {
        let (pool, settings, outfit) = (Pool::new(), crate::settings(), outfit(16));
        let mut seen = vec![pool.take(&outfit, 3, &settings)];
        assert_eq!(pool.lock().count(), 0);
        for _ in 0..5 {
            pool.restock(&outfit);
            assert_eq!(pool.lock().count(), 3);
            for left in (0..3).rev() {
                let taken = pool.take(&outfit, 3, &settings);
                assert!(!taken.enlist());
                assert!(!seen.iter().any(|other| Arc::ptr_eq(other, &taken)));
                assert_eq!(pool.lock().count(), left);
                seen.push(taken);
            }
        }
    }

    #[test]
    fn forgets_what_nobody_asks_for() {
        let (pool, settings, outfit) = (Pool::keeping(Duration::from_millis(50)), crate::settings(), outfit(16));
        drop(pool.take(&outfit, 1, &settings));
        pool.restock(&outfit);
        assert_eq!(pool.lock().count(), 1);
        eventually("it is forgotten", || pool.lock().shelves.is_empty());
    }

    #[test]
    fn passes_over_what_has_ended() {
        let (pool, settings, outfit) = (Pool::new(), crate::settings(), outfit(16));
        drop(pool.take(&outfit, 2, &settings));
        pool.restock(&outfit);
        let first = pool.lock().shelves[0].spares[0].clone();
        first.stop(Stop::Memory);
        let taken = pool.take(&outfit, 2, &settings);
        assert!(!Arc::ptr_eq(&first, &taken) && !taken.is_disposed());
        assert_eq!(pool.lock().count(), 0);
    }

    #[test]
    fn has_no_more_than_there_may_be() {
        let (pool, settings) = (Pool::new(), crate::settings());
        for megabytes in 16..20 {
            drop(pool.take(&outfit(megabytes), MAX_WARM / 2, &settings));
            pool.restock(&outfit(megabytes));
            assert!(pool.lock().count() <= MAX_WARM);
        }
        let kept: Vec<_> = pool.lock().shelves.iter().map(|shelf| shelf.outfit.memory_limit >> 20).collect();
        assert_eq!(kept, [18, 19]);
    }

    #[test]
    fn has_none_after_its_end() {
        let (pool, settings, outfit) = (Pool::new(), crate::settings(), outfit(16));
        drop(pool.take(&outfit, 1, &settings));
        pool.restock(&outfit);
        pool.close();
        pool.restock(&outfit);
        let taken = pool.take(&outfit, 1, &settings);
        pool.restock(&outfit);
        assert_eq!(pool.lock().count(), 0);
        assert!(!taken.is_disposed());
    }

    #[test]
    fn has_none_where_none_is_wanted() {
        let (pool, settings, outfit) = (Pool::new(), crate::settings(), outfit(16));
        drop(pool.take(&outfit, 1, &settings));
        pool.restock(&outfit);
        drop(pool.take(&outfit, 0, &settings));
        assert_eq!(pool.lock().count(), 1);
    }
}

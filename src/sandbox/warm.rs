//! Isolates that are ready for later executions. Each serves one, and ends with it, so an isolate that waits here has never run user code.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::template::{IsolateTemplate, RealmTemplate};
use crate::isolate::clock::{self, Alarm};
use crate::isolate::{IsolateFactory, Remote, Settings};
use crate::native::lock;
use crate::value::{Completion, Outcome, Owner};

/// If a group has been empty for this long when a caller needs an isolate, the group is restocked at once.
const QUIET: Duration = Duration::from_millis(10);

/// How long to wait before restocking after an isolate was taken for longer than an execution, and after the first execution of a template: the
/// host then still compiles its code for the result, and competes for the processors.
const SETTLING: Duration = Duration::from_millis(50);

/// How long unused isolates are kept.
const KEEP: Duration = Duration::from_secs(60);

/// The maximum number of waiting isolates, of all templates.
const MAX_WARM: usize = 64;

/// The isolates that wait for executions of one host.
pub struct Pool {
    me: Weak<Pool>,
    keep: Duration,
    groups: Mutex<Groups>,
}

#[derive(Default)]
struct Groups {
    /// The most recently used group is the last.
    groups: Vec<Group>,
    closed: bool,
}

/// Isolates of one template.
struct Group {
    template: IsolateTemplate,
    settings: Settings,
    /// How many isolates must wait here.
    wanted: usize,
    isolates: Vec<Arc<Remote>>,
    /// Since when the group has been empty.
    empty: Instant,
    /// Whether no execution of the template has ended yet.
    is_new: bool,
    /// Clears the group.
    alarm: Option<Alarm>,
}

impl Groups {
    fn find(&mut self, template: &IsolateTemplate) -> Option<&mut Group> {
        self.groups.iter_mut().find(|group| group.template == *template)
    }

    fn count(&self) -> usize {
        self.groups.iter().map(|group| group.isolates.len()).sum()
    }

    /// Removes the groups that were unused for longest, until there is room for `missing` isolates of a template.
    fn make_room(&mut self, template: &IsolateTemplate, missing: usize) -> Vec<Group> {
        let mut displaced = Vec::new();
        while self.count() + missing > MAX_WARM {
            let Some(oldest) = self.groups.iter().position(|group| group.template != *template) else { break };
            displaced.push(self.groups.remove(oldest));
        }
        displaced
    }
}

impl Pool {
    pub fn new() -> Arc<Self> {
        Self::keeping(KEEP)
    }

    fn keeping(keep: Duration) -> Arc<Self> {
        Arc::new_cyclic(|me| Self { me: me.clone(), keep, groups: Mutex::default() })
    }

    /// Returns an isolate of this template. Later, `wanted` isolates are made for other callers: see [`Pool::restock`].
    pub fn take(&self, template: &IsolateTemplate, wanted: usize, settings: &Settings) -> Arc<Remote> {
        if let Some(isolate) = self.take_isolate(template, wanted.min(MAX_WARM), settings) {
            return isolate;
        }
        let quiet = wanted > 0 && lock(&self.groups).find(template).is_some_and(|group| group.empty.elapsed() >= QUIET);
        let made = Remote::create_prepared(template.settings(settings), template.preparation());
        register(&made);
        if quiet {
            self.restock(template);
        }
        made
    }

    fn take_isolate(&self, template: &IsolateTemplate, wanted: usize, settings: &Settings) -> Option<Arc<Remote>> {
        if wanted == 0 {
            return None;
        }
        let mut groups = lock(&self.groups);
        let place = groups.groups.iter().position(|group| group.template == *template);
        let mut group = match place {
            Some(place) => groups.groups.remove(place),
            None => {
                let (template, settings) = (template.clone(), settings.clone());
                Group {
                    template,
                    settings,
                    wanted,
                    isolates: Vec::new(),
                    empty: Instant::now(),
                    is_new: true,
                    alarm: None,
                }
            }
        };
        // Other callers may want more of the same.
        group.wanted = group.wanted.max(wanted);
        group.alarm = None;
        // The oldest is the most likely to be ready. Failed ones are dropped.
        let found = group.isolates.iter().position(|isolate| isolate.take_into_use());
        let mut passed: Vec<_> =
            group.isolates.drain(..found.map_or(group.isolates.len(), |found| found + 1)).collect();
        if found.is_some() && group.isolates.is_empty() {
            group.empty = Instant::now();
        }
        groups.groups.push(group);
        drop(groups);
        found.and_then(|_| passed.pop())
    }

    /// Wakes up a thread, because a call for this template is about to come.
    pub fn prewarm(&self, template: &IsolateTemplate) {
        let mut groups = lock(&self.groups);
        let first = groups
            .find(template)
            .and_then(|group| group.isolates.iter().find(|isolate| !isolate.is_disposed()).cloned());
        drop(groups);
        if let Some(first) = first {
            first.prewarm();
        }
    }

    /// Makes the isolates that must wait for the next calls for this template. Call it when an execution is over or waits for something:
    /// earlier, it would compete for the processors.
    pub fn restock(&self, template: &IsolateTemplate) {
        let mut groups = lock(&self.groups);
        if groups.closed {
            return;
        }
        let Some(group) = groups.find(template) else { return };
        let missing = group.wanted.saturating_sub(group.isolates.len());
        let displaced = groups.make_room(template, missing);
        let Some(group) = groups.find(template) else { return };
        let made: Vec<_> = (0..missing).map(|_| template.make_warm(&group.settings, || {})).collect();
        group.isolates.extend(made.iter().map(Arc::clone));
        let (me, key) = (self.me.clone(), template.clone());
        group.alarm = Some(clock::at(Instant::now() + self.keep, move || {
            if let Some(pool) = me.upgrade() {
                pool.clear(&key);
            }
        }));
        drop(groups);
        drop(displaced);
        made.iter().for_each(register);
    }

    /// Removes a template that was unused for long.
    fn clear(&self, template: &IsolateTemplate) {
        let mut groups = lock(&self.groups);
        let place = groups.groups.iter().position(|group| group.template == *template);
        let group = place.map(|place| groups.groups.remove(place));
        drop(groups);
        drop(group);
    }

    /// Restocks the pool when an isolate that was just taken has had some time to work.
    pub fn restock_later(&self, template: &IsolateTemplate) {
        let (me, template) = (self.me.clone(), template.clone());
        clock::after(SETTLING, move || {
            if let Some(pool) = me.upgrade() {
                pool.restock(&template);
            }
        });
    }

    /// Whether no execution of the template had ended before.
    fn ends_first(&self, template: &IsolateTemplate) -> bool {
        lock(&self.groups).find(template).is_some_and(|group| std::mem::take(&mut group.is_new))
    }

    /// Returns an answer that restocks the pool when it is given.
    pub fn restocking(&self, template: &IsolateTemplate) -> Arc<dyn Completion> {
        Arc::new(Restocking { pool: self.me.clone(), template: template.clone() })
    }

    /// The host is shutting down: no isolate waits any more.
    pub fn close(&self) {
        let mut groups = lock(&self.groups);
        groups.closed = true;
        let left = std::mem::take(&mut groups.groups);
        drop(groups);
        drop(left);
    }
}

impl IsolateFactory for Pool {
    /// A host finds an isolate ready if an earlier one has ended, or if it makes one after another.
    fn make(&self, settings: Settings, warm: usize) -> Arc<Remote> {
        let is_plain =
            settings.snapshot.is_none() && !settings.inspector && !settings.host_stacks && settings.importer.is_none();
        if warm == 0 || !is_plain {
            let made = Remote::create(settings);
            register(&made);
            return made;
        }
        let Settings { memory_limit, shares_memory, .. } = settings;
        let template = IsolateTemplate { memory_limit, snapshot: None, realm: RealmTemplate::Bare, shares_memory };
        let taken = self.take(&template, warm, &settings);
        taken.when_gone(self.restocking(&template));
        taken
    }
}

struct Restocking {
    pool: Weak<Pool>,
    template: IsolateTemplate,
}

impl Completion for Restocking {
    fn complete(&self, _outcome: Outcome) {
        if let Some(pool) = self.pool.upgrade() {
            if pool.ends_first(&self.template) {
                pool.restock_later(&self.template);
            } else {
                pool.restock(&self.template);
            }
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

    use super::super::{IsolateTemplate, Names, RealmTemplate};
    use super::{MAX_WARM, Pool};
    use crate::isolate::Stop;
    use crate::native::lock;
    use crate::value::Value;

    fn template(megabytes: usize) -> IsolateTemplate {
        let realm = RealmTemplate::Sandbox { shadow_global: true, timers: true, web: Names::from_bits(511) };
        IsolateTemplate { memory_limit: megabytes << 20, snapshot: None, realm, shares_memory: false }
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
        let (pool, settings, template) = (Pool::new(), crate::guest::settings(), template(16));
        let mut seen = vec![pool.take(&template, 3, &settings)];
        assert_eq!(lock(&pool.groups).count(), 0);
        for _ in 0..5 {
            pool.restock(&template);
            assert_eq!(lock(&pool.groups).count(), 3);
            for left in (0..3).rev() {
                let taken = pool.take(&template, 3, &settings);
                assert!(!taken.take_into_use());
                assert!(!seen.iter().any(|other| Arc::ptr_eq(other, &taken)));
                assert_eq!(lock(&pool.groups).count(), left);
                seen.push(taken);
            }
        }
    }

    #[test]
    fn drops_unused_isolates() {
        let (pool, settings, template) =
            (Pool::keeping(Duration::from_millis(50)), crate::guest::settings(), template(16));
        drop(pool.take(&template, 1, &settings));
        pool.restock(&template);
        assert_eq!(lock(&pool.groups).count(), 1);
        eventually("it is forgotten", || lock(&pool.groups).groups.is_empty());
    }

    #[test]
    fn skips_ended_isolates() {
        let (pool, settings, template) = (Pool::new(), crate::guest::settings(), template(16));
        drop(pool.take(&template, 2, &settings));
        pool.restock(&template);
        let first = lock(&pool.groups).groups[0].isolates[0].clone();
        first.stop(Stop::Memory);
        let taken = pool.take(&template, 2, &settings);
        assert!(!Arc::ptr_eq(&first, &taken) && !taken.is_disposed());
        assert_eq!(lock(&pool.groups).count(), 0);
    }

    #[test]
    fn keeps_no_more_than_the_maximum() {
        let (pool, settings) = (Pool::new(), crate::guest::settings());
        for megabytes in 16..20 {
            drop(pool.take(&template(megabytes), MAX_WARM / 2, &settings));
            pool.restock(&template(megabytes));
            assert!(lock(&pool.groups).count() <= MAX_WARM);
        }
        let kept: Vec<_> = lock(&pool.groups).groups.iter().map(|group| group.template.memory_limit >> 20).collect();
        assert_eq!(kept, [18, 19]);
    }

    #[test]
    fn waits_after_the_first_execution_of_a_template() {
        let (pool, settings, template) = (Pool::new(), crate::guest::settings(), template(16));
        let count = || lock(&pool.groups).count();
        drop(pool.take(&template, 1, &settings));
        pool.restocking(&template).complete(Ok(Value::Undefined));
        assert_eq!(count(), 0);
        eventually("it restocks", || count() == 1);
        drop(pool.take(&template, 1, &settings));
        assert_eq!(count(), 0);
        pool.restocking(&template).complete(Ok(Value::Undefined));
        assert_eq!(count(), 1);
    }

    #[test]
    fn is_empty_after_its_end() {
        let (pool, settings, template) = (Pool::new(), crate::guest::settings(), template(16));
        drop(pool.take(&template, 1, &settings));
        pool.restock(&template);
        pool.close();
        pool.restock(&template);
        let taken = pool.take(&template, 1, &settings);
        pool.restock(&template);
        assert_eq!(lock(&pool.groups).count(), 0);
        assert!(!taken.is_disposed());
    }

    #[test]
    fn takes_none_if_none_is_requested() {
        let (pool, settings, template) = (Pool::new(), crate::guest::settings(), template(16));
        drop(pool.take(&template, 1, &settings));
        pool.restock(&template);
        drop(pool.take(&template, 0, &settings));
        assert_eq!(lock(&pool.groups).count(), 1);
    }
}

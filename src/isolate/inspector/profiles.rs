//! The CPU profiles of an isolate, as V8 wrote them: one per outermost job while profiles are requested.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::native::lock;
use crate::value::Text;

/// Bytes that profiles may take until they are fetched; later profiles are dropped.
const MAX_BYTES: usize = 256 << 20;

struct Profile {
    serial: u64,
    thread: u64,
    json: Arc<Text>,
}

#[derive(Default)]
struct Store {
    /// The titles under which profiles were requested, each with the serial of its first profile.
    titles: BTreeMap<String, u64>,
    profiles: VecDeque<Profile>,
    bytes: usize,
    next: u64,
}

#[derive(Default)]
pub struct Profiles {
    store: Mutex<Store>,
    wanted: AtomicBool,
    /// V8 samples the stack of the isolate's thread.
    taken: AtomicBool,
}

impl Profiles {
    pub fn are_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire)
    }

    pub fn are_taken(&self) -> bool {
        self.taken.load(Ordering::SeqCst)
    }

    /// A profile begins or ends. If the thread is lost in between, V8 continues to sample it.
    pub fn take(&self, begins: bool) {
        self.taken.store(begins, Ordering::SeqCst);
    }

    /// Stores profiles for `title` from now on.
    pub fn start(&self, title: String) {
        let mut store = lock(&self.store);
        let next = store.next;
        store.titles.entry(title).or_insert(next);
        self.wanted.store(true, Ordering::Release);
    }

    /// Ends the request for `title`. Returns its profiles, each with the thread it is of.
    pub fn stop(&self, title: &str) -> Vec<(u64, Arc<Text>)> {
        let mut store = lock(&self.store);
        let Some(first) = store.titles.remove(title) else { return Vec::new() };
        let wanted = store.profiles.iter().filter(|profile| profile.serial >= first);
        let result = wanted.map(|profile| (profile.thread, Arc::clone(&profile.json))).collect();
        let oldest = store.titles.values().min().copied();
        while store.profiles.front().is_some_and(|profile| oldest.is_none_or(|oldest| profile.serial < oldest)) {
            if let Some(profile) = store.profiles.pop_front() {
                store.bytes -= profile.json.byte_len();
            }
        }
        self.wanted.store(oldest.is_some(), Ordering::Release);
        result
    }

    /// A run has ended, whose profile will be added. Requests from now on do not include it. Returns the profile's serial.
    pub fn end_run(&self) -> u64 {
        let mut store = lock(&self.store);
        let serial = store.next;
        store.next += 1;
        serial
    }

    /// Adds the profile that [`Self::end_run`] has numbered.
    pub fn add(&self, serial: u64, thread: u64, json: Text) {
        let mut store = lock(&self.store);
        let bytes = json.byte_len();
        let is_wanted = store.titles.values().any(|first| *first <= serial);
        if !is_wanted || store.bytes.saturating_add(bytes) > MAX_BYTES {
            return;
        }
        store.bytes += bytes;
        store.profiles.push_back(Profile { serial, thread, json: Arc::new(json) });
    }
}

#[cfg(test)]
mod tests {
    use super::Profiles;
    use crate::native::lock;
    use crate::value::Text;

    fn numbers(profiles: &Profiles, title: &str) -> Vec<u64> {
        profiles.stop(title).into_iter().map(|(thread, _)| thread).collect()
    }

    fn add(profiles: &Profiles, thread: u64) {
        profiles.add(profiles.end_run(), thread, Text::from("{}"));
    }

    #[test]
    fn everybody_gets_what_came_since_they_asked() {
        let profiles = Profiles::default();
        add(&profiles, 0);
        profiles.start("a".into());
        add(&profiles, 1);
        profiles.start("b".into());
        profiles.start("a".into());
        add(&profiles, 2);
        let late = profiles.end_run();
        profiles.start("c".into());
        profiles.add(late, 3, Text::from("{}"));
        assert_eq!(numbers(&profiles, "a"), [1, 2, 3]);
        assert!(numbers(&profiles, "c").is_empty());
        assert!(profiles.are_wanted());
        let late = profiles.end_run();
        assert_eq!(numbers(&profiles, "b"), [2, 3]);
        assert!(!profiles.are_wanted());
        profiles.start("d".into());
        profiles.add(late, 4, Text::from("{}"));
        assert!(numbers(&profiles, "d").is_empty());
        assert!(numbers(&profiles, "b").is_empty());
        assert_eq!(lock(&profiles.store).bytes, 0);
    }
}

//! V8's code caches of sources that isolates run, for the whole process. A source is identified by the SHA-256 of its text
//! and of everything else that affects its code, because tenants may choose the texts, and V8 itself compares only their length. V8 alone
//! writes the data, from the same text, and it never leaves the process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::Digest;
use crate::native::lock;

/// Identifies a source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CodeKey([u64; 4]);

impl CodeKey {
    pub fn new(digest: Digest) -> Self {
        Self(digest.finish())
    }
}

/// What the process has for a source.
#[derive(Debug)]
pub enum Compiled {
    /// It was compiled for the first time.
    New,
    /// It was compiled before, but there is no data.
    Repeated,
    Cached {
        data: Arc<Vec<u8>>,
        /// The data was written when an isolate ended, so it contains all functions that were called.
        complete: bool,
    },
}

/// Bytes of all data, and of that for one source.
const MAX_BYTES: usize = 64 << 20;
const MAX_BYTES_EACH: usize = MAX_BYTES / 4;

/// Bytes of the data for sources that were compiled only once so far: most of these may never be compiled again.
const MAX_BYTES_ONCE: usize = MAX_BYTES / 4;

/// Sources that are remembered.
const MAX_SOURCES: usize = 1_024;

struct Source {
    /// The value of [`Store::uses`] when it was compiled last.
    used: u64,
    data: Option<Arc<Vec<u8>>>,
    /// An isolate has ended, and has written the data or was about to.
    complete: bool,
    /// It was compiled once so far.
    once: bool,
}

impl Source {
    fn bytes(&self) -> usize {
        self.data.as_ref().map_or(0, |data| data.len())
    }
}

#[derive(Default)]
struct Store {
    sources: HashMap<CodeKey, Source>,
    bytes: usize,
    /// Those of sources that were compiled once.
    bytes_once: usize,
    uses: u64,
}

static STORE: Mutex<Option<Store>> = Mutex::new(None);
/// Sources whose data an isolate has used.
static HITS: AtomicU64 = AtomicU64::new(0);

static ENABLED: AtomicBool = AtomicBool::new(true);

pub fn is_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Disabling also drops what is cached.
pub fn enable(enabled: bool) {
    ENABLED.store(enabled, Ordering::Relaxed);
    if !enabled {
        let dropped = lock(&STORE).take();
        drop(dropped);
    }
}

/// A source is about to be compiled.
pub fn compiles(key: CodeKey) -> Compiled {
    lock(&STORE).get_or_insert_default().compiles(key)
}

/// Whether V8 should write the data now. At most one isolate that ends gets true, so that many with the same text do not all write it.
pub fn claim(key: CodeKey, complete: bool) -> bool {
    is_enabled() && lock(&STORE).as_mut().is_some_and(|store| store.claim(key, complete))
}

/// V8 has written this data, after a [`claim`].
pub fn keep(key: CodeKey, data: &[u8], complete: bool) {
    if !is_enabled() || data.len() > MAX_BYTES_EACH {
        return;
    }
    let data = Arc::new(data.to_vec());
    let dropped = lock(&STORE).get_or_insert_default().keep(key, data, complete);
    // Not under the lock: it may be megabytes.
    drop(dropped);
}

/// V8 has accepted the data.
pub fn hit() {
    HITS.fetch_add(1, Ordering::Relaxed);
}

/// Bytes of all data, and how often data was used.
pub fn figures() -> (usize, u64) {
    (lock(&STORE).as_ref().map_or(0, |store| store.bytes), HITS.load(Ordering::Relaxed))
}

/// V8 has rejected the data.
pub fn forget(key: CodeKey) {
    let dropped = lock(&STORE).as_mut().and_then(|store| store.remove(key));
    drop(dropped);
}

impl Store {
    fn compiles(&mut self, key: CodeKey) -> Compiled {
        self.uses += 1;
        let used = self.uses;
        if let Some(source) = self.sources.get_mut(&key) {
            source.used = used;
            if std::mem::take(&mut source.once) {
                self.bytes_once -= source.bytes();
            }
            return match &source.data {
                Some(data) => Compiled::Cached { data: Arc::clone(data), complete: source.complete },
                None => Compiled::Repeated,
            };
        }
        if self.sources.len() >= MAX_SOURCES
            && let Some(oldest) = self.oldest(|source| source.data.is_none()).or_else(|| self.oldest(|_| true))
        {
            self.remove(oldest);
        }
        self.sources.insert(key, Source { used, data: None, complete: false, once: true });
        Compiled::New
    }

    fn claim(&mut self, key: CodeKey, complete: bool) -> bool {
        let Some(source) = self.sources.get_mut(&key) else { return false };
        if source.complete || (!complete && source.data.is_some()) {
            return false;
        }
        source.complete = complete;
        true
    }

    /// Returns what was dropped for it.
    fn keep(&mut self, key: CodeKey, data: Arc<Vec<u8>>, complete: bool) -> Vec<Arc<Vec<u8>>> {
        // An isolate that ends may have been faster than this one.
        let Some(source) = self.sources.get_mut(&key).filter(|source| source.complete == complete) else {
            return vec![data];
        };
        let (more, less) = (data.len(), source.bytes());
        let mut dropped = Vec::from_iter(source.data.replace(data));
        self.bytes = self.bytes + more - less;
        if source.once {
            self.bytes_once = self.bytes_once + more - less;
        }
        while self.bytes_once > MAX_BYTES_ONCE
            && let Some(oldest) = self.oldest(|source| source.once && source.data.is_some())
        {
            dropped.extend(self.drop_data(oldest));
        }
        while self.bytes > MAX_BYTES
            && let Some(oldest) = self.oldest(|source| source.data.is_some())
        {
            dropped.extend(self.remove(oldest));
        }
        dropped
    }

    /// The source stays known, and its data can be written again.
    fn drop_data(&mut self, key: CodeKey) -> Option<Arc<Vec<u8>>> {
        let source = self.sources.get_mut(&key)?;
        source.complete = false;
        let data = source.data.take()?;
        self.bytes -= data.len();
        if source.once {
            self.bytes_once -= data.len();
        }
        Some(data)
    }

    fn remove(&mut self, key: CodeKey) -> Option<Arc<Vec<u8>>> {
        let data = self.drop_data(key);
        self.sources.remove(&key);
        data
    }

    fn oldest(&self, counts: impl Fn(&Source) -> bool) -> Option<CodeKey> {
        let those = self.sources.iter().filter(|(_, source)| counts(source));
        those.min_by_key(|(_, source)| source.used).map(|(key, _)| *key)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{CodeKey, Compiled, MAX_BYTES, MAX_BYTES_EACH, MAX_BYTES_ONCE, MAX_SOURCES, Store};

    fn key(number: usize) -> CodeKey {
        CodeKey([number as u64, 0, 0, 0])
    }

    #[test]
    fn keeps_the_data_of_sources_that_are_compiled_again() {
        let mut store = Store::default();
        assert!(!store.claim(key(1), true));
        assert!(store.keep(key(1), Arc::new(vec![1]), true).len() == 1 && store.bytes == 0);
        assert!(matches!(store.compiles(key(1)), Compiled::New));
        assert!(matches!(store.compiles(key(1)), Compiled::Repeated));
        assert!(store.claim(key(1), false));
        assert!(store.keep(key(1), Arc::new(vec![1, 2]), false).is_empty());
        assert!(!store.claim(key(1), false));
        assert!(matches!(store.compiles(key(1)), Compiled::Cached { complete: false, .. }));
        assert!(store.claim(key(1), true) && !store.claim(key(1), true));
        assert_eq!(store.keep(key(1), Arc::new(vec![4]), false), [Arc::new(vec![4])]);
        assert_eq!(store.keep(key(1), Arc::new(vec![1, 2, 3]), true), [Arc::new(vec![1, 2])]);
        let Compiled::Cached { data, complete: true } = store.compiles(key(1)) else { panic!("not cached") };
        assert_eq!((data.len(), store.bytes), (3, 3));
        assert!(store.remove(key(1)).is_some() && store.bytes == 0);
    }

    #[test]
    fn drops_what_was_used_least_recently() {
        let mut store = Store::default();
        let count = MAX_BYTES / MAX_BYTES_EACH;
        for number in 0..=count {
            store.compiles(key(number));
            store.compiles(key(number));
            store.compiles(key(0));
            assert!(store.claim(key(number), true));
            store.keep(key(number), Arc::new(vec![0; MAX_BYTES_EACH]), true);
        }
        assert_eq!(store.bytes, MAX_BYTES);
        assert!(matches!(store.compiles(key(0)), Compiled::Cached { .. }));
        assert!(matches!(store.compiles(key(1)), Compiled::New));
        for number in 0..2 * MAX_SOURCES {
            store.compiles(key(1_000 + number));
        }
        assert_eq!(store.sources.len(), MAX_SOURCES);
        // Sources that were compiled once displace no data.
        assert!(matches!(store.compiles(key(0)), Compiled::Cached { .. }));
    }

    #[test]
    fn keeps_less_of_sources_that_were_compiled_once() {
        let mut store = Store::default();
        let size = MAX_BYTES_ONCE / 2;
        for number in 0..3 {
            assert!(matches!(store.compiles(key(number)), Compiled::New));
            assert!(store.claim(key(number), true));
            store.keep(key(number), Arc::new(vec![0; size]), true);
        }
        assert_eq!((store.bytes, store.bytes_once), (2 * size, 2 * size));
        assert!(matches!(store.compiles(key(1)), Compiled::Cached { complete: true, .. }));
        assert_eq!((store.bytes, store.bytes_once), (2 * size, size));
        // Its data was dropped, and can be written again.
        assert!(matches!(store.compiles(key(0)), Compiled::Repeated));
        assert!(store.claim(key(0), true));
        store.keep(key(0), Arc::new(vec![0; size]), true);
        assert_eq!((store.bytes, store.bytes_once), (3 * size, size));
        assert!(store.remove(key(2)).is_some());
        assert_eq!((store.bytes, store.bytes_once), (2 * size, 0));
    }
}

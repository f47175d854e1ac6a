//! What is asked of a child, by whom, and what comes of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::frame::Task;
use crate::engine::Snapshot;
use crate::sandbox::Logging;
use crate::value::{Answer, Callable};

/// What children of one sort have in common: one can take another's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    pub launcher: PathBuf,
    pub addon: PathBuf,
    /// Nothing else is in their environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What a child may be used for at the most, in [`Sort::bound`]'s steps.
    pub timeout: Duration,
    pub memory: u64,
    /// What there is of the web, as bits.
    pub web: u32,
    /// Layers of the confinement that are not wanted.
    pub off: Vec<String>,
    /// Layers without which nothing is run.
    pub required: Vec<String>,
    /// What executions start from, which a child is given at once: it serves no others.
    pub snapshot: Option<Snapshot>,
}

impl Sort {
    /// The timeout of a sort whose children may be used for executions of this one: there are few different ones, for each may have
    /// children that wait.
    pub fn bound(timeout: Duration) -> Duration {
        const MIN_SECONDS: u64 = 64;
        let seconds = timeout.as_secs().saturating_add(1);
        Duration::from_secs(seconds.checked_next_power_of_two().unwrap_or(u64::MAX).max(MIN_SECONDS))
    }

    /// Whether a child of this sort can do what one of the other would.
    pub fn serves(&self, other: &Self) -> bool {
        self.timeout >= other.timeout && *other == Self { timeout: other.timeout, ..self.clone() }
    }
}

/// One execution in a process of its own.
pub struct Job {
    pub sort: Sort,
    /// A child has died of it before it could begin.
    pub again: bool,
    /// Children of this sort that are to be ready for whoever comes next.
    pub pool: usize,
    pub task: Task,
    /// Wall-clock time for everything, starting the process included.
    pub timeout: Duration,
    /// Functions of the host, by the indices that the task's tools have.
    pub tools: Vec<Arc<Callable>>,
    pub logging: Logging,
    /// The host environment that asks, and its number for the execution.
    pub owner: u64,
    pub request: i64,
    /// Gets what `sandbox::Spec::answer` does, with the name of the signal that has ended the process, if one has, before the lines of
    /// the log.
    pub answer: Arc<dyn Answer>,
}

/// Variables that change what is loaded into a process, or how; no child gets them.
const LOADERS: [&str; 9] =
    ["LD_", "DYLD_", "_RLD", "MALLOC_", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH", "GETCONF_DIR"];

/// The environment that a child may have, of `NAME=value` texts with NULs between.
pub fn environment(texts: &str) -> Vec<(OsString, OsString)> {
    let pairs = texts.split('\0').filter_map(|text| text.split_once('='));
    pairs
        .filter(|(name, _)| !name.is_empty() && !LOADERS.iter().any(|loader| name.starts_with(loader)))
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Sort, environment};

    #[test]
    fn a_child_serves_shorter_ones() {
        let sort = |seconds| Sort {
            launcher: "a".into(),
            addon: "b".into(),
            environment: Vec::new(),
            timeout: Sort::bound(Duration::from_secs(seconds)),
            memory: 1,
            web: 0,
            off: Vec::new(),
            required: Vec::new(),
            snapshot: None,
        };
        assert_eq!(sort(1), sort(30));
        assert!(sort(100).serves(&sort(1)) && !sort(1).serves(&sort(100)));
        assert!(sort(u64::MAX).serves(&sort(100)));
        assert!(!sort(100).serves(&Sort { memory: 2, ..sort(1) }));
    }

    #[test]
    fn no_loader_is_told_anything() {
        let texts = "PATH=/bin\0LD_PRELOAD=/x.so\0LD_LIBRARY_PATH=/x\0DYLD_INSERT_LIBRARIES=/x\0GLIBC_TUNABLES=a=b\0=x\0\
                     NODE_ENV=sandbox\0nothing\0A=b=c\0MALLOC_TRACE=/x";
        let names: Vec<_> = environment(texts).into_iter().collect();
        let expected = [("PATH", "/bin"), ("NODE_ENV", "sandbox"), ("A", "b=c")];
        assert_eq!(names, expected.map(|(name, value)| (name.into(), value.into())));
    }
}

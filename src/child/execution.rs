//! What a host asks of a child, and the kind of child that it needs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::frame::Task;
use crate::engine::Snapshot;
use crate::sandbox::Logging;
use crate::value::{Callable, Completion};

/// What children of one template have in common: they are interchangeable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessTemplate {
    pub launcher: PathBuf,
    pub addon: PathBuf,
    /// Their whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The maximum timeout that a child may be used for, in the steps of [`ProcessTemplate::bound`].
    pub timeout: Duration,
    pub memory: u64,
    /// The web APIs that guests have, as bits.
    pub web: u32,
    /// Layers of the confinement that are switched off.
    pub off: Vec<String>,
    /// Layers without which nothing runs.
    pub required: Vec<String>,
    /// The snapshot that executions start from. A child gets it at once, and serves no others.
    pub snapshot: Option<Snapshot>,
}

impl ProcessTemplate {
    /// The timeout of the template whose children may run executions with this timeout. There are few different values, because each template may
    /// have waiting children.
    pub fn bound(timeout: Duration) -> Duration {
        const MIN_SECONDS: u64 = 64;
        let seconds = timeout.as_secs().saturating_add(1);
        Duration::from_secs(seconds.checked_next_power_of_two().unwrap_or(u64::MAX).max(MIN_SECONDS))
    }

    /// Whether a child of this template can replace one of the other.
    pub fn serves(&self, other: &Self) -> bool {
        self.timeout >= other.timeout && *other == Self { timeout: other.timeout, ..self.clone() }
    }
}

/// One execution in a process of its own.
pub struct Execution {
    pub template: ProcessTemplate,
    /// A child has died of this execution before it could begin.
    pub again: bool,
    /// How many children of this template to keep ready for later executions.
    pub pool: usize,
    pub task: Task,
    /// Wall-clock time for everything, including the start of the process.
    pub timeout: Duration,
    pub logging: Logging,
    pub requester: Requester,
}

/// The host environment that asks for an execution.
pub struct Requester {
    pub owner: u64,
    /// Its number for the execution.
    pub request: i64,
    /// Its functions, by the indices in the task's tools.
    pub tools: Vec<Arc<Callable>>,
    /// Gets a `sandbox::ExecutionResult` as a value.
    pub completion: Arc<dyn Completion>,
}

/// Variables that change what is loaded into a process, or how. No child gets them.
const LOADERS: [&str; 9] =
    ["LD_", "DYLD_", "_RLD", "MALLOC_", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH", "GETCONF_DIR"];

/// The environment that a child may have, from `NAME=value` texts separated by NULs.
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

    use super::{ProcessTemplate, environment};

    #[test]
    fn a_child_serves_shorter_ones() {
        let template = |seconds| ProcessTemplate {
            launcher: "a".into(),
            addon: "b".into(),
            environment: Vec::new(),
            timeout: ProcessTemplate::bound(Duration::from_secs(seconds)),
            memory: 1,
            web: 0,
            off: Vec::new(),
            required: Vec::new(),
            snapshot: None,
        };
        assert_eq!(template(1), template(30));
        assert!(template(100).serves(&template(1)) && !template(1).serves(&template(100)));
        assert!(template(u64::MAX).serves(&template(100)));
        assert!(!template(100).serves(&ProcessTemplate { memory: 2, ..template(1) }));
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

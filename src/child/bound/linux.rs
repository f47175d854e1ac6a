//! A control group for one child: the kernel itself then limits its memory and threads, whatever happens in the child.
//!
//! Used only where the system has delegated a part of the tree to this process, as systemd does for users' services. Groups are made beside
//! the group of this process, or in it. Groups that others have made are not changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name of this layer, which a child reports itself.
pub const LAYER: &str = "cgroup";

/// What a child uses besides its guest's heap and buffers.
const AROUND: u64 = 256 << 20;

const THREADS: u64 = 256;

/// The group's folder. Dropping it removes the folder, so it is dropped after the child was reaped.
#[derive(Debug)]
pub struct Bound(PathBuf);

impl Bound {
    /// For a guest with `memory` bytes of heap, and the same again of buffers. `None` if there is no place for groups.
    pub fn new(memory: u64) -> Option<Self> {
        static PLACE: OnceLock<Option<PathBuf>> = OnceLock::new();
        // SAFETY: has no preconditions.
        let root = unsafe { libc::geteuid() } == 0;
        Self::inside(PLACE.get_or_init(|| place(Path::new("/"), root)).as_deref()?, memory)
    }

    fn inside(place: &Path, memory: u64) -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let group = Self(place.join(format!("isolated-v8-{}-{number}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        // A group without these limits is useless, and is removed.
        group.set("memory.max", memory.saturating_mul(2).saturating_add(AROUND)).ok()?;
        group.set("pids.max", THREADS).ok()?;
        // The kernel may not have these.
        let _ = group.set("memory.swap.max", 0);
        let _ = group.set("memory.oom.group", 1);
        Some(group)
    }

    fn set(&self, name: &str, value: u64) -> io::Result<()> {
        fs::write(self.0.join(name), value.to_string())
    }

    /// In the form that the launcher takes (`isolated_v8_launcher::Settings::cgroup`).
    pub fn folder(&self) -> Option<String> {
        self.0.to_str().filter(|folder| !folder.contains(';')).map(str::to_owned)
    }

    /// The kernel has ended processes in it because they used too much memory.
    pub fn ran_out(&self) -> bool {
        let events = fs::read_to_string(self.0.join("memory.events")).unwrap_or_default();
        let kills = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.is_some_and(|kills| kills.trim() != "0")
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // If this fails, an empty folder remains.
        let _ = fs::remove_dir(&self.0);
    }
}

/// The folder in which groups can be made.
fn place(system: &Path, root: bool) -> Option<PathBuf> {
    let own = fs::read_to_string(system.join("proc/self/cgroup")).ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
    let mounts = fs::read_to_string(system.join("proc/self/mounts")).ok()?;
    let mount = mounts.lines().find_map(|line| {
        let mut parts = line.split(' ').skip(1);
        let (point, kind) = (parts.next()?, parts.next()?);
        (kind == "cgroup2").then(|| system.join(point.trim_start_matches('/')))
    })?;
    let own = mount.join(own);
    let above = own.parent().filter(|_| own != mount);
    // Root may write everywhere, even where others manage groups. So root uses only its own group.
    [Some(own.as_path()), above.filter(|_| !root)]
        .into_iter()
        .flatten()
        .find(|place| is_ours(place))
        .map(Path::to_owned)
}

/// Whether groups can be made in this folder, with limits of memory and of threads.
fn is_ours(place: &Path) -> bool {
    let controllers = fs::read_to_string(place.join("cgroup.subtree_control")).unwrap_or_default();
    let has = |name: &str| controllers.split_whitespace().any(|controller| controller == name);
    // Moving a process between groups of a tree requires the right to write this file.
    let movable = || fs::OpenOptions::new().write(true).open(place.join("cgroup.procs")).is_ok();
    has("memory") && has("pids") && movable() && Bound::inside(place, 0).is_some()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{Bound, place};

    /// A system whose processes are in the group `/user/app/host`.
    struct System(PathBuf);

    impl System {
        fn new(name: &str, controllers: &str) -> Self {
            let root = std::env::temp_dir().join(format!("isolated-v8-{name}-{}", std::process::id()));
            let groups = root.join("sys/fs/cgroup");
            fs::create_dir_all(root.join("proc/self")).unwrap();
            fs::create_dir_all(groups.join("user/app/host")).unwrap();
            fs::write(root.join("proc/self/cgroup"), "3:cpu:/\n0::/user/app/host\n").unwrap();
            fs::write(root.join("proc/self/mounts"), "none / tmpfs rw 0 0\ncg /sys/fs/cgroup cgroup2 rw 0 0\n")
                .unwrap();
            for group in ["user/app/host", "user/app"] {
                fs::write(groups.join(group).join("cgroup.procs"), "").unwrap();
            }
            fs::write(groups.join("user/app/cgroup.subtree_control"), controllers).unwrap();
            Self(root)
        }

        fn group(&self, name: &str) -> PathBuf {
            self.0.join("sys/fs/cgroup").join(name)
        }
    }

    impl Drop for System {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn lies_beside_the_group_of_the_host() {
        let system = System::new("delegated", "cpu memory pids\n");
        assert_eq!(place(&system.0, false), Some(system.group("user/app")));
        // Root does not use groups of others.
        assert_eq!(place(&system.0, true), None);
        fs::write(system.group("user/app/host/cgroup.subtree_control"), "memory pids\n").unwrap();
        assert_eq!(place(&system.0, true), Some(system.group("user/app/host")));
    }

    #[test]
    fn is_not_had_without_both_limits() {
        assert_eq!(place(&System::new("memory", "memory\n").0, false), None);
        assert_eq!(place(&System::new("pids", "cpu pids\n").0, false), None);
        assert_eq!(place(Path::new("/nowhere"), false), None);
    }

    #[test]
    fn has_limits_and_tells_of_its_end() {
        let system = System::new("limits", "memory pids\n");
        let group = Bound::inside(&system.group("user/app"), 100 << 20).unwrap();
        let folder = PathBuf::from(group.folder().unwrap());
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!((read("memory.max"), read("pids.max")), (((456_u64) << 20).to_string(), "256".to_owned()));
        assert!(!group.ran_out());
        fs::write(folder.join("memory.events"), "oom 1\noom_kill 0\n").unwrap();
        assert!(!group.ran_out());
        fs::write(folder.join("memory.events"), "oom 1\noom_kill 1\n").unwrap();
        assert!(group.ran_out());
    }
}

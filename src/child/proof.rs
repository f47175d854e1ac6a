//! What the kernel itself says of a child's confinement. A child reports its layers before it gets any code, so its report is honest.
//! Its parent checks nevertheless, before it sends code: a layer that was applied but does not hold is worse than none.
//!
//! If a process is not dumpable, the kernel shows less of it to a parent that is not root. What cannot be read contradicts nothing.

use std::fs;
use std::path::{Path, PathBuf};

use isolated_v8_launcher::Report;

use super::footprint;

/// Marks layers as inactive if the kernel contradicts them. `group` is the folder of the child's control group.
pub fn check(process: libc::pid_t, group: Option<&str>, report: &mut Report) {
    ProcFolder { folder: PathBuf::from(format!("/proc/{process}")), own: PathBuf::from("/proc/thread-self") }
        .check(group, report);
}

struct ProcFolder {
    folder: PathBuf,
    own: PathBuf,
}

/// The namespaces, by layer.
const NAMESPACES: [(&str, &str); 6] = [
    ("userNamespace", "user"),
    ("networkNamespace", "net"),
    ("ipcNamespace", "ipc"),
    ("utsNamespace", "uts"),
    ("mountNamespace", "mnt"),
    ("pidNamespace", "pid"),
];

/// The limits, by their names in the `limits` file, and the maximum values if the layer holds.
const LIMITS: [(&str, &str, u64); 5] = [
    ("rlimits", "Max core file size", 0),
    ("rlimits", "Max file size", 0),
    ("rlimits", "Max locked memory", 0),
    ("rlimits", "Max stack size", 64 << 20),
    ("descriptors", "Max open files", 64),
];

impl ProcFolder {
    fn check(&self, group: Option<&str>, report: &mut Report) {
        for (layer, name) in NAMESPACES {
            if let (Some(theirs), Some(ours)) = (namespace(&self.folder, name), namespace(&self.own, name))
                && theirs == ours
            {
                report.contradict(layer, "it is in the namespace of its host");
            }
        }
        if let Some(status) = footprint::read(&self.folder.join("status")) {
            check_status(&status, report);
        }
        if let Some(limits) = footprint::read(&self.folder.join("limits")) {
            for (layer, name, most) in LIMITS {
                // `unlimited` is not a number.
                if hard(&limits, name).is_some_and(|limit| limit.parse::<u64>().map_or(true, |limit| limit > most)) {
                    report.contradict(layer, name);
                }
            }
        }
        let member = |name: &str| {
            let groups = footprint::read(&self.folder.join("cgroup"))?;
            Some(groups.lines().any(|line| line.rsplit('/').next() == Some(name)))
        };
        let name = group.and_then(|group| group.rsplit('/').next());
        if name.and_then(member) == Some(false) {
            report.contradict("cgroup", "it is not in the group");
        }
    }
}

fn namespace(folder: &Path, name: &str) -> Option<PathBuf> {
    fs::read_link(folder.join("ns").join(name)).ok()
}

fn check_status(status: &str, report: &mut Report) {
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim).unwrap_or_default()
    };
    let mut expect = |layer: &str, name: &str, holds: fn(&str) -> bool| {
        let value = field(name);
        // Kernels without the field contradict nothing.
        if !value.is_empty() && !holds(value) {
            report.contradict(layer, &format!("{name} {value}"));
        }
    };
    let none = |set: &str| set.bytes().all(|digit| digit == b'0');
    expect("seccomp", "Seccomp", |mode| mode == "2");
    expect("noNewPrivileges", "NoNewPrivs", |flag| flag == "1");
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        expect("capabilities", set, none);
    }
    // Real, effective, saved and file system id.
    expect("ownUser", "Uid", |ids| ids.split_whitespace().all(|id| id != "0"));
    expect("ownUser", "Gid", |ids| ids.split_whitespace().all(|id| id != "0"));
    // Its id here, and its id in the namespace.
    expect("pidNamespace", "NSpid", |ids| ids.split_whitespace().count() > 1);
}

/// The hard limit of this name: the second column after the name, which contains spaces.
fn hard<'text>(limits: &'text str, name: &str) -> Option<&'text str> {
    limits.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().nth(1)
}

#[cfg(test)]
mod tests {
    use isolated_v8_launcher::Report;

    use super::{check_status, hard};

    fn report(names: &[&str]) -> Report {
        let mut report = Report::default();
        names.iter().for_each(|name| report.add(name, true, "said"));
        report
    }

    const STATUS: &str = "Name:\tchild\nUid:\t7\t7\t7\t7\nGid:\t7\t7\t7\t7\nNSpid:\t12\t1\nCapInh:\t0000\nCapPrm:\t0000\n\
                          CapEff:\t0000\nCapAmb:\t0000\nNoNewPrivs:\t1\nSeccomp:\t2\n";
    const LAYERS: [&str; 5] = ["ownUser", "pidNamespace", "capabilities", "noNewPrivileges", "seccomp"];

    #[test]
    fn what_the_kernel_confirms_stays() {
        let mut found = report(&LAYERS);
        check_status(STATUS, &mut found);
        assert_eq!(found, report(&LAYERS));
        check_status("", &mut found);
        assert_eq!(found, report(&LAYERS));
    }

    #[test]
    fn what_it_denies_does_not() {
        for (layer, right, wrong) in [
            ("ownUser", "Uid:\t7\t7\t7\t7", "Uid:\t7\t7\t0\t7"),
            ("pidNamespace", "NSpid:\t12\t1", "NSpid:\t12"),
            ("capabilities", "CapPrm:\t0000", "CapPrm:\t0800"),
            ("noNewPrivileges", "NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ("seccomp", "Seccomp:\t2", "Seccomp:\t0"),
        ] {
            let mut found = report(&LAYERS);
            check_status(&STATUS.replace(right, wrong), &mut found);
            let missing = found.missing(&LAYERS.map(str::to_owned)).map(|(name, _)| name);
            assert_eq!(missing.as_deref(), Some(layer));
            assert_eq!(found.active().split(',').count(), LAYERS.len() - 1);
        }
    }

    #[test]
    fn limits_are_read_by_name() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max core file size        0                    unlimited            bytes\n\
                      Max open files            4                    5                    files\n";
        assert_eq!(hard(limits, "Max core file size"), Some("unlimited"));
        assert_eq!(hard(limits, "Max open files"), Some("5"));
        assert_eq!(hard(limits, "Max locked memory"), None);
    }

    #[test]
    fn this_process_has_none_of_them() {
        let names =
            ["userNamespace", "networkNamespace", "pidNamespace", "mountNamespace", "seccomp", "rlimits", "cgroup"];
        let mut found = report(&names);
        super::check(libc::pid_t::try_from(std::process::id()).unwrap(), Some("/no/such/group"), &mut found);
        for name in ["userNamespace", "networkNamespace", "pidNamespace", "mountNamespace", "cgroup"] {
            assert!(found.missing(&[name.to_owned()]).is_some(), "{name}");
        }
    }
}

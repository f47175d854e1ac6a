//! The layers of Linux. All of it happens while this process is a single thread.

use isolated_v8_launcher::{Report, Settings};

use super::{Refusal, done, layer, limits, mounts, namespaces, privileges, user, zone};

/// Threads of a child: V8's, one for each processor, and its own.
const THREADS: u64 = 256;

/// Has the kernel end this process with the one that has started it. False when that is gone already.
pub fn stay_with_parent(parent: u32) -> bool {
    // SAFETY: concerns this process only.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return false;
    }
    // SAFETY: has no preconditions.
    u32::try_from(unsafe { libc::getppid() }) == Ok(parent)
}

/// What is to be done before the addon's file is loaded.
pub fn before_load(settings: &Settings) -> Report {
    let mut report = Report::default();
    zone::keep();
    layer(settings, &mut report, "cgroup", || match &settings.cgroup {
        Some(folder) => join_cgroup(folder),
        None => Err(Refusal("the parent has none to give".to_owned())),
    });
    layer(settings, &mut report, "oomScore", || {
        std::fs::write("/proc/self/oom_score_adj", "1000")
            .map(|()| "ended first where the system runs out of memory".to_owned())
            .map_err(|error| Refusal::by("oom_score_adj", &error))
    });
    report
}

/// Puts this process into the group that its parent has made for it.
fn join_cgroup(folder: &str) -> Result<String, Refusal> {
    std::fs::write(format!("{folder}/cgroup.procs"), "0")
        .map(|()| "memory.max, pids.max".to_owned())
        .map_err(|error| Refusal::by("cgroup.procs", &error))
}

/// What is to be done once the file is loaded and before any of it runs. The process may go on as another one, which is a child of the
/// same parent; see `namespaces`.
pub fn after_load(settings: &Settings, report: &mut Report) {
    let mut user_is_own_alone = false;
    layer(settings, report, "ownUser", || {
        let user = user::leave_root()?;
        user_is_own_alone = user.is_alone;
        // The kernel has forgotten this with the change of users. The layer that sees to it for good comes later.
        // SAFETY: concerns this process only.
        done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }, "PR_SET_PDEATHSIG")?;
        Ok(user.detail)
    });
    // SAFETY: has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    // Without root's rights the next ones depend on this one.
    let own_user = layer(settings, report, "userNamespace", namespaces::users);
    layer(settings, report, "networkNamespace", || {
        namespaces::unshare(libc::CLONE_NEWNET, "no network, not even a loopback")
    });
    layer(settings, report, "ipcNamespace", || {
        namespaces::unshare(libc::CLONE_NEWIPC, "no System V objects, no message queues")
    });
    layer(settings, report, "utsNamespace", namespaces::names);
    layer(settings, report, "mountNamespace", mounts::leave);
    layer(settings, report, "rlimits", || {
        // Of a user that is nobody else's the processes are counted, and so they are in a user namespace; root's never are.
        let counted = !root && (user_is_own_alone || (own_user && namespaces::count_processes()));
        let mut more =
            vec![(libc::RLIMIT_MSGQUEUE, 0, "msgqueue"), (libc::RLIMIT_SIGPENDING, limits::SIGNALS, "sigpending")];
        if settings.data > 0 {
            more.push((libc::RLIMIT_DATA, settings.data, "data"));
        }
        limits::set(settings, &more, counted.then_some(THREADS))
    });
    layer(settings, report, "pidNamespace", namespaces::processes);
    // From here on in the process that stays.
    layer(settings, report, "parentDeath", || {
        // SAFETY: concerns this process only.
        done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }, "PR_SET_PDEATHSIG")?;
        if namespaces::parent_has_gone() {
            // SAFETY: ends the process.
            unsafe { libc::_exit(namespaces::ORPHANED) }
        }
        Ok("ends with the thread that has started it".to_owned())
    });
    layer(settings, report, "capabilities", privileges::drop_capabilities);
    layer(settings, report, "notDumpable", || {
        // SAFETY: concerns this process only.
        done(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) }, "PR_SET_DUMPABLE")?;
        Ok("others of the same user cannot trace it".to_owned())
    });
    layer(settings, report, "noNewPrivileges", || {
        // SAFETY: concerns this process only.
        done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, "PR_SET_NO_NEW_PRIVS")?;
        Ok("no program that it starts has more rights".to_owned())
    });
}

//! The layers of Linux. All of them are applied while this process has a single thread.

use isolated_v8_launcher::{Report, Settings};

use super::{Refusal, done, layer, limits, mounts, namespaces, privileges, user, zone};

/// The maximum number of threads of a child: V8's, one for each processor, and its own.
const THREADS: u64 = 256;

/// Makes the kernel end this process with the parent that has started it. False if the parent is already gone.
pub fn stay_with_parent(parent: u32) -> bool {
    // SAFETY: concerns this process only.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return false;
    }
    // SAFETY: has no preconditions.
    u32::try_from(unsafe { libc::getppid() }) == Ok(parent)
}

/// Applies the layers that must come before the addon's file is loaded.
pub fn before_load(settings: &Settings) -> Report {
    let mut report = Report::default();
    zone::keep();
    layer(settings, &mut report, "cgroup", || match &settings.cgroup {
        Some(folder) => join_cgroup(folder),
        None => Err(Refusal("the host manages no control group".to_owned())),
    });
    layer(settings, &mut report, "oomScore", || {
        std::fs::write("/proc/self/oom_score_adj", "1000")
            .map(|()| "killed first if the system runs out of memory".to_owned())
            .map_err(|error| Refusal::by("oom_score_adj", &error))
    });
    report
}

/// Moves this process into the control group that its parent has made for it.
fn join_cgroup(folder: &str) -> Result<String, Refusal> {
    std::fs::write(format!("{folder}/cgroup.procs"), "0")
        .map(|()| "memory.max, pids.max".to_owned())
        .map_err(|error| Refusal::by("cgroup.procs", &error))
}

/// Applies the layers that come after the file is loaded and before any of it runs. The process may continue as another one, which is a
/// child of the same parent; see `namespaces`.
pub fn after_load(settings: &Settings, report: &mut Report) {
    let mut user_is_own_alone = false;
    layer(settings, report, "ownUser", || {
        let user = user::leave_root()?;
        user_is_own_alone = user.is_alone;
        // The change of users has reset this in the kernel. The layer `parentDeath` below sets it permanently.
        // SAFETY: concerns this process only.
        done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }, "PR_SET_PDEATHSIG")?;
        Ok(user.detail)
    });
    // SAFETY: has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    // Without root's rights, the following layers depend on this one.
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
        // Processes are counted for a user that no other process has, and in a user namespace. They are never counted for root.
        let counted = !root && (user_is_own_alone || (own_user && namespaces::count_processes()));
        let mut more =
            vec![(libc::RLIMIT_MSGQUEUE, 0, "msgqueue"), (libc::RLIMIT_SIGPENDING, limits::SIGNALS, "sigpending")];
        if settings.data > 0 {
            more.push((libc::RLIMIT_DATA, settings.data, "data"));
        }
        limits::set(settings, &more, counted.then_some(THREADS))
    });
    layer(settings, report, "pidNamespace", namespaces::processes);
    // From here on, this is the process that stays.
    layer(settings, report, "parentDeath", || {
        // SAFETY: concerns this process only.
        done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }, "PR_SET_PDEATHSIG")?;
        if namespaces::parent_has_gone() {
            // SAFETY: ends the process.
            unsafe { libc::_exit(namespaces::ORPHANED) }
        }
        Ok("killed when the host ends".to_owned())
    });
    layer(settings, report, "capabilities", privileges::drop_capabilities);
    layer(settings, report, "notDumpable", || {
        // SAFETY: concerns this process only.
        done(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) }, "PR_SET_DUMPABLE")?;
        Ok("processes of the same user cannot trace it".to_owned())
    });
    layer(settings, report, "noNewPrivileges", || {
        // SAFETY: concerns this process only.
        done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, "PR_SET_NO_NEW_PRIVS")?;
        Ok("no program that it starts has more rights".to_owned())
    });
}

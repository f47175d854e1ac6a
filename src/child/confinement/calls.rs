//! Which system calls a child needs, and which only an attacker makes.
//!
//! - [`allowed`]: memory, threads, locks, clocks, the connection.
//! - [`attacks`]: end the process at once, so that its parent learns of it.
//! - [`probes`]: `EPERM`. The C library looks into files and queries its terminal, and is prepared to find nothing.
//! - All others: `ENOSYS`, the answer of a kernel without the call. Every library is prepared for that.

use std::ops::Range;

use libc::{
    CLONE_FILES, CLONE_FS, CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER,
    CLONE_NEWUTS, CLONE_PARENT, CLONE_PTRACE, CLONE_SIGHAND, CLONE_THREAD, CLONE_VFORK, CLONE_VM, O_ACCMODE, O_CREAT,
    O_RDWR, O_TRUNC, O_WRONLY, c_int, c_long,
};
use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

pub type Rules = Vec<(c_long, Vec<SeccompRule>)>;

/// The flags that make a thread rather than a process.
const THREAD: c_int = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
const NO_THREAD: c_int = CLONE_NEWCGROUP
    | CLONE_NEWIPC
    | CLONE_NEWNET
    | CLONE_NEWNS
    | CLONE_NEWPID
    | CLONE_NEWUSER
    | CLONE_NEWUTS
    | CLONE_PARENT
    | CLONE_PTRACE
    | CLONE_VFORK;

/// The flags that sending and receiving may have. All others are refused, among them `MSG_OOB`: sandboxed processes have exploited the
/// kernel through its code.
const PLAIN: c_int = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;

/// Flags of a mapping that decide whether its memory counts for `RLIMIT_DATA`. It does if it is private, and neither a growing stack nor
/// huge pages.
const COUNTED: c_int = libc::MAP_TYPE | libc::MAP_GROWSDOWN | libc::MAP_HUGETLB;

/// What libraries do with a futex.
const LOCKS: [c_int; 7] = [
    libc::FUTEX_WAIT,
    libc::FUTEX_WAKE,
    libc::FUTEX_REQUEUE,
    libc::FUTEX_CMP_REQUEUE,
    libc::FUTEX_WAKE_OP,
    libc::FUTEX_WAIT_BITSET,
    libc::FUTEX_WAKE_BITSET,
];

/// What else can be done with one: the kernel passes priorities on. Sandboxed processes have exploited that code, too.
const INHERITING: [c_int; 6] = [
    libc::FUTEX_LOCK_PI,
    libc::FUTEX_UNLOCK_PI,
    libc::FUTEX_TRYLOCK_PI,
    libc::FUTEX_WAIT_REQUEUE_PI,
    libc::FUTEX_CMP_REQUEUE_PI,
    libc::FUTEX_LOCK_PI2,
];

/// Each operation on a futex, with any flags.
fn operations(argument: u8, all: &[c_int]) -> Result<Vec<SeccompRule>, BackendError> {
    const FLAGS: c_int = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;
    all.iter().map(|operation| masked(argument, !FLAGS, *operation)).collect()
}

/// How far below its names the stack of the first thread may reach, with room for [`NEAR`] bytes besides what the stack may have.
const BELOW: u64 = 64 << 20;

/// The most bytes that are moved from addresses below the stack, and from those that are this far below it.
const NEAR: u64 = 32 << 20;
const FAR: u64 = 1 << 30;

/// Where the stack of the first thread is, and nothing else: the system maps nothing else within 128 MB below the end of that stack. As a
/// growing stack it does not count for `RLIMIT_DATA`, not even after it was moved and made larger.
fn first_stack() -> Range<u64> {
    const ABOVE: u64 = 4 << 20;
    // SAFETY: has no preconditions. The name of the executable lies at the end of the stack.
    match unsafe { libc::getauxval(libc::AT_EXECFN) } {
        0 => 0..0,
        name => name.saturating_sub(BELOW)..name.saturating_add(ABOVE),
    }
}

/// Calls of `mremap` for memory besides the stack of the first thread. One call can move several mappings (Linux 6.17), so the memory must not
/// reach the stack either.
fn moves(stack: Range<u64>) -> Result<Vec<SeccompRule>, BackendError> {
    let compared =
        |argument, operator, value| SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value);
    let below = |end, length| {
        SeccompRule::new(vec![compared(0, SeccompCmpOp::Lt, end)?, compared(1, SeccompCmpOp::Le, length)?])
    };
    Ok(vec![
        below(stack.start, NEAR)?,
        below(stack.start.saturating_sub(FAR), FAR)?,
        SeccompRule::new(vec![compared(0, SeccompCmpOp::Ge, stack.end)?])?,
    ])
}

fn bits(flags: c_int) -> u64 {
    u64::from(flags.cast_unsigned())
}

/// A call whose argument has exactly `value` in the bits of `mask`.
fn masked(argument: u8, mask: c_int, value: c_int) -> Result<SeccompRule, BackendError> {
    let operator = SeccompCmpOp::MaskedEq(bits(mask));
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, bits(value))?])
}

fn compared(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?])
}

fn unconditional(calls: &[c_long]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

/// The calls that a child needs. The filters of `probes` and `attacks` are installed in addition.
pub fn allowed() -> Result<Rules, BackendError> {
    let own = u64::from(std::process::id());
    let mut rules = unconditional(&[
        // Memory. V8 makes compiled code executable.
        libc::SYS_munmap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_mincore,
        libc::SYS_membarrier,
        // Threads and locks.
        libc::SYS_set_robust_list,
        libc::SYS_get_robust_list,
        libc::SYS_rseq,
        libc::SYS_set_tid_address,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_getparam,
        libc::SYS_sched_getscheduler,
        libc::SYS_getcpu,
        libc::SYS_gettid,
        libc::SYS_getpid,
        libc::SYS_exit,
        libc::SYS_exit_group,
        // Signals, only to its own threads.
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        // Clocks.
        libc::SYS_clock_gettime,
        libc::SYS_clock_getres,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_gettimeofday,
        // Descriptors that are already open.
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_shutdown,
        libc::SYS_close,
        libc::SYS_ppoll,
        // Information about the process and the machine.
        libc::SYS_getrandom,
        libc::SYS_getrlimit,
        libc::SYS_sysinfo,
        libc::SYS_getppid,
        libc::SYS_getuid,
        libc::SYS_geteuid,
        libc::SYS_getgid,
        libc::SYS_getegid,
        // `probes` closes this again: its filter is installed last.
        libc::SYS_seccomp,
    ]);
    #[cfg(target_arch = "x86_64")]
    rules.extend(unconditional(&[libc::SYS_time, libc::SYS_poll, libc::SYS_pause, libc::SYS_arch_prctl]));
    rules.extend([
        (libc::SYS_sendto, vec![masked(3, !PLAIN, 0)?]),
        (libc::SYS_recvfrom, vec![masked(3, !PLAIN, 0)?]),
        (libc::SYS_mmap, vec![masked(3, COUNTED, libc::MAP_PRIVATE)?]),
        (libc::SYS_mremap, moves(first_stack())?),
        (libc::SYS_futex, operations(1, &LOCKS)?),
        (libc::SYS_getrusage, vec![is(0, libc::RUSAGE_SELF)?, is(0, libc::RUSAGE_THREAD)?]),
        (libc::SYS_clone, vec![masked(0, THREAD | NO_THREAD, THREAD)?]),
        (libc::SYS_tgkill, vec![compared(0, SeccompCmpOp::Eq, own)?]),
        (libc::SYS_prctl, vec![is(0, libc::PR_SET_NAME)?, is(0, PR_SET_VMA)?, is(0, libc::PR_SET_NO_NEW_PRIVS)?]),
        (libc::SYS_prlimit64, vec![compared(0, SeccompCmpOp::Eq, 0)?]),
        (
            libc::SYS_fcntl,
            vec![is(1, libc::F_GETFD)?, is(1, libc::F_SETFD)?, is(1, libc::F_GETFL)?, is(1, libc::F_SETFL)?],
        ),
    ]);
    // musl signals its own threads with this call. The target can be a thread of another process.
    #[cfg(target_env = "musl")]
    rules.extend(unconditional(&[libc::SYS_tkill]));
    Ok(rules)
}

/// Sets names of memory ranges, as allocators do.
const PR_SET_VMA: c_int = 0x5356_4d41;

fn is(argument: u8, value: c_int) -> Result<SeccompRule, BackendError> {
    compared(argument, SeccompCmpOp::Eq, bits(value))
}

/// The flags of an `open` for more than reading.
fn writing(argument: u8) -> Result<Vec<SeccompRule>, BackendError> {
    Ok(vec![
        masked(argument, O_ACCMODE, O_WRONLY)?,
        masked(argument, O_ACCMODE, O_RDWR)?,
        masked(argument, O_CREAT, O_CREAT)?,
        masked(argument, O_TRUNC, O_TRUNC)?,
    ])
}

pub fn attacks() -> Result<Rules, BackendError> {
    let own = u64::from(std::process::id());
    let mut rules = unconditional(&[
        // Other programs and processes.
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_kill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_getfd,
        libc::SYS_pidfd_send_signal,
        libc::SYS_kcmp,
        // Networks.
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept,
        libc::SYS_accept4,
        // Files.
        libc::SYS_mkdirat,
        libc::SYS_mknodat,
        libc::SYS_linkat,
        libc::SYS_symlinkat,
        libc::SYS_unlinkat,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_utimensat,
        libc::SYS_fchmodat,
        libc::SYS_fchownat,
        libc::SYS_truncate,
        libc::SYS_open_by_handle_at,
        // Calls whose bugs have compromised kernels.
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
        // Calls that leave the confinement.
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_capset,
        libc::SYS_setuid,
        libc::SYS_setgid,
        libc::SYS_setreuid,
        libc::SYS_setregid,
        libc::SYS_setresuid,
        libc::SYS_setresgid,
    ]);
    #[cfg(target_arch = "x86_64")]
    {
        rules.extend(unconditional(&[
            libc::SYS_fork,
            libc::SYS_vfork,
            libc::SYS_creat,
            libc::SYS_mkdir,
            libc::SYS_mknod,
            libc::SYS_link,
            libc::SYS_symlink,
            libc::SYS_unlink,
            libc::SYS_rmdir,
            libc::SYS_rename,
            libc::SYS_chmod,
            libc::SYS_chown,
            libc::SYS_iopl,
            libc::SYS_ioperm,
        ]));
        rules.push((libc::SYS_open, writing(1)?));
    }
    rules.extend([
        (libc::SYS_openat, writing(2)?),
        (libc::SYS_sendto, vec![masked(3, libc::MSG_OOB, libc::MSG_OOB)?]),
        (libc::SYS_recvfrom, vec![masked(3, libc::MSG_OOB, libc::MSG_OOB)?]),
        (libc::SYS_clone, vec![masked(0, CLONE_THREAD, 0)?]),
        (libc::SYS_futex, operations(1, &INHERITING)?),
        (libc::SYS_tgkill, vec![compared(0, SeccompCmpOp::Ne, own)?]),
    ]);
    Ok(rules)
}

pub fn probes() -> Result<Rules, BackendError> {
    let rules = unconditional(&[
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_newfstatat,
        libc::SYS_fstat,
        libc::SYS_statx,
        libc::SYS_statfs,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_readlinkat,
        libc::SYS_getcwd,
        libc::SYS_ioctl,
        libc::SYS_lseek,
        libc::SYS_setpriority,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setaffinity,
        libc::SYS_seccomp,
    ]);
    #[cfg(target_arch = "x86_64")]
    let rules = [
        rules,
        unconditional(&[libc::SYS_open, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_readlink]),
    ]
    .concat();
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Rules, allowed, attacks, probes};

    /// Splits a list into calls without conditions and calls with conditions on their arguments.
    fn split(rules: Rules) -> [BTreeSet<libc::c_long>; 2] {
        let count = rules.len();
        let [mut unconditional, mut some] = [BTreeSet::new(), BTreeSet::new()];
        for (call, conditions) in rules {
            if conditions.is_empty() {
                unconditional.insert(call)
            } else {
                some.insert(call)
            };
        }
        assert_eq!(unconditional.len() + some.len(), count, "a call is in one list twice");
        assert!(unconditional.is_disjoint(&some));
        [unconditional, some]
    }

    #[test]
    fn the_lists_agree() {
        let [free, bound] = split(allowed().unwrap());
        let [refused, partly] = split(attacks().unwrap());
        let [probed, conditional] = split(probes().unwrap());
        assert!(conditional.is_empty());
        assert!(refused.is_disjoint(&free) && refused.is_disjoint(&bound) && refused.is_disjoint(&probed));
        // Processes, threads of other processes, and files opened for writing.
        assert!(partly.iter().all(|call| bound.contains(call) || probed.contains(call)));
        assert_eq!(probed.intersection(&free).copied().collect::<Vec<_>>(), [libc::SYS_seccomp]);
    }
}

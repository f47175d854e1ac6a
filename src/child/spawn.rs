//! Starts a child. This process then has its id, three connections, and a descriptor that signals its end.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use isolated_v8_launcher::{Report, Settings};

use super::bound::{self, Bound};
use super::execution::ProcessTemplate;
use super::time;
use super::waiting::Ended;
#[cfg(target_os = "linux")]
use super::{footprint, proof};
use crate::engine;

/// A process that was started and has not been reaped. Dropping it kills and reaps the process.
pub struct Child {
    pid: libc::pid_t,
    /// Its process group.
    group: libc::pid_t,
    pub ended: Ended,
    pub socket: UnixStream,
    pub output: [Option<File>; 2],
    reaped: bool,
    used: Duration,
    bound: Option<Bound>,
    #[cfg(target_os = "linux")]
    footprint: Option<footprint::Footprint>,
}

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The host has configured the process so that exits are not reported.
    Unknown,
}

/// Private memory that a child may write, per byte of its guest's memory limit: heap and buffers, what a collection and the message of a
/// result take besides them, and V8's reserve for both.
const DATA_GROWTH: u64 = 4;

/// The same for every guest limit: V8, and the stacks of its threads, most of which is never touched.
const DATA_AROUND: u64 = 512 << 20;

impl ProcessTemplate {
    /// Starts a child, which can take any amount of time. The kernel ends the child with the thread that calls this.
    pub fn spawn(&self) -> io::Result<Child> {
        let (ours, theirs) = UnixStream::pair()?;
        let (stdout, their_stdout) = io::pipe()?;
        let (stderr, their_stderr) = io::pipe()?;
        let snapshot = self.snapshot.as_ref().map_or(0, |snapshot| snapshot.sealed().len() as u64);
        // The child holds the snapshot's bytes as well as the heap that it makes from them.
        let memory = self.memory.saturating_add(snapshot);
        let mut settings = Settings {
            parent: std::process::id(),
            timeout: self.timeout,
            memory: self.memory,
            data: memory.saturating_mul(DATA_GROWTH).saturating_add(DATA_AROUND),
            web: self.web,
            off: self.off.clone(),
            snapshot: self.snapshot.is_some(),
            gc: self.snapshot.is_some() && engine::exposes_gc(),
            ..Settings::default()
        };
        let bound = if settings.wants(bound::LAYER) { Bound::new(memory) } else { None };
        settings.cgroup = bound.as_ref().and_then(Bound::folder);
        let mut command = Command::new(&self.launcher);
        command
            .arg(&self.addon)
            .arg(settings.encode())
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::from(their_stdout))
            .stderr(Stdio::from(their_stderr))
            // A group of its own, so that signals which the terminal sends to the host's group do not reach it.
            .process_group(0);
        // Nothing runs between fork and exec (no `pre_exec`), so the host's memory is not copied.
        let process = command.spawn()?;
        let pid = libc::pid_t::try_from(process.id()).map_err(io::Error::other)?;
        // Close `command`'s copies of the child's ends, or this process would not notice when the child closes them.
        drop(command);
        let (stdout, stderr) = (File::from(OwnedFd::from(stdout)), File::from(OwnedFd::from(stderr)));
        let ended = Ended::of(pid).inspect_err(|_| end(pid, pid))?;
        let child = Child {
            pid,
            group: pid,
            ended,
            socket: ours,
            output: [Some(stdout), Some(stderr)],
            reaped: false,
            used: Duration::ZERO,
            bound,
            #[cfg(target_os = "linux")]
            footprint: settings.wants(footprint::LAYER).then(|| footprint::Footprint::new(settings.data)),
        };
        child.socket.set_nonblocking(true)?;
        keep_quiet(&child.socket)?;
        for pipe in child.output.iter().flatten() {
            set_nonblocking(pipe)?;
        }
        Ok(child)
    }
}

impl Child {
    /// The process that was started continues as process `process`, also a child of this process. False if that is not true. An error if
    /// this process can have no descriptor for it.
    pub fn follow(&mut self, process: u32) -> io::Result<bool> {
        let Ok(process) = libc::pid_t::try_from(process) else { return Ok(false) };
        // SAFETY: takes a process's id.
        let belongs = is_child(libc::P_PID, process) && unsafe { libc::getpgid(process) } == self.group;
        if self.reaped || process == self.pid || !belongs {
            return Ok(false);
        }
        let ended = Ended::of(process)?;
        // This was its last message, so it is killed rather than awaited.
        // SAFETY: sends a signal to a child that was not reaped.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        reap(self.pid, 0);
        self.pid = process;
        self.ended = ended;
        // SAFETY: takes the id of a child that was not reaped. If it fails, the group stays the old one.
        if unsafe { libc::setpgid(process, process) } == 0 {
            self.group = process;
        }
        Ok(true)
    }

    /// Whether the kernel has ended it because it used more memory than it may.
    pub fn ran_out(&self) -> bool {
        self.bound.as_ref().is_some_and(Bound::ran_out)
    }

    /// Whether it uses more memory than it may, as far as this process can see.
    pub fn is_too_large(&self) -> bool {
        #[cfg(target_os = "linux")]
        let is_exceeded = || self.footprint.is_some_and(|footprint| footprint.is_exceeded(self.pid));
        #[cfg(not(target_os = "linux"))]
        let is_exceeded = || self.bound.as_ref().is_some_and(|bound| bound.is_exceeded(self.pid));
        !self.reaped && is_exceeded()
    }

    /// Adds the layers that confine it from outside, which it cannot report, and removes those that the kernel does not confirm.
    pub fn add_layers(&self, report: &mut Report) {
        #[cfg(not(target_os = "linux"))]
        bound::report(self.bound.as_ref(), self.pid, report);
        #[cfg(target_os = "linux")]
        {
            report.layers.retain(|layer| layer.name != footprint::LAYER);
            match self.footprint {
                Some(footprint) => footprint.report(self.pid, report),
                None => report.add(footprint::LAYER, false, "switched off"),
            }
            proof::check(self.pid, self.bound.as_ref().and_then(Bound::folder).as_deref(), report);
        }
    }

    /// The group of a process that was reaped, in which other processes may be left.
    pub fn group(&self) -> libc::pid_t {
        self.group
    }

    /// Processor time that it has used, up to its end.
    pub fn processor_time(&self) -> Duration {
        if self.reaped { self.used } else { time::of_process(self.pid).unwrap_or_default() }
    }

    /// Ends the process and all of its group, at once.
    pub fn kill(&self) {
        if !self.reaped {
            kill(self.pid, self.group);
        }
    }

    /// How it has ended, once; `None` if it has not.
    pub fn reap(&mut self) -> Option<Exit> {
        if self.reaped {
            return Some(Exit::Unknown);
        }
        let (exit, used) = reap(self.pid, libc::WNOHANG)?;
        (self.reaped, self.used) = (true, used);
        Some(exit)
    }
}

/// Sends as many bytes as the socket takes now.
pub fn send(socket: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of one slice.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), QUIET) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// The number of bytes that have arrived and were not read.
pub fn waiting(socket: &UnixStream) -> usize {
    let mut count: libc::c_int = 0;
    // SAFETY: writes the number. If it fails, the number stays 0.
    unsafe { libc::ioctl(socket.as_raw_fd(), libc::FIONREAD, &raw mut count) };
    usize::try_from(count).unwrap_or(0)
}

/// Without it, a host might get a signal when the child is gone.
#[cfg(target_os = "linux")]
const QUIET: libc::c_int = libc::MSG_NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const QUIET: libc::c_int = 0;

#[cfg(target_os = "linux")]
fn keep_quiet(_socket: &UnixStream) -> io::Result<()> {
    Ok(())
}

/// If the flag cannot be set for each message, it is set for the socket.
#[cfg(not(target_os = "linux"))]
fn keep_quiet(socket: &UnixStream) -> io::Result<()> {
    let on: libc::c_int = 1;
    let size = size_of_val(&on) as libc::socklen_t;
    // SAFETY: the value is valid for reads of the given length.
    let set = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NOSIGPIPE, (&raw const on).cast(), size)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            end(self.pid, self.group);
        }
    }
}

/// Whether there is such a child that was not reaped, by its id or its group.
fn is_child(kind: libc::idtype_t, id: libc::pid_t) -> bool {
    let mut found = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    let id = libc::id_t::try_from(id).unwrap_or(0);
    // SAFETY: writes to the structure, and does not reap the child.
    unsafe { libc::waitid(kind, id, found.as_mut_ptr(), flags) == 0 }
}

/// Kills a child, and waits for its end, which the child cannot delay.
fn end(pid: libc::pid_t, group: libc::pid_t) {
    kill(pid, group);
    reap(pid, 0);
    reap_rest(group);
}

/// The process may have been killed after it made its successor and before it reported that.
fn reap_rest(group: libc::pid_t) {
    while is_child(libc::P_PGID, group) {
        // SAFETY: the group is that of a child that was not reaped, so no other group has its id. Only kills and reaps.
        unsafe {
            libc::kill(-group, libc::SIGKILL);
            libc::waitpid(-group, std::ptr::null_mut(), 0);
        }
    }
}

/// Kills the rest of a group, and reaps what has ended. False if some have not ended: a process that is traced from outside the group ends
/// only when its tracer detaches.
pub fn has_ended(group: libc::pid_t) -> bool {
    while is_child(libc::P_PGID, group) {
        // SAFETY: the group is that of a child that was not reaped, so that no other one has its id.
        let reaped = unsafe {
            libc::kill(-group, libc::SIGKILL);
            libc::waitpid(-group, std::ptr::null_mut(), libc::WNOHANG)
        };
        if reaped == 0 {
            return false;
        }
    }
    true
}

fn set_nonblocking(file: &File) -> io::Result<()> {
    // SAFETY: changes the flags of a descriptor that is open.
    let done = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        flags >= 0 && libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Kills a process that was not reaped, so neither its id nor that of its group belongs to another one.
fn kill(pid: libc::pid_t, group: libc::pid_t) {
    // SAFETY: sends signals; a failure means that there is no recipient.
    unsafe {
        libc::kill(-group, libc::SIGKILL);
        libc::kill(pid, libc::SIGKILL);
    }
}

fn reap(pid: libc::pid_t, flags: libc::c_int) -> Option<(Exit, Duration)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: writes to the two places.
        let found = unsafe { libc::wait4(pid, &raw mut status, flags, usage.as_mut_ptr()) };
        // SAFETY: zero is a valid value of every field, and the call writes valid ones.
        let usage = unsafe { usage.assume_init_ref() };
        if found == pid {
            let time = |time: &libc::timeval| {
                let micros = i128::from(time.tv_sec) * 1_000_000 + i128::from(time.tv_usec);
                Duration::from_micros(u64::try_from(micros).unwrap_or(0))
            };
            let exit = if libc::WIFSIGNALED(status) {
                Exit::Signal(libc::WTERMSIG(status))
            } else {
                Exit::Code(libc::WEXITSTATUS(status))
            };
            return Some((exit, time(&usage.ru_utime) + time(&usage.ru_stime)));
        }
        match io::Error::last_os_error().raw_os_error() {
            _ if found == 0 => return None,
            Some(libc::EINTR) => {}
            // Something else has reaped it, or the kernel does so itself.
            _ => return Some((Exit::Unknown, Duration::ZERO)),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::{Duration, Instant};

    use super::has_ended;

    /// A process that ends with this value, also if the test fails.
    struct Forked(libc::pid_t);

    impl Forked {
        /// Forks a process that does `work`, and then waits until it is killed.
        fn new(work: impl FnOnce()) -> Self {
            // SAFETY: the new process makes system calls only, and never returns from here.
            match unsafe { libc::fork() } {
                0 => {
                    // SAFETY: concerns the new process only. It holds the test runner's output open, so it must end with the test.
                    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                    work();
                    loop {
                        // SAFETY: has no preconditions.
                        unsafe { libc::pause() };
                    }
                }
                process => Self(process),
            }
        }

        fn end(&mut self) {
            if self.0 > 0 {
                // SAFETY: a child that was not reaped.
                unsafe {
                    libc::kill(self.0, libc::SIGKILL);
                    libc::waitpid(self.0, std::ptr::null_mut(), 0);
                }
                self.0 = 0;
            }
        }
    }

    impl Drop for Forked {
        fn drop(&mut self) {
            self.end();
        }
    }

    #[test]
    fn a_traced_member_of_a_group_is_not_waited_for() {
        // SAFETY: concerns the new process only.
        let member = Forked::new(|| unsafe {
            libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        });
        // SAFETY: the process is a child that executes no other program. A superuser may trace it before it has run at all, so it cannot
        // be the one that makes the group.
        assert_eq!(unsafe { libc::setpgid(member.0, 0) }, 0);
        let traced = member.0;
        // SAFETY: `ptrace` fails until the other process allows it, so the order of the two processes does not matter.
        let mut tracer = Forked::new(|| unsafe {
            while libc::ptrace(libc::PTRACE_SEIZE, traced, 0, 0) != 0 {
                libc::sched_yield();
            }
        });
        let is_traced = || {
            let status = std::fs::read_to_string(format!("/proc/{traced}/status")).unwrap();
            status.contains(&format!("TracerPid:\t{}\n", tracer.0))
        };
        let end = Instant::now() + Duration::from_secs(10);
        while !is_traced() && Instant::now() < end {
            std::thread::yield_now();
        }
        assert!(is_traced());
        assert!(!has_ended(traced));
        tracer.end();
        while !has_ended(traced) && Instant::now() < end {
            std::thread::yield_now();
        }
        assert!(has_ended(traced));
        // It was reaped.
        std::mem::forget(member);
    }
}

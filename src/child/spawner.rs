//! The threads that start children. Starting one can take any amount of time: the system reads the executable, perhaps from storage that
//! does not answer, and a process that is stopped before exec blocks its parent's thread. So the thread that serves all children does not
//! start any.
//!
//! The kernel ends a child with the thread that started it, so these threads last as long as the process.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::execution::ProcessTemplate;
use super::spawn::Child;
use crate::native::lock;

/// How long a child waits to be started before another thread is added.
const NEW_THREAD_DELAY: Duration = Duration::from_millis(20);

/// The maximum number of threads. A request that gets no thread waits until it times out.
const MAX_THREADS: usize = 16;

const STACK_SIZE: usize = 256 << 10;

/// Receives each child, or why it could not be started, with the number that was given for it.
pub type Sink = dyn Fn(u64, io::Result<Child>) + Send + Sync;

pub struct Spawner(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    asked: Condvar,
    sink: Box<Sink>,
}

#[derive(Default)]
struct State {
    requests: VecDeque<(u64, Arc<ProcessTemplate>, Instant)>,
    threads: usize,
    idle: usize,
}

impl Shared {
    fn serve(&self) {
        loop {
            let mut state = lock(&self.state);
            state.idle += 1;
            let (number, template) = loop {
                if let Some((number, template, _)) = state.requests.pop_front() {
                    break (number, template);
                }
                state = state.wait(&self.asked);
            };
            state.idle -= 1;
            drop(state);
            let child = catch_unwind(AssertUnwindSafe(|| template.spawn()));
            (self.sink)(number, child.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())));
        }
    }
}

impl Spawner {
    pub fn new(sink: Box<Sink>) -> Self {
        Self(Arc::new(Shared { state: Mutex::default(), asked: Condvar::new(), sink }))
    }

    pub fn start(&self, number: u64, template: Arc<ProcessTemplate>) {
        let mut state = lock(&self.0.state);
        state.requests.push_back((number, template, Instant::now()));
        self.0.asked.notify_one();
        let is_first = state.threads == 0;
        drop(state);
        if is_first {
            self.add_thread();
        }
    }

    /// This child is not wanted any more.
    pub fn forget(&self, number: u64) {
        lock(&self.0.state).requests.retain(|(other, _, _)| *other != number);
    }

    /// Adds a thread if one is needed. Returns when to check again.
    pub fn maintain(&self, now: Instant) -> Option<Instant> {
        let state = lock(&self.0.state);
        let due = state.requests.front().map(|(_, _, since)| *since + NEW_THREAD_DELAY)?;
        if due > now {
            return Some(due);
        }
        let is_missed = state.idle == 0 && state.threads < MAX_THREADS;
        drop(state);
        if is_missed {
            self.add_thread();
        }
        Some(now + NEW_THREAD_DELAY)
    }

    fn add_thread(&self) {
        let shared = Arc::clone(&self.0);
        let builder = thread::Builder::new().name("isolated-v8 spawner".to_owned()).stack_size(STACK_SIZE);
        // If no thread can be started now, the next check retries.
        if builder.spawn(move || shared.serve()).is_ok() {
            lock(&self.0.state).threads += 1;
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::time::{Duration, Instant};

    use super::super::execution::ProcessTemplate;
    use super::{MAX_THREADS, Spawner};
    use crate::native::lock;

    fn template(launcher: PathBuf) -> Arc<ProcessTemplate> {
        Arc::new(ProcessTemplate {
            launcher,
            addon: "/nowhere".into(),
            environment: Vec::new(),
            timeout: Duration::from_secs(1),
            memory: 8 << 20,
            web: 0,
            off: Vec::new(),
            required: Vec::new(),
            snapshot: None,
        })
    }

    /// A program that cannot be opened as long as this holds a lease on it, as on storage that does not answer.
    struct Stalled(PathBuf, Option<File>);

    impl Stalled {
        fn new() -> io::Result<Self> {
            let path = std::env::temp_dir().join(format!("isolated-v8-stalled-{}", std::process::id()));
            fs::copy("/bin/true", &path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
            let file = File::open(&path)?;
            // A write lease needs a file that is not open elsewhere.
            // SAFETY: changes the state of an open descriptor; the signal of a broken lease is ignored.
            let leased = unsafe {
                libc::signal(libc::SIGIO, libc::SIG_IGN);
                libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK)
            };
            if leased != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(path, Some(file)))
        }
    }

    impl Stalled {
        /// Closing the file is not enough: the processes that wait for it have inherited it.
        fn release(&mut self) {
            if let Some(file) = self.1.take() {
                // SAFETY: changes the state of a descriptor that is open.
                unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
            }
        }
    }

    impl Drop for Stalled {
        fn drop(&mut self) {
            self.release();
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn one_that_cannot_be_started_holds_up_no_other() {
        let (send, receive) = mpsc::channel();
        let spawner = Spawner::new(Box::new(move |number, child| {
            let _ = send.send((number, child.is_ok()));
        }));
        let mut stalled = Stalled::new().unwrap();
        let began = Instant::now();
        let wait = |time: u64| {
            let end = Instant::now() + Duration::from_secs(time);
            loop {
                spawner.maintain(Instant::now());
                match receive.recv_timeout(Duration::from_millis(10)) {
                    Ok(found) => return Some(found),
                    Err(RecvTimeoutError::Timeout) if Instant::now() < end => {}
                    Err(_) => return None,
                }
            }
        };
        for number in 1..=3 {
            spawner.start(number, template(stalled.0.clone()));
        }
        spawner.start(4, template("/bin/true".into()));
        assert_eq!(wait(20), Some((4, true)));
        // By default a lease is broken after 45 s.
        assert!(began.elapsed() < Duration::from_secs(20));
        assert!(lock(&spawner.0.state).threads <= MAX_THREADS);
        // Requests that are withdrawn are removed.
        for number in 100..200 {
            spawner.start(number, template(stalled.0.clone()));
            spawner.forget(number);
        }
        spawner.start(5, template("/bin/true".into()));
        assert_eq!(wait(20), Some((5, true)));
        assert!(lock(&spawner.0.state).threads <= MAX_THREADS);
        stalled.release();
        let mut rest: Vec<_> = std::iter::from_fn(|| wait(60)).take(3).collect();
        rest.sort_unstable();
        rest.retain(|(number, _)| *number < 100);
        assert!(rest.iter().all(|(_, started)| *started), "{rest:?}");
    }
}

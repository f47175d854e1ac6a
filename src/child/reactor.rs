//! The thread that serves all children, and waits for all of them at once. It starts with the first execution and lasts as long as the
//! process. It never blocks on one child: other threads start them (`spawner`).

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{io, mem};

use super::cause::Cause;
use super::execution::{Job, Sort};
use super::pool::Pool;
use super::process::{Process, State};
use super::running::Retry;
use super::spawn::{Child, Exit};
use super::spawner::Spawner;
use super::waiting::{Bell, Sources};
use crate::value::{Code, Completion, ErrorClass, Fault};

enum Command {
    Start(u64, Box<Job>, Instant),
    /// The outcome of a call from the process with this number.
    Reply(u64, Vec<u8>),
    /// The outcomes of its calls are more than the process can hold.
    Overflow(u64),
    /// The child with this number was started, or could not be.
    Started(u64, io::Result<Child>),
    Terminate(u64),
    TerminateOf(u64),
    /// Asks for the confinement of children of this sort, and how many of them to keep ready.
    Survey(Sort, usize, Arc<dyn Completion>),
}

struct Reactor {
    commands: Mutex<VecDeque<Command>>,
    /// Rings when there is something to do.
    bell: Bell,
    rung: AtomicBool,
}

static REACTOR: Mutex<Option<Arc<Reactor>>> = Mutex::new(None);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// How often to retry when a host had no room.
const RETRY: Duration = Duration::from_millis(5);

/// Starts an execution. Returns its number, for [`terminate`].
pub fn start(job: Job) -> u64 {
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let completion = Arc::clone(&job.completion);
    if !command(Command::Start(id, Box::new(job), Instant::now())) {
        completion.complete(Err(no_thread()));
    }
    id
}

/// Ends an execution, if it has not ended.
pub fn terminate(id: u64) {
    send(Command::Terminate(id));
}

/// Ends all executions of a host environment.
pub fn terminate_of(owner: u64) {
    send(Command::TerminateOf(owner));
}

/// Answers with the confinement of children of this sort.
pub fn survey(sort: Sort, pool: usize, completion: Arc<dyn Completion>) {
    if !command(Command::Survey(sort, pool, Arc::clone(&completion))) {
        completion.complete(Err(no_thread()));
    }
}

fn no_thread() -> Fault {
    Fault::coded(ErrorClass::Error, "No thread can be created for child processes", Code::Limit)
}

/// Passes on the outcome of a call as a frame; `None` if it is more than the child can hold.
pub fn reply(process: u64, frame: Option<Vec<u8>>) {
    send(match frame {
        Some(frame) => Command::Reply(process, frame),
        None => Command::Overflow(process),
    });
}

/// False if the thread cannot be started.
fn command(command: Command) -> bool {
    let mut reactor = REACTOR.lock().unwrap_or_else(PoisonError::into_inner);
    if reactor.is_none() {
        *reactor = Reactor::start();
    }
    reactor.as_ref().inspect(|reactor| reactor.push(command)).is_some()
}

/// Like [`command`], but does nothing if no child was ever asked for.
fn send(command: Command) {
    let reactor = REACTOR.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(reactor) = &*reactor {
        reactor.push(command);
    }
}

impl Reactor {
    fn start() -> Option<Arc<Self>> {
        let bell = Bell::new().ok()?;
        let reactor = Arc::new(Self { commands: Mutex::default(), bell, rung: AtomicBool::new(false) });
        let own = Arc::clone(&reactor);
        let thread = thread::Builder::new().name("isolated-v8 children".to_owned()).spawn(move || {
            // Restarts after a panic. All children are gone then, and whatever waited for one was answered.
            while catch_unwind(AssertUnwindSafe(|| own.run())).is_err() {}
        });
        thread.is_ok().then_some(reactor)
    }

    fn push(&self, command: Command) {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).push_back(command);
        self.ring();
    }

    fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.bell.ring();
        }
    }

    fn silence(&self) {
        self.bell.silence();
        self.rung.store(false, Ordering::Release);
    }

    fn run(&self) {
        // After a panic, the new pool does not know what the old one has started.
        let spawner = Spawner::new(Box::new(|number, child| send(Command::Started(number, child))));
        let mut pool = Pool::new(spawner);
        loop {
            let commands = mem::take(&mut *self.commands.lock().unwrap_or_else(PoisonError::into_inner));
            for command in commands {
                obey(&mut pool, command);
            }
            pool.tend(Instant::now());
            let wait = Wait::of(&mut pool, &self.bell);
            let ready = wait.wait(&self.bell);
            if ready.iter().any(|(_, event)| *event == Event::Bell) {
                self.silence();
            }
            for (number, event) in ready {
                let retry = pool.of_number(number).and_then(|process| handle(process, event));
                if let Some(retry) = retry {
                    pool.retry(retry);
                }
            }
            let now = Instant::now();
            let mut retries = Vec::new();
            for process in &mut pool.processes {
                if process.is_stalled() {
                    process.receive(false);
                }
                if process.alarm().is_some_and(|alarm| alarm <= now) {
                    retries.extend(process.expire(now));
                }
                process.measure(now);
            }
            for retry in retries {
                pool.retry(retry);
            }
            pool.remove_ended();
        }
    }
}

fn obey(pool: &mut Pool, command: Command) {
    match command {
        Command::Start(id, job, began) => pool.run(id, *job, began),
        Command::Reply(number, frame) => {
            if let Some(process) = pool.of_number(number) {
                process.answered(frame);
            }
        }
        Command::Overflow(number) => {
            if let Some(process) = pool.of_number(number) {
                process.end(Cause::Memory);
            }
        }
        Command::Started(number, child) => pool.started(number, child),
        Command::Terminate(id) => pool.terminate(|running, _| running == id),
        Command::TerminateOf(owner) => pool.terminate(|_, other| other == owner),
        Command::Survey(sort, wanted, completion) => pool.survey(sort, wanted, completion),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Bell,
    Readable,
    Writable,
    Output(usize),
    Ended,
}

/// Returns the job that another process must take over.
fn handle(process: &mut Process, event: Event) -> Option<Retry> {
    match event {
        Event::Bell => {}
        Event::Readable => process.receive(false),
        Event::Writable => process.flush(),
        Event::Output(index) => process.read_output(index),
        Event::Ended => {
            // What it sent before it ended still counts.
            process.receive(true);
            if let Some(exit) = process.child.reap() {
                if let Some(retry) = process.retry() {
                    return Some(retry);
                }
                let memory = exit == Exit::Signal(libc::SIGKILL) && process.child.ran_out();
                process.end(if memory { Cause::Memory } else { Cause::Exited(exit) });
            }
        }
    }
    None
}

/// What the thread waits for.
struct Wait {
    sources: Sources,
    meanings: Vec<(u64, Event)>,
    until: Option<Instant>,
}

impl Wait {
    fn of(pool: &mut Pool, bell: &Bell) -> Self {
        let intake = pool.intake();
        let mut wait = Self { sources: Sources::new(bell), meanings: vec![(0, Event::Bell)], until: pool.alarm() };
        for child in pool.unwanted() {
            wait.sources.ended(&child.ended);
            // Only its end matters.
            wait.meanings.push((0, Event::Ended));
        }
        for process in &pool.processes {
            let (number, child) = (process.number, &process.child);
            wait.sources.ended(&child.ended);
            wait.meanings.push((number, Event::Ended));
            if matches!(process.state, State::Ended) {
                continue;
            }
            if process.is_stalled() {
                wait.not_after(Instant::now() + RETRY);
            } else if !process.is_silent() && process.is_admitted(&intake) {
                wait.sources.readable(&child.socket);
                wait.meanings.push((number, Event::Readable));
            }
            if process.wants_to_write() {
                wait.sources.writable(&child.socket);
                wait.meanings.push((number, Event::Writable));
            }
            for (index, pipe) in child.output.iter().enumerate() {
                if let Some(pipe) = pipe {
                    wait.sources.readable(pipe);
                    wait.meanings.push((number, Event::Output(index)));
                }
            }
            process.alarm().into_iter().chain(process.look()).for_each(|time| wait.not_after(time));
        }
        wait
    }

    fn not_after(&mut self, time: Instant) {
        self.until = Some(self.until.map_or(time, |until| until.min(time)));
    }

    /// The events that happened, by the number of the process.
    fn wait(self, bell: &Bell) -> Vec<(u64, Event)> {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        match self.sources.wait(bell, left) {
            Ok(happened) => happened.into_iter().filter_map(|index| self.meanings.get(index).copied()).collect(),
            Err(error) => {
                if error.kind() != io::ErrorKind::Interrupted {
                    // Out of memory: all that is left is to retry, but not at once.
                    thread::sleep(RETRY);
                }
                Vec::new()
            }
        }
    }
}

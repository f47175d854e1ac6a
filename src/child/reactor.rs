//! The thread that serves all children, and waits for all of them at once. It starts with the first execution and lasts as long as the
//! process. It never blocks on one child: other threads start them (`spawner`).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::cause::Cause;
use super::commands::{Command, Commands, command, send};
use super::execution::{Execution, ProcessTemplate};
use super::pool::Pool;
use super::process::{Process, State};
use super::running::Retry;
use super::spawn::Exit;
use super::spawner::Spawner;
use super::waiting::{Sources, Waker};
use crate::value::{Code, Completion, ErrorClass, Fault};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// How often to retry when a host had no room.
const RETRY: Duration = Duration::from_millis(5);

/// Starts an execution. Returns its number, for [`terminate`].
pub fn start(execution: Execution) -> u64 {
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let completion = Arc::clone(&execution.requester.completion);
    if !command(Command::Start(id, Box::new(execution), Instant::now()), start_thread) {
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

/// Answers with the confinement of children of this template.
pub fn check_confinement(template: ProcessTemplate, pool: usize, completion: Arc<dyn Completion>) {
    if !command(Command::CheckConfinement(template, pool, Arc::clone(&completion)), start_thread) {
        completion.complete(Err(no_thread()));
    }
}

fn no_thread() -> Fault {
    Fault::coded(ErrorClass::Error, "No thread can be created for child processes", Code::Limit)
}

/// Returns whether the system has started the thread.
fn start_thread(commands: Arc<Commands>) -> bool {
    let thread = thread::Builder::new().name("isolated-v8 children".to_owned()).spawn(move || {
        // Restarts after a panic. All children are gone then, and whatever waited for one was answered.
        while catch_unwind(AssertUnwindSafe(|| run(&commands))).is_err() {}
    });
    thread.is_ok()
}

fn run(commands: &Commands) {
    // After a panic, the new pool does not know what the old one has started.
    let spawner = Spawner::new(Box::new(|number, child| send(Command::Started(number, child))));
    let mut pool = Pool::new(spawner);
    loop {
        for command in commands.take() {
            perform(&mut pool, command);
        }
        pool.maintain(Instant::now());
        let wait = Wait::of(&pool, &commands.waker);
        let ready = wait.wait(&commands.waker);
        if ready.iter().any(|(_, event)| *event == Event::Waker) {
            commands.drain();
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

fn perform(pool: &mut Pool, command: Command) {
    match command {
        Command::Start(id, execution, began) => pool.run(id, *execution, began),
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
        Command::Decoded(number, message) => {
            if let Some(process) = pool.of_number(number) {
                process.decoded(message);
            }
        }
        Command::Terminate(id) => pool.terminate(|running, _| running == id),
        Command::TerminateOf(owner) => pool.terminate(|_, other| other == owner),
        Command::CheckConfinement(template, wanted, completion) => pool.check_confinement(template, wanted, completion),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Waker,
    Readable,
    Writable,
    Output(usize),
    Ended,
}

/// Returns the execution that another process must take over.
fn handle(process: &mut Process, event: Event) -> Option<Retry> {
    if process.is_decoding() {
        // It has sent its last message.
        return None;
    }
    match event {
        Event::Waker => {}
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
                // A process can send itself this signal at any time.
                let time = exit == Exit::Signal(libc::SIGXCPU)
                    && process.running().is_some_and(|running| running.may_claim(Code::Deadline));
                process.end(match () {
                    () if memory => Cause::Memory,
                    () if time => Cause::Deadline,
                    () if process.report.is_none() => Cause::of_early_exit(exit),
                    () => Cause::Exited(exit),
                });
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
    fn of(pool: &Pool, waker: &Waker) -> Self {
        let intake = pool.intake();
        let mut wait = Self { sources: Sources::new(waker), meanings: vec![(0, Event::Waker)], until: pool.alarm() };
        for child in pool.unwanted() {
            wait.sources.ended(&child.ended);
            // Only its end matters.
            wait.meanings.push((0, Event::Ended));
        }
        for process in &pool.processes {
            let (number, child) = (process.number, &process.child);
            if process.is_decoding() {
                process.alarm().into_iter().for_each(|time| wait.not_after(time));
                continue;
            }
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
            process.alarm().into_iter().chain(process.next_measurement()).for_each(|time| wait.not_after(time));
        }
        wait
    }

    fn not_after(&mut self, time: Instant) {
        self.until = Some(self.until.map_or(time, |until| until.min(time)));
    }

    /// The events that happened, by the number of the process.
    fn wait(self, waker: &Waker) -> Vec<(u64, Event)> {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        match self.sources.wait(waker, left) {
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

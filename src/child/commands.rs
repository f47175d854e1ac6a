//! Commands of other threads to the thread that serves all children.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use std::{io, mem};

use super::execution::{Execution, ProcessTemplate};
use super::frame::Message;
use super::spawn::Child;
use super::waiting::Waker;
use crate::native::lock;
use crate::value::Completion;

/// What the thread that serves all children is asked to do.
pub enum Command {
    Start(u64, Box<Execution>, Instant),
    /// The outcome of a call from the process with this number.
    Reply(u64, Vec<u8>),
    /// The outcomes of its calls are more than the process can hold.
    Overflow(u64),
    /// The child with this number was started, or could not be.
    Started(u64, io::Result<Child>),
    /// The large message of the process with this number was decoded; `None` if it is malformed.
    Decoded(u64, Option<Message>),
    Terminate(u64),
    TerminateOf(u64),
    /// Asks for the confinement of children of this template, and how many of them to keep ready.
    CheckConfinement(ProcessTemplate, usize, Arc<dyn Completion>),
}

/// The commands for that thread.
pub struct Commands {
    queue: Mutex<VecDeque<Command>>,
    /// Rings when there is something to do.
    pub waker: Waker,
    woken: AtomicBool,
}

/// Those of the one thread, once it was started.
static COMMANDS: Mutex<Option<Arc<Commands>>> = Mutex::new(None);

impl Commands {
    fn new() -> Option<Arc<Self>> {
        Some(Arc::new(Self { queue: Mutex::default(), waker: Waker::new().ok()?, woken: AtomicBool::new(false) }))
    }

    fn push(&self, command: Command) {
        lock(&self.queue).push_back(command);
        self.wake();
    }

    fn wake(&self) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.waker.wake();
        }
    }

    /// The thread is awake.
    pub fn drain(&self) {
        self.waker.drain();
        self.woken.store(false, Ordering::Release);
    }

    pub fn take(&self) -> VecDeque<Command> {
        mem::take(&mut *lock(&self.queue))
    }
}

/// Gives the thread a command; `start` starts it if it does not run yet. False if it cannot be started.
pub fn command(command: Command, start: impl FnOnce(Arc<Commands>) -> bool) -> bool {
    let mut commands = lock(&COMMANDS);
    if commands.is_none() {
        *commands = Commands::new().filter(|commands| start(Arc::clone(commands)));
    }
    commands.as_ref().inspect(|commands| commands.push(command)).is_some()
}

/// Like [`command`], but does nothing if no child was ever asked for.
pub fn send(command: Command) {
    let commands = lock(&COMMANDS);
    if let Some(commands) = &*commands {
        commands.push(command);
    }
}

/// Passes on the outcome of a call as a frame; `None` if it is more than the child can hold.
pub fn reply(process: u64, frame: Option<Vec<u8>>) {
    send(match frame {
        Some(frame) => Command::Reply(process, frame),
        None => Command::Overflow(process),
    });
}

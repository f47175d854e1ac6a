//! One child, as its parent has it: what it may say when, and how it ends.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use isolated_v8_launcher::Report;

use super::cause::Cause;
use super::execution::{Job, Sort};
use super::frame::{End, Limits, Message, Order};
use super::outbox::Outbox;
use super::output::Output;
use super::running::{Retry, Running, Step};
use super::spawn::{self, Child, Exit};
use super::splitter::Splitter;
use crate::value::{Answer, ErrorClass, Fault, Text, Value};

/// Bytes that are read of one child before others have their turn.
const TURN: usize = 256 << 10;
const PIECE: usize = 64 << 10;

/// How long after its deadline a child is left to say so itself, with what it has used.
const LAST_WORDS: Duration = Duration::from_millis(20);

/// How long a child may take to tell what confines it.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a child that waits is silent at the most once it was told what to do. It may be stopped, or busy with what is none of ours.
const BEGINNING: Duration = Duration::from_secs(1);

/// How often the memory of a child is looked at.
const INTERVAL: Duration = Duration::from_millis(100);

pub enum State {
    /// Nothing has been asked of it yet.
    Warm,
    Running(Box<Running>),
    /// It was killed, or has ended.
    Ended,
}

pub struct Process {
    pub number: u64,
    pub sort: Arc<Sort>,
    pub child: Child,
    pub state: State,
    pub since: Instant,
    pub report: Option<Report>,
    /// Hear of the report.
    pub surveyors: Vec<Arc<dyn Answer>>,
    /// Since when they wait.
    asked: Option<Instant>,
    /// Nobody wants more of it than that.
    spare: bool,
    frames: Splitter,
    out: Outbox,
    /// When it was given what it is to do, or has shown since that it goes on.
    stirred: Instant,
    /// It has hung up: it will end, or be ended at its deadline.
    silent: bool,
    output: [Output; 2],
    /// When its memory was last looked at.
    looked: Instant,
}

impl Process {
    /// A child that was just started.
    pub fn new(number: u64, sort: Arc<Sort>, child: Child) -> Self {
        let mut process = Self {
            number,
            child,
            sort,
            state: State::Warm,
            since: Instant::now(),
            report: None,
            surveyors: Vec::new(),
            asked: None,
            spare: false,
            frames: Splitter::default(),
            out: Outbox::default(),
            stirred: Instant::now(),
            silent: false,
            output: Default::default(),
            looked: Instant::now(),
        };
        if let Some(snapshot) = &process.sort.snapshot {
            process.out.push_snapshot(snapshot.sealed());
            process.flush();
        }
        process
    }

    /// It waits for an execution, or gets ready for that.
    pub fn is_warm(&self) -> bool {
        matches!(self.state, State::Warm)
    }

    /// It waits for nothing that anybody would give it.
    pub fn is_useless(&self) -> bool {
        self.is_warm() && self.silent && self.surveyors.is_empty()
    }

    pub fn running(&self) -> Option<&Running> {
        match &self.state {
            State::Running(running) => Some(running),
            State::Warm | State::Ended => None,
        }
    }

    /// Nothing more is read of it until its host has room.
    pub fn is_stalled(&self) -> bool {
        self.running().is_some_and(Running::is_stalled)
    }

    pub fn is_silent(&self) -> bool {
        self.silent
    }

    pub fn wants_to_write(&self) -> bool {
        !self.out.is_empty()
    }

    /// When this is to be looked at again, whatever happens.
    pub fn alarm(&self) -> Option<Instant> {
        let end = self.running().map(|running| running.deadline + LAST_WORDS);
        end.into_iter().chain(self.silence()).chain(self.hesitation()).min()
    }

    /// When its memory is to be looked at. Nobody's code is in one that waits.
    pub fn look(&self) -> Option<Instant> {
        self.running().map(|_| self.looked + INTERVAL)
    }

    /// Ends it where it has taken too much memory.
    pub fn measure(&mut self, now: Instant) {
        if self.look().is_some_and(|look| look <= now) {
            self.looked = now;
            if self.child.is_too_large() {
                self.end(Cause::Memory);
            }
        }
    }

    /// When it has not begun for so long that another child shall.
    fn hesitation(&self) -> Option<Instant> {
        let time = if self.report.is_some() { BEGINNING } else { PATIENCE };
        self.running().filter(|running| running.is_unbegun()).map(|_| self.stirred + time)
    }

    /// When those who want to hear its report have waited for too long.
    fn silence(&self) -> Option<Instant> {
        self.asked.filter(|_| !self.surveyors.is_empty()).map(|asked| asked + PATIENCE)
    }

    /// Its time is over, one way or the other. What another process is to do instead comes back.
    pub fn expire(&mut self, now: Instant) -> Option<Retry> {
        // It may have said so in this very moment.
        self.receive(false);
        let is_over = self.running().is_some_and(|running| running.deadline <= now);
        let is_silent = self.silence().is_some_and(|silence| silence <= now);
        let hesitates = is_silent || self.hesitation().is_some_and(|hesitation| hesitation <= now);
        if !is_over
            && hesitates
            && let Some(retry) = self.retry()
        {
            return Some(retry);
        }
        if is_silent {
            self.end(Cause::Silent);
        } else if self.alarm().is_some_and(|alarm| alarm <= now) {
            self.end(Cause::Deadline);
        }
        None
    }

    /// What is to be done by another child, if this one could not begin.
    pub fn retry(&mut self) -> Option<Retry> {
        let State::Running(running) = &mut self.state else { return None };
        if !running.is_unbegun() {
            return None;
        }
        let task = running.task.take()?;
        let State::Running(running) = std::mem::replace(&mut self.state, State::Ended) else { return None };
        self.child.kill();
        self.out.clear();
        let surveyors = std::mem::take(&mut self.surveyors);
        Some(running.retry((*self.sort).clone(), task, surveyors))
    }

    /// Has `answer` get its report once it is there. `wanted` children of its sort are to be ready afterwards.
    pub fn survey(&mut self, wanted: usize, answer: Arc<dyn Answer>) {
        self.surveyors.push(answer);
        self.asked.get_or_insert_with(Instant::now);
        self.spare = wanted == 0;
    }

    /// Gives the child its one execution. `waited`: it was not started for that.
    pub fn run(&mut self, id: u64, job: Job, began: Instant, waited: bool) {
        self.state = State::Running(Box::new(Running::new(self.number, id, job, began, waited)));
        self.stirred = Instant::now();
        if self.report.is_some() {
            self.begin();
        } else {
            // It is not sent any code before it has shown what confines it.
            self.send(Order::Awaited.encode());
        }
    }

    /// Sends the child its task, if it has one.
    fn begin(&mut self) {
        let State::Running(running) = &mut self.state else { return };
        let Some(task) = running.task.take() else { return };
        running.before = self.child.processor_time();
        let order = Order::Run(task);
        let frame = order.encode();
        if let Order::Run(task) = order
            && running.may_retry
        {
            running.task = Some(task);
        }
        self.stirred = Instant::now();
        self.send(frame);
    }

    /// What came out of a call.
    pub fn answered(&mut self, frame: Vec<u8>) {
        let Some(running) = self.running() else { return };
        running.calls.taken(frame.len());
        if self.out.own() > running.memory {
            // It does not read what it has asked for.
            self.end(Cause::Memory);
        } else {
            self.send(frame);
        }
    }

    /// Sends as much as the child takes now, the rest when it takes more.
    fn send(&mut self, frame: Vec<u8>) {
        self.out.push(frame);
        self.flush();
    }

    pub fn flush(&mut self) {
        let Self { child, out, stirred, .. } = self;
        let mut send = |bytes: &[u8]| {
            let count = spawn::send(&child.socket, bytes)?;
            *stirred = Instant::now();
            Ok(count)
        };
        while let Err(error) = out.flush(&mut send) {
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return,
                // Its end will be seen.
                _ => return out.clear(),
            }
        }
    }

    /// Takes what the child has sent. `last`: it has ended, and what is there by now is all there will be. Others that it has started may
    /// hold the connection and send on.
    pub fn receive(&mut self, last: bool) {
        let most = if last { spawn::waiting(&self.child.socket) } else { TURN };
        let mut piece = [0; PIECE];
        let mut taken = 0;
        while self.handle_messages() && taken < most {
            match self.child.socket.read(&mut piece) {
                Ok(0) => {
                    self.silent = true;
                    return;
                }
                Ok(count) => {
                    taken += count;
                    self.frames.push(&piece[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Handles the messages that are there. False when no more is to be read now.
    fn handle_messages(&mut self) -> bool {
        loop {
            let limits = self.running().map_or(Limits::IDLE, |running| running.limits);
            let held = match &mut self.state {
                State::Ended => return false,
                State::Warm => None,
                State::Running(running) => running.take_held(),
            };
            let message = match held {
                Some(message) => message,
                None => match self.frames.next(|kind| limits.frame(kind)) {
                    Ok(None) => return true,
                    Ok(Some(contents)) => match Message::decode(contents, &limits) {
                        Some(message) => message,
                        None => return self.violated("a malformed message"),
                    },
                    Err(_) => return self.violated("a message of more than it may have"),
                },
            };
            if !self.handle(message) {
                return false;
            }
        }
    }

    fn violated(&mut self, what: &'static str) -> bool {
        self.end(Cause::Protocol(what));
        false
    }

    /// False when nothing more is to be handled now.
    fn handle(&mut self, message: Message) -> bool {
        if let Message::Moved(process) = message {
            return (self.report.is_none() && self.child.follow(process))
                || self.violated("a process that is none of its own");
        }
        if let Message::Ready(mut report) = message {
            if self.report.is_some() {
                return self.violated("a second report");
            }
            self.child.add_layers(&mut report);
            for surveyor in self.surveyors.drain(..) {
                surveyor.answer(Ok(list_of(&report)));
            }
            let missing = report.missing(&self.sort.required);
            self.report = Some(report);
            self.stirred = Instant::now();
            if let Some((layer, why)) = missing {
                self.end(Cause::Unconfined(layer, why));
            } else if self.spare {
                self.end(Cause::Terminated);
            } else {
                self.begin();
            }
            return true;
        }
        if self.report.is_none() {
            return self.violated("a message before its report");
        }
        let State::Running(running) = &mut self.state else { return self.violated("a message unasked") };
        let had_begun = std::mem::replace(&mut running.begun, true);
        running.task = None;
        let step = match message {
            Message::Begun if had_begun => Step::Violated("a second beginning"),
            Message::Begun => Step::Done,
            Message::Log(level, text) => running.log(level, text),
            Message::Call(call, tool, params) => running.call(call, tool, params),
            Message::End(end) if end.code.is_some_and(|code| !running.may_claim(code)) => {
                return self.violated("an end that is not its own to tell");
            }
            Message::End(end) => {
                self.finish(*end);
                return false;
            }
            Message::Moved(_) | Message::Ready(_) => return true,
        };
        match step {
            Step::Done => true,
            Step::Held => false,
            Step::Violated(what) => self.violated(what),
        }
    }

    /// Takes what the child has written to its output.
    pub fn read_output(&mut self, index: usize) {
        let (Some(pipe), Some(output)) = (self.child.output.get_mut(index), self.output.get_mut(index)) else { return };
        if let Some(file) = pipe
            && !output.read(file)
        {
            *pipe = None;
        }
        self.log_output(false);
    }

    fn log_output(&mut self, last: bool) {
        let State::Running(running) = &mut self.state else { return };
        for (output, level) in self.output.iter_mut().zip(["stdout", "stderr"]) {
            while let Some(line) = output.line(running.most_length, last) {
                // Nobody's listener hears of those.
                running.keep(level, line.encode_utf16().collect());
            }
        }
    }

    /// The guest has come to an end of its own.
    fn finish(&mut self, end: End) {
        let time = self.child.processor_time();
        self.child.kill();
        let mut output = std::mem::take(&mut self.child.output);
        for (pipe, output) in output.iter_mut().zip(&mut self.output) {
            if let Some(pipe) = pipe {
                output.read(pipe);
            }
        }
        self.log_output(true);
        self.answer(end, None, time);
    }

    /// The child is at its end, for a reason that it has not told.
    pub fn end(&mut self, cause: Cause) {
        self.child.kill();
        for index in 0..self.output.len() {
            self.read_output(index);
        }
        self.log_output(true);
        self.out.clear();
        for surveyor in self.surveyors.drain(..) {
            surveyor.answer(Err(Fault::coded(ErrorClass::Error, &cause.message(), cause.code())));
        }
        let time = self.child.processor_time();
        let signal = match cause {
            Cause::Exited(Exit::Signal(signal)) => Some(signal),
            _ => None,
        };
        self.answer(cause.end(), signal, time);
    }

    fn answer(&mut self, end: End, signal: Option<i32>, time: Duration) {
        // Nothing more is read of it, and what was read takes memory.
        self.frames = Splitter::default();
        let State::Running(running) = std::mem::replace(&mut self.state, State::Ended) else { return };
        let cpu = time.saturating_sub(running.before);
        let layers = self.report.as_ref().map(Report::active).unwrap_or_default();
        running.answer(end, signal, cpu, &layers);
    }
}

/// A report as the surface gets it: name, whether it holds, and detail of each layer.
pub fn list_of(report: &Report) -> Value {
    let text = |text: &str| Value::String(Text::from(text));
    let layers = report.layers.iter();
    Value::List(
        layers.flat_map(|layer| [text(&layer.name), Value::Boolean(layer.active), text(&layer.detail)]).collect(),
    )
}

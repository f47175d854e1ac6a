//! One child as its parent sees it: which messages are valid when, and how it ends.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use isolated_v8_launcher::Report;

use super::arrivals::{Arrivals, Next};
use super::cause::Cause;
use super::commands::{Command, send};
use super::execution::{Execution, ProcessTemplate};
use super::frame::{End, Limits, Message, Order};
use super::intake::{Intake, Partial};
use super::outbox::Outbox;
use super::output::Output;
use super::running::{Retry, Running, Step};
use super::spawn::{self, Child, Exit};
use crate::value::{Completion, ErrorClass, Fault, Outcome, Text, Value};

/// Bytes that are read from one child before the others get their turn.
pub const TURN: usize = 256 << 10;
const PIECE: usize = 64 << 10;

/// How long after its deadline a child may still report the timeout itself, with its figures.
const EXIT_GRACE: Duration = Duration::from_millis(20);

/// How long a child may take to report its confinement.
const REPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a waiting child may stay silent after it was given an execution. It may be stopped, or busy with something that is not our code.
const BEGINNING: Duration = Duration::from_secs(1);

/// The interval at which the memory of a child is measured.
const INTERVAL: Duration = Duration::from_millis(100);

pub enum State {
    /// It has no execution yet.
    Warm,
    Running(Box<Running>),
    /// It was killed, or has ended.
    Ended,
}

/// They receive the report of a child.
#[derive(Default)]
pub struct ConfinementChecks {
    waiting: Vec<Arc<dyn Completion>>,
    /// Since when they have waited.
    since: Option<Instant>,
}

impl ConfinementChecks {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn take(&mut self) -> Vec<Arc<dyn Completion>> {
        std::mem::take(&mut self.waiting)
    }

    fn complete(&mut self, outcome: &Outcome) {
        for check in self.take() {
            check.complete(outcome.clone());
        }
    }
}

pub struct Process {
    pub number: u64,
    pub template: Arc<ProcessTemplate>,
    pub child: Child,
    pub state: State,
    pub since: Instant,
    pub report: Option<Report>,
    pub checks: ConfinementChecks,
    /// Only its report is needed.
    warm: bool,
    arrivals: Arrivals,
    out: Outbox,
    /// When it was last given an execution, or last showed progress since.
    last_activity: Instant,
    /// It has closed the connection. It will end, or be ended at its deadline.
    silent: bool,
    output: [Output; 2],
    /// When its memory was last measured.
    measured: Instant,
}

impl Process {
    /// A child that was just started.
    pub fn new(number: u64, template: Arc<ProcessTemplate>, child: Child) -> Self {
        let mut process = Self {
            number,
            child,
            template,
            state: State::Warm,
            since: Instant::now(),
            report: None,
            checks: ConfinementChecks::default(),
            warm: false,
            arrivals: Arrivals::default(),
            out: Outbox::default(),
            last_activity: Instant::now(),
            silent: false,
            output: Default::default(),
            measured: Instant::now(),
        };
        if let Some(snapshot) = &process.template.snapshot {
            process.out.push_snapshot(snapshot.sealed());
            process.flush();
        }
        process
    }

    /// It waits for an execution, or gets ready for one.
    pub fn is_warm(&self) -> bool {
        matches!(self.state, State::Warm)
    }

    /// It waits, but has closed the connection, and no check waits for it.
    pub fn is_useless(&self) -> bool {
        self.is_warm() && self.silent && self.checks.is_empty()
    }

    pub fn running(&self) -> Option<&Running> {
        match &self.state {
            State::Running(running) => Some(running),
            State::Warm | State::Ended => None,
        }
    }

    /// Nothing more is read from it until its host has room.
    pub fn is_stalled(&self) -> bool {
        self.running().is_some_and(Running::is_stalled)
    }

    pub fn is_silent(&self) -> bool {
        self.silent
    }

    /// Its last message is being decoded.
    pub fn is_decoding(&self) -> bool {
        matches!(self.state, State::Running(_)) && self.arrivals.is_decoding()
    }

    /// The message that is being received, if part of it has arrived.
    pub fn partial(&self) -> Option<Partial> {
        self.arrivals.partial(self.number)
    }

    /// Whether more may be read from it now.
    pub fn is_admitted(&self, intake: &Intake) -> bool {
        self.partial().is_none_or(|partial| intake.admits(&partial))
    }

    pub fn wants_to_write(&self) -> bool {
        !self.out.is_empty()
    }

    /// When this child next needs attention, even if nothing happens before.
    pub fn alarm(&self) -> Option<Instant> {
        let end = self.running().map(|running| running.deadline + EXIT_GRACE);
        end.into_iter().chain(self.report_limit()).chain(self.start_limit()).min()
    }

    /// When to measure its memory. No guest code is in a waiting child.
    pub fn next_measurement(&self) -> Option<Instant> {
        self.running().map(|_| self.measured + INTERVAL)
    }

    /// Ends it if it uses too much memory.
    pub fn measure(&mut self, now: Instant) {
        if self.next_measurement().is_some_and(|time| time <= now) {
            self.measured = now;
            if self.child.is_too_large() {
                self.end(Cause::Memory);
            }
        }
    }

    /// When another child gets the execution, because this one has not begun for too long.
    fn start_limit(&self) -> Option<Instant> {
        let time = if self.report.is_some() { BEGINNING } else { REPORT_TIMEOUT };
        self.running().filter(|running| running.is_unbegun()).map(|_| self.last_activity + time)
    }

    /// When the checks have waited too long for its report.
    fn report_limit(&self) -> Option<Instant> {
        self.checks.since.filter(|_| !self.checks.is_empty()).map(|since| since + REPORT_TIMEOUT)
    }

    /// Handles the limits that have passed. Returns the execution that another process must take over.
    pub fn expire(&mut self, now: Instant) -> Option<Retry> {
        // Its message may have just arrived.
        self.receive(false);
        let is_over = self.running().is_some_and(|running| running.deadline <= now);
        let is_silent = self.report_limit().is_some_and(|limit| limit <= now);
        let hesitates = is_silent || self.start_limit().is_some_and(|start_limit| start_limit <= now);
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

    /// The execution that another child takes over, if this one could not begin.
    pub fn retry(&mut self) -> Option<Retry> {
        let State::Running(running) = &mut self.state else { return None };
        if !running.is_unbegun() {
            return None;
        }
        let task = running.start.task.take()?;
        let State::Running(running) = std::mem::replace(&mut self.state, State::Ended) else { return None };
        self.child.kill();
        self.out.clear();
        let checks = self.checks.take();
        Some(running.retry((*self.template).clone(), task, checks))
    }

    /// Gives `completion` the child's report once it is there. Afterwards `wanted` children of its template must be ready.
    pub fn check_confinement(&mut self, wanted: usize, completion: Arc<dyn Completion>) {
        self.checks.waiting.push(completion);
        self.checks.since.get_or_insert_with(Instant::now);
        self.warm = wanted == 0;
    }

    /// Gives the child its one execution. `waited`: it was not started for that.
    pub fn run(&mut self, id: u64, execution: Execution, began: Instant, waited: bool) {
        self.state = State::Running(Box::new(Running::new(self.number, id, execution, began, waited)));
        // It is needed for more than its report now.
        self.warm = false;
        self.last_activity = Instant::now();
        if self.report.is_some() {
            self.begin();
        } else {
            // It gets no code before it has reported its confinement.
            self.send(Order::Awaited.encode());
        }
    }

    /// Sends the child its task, if it has one.
    fn begin(&mut self) {
        let State::Running(running) = &mut self.state else { return };
        let Some(task) = running.start.task.take() else { return };
        running.before = self.child.processor_time();
        let order = Order::Run(task);
        let frame = order.encode();
        if let Order::Run(task) = order
            && running.start.may_retry
        {
            running.start.task = Some(task);
        }
        self.last_activity = Instant::now();
        self.send(frame);
    }

    /// Sends the outcome of a call.
    pub fn answered(&mut self, frame: Vec<u8>) {
        let Some(running) = self.running() else { return };
        running.calls.taken(frame.len());
        if self.out.own() > running.memory {
            // It does not read the answers to its calls.
            self.end(Cause::Memory);
        } else {
            self.send(frame);
        }
    }

    /// Sends as much as the child takes now, and the rest when it takes more.
    fn send(&mut self, frame: Vec<u8>) {
        self.out.push(frame);
        self.flush();
    }

    pub fn flush(&mut self) {
        let Self { child, out, last_activity, .. } = self;
        let mut send = |bytes: &[u8]| {
            let count = spawn::send(&child.socket, bytes)?;
            *last_activity = Instant::now();
            Ok(count)
        };
        while let Err(error) = out.flush(&mut send) {
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return,
                // The end of the child will be noticed.
                _ => return out.clear(),
            }
        }
    }

    /// Reads what the child has sent. `last`: it has ended, so only what is there now is read. Processes that it has started may hold the
    /// connection and keep sending.
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
                    self.arrivals.push(&piece[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Handles the complete messages. False if nothing more may be read now.
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
                None => match self.arrivals.next(&limits, self.number, decoded) {
                    Next::Nothing => return true,
                    Next::Message(message) => message,
                    Next::Later => return false,
                    Next::Malformed => return self.violated("a malformed message"),
                    Next::Oversized => return self.violated("a message of more than it may have"),
                },
            };
            if !self.handle(message) {
                return false;
            }
        }
    }

    /// Handles the message that was being decoded.
    pub fn decoded(&mut self, message: Option<Message>) {
        if self.arrivals.decoded() {
            match message {
                Some(message) => self.handle(message),
                None => self.violated("a malformed message"),
            };
        }
    }

    fn violated(&mut self, what: &'static str) -> bool {
        self.end(Cause::Protocol(what));
        false
    }

    /// False if nothing more may be handled now.
    fn handle(&mut self, message: Message) -> bool {
        if let Message::Moved(process) = message {
            let followed = if self.report.is_none() { self.child.follow(process) } else { Ok(false) };
            match followed {
                Ok(true) => return true,
                Ok(false) => return self.violated("a process that is none of its own"),
                Err(error) => {
                    self.end(Cause::NoDescriptor(error.to_string()));
                    return false;
                }
            }
        }
        if let Message::Ready(mut report) = message {
            if self.report.is_some() {
                return self.violated("a second report");
            }
            self.child.add_layers(&mut report);
            self.checks.complete(&Ok(list_of(&report)));
            let missing = report.missing(&self.template.required);
            self.report = Some(report);
            self.last_activity = Instant::now();
            if let Some((layer, why)) = missing {
                self.end(Cause::Unconfined(layer, why));
            } else if self.warm {
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
        let had_begun = std::mem::replace(&mut running.start.begun, true);
        running.start.task = None;
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

    /// Reads what the child has written to its output.
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
            while let Some(line) = output.line(running.max_length(), last) {
                // These lines do not go to the listener.
                running.keep(level, line.encode_utf16().collect());
            }
        }
    }

    /// The guest has ended by itself.
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
        self.complete(end, None, time);
    }

    /// Ends the child, for a reason that it has not reported.
    pub fn end(&mut self, cause: Cause) {
        self.child.kill();
        for index in 0..self.output.len() {
            self.read_output(index);
        }
        self.log_output(true);
        self.out.clear();
        // If only its execution ends, another child reports (`Pool::check_again`).
        if !matches!(cause, Cause::Terminated | Cause::Deadline) {
            self.checks.complete(&Err(Fault::coded(ErrorClass::Error, &cause.message(), cause.code())));
        }
        let time = self.child.processor_time();
        let signal = match cause {
            Cause::Exited(Exit::Signal(signal)) => Some(signal),
            _ => None,
        };
        self.complete(cause.end(), signal, time);
    }

    fn complete(&mut self, end: End, signal: Option<i32>, time: Duration) {
        // Nothing more is read from it, and the bytes that were read take memory.
        self.arrivals = Arrivals::default();
        let State::Running(running) = std::mem::replace(&mut self.state, State::Ended) else { return };
        let cpu = time.saturating_sub(running.before);
        let layers = self.report.as_ref().map(Report::active).unwrap_or_default();
        running.complete(end, signal, cpu, &layers);
    }
}

fn decoded(number: u64, message: Option<Message>) {
    send(Command::Decoded(number, message));
}

/// A report in the form that the surface gets: the name of each layer, whether it holds, and its detail.
pub fn list_of(report: &Report) -> Value {
    let text = |text: &str| Value::String(Text::from(text));
    let layers = report.layers.iter();
    Value::List(
        layers.flat_map(|layer| [text(&layer.name), Value::Boolean(layer.active), text(&layer.detail)]).collect(),
    )
}

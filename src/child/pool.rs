//! All children, including those that wait for an execution.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::cause::Cause;
use super::execution::{Execution, ProcessTemplate};
use super::intake::Intake;
use super::process::{Process, State, TURN, list_of};
use super::running::{Retry, Running};
use super::spawn::{self, Child};
use super::spawner::Spawner;
use super::starting::{Order, Starting};
use crate::value::{Code, Completion, ErrorClass, Fault};

/// How long an execution runs before another child is started beside it.
const QUIET: Duration = Duration::from_millis(5);

/// How long an unused child is kept.
const KEEP_WARM: Duration = Duration::from_secs(60);

/// The maximum number of waiting children, of all templates.
const MAX_WARM: usize = 64;

/// The interval at which the pool checks whether groups have ended.
const LINGERING: Duration = Duration::from_millis(100);

pub struct Pool {
    pub processes: Vec<Process>,
    /// Children that are being started.
    starting: Vec<Starting>,
    /// Children that started too late, and were killed.
    unwanted: Vec<Child>,
    /// Groups whose child was reaped, but in which other processes have not ended.
    groups: Vec<libc::pid_t>,
    spawner: Spawner,
    /// Children to start: the template, how many must then be ready, and when to start them.
    wanted: Vec<(ProcessTemplate, usize, Instant)>,
}

/// The number of the next child. The threads that start children may outlive a pool.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Pool {
    pub fn new(spawner: Spawner) -> Self {
        let (processes, starting, unwanted) = (Vec::new(), Vec::new(), Vec::new());
        Self { processes, starting, unwanted, groups: Vec::new(), spawner, wanted: Vec::new() }
    }

    /// Children that were killed but not reaped.
    pub fn unwanted(&self) -> impl Iterator<Item = &Child> {
        self.unwanted.iter()
    }

    /// Determines which children to read from.
    pub fn intake(&self) -> Intake {
        let alive = self.processes.iter().filter(|process| !matches!(process.state, State::Ended));
        Intake::of(alive.filter_map(Process::partial), TURN)
    }

    pub fn of_number(&mut self, number: u64) -> Option<&mut Process> {
        self.processes.iter_mut().find(|process| process.number == number)
    }

    /// When the pool next has to act, even if nothing happens before.
    pub fn alarm(&self) -> Option<Instant> {
        let ends = self.waiting().map(|process| process.since + KEEP_WARM);
        let starts = self.starting.iter().map(Starting::alarm).chain(self.spawner.maintain(Instant::now()));
        let groups = self.groups.first().map(|_| Instant::now() + LINGERING);
        ends.chain(groups).chain(self.wanted.iter().map(|(_, _, time)| *time)).chain(starts).min()
    }

    /// Gives the execution to a child that is ready, or else to a new one. If a child died of the execution before it could begin, a new child gets it:
    /// the waiting ones may be dead too.
    pub fn run(&mut self, id: u64, execution: Execution, began: Instant) {
        let (template, wanted) = (execution.template.clone(), execution.pool);
        let waiting = if execution.again { None } else { self.warm(&template) };
        match waiting.and_then(|found| self.processes.get_mut(found)) {
            Some(process) => process.run(id, execution, began, true),
            None => {
                let again = execution.again;
                let (starting, waited) = self.starting(&template, !again);
                starting.order = Some(Order { id, execution: Box::new(execution), began, waited });
            }
        }
        self.want(template, wanted);
    }

    /// The index of a waiting child, preferably one that is ready.
    fn warm(&self, template: &ProcessTemplate) -> Option<usize> {
        let fits = |process: &Process| process.is_warm() && !process.is_silent() && process.template.serves(template);
        let ready = self.processes.iter().position(|process| fits(process) && process.report.is_some());
        ready.or_else(|| self.processes.iter().position(fits))
    }

    /// A child that is being started, and whether its start had already begun. If `any`, a child that is already starting and has no
    /// execution will do.
    fn starting(&mut self, template: &ProcessTemplate, any: bool) -> (&mut Starting, bool) {
        let found = if any { self.starting.iter().position(|starting| starting.is_free(template)) } else { None };
        let index = found.unwrap_or_else(|| self.start(Arc::new(template.clone())));
        (&mut self.starting[index], found.is_some())
    }

    /// Starts a child, and returns its index in `starting`.
    fn start(&mut self, template: Arc<ProcessTemplate>) -> usize {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.spawner.start(number, Arc::clone(&template));
        self.starting.push(Starting::new(number, template));
        self.starting.len() - 1
    }

    /// A child was started, or could not be.
    pub fn started(&mut self, number: u64, child: io::Result<Child>) {
        let found = self.starting.iter().position(|starting| starting.number == number);
        let found = found.map(|found| self.starting.remove(found));
        match (child, found) {
            (Ok(child), Some(Starting { template, order, checks, .. })) => {
                let mut process = Process::new(number, template, child);
                for (wanted, check) in checks {
                    process.check_confinement(wanted, check);
                }
                if let Some(Order { id, execution, began, waited }) = order {
                    process.run(id, *execution, began, waited);
                }
                self.processes.push(process);
            }
            // Too late. Its end is not waited for here.
            (Ok(child), None) => {
                child.kill();
                self.unwanted.push(child);
            }
            (Err(error), Some(mut starting)) => starting.refuse(&not_started(&starting.template, &error)),
            (Err(_), None) => {}
        }
    }

    /// Soon makes sure that `wanted` children of a template wait.
    fn want(&mut self, template: ProcessTemplate, wanted: usize) {
        self.wanted.retain(|(other, _, _)| *other != template);
        if wanted > 0 {
            self.wanted.push((template, wanted, Instant::now() + QUIET));
        }
    }

    fn fill(&mut self, template: &ProcessTemplate, wanted: usize) {
        let starting =
            self.starting.iter().filter(|starting| starting.is_to_wait() && starting.template.serves(template)).count();
        let here = self.waiting().filter(|process| process.template.serves(template)).count() + starting;
        let template = Arc::new(template.clone());
        for here in here..wanted.min(MAX_WARM) {
            if !self.make_room(&template, here) {
                break;
            }
            self.start(Arc::clone(&template));
        }
    }

    fn waiting(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(|process| process.is_warm())
    }

    /// Whether another child may wait beside `here` children of its template. If too many wait in total, ends the one that has waited longest
    /// among the templates with more waiting children. So every template has a share, and no template always takes the last child of another.
    fn make_room(&mut self, template: &ProcessTemplate, here: usize) -> bool {
        let starting = self.starting.iter().filter(|starting| starting.is_to_wait()).count();
        if self.waiting().count() + starting < MAX_WARM {
            return true;
        }
        let mut others: Vec<&Process> =
            self.waiting().filter(|process| process.checks.is_empty() && !process.template.serves(template)).collect();
        others.sort_by_key(|process| process.since);
        let are_more =
            |process: &&&Process| others.iter().filter(|other| other.template == process.template).count() > here;
        let displaced = others.iter().find(are_more).map(|process| process.number);
        let displaced = displaced.and_then(|number| self.of_number(number));
        displaced.map(|process| process.end(Cause::Terminated)).is_some()
    }

    /// Gives another child the execution that one has died of before it could begin.
    pub fn retry(&mut self, Retry { id, execution, began, checks }: Retry) {
        let (template, wanted) = (execution.template.clone(), execution.pool);
        self.run(id, execution, began);
        for check in checks {
            self.check_confinement(template.clone(), wanted, check);
        }
    }

    /// Ends the executions whose number and owner match.
    pub fn terminate(&mut self, which: impl Fn(u64, u64) -> bool) {
        let is_meant = |running: &Running| which(running.id, running.requester.owner);
        for process in &mut self.processes {
            if process.running().is_some_and(is_meant) {
                process.end(Cause::Terminated);
            }
        }
        self.starting.retain_mut(|starting| {
            let ended =
                starting.end_order(&Cause::Terminated, |order| which(order.id, order.execution.requester.owner));
            let stays = !ended || !starting.checks.is_empty();
            if !stays {
                self.spawner.forget(starting.number);
            }
            stays
        });
    }

    /// Answers with the confinement of a child of this template, as the child reports it.
    pub fn check_confinement(&mut self, template: ProcessTemplate, wanted: usize, completion: Arc<dyn Completion>) {
        match self.warm(&template).and_then(|found| self.processes.get_mut(found)) {
            Some(process) => match &process.report {
                Some(report) => completion.complete(Ok(list_of(report))),
                None => process.check_confinement(wanted, completion),
            },
            None => self.starting(&template, true).0.checks.push((wanted, completion)),
        }
        self.want(template, wanted);
    }

    /// Starts the children that are wanted, and ends those that have waited long enough.
    pub fn maintain(&mut self, now: Instant) {
        self.starting.retain_mut(|starting| {
            let stays = starting.expire(now);
            if !stays {
                self.spawner.forget(starting.number);
            }
            stays
        });
        let busy = self.processes.iter().any(|process| process.running().is_some())
            || self.starting.iter().any(|starting| !starting.is_to_wait());
        let due = |(_, _, time): &mut (ProcessTemplate, usize, Instant)| !busy || *time <= now;
        for (template, wanted, _) in self.wanted.extract_if(.., due).collect::<Vec<_>>() {
            self.fill(&template, wanted);
        }
        self.trim();
        for process in &mut self.processes {
            if process.is_useless() || (process.is_warm() && process.since + KEEP_WARM <= now) {
                process.end(Cause::Terminated);
            }
        }
        // Before the ends of the processes are seen.
        self.check_again();
    }

    /// If too many children wait, ends those that have waited longest. Children that were started only for their report wait afterwards, so
    /// this can happen.
    fn trim(&mut self) {
        let excess = self.waiting().count().saturating_sub(MAX_WARM);
        if excess == 0 {
            return;
        }
        let unasked = self.waiting().filter(|process| process.checks.is_empty());
        let mut oldest: Vec<_> = unasked.map(|process| (process.since, process.number)).collect();
        oldest.sort_unstable();
        for (_, number) in oldest.into_iter().take(excess) {
            if let Some(process) = self.of_number(number) {
                process.end(Cause::Terminated);
            }
        }
    }

    /// Asks other children for the reports that were expected of children whose execution was ended.
    fn check_again(&mut self) {
        let ended = |process: &&mut Process| matches!(process.state, State::Ended) && !process.checks.is_empty();
        let left = |process: &mut Process| (ProcessTemplate::clone(&process.template), process.checks.take());
        for (template, checks) in self.processes.iter_mut().filter(ended).map(left).collect::<Vec<_>>() {
            let checks = checks.into_iter().map(|check| (0, check));
            self.starting(&template, true).0.checks.extend(checks);
        }
    }

    /// Removes the children that have ended.
    pub fn remove_ended(&mut self) {
        self.check_again();
        let groups = &mut self.groups;
        let mut is_there = |child: &mut Child| {
            let is_there = child.reap().is_none();
            if !is_there {
                groups.push(child.group());
            }
            is_there
        };
        self.unwanted.retain_mut(&mut is_there);
        self.processes.retain_mut(|process| !matches!(process.state, State::Ended) || is_there(&mut process.child));
        groups.retain(|group| !spawn::has_ended(*group));
    }
}

fn not_started(template: &ProcessTemplate, error: &io::Error) -> Fault {
    let code = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Code::Unsupported,
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => Code::Unsupported,
        _ => Code::Limit,
    };
    let message = format!("No process can be started ({}): {error}", template.launcher.display());
    Fault::coded(ErrorClass::Error, &message, code)
}

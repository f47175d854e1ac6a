//! All children, those that wait for an execution included.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cause::Cause;
use super::execution::{Job, Sort};
use super::process::{Process, State, list_of};
use super::running::{Retry, Running};
use crate::value::{Answer, Code, ErrorClass, Fault};

/// How long an execution is left alone before another child is started beside it.
const QUIET: Duration = Duration::from_millis(5);

/// How long a child that nobody has asked for anything is kept.
const KEEP_WARM: Duration = Duration::from_secs(60);

/// Children of all sorts that may wait.
const MOST_WARM: usize = 64;

#[derive(Default)]
pub struct Pool {
    pub processes: Vec<Process>,
    /// Children that are to be started: of which sort, how many are to be ready then, and when at the latest.
    wanted: Vec<(Sort, usize, Instant)>,
    last: u64,
}

impl Pool {
    pub fn of_number(&mut self, number: u64) -> Option<&mut Process> {
        self.processes.iter_mut().find(|process| process.number == number)
    }

    /// When something is to be done here, whatever happens.
    pub fn alarm(&self) -> Option<Instant> {
        let ends = self.waiting().map(|process| process.since + KEEP_WARM);
        ends.chain(self.wanted.iter().map(|(_, _, time)| *time)).min()
    }

    /// Has a child do the job: one that is ready, or else a new one. What one has died of before it could begin has a new one do it: those
    /// that wait may be as dead.
    pub fn run(&mut self, id: u64, job: Job, began: Instant) {
        let (sort, wanted) = (job.sort.clone(), job.pool);
        let waiting = if job.again { None } else { self.warm(&sort) };
        let found = match waiting {
            Some(found) => Ok(found),
            None => self.start(Arc::new(sort.clone())),
        };
        match found {
            Ok(found) => {
                if let Some(process) = self.processes.get_mut(found) {
                    process.run(id, job, began, waiting.is_some());
                }
                self.want(sort, wanted);
            }
            Err(error) => job.answer.answer(Err(not_started(&sort, &error))),
        }
    }

    /// The place of a child that waits, rather one that is ready.
    fn warm(&self, sort: &Sort) -> Option<usize> {
        let fits = |process: &Process| process.is_warm() && !process.is_silent() && process.sort.serves(sort);
        let ready = self.processes.iter().position(|process| fits(process) && process.report.is_some());
        ready.or_else(|| self.processes.iter().position(fits))
    }

    fn start(&mut self, sort: Arc<Sort>) -> io::Result<usize> {
        self.last += 1;
        self.processes.push(Process::start(self.last, sort)?);
        Ok(self.processes.len() - 1)
    }

    /// Has `wanted` children of a sort wait, soon.
    fn want(&mut self, sort: Sort, wanted: usize) {
        self.wanted.retain(|(other, _, _)| *other != sort);
        if wanted > 0 {
            self.wanted.push((sort, wanted, Instant::now() + QUIET));
        }
    }

    fn fill(&mut self, sort: &Sort, wanted: usize) {
        let here = self.waiting().filter(|process| process.sort.serves(sort)).count();
        let sort = Arc::new(sort.clone());
        for here in here..wanted.min(MOST_WARM) {
            // One that cannot be had now may be had when it is needed.
            if !self.make_room(&sort, here) || self.start(Arc::clone(&sort)).is_err() {
                break;
            }
        }
    }

    fn waiting(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(|process| process.is_warm())
    }

    /// Whether another child may wait beside `here` of its sort. Where there are too many of all sorts, the one has to go that has waited
    /// the longest among those of which there are more: so every sort has a part, and none takes the last of another's each time.
    fn make_room(&mut self, sort: &Sort, here: usize) -> bool {
        if self.waiting().count() < MOST_WARM {
            return true;
        }
        let mut others: Vec<&Process> =
            self.waiting().filter(|process| process.surveyors.is_empty() && !process.sort.serves(sort)).collect();
        others.sort_by_key(|process| process.since);
        let are_more = |process: &&&Process| others.iter().filter(|other| other.sort == process.sort).count() > here;
        let displaced = others.iter().find(are_more).map(|process| process.number);
        let displaced = displaced.and_then(|number| self.of_number(number));
        displaced.map(|process| process.end(Cause::Terminated)).is_some()
    }

    /// Has another child do what one has died of before it could begin.
    pub fn retry(&mut self, Retry { id, job, began, surveyors }: Retry) {
        let (sort, wanted) = (job.sort.clone(), job.pool);
        self.run(id, job, began);
        for surveyor in surveyors {
            self.survey(sort.clone(), wanted, surveyor);
        }
    }

    pub fn terminate(&mut self, which: impl Fn(&Running) -> bool) {
        for process in &mut self.processes {
            if process.running().is_some_and(&which) {
                process.end(Cause::Terminated);
            }
        }
    }

    /// Tells what confines children of a sort, as one of them says.
    pub fn survey(&mut self, sort: Sort, wanted: usize, answer: Arc<dyn Answer>) {
        let found = match self.warm(&sort) {
            Some(found) => Ok(found),
            None => self.start(Arc::new(sort.clone())),
        };
        match found.map(|found| self.processes.get_mut(found)) {
            Ok(Some(process)) => match &process.report {
                Some(report) => answer.answer(Ok(list_of(report))),
                None => {
                    process.surveyors.push(answer);
                    process.asked.get_or_insert_with(Instant::now);
                    process.spare = wanted == 0;
                }
            },
            Ok(None) => {}
            Err(error) => answer.answer(Err(not_started(&sort, &error))),
        }
        self.want(sort, wanted);
    }

    /// Starts the children that are wanted, and lets those go that have waited long enough.
    pub fn tend(&mut self, now: Instant) {
        let busy = self.processes.iter().any(|process| process.running().is_some());
        let due = |(_, _, time): &mut (Sort, usize, Instant)| !busy || *time <= now;
        for (sort, wanted, _) in self.wanted.extract_if(.., due).collect::<Vec<_>>() {
            self.fill(&sort, wanted);
        }
        self.trim();
        for process in &mut self.processes {
            if process.is_useless() || (process.is_warm() && process.since + KEEP_WARM <= now) {
                process.end(Cause::Terminated);
            }
        }
    }

    /// Ends those that have waited the longest where too many wait: children that were started to be asked wait afterwards.
    fn trim(&mut self) {
        let excess = self.waiting().count().saturating_sub(MOST_WARM);
        if excess == 0 {
            return;
        }
        let unasked = self.waiting().filter(|process| process.surveyors.is_empty());
        let mut oldest: Vec<_> = unasked.map(|process| (process.since, process.number)).collect();
        oldest.sort_unstable();
        for (_, number) in oldest.into_iter().take(excess) {
            if let Some(process) = self.of_number(number) {
                process.end(Cause::Terminated);
            }
        }
    }

    /// Forgets the children that are gone.
    pub fn bury(&mut self) {
        self.processes.retain_mut(|process| !matches!(process.state, State::Ended) || process.child.reap().is_none());
    }
}

fn not_started(sort: &Sort, error: &io::Error) -> Fault {
    let code = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Code::Unsupported,
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => Code::Unsupported,
        _ => Code::Limit,
    };
    let message = format!("No process can be started ({}): {error}", sort.launcher.display());
    Fault::coded(ErrorClass::Error, &message, code)
}

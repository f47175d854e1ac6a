//! How a guest waits on its thread: for a reply, while it serves sync calls to its isolate.

use std::rc::Rc;

use super::job_execution;
use super::sessions::drain;
use crate::isolate::guest::Guest;
use crate::isolate::job::{IsolateScope, Job, Limits};
use crate::isolate::remote::Remote;
use crate::isolate::remote::running_jobs::Paused;
use crate::native::ticks::Reading;
use crate::value::{Awaited, Fault};

impl Guest {
    /// Runs `job` nested in the running job.
    pub fn run_nested(self: &Rc<Self>, scope: &mut IsolateScope<'_, '_>, job: Job) -> Result<(), Fault> {
        let remote = self.remote()?;
        job_execution::run(scope, self, &remote, job);
        Ok(())
    }

    /// Runs `work` as a part of the running job, under `limits` in addition to those of the job. `work` returns `None` if it was stopped. An
    /// error if one of `limits` has expired, or if the job has to stop.
    pub fn run_limited<'s, 'i, T>(
        self: &Rc<Self>,
        scope: &mut v8::PinScope<'s, 'i>,
        limits: Limits,
        work: impl FnOnce(&mut v8::PinScope<'s, 'i>) -> Option<T>,
    ) -> Result<T, Fault> {
        job_execution::run_limited(scope, self, &self.remote()?, limits, work)
    }

    /// Runs `job` nested in one that waits, for a `host` or not, and has `paused` timeouts. They stay paused if a host waits for the job: it spends its
    /// own time. Otherwise they must end the job, because the waiting one cannot continue before.
    #[cold]
    fn serve(
        self: &Rc<Self>,
        scope: &mut IsolateScope<'_, '_>,
        job: Job,
        host: bool,
        paused: &mut Paused,
    ) -> Result<(), Fault> {
        if job.chain.is_awaited() {
            return self.run_nested(scope, job);
        }
        self.with_remote(|remote| remote.running_jobs.resume(paused, &mut Reading::default()))?;
        self.run_nested(scope, job)?;
        *paused = self.with_remote(|remote| remote.running_jobs.pause(host, &mut Reading::default()))?;
        Ok(())
    }

    /// Waits on this thread until `reply` is answered. Serves sync calls to this isolate meanwhile. Timeouts are paused if the guest waits
    /// for a `host`. If it waits for another guest, they are not.
    pub fn wait<R: Awaited>(
        self: &Rc<Self>,
        scope: &mut IsolateScope<'_, '_>,
        reply: &R,
        host: bool,
    ) -> Result<R::Answer, Fault> {
        self.with_remote(|remote| self.wait_in(scope, remote, reply, host))?
    }

    /// The same in this isolate, `remote`.
    #[inline(always)]
    pub fn wait_in<R: Awaited>(
        self: &Rc<Self>,
        scope: &mut IsolateScope<'_, '_>,
        remote: &Remote,
        reply: &R,
        host: bool,
    ) -> Result<R::Answer, Fault> {
        let mut reading = Reading::default();
        let mut paused = remote.running_jobs.pause(host, &mut reading);
        let outcome = loop {
            let version = remote.mailbox.version();
            // First: an answer may have come, and a stopped guest must not continue with it.
            if remote.is_stopping() {
                reply.give_up();
                self.terminate(scope);
                break Err(Fault::Stopped);
            }
            if let Some(answer) = reply.take() {
                break answer;
            }
            if self.has_agent() {
                reading.forget();
                drain(self);
            }
            match remote.mailbox.take_call() {
                Some(job) => {
                    reading.forget();
                    if let Err(fault) = self.serve(scope, job, host, &mut paused) {
                        reply.give_up();
                        break Err(fault);
                    }
                }
                None if remote.spin(version) => reading.forget(),
                None => {
                    // The thread is about to sleep, so there is time for this. A thread of a host has other work.
                    if !remote.execution.caller.is_entered() {
                        reading.forget();
                        remote.check_memory(scope);
                    }
                    remote.sleep(version, &mut reading);
                }
            }
        };
        remote.running_jobs.resume(&paused, &mut reading);
        outcome
    }
}

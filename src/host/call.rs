//! The functions that the host's surface calls, and how its thread waits.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::environment::{Environment, Next};
use super::js::{Js, JsResult, JsValue, Refused};
use super::{carrier, execution};
use crate::isolate::caller_thread::{self, Progress};
use crate::isolate::{Kind, Limits, Remote, Settings};
use crate::ops::{self, Caller, Prepared};
use crate::protocol::{limit, mode, wanted};
use crate::sandbox::{self, ContextGlobals};
use crate::value::{Chain, Charge, Completion, Fault, Handle, Outcome, Owner, Reply, Value, spin};

/// Most calls are answered within this time; sleeping and waking takes longer than they do.
const SPIN: Duration = Duration::from_micros(50);

/// How often a waiting thread checks whether its environment is being terminated.
const CHECK: Duration = Duration::from_millis(100);

/// When it checks that next, at the latest.
#[derive(Default)]
struct NextCheck(Option<Instant>);

impl NextCheck {
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.0.is_some_and(|next| next <= now);
        if is_due || self.0.is_none() {
            self.0 = Some(now + CHECK);
        }
        is_due
    }
}

/// `invoke(op, mode, request, handle, ...args)`.
pub fn invoke<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [op, mode, request, handle, rest @ ..] = args else { return Err(Refused) };
    let op = js.read_number(*op)? as u32;
    let mode = js.read_number(*mode)? as u32;
    let request = js.read_number(*request)? as i64;
    let target = environment.handle(js.read_number(*handle)? as usize);
    let mut values = Vec::with_capacity(rest.len());
    for carrier in rest {
        match carrier::read(js, environment, *carrier)? {
            Ok(value) => values.push(value),
            Err(fault) => return finish(js, environment, mode, request, Prepared::from(fault)),
        }
    }
    let prepared = ops::prepare(op, target, values, &HostCaller { js, environment });
    finish(js, environment, mode, request, prepared)
}

struct HostCaller<'a> {
    js: Js<'a>,
    environment: &'static Environment,
}

impl Caller for HostCaller<'_> {
    fn settings(&self) -> &Settings {
        &self.environment.settings
    }

    fn handle(&self, id: usize) -> Option<Value> {
        self.environment.handle(id)
    }

    fn disposes(&self, remote: &Arc<Remote>) {
        self.environment.keep_alive_until_gone(self.js, remote);
        if self.environment.handle.has_streams() {
            self.environment.handle.with_streams(|streams| streams.dispose(remote.id()));
        }
    }

    fn owns(&self, remote: &Arc<Remote>) {
        self.environment.handle.add_isolate(remote);
    }
}

fn finish<'a>(
    js: Js<'a>,
    environment: &'static Environment,
    mode: u32,
    request: i64,
    prepared: Prepared,
) -> JsResult<JsValue<'a>> {
    match mode {
        mode::SYNC => {
            let origin = prepared.remote();
            let outer = if environment.context.chain.borrow().is_some() {
                environment.context.waiting.get()
            } else {
                Limits::default()
            };
            // A deadline includes everything that its call waits for. A timeout stands still while the host runs.
            let prepared = prepared.within(Limits { timeout: None, ..outer });
            // What is read meanwhile gets no wider limits.
            let limits = prepared.limits().within(outer);
            environment.context.limits.set(limits);
            // Calls that are made meanwhile leave their own limits in `environment.context.limits`.
            let before = environment.context.waiting.replace(limits);
            let outcome = wait(js, environment, &origin, prepared);
            environment.context.waiting.set(before);
            environment.context.limits.set(limits);
            let promise = matches!(outcome, Ok(Value::Promise(_)));
            let carrier = write_result(js, environment, outcome);
            environment.returned(js, &origin, promise);
            carrier
        }
        mode::ASYNC => {
            let completion = environment.limited_completion(js, request, prepared.remote(), prepared.limits());
            environment.call_later(js, prepared, Chain::of_request(request), completion);
            js.undefined()
        }
        // Its outcome is dropped, unless it could not begin. It keeps the event loop alive nevertheless.
        _ => match prepared {
            Prepared::Done(Err(fault)) => carrier::write(js, environment, Err(fault)),
            prepared => {
                let completion = environment.drain(js, prepared.remote());
                prepared.dispatch(Kind::Task, Chain::default(), Charge::default(), completion);
                js.undefined()
            }
        },
    }
}

/// Writes the carrier of a sync call's outcome, which is read at once.
fn write_result<'a>(js: Js<'a>, environment: &Environment, outcome: Outcome) -> JsResult<JsValue<'a>> {
    if let Ok(Value::Payload(payload)) = &outcome
        && payload.table.is_empty()
        && let Some(carrier) = environment.arena.outcome(js, &payload.bytes)?
    {
        return Ok(carrier);
    }
    let before = environment.context.current.take();
    let carrier = carrier::write_or_refuse(js, environment, outcome);
    environment.context.current.set(before);
    environment.context.retained.take();
    carrier
}

/// Waits for the outcome on this thread, and serves the callee's requests meanwhile.
fn wait(js: Js<'_>, environment: &'static Environment, callee: &Weak<Remote>, prepared: Prepared) -> Outcome {
    if let Prepared::Done(outcome) = prepared {
        return outcome;
    }
    let host_id = Owner::id(&*environment.handle);
    let inherited = environment.context.chain.borrow().clone();
    let outermost = inherited.is_none();
    let chain = inherited.or_else(|| environment.context.spare_chain.take()).unwrap_or_else(|| Chain::rooted(host_id));
    let spare = environment.context.spare_reply.take();
    let mut completion = spare.unwrap_or_else(|| Reply::new(Arc::downgrade(&environment.handle)));
    let outer = environment.context.chain.replace(Some(chain.clone()));
    let receiver = Arc::clone(&completion) as Arc<dyn Completion>;
    let host = Arc::as_ptr(&environment.handle).cast();
    let before = caller_thread::begun();
    let may_enter = caller_thread::is_wanted() && prepared.ends_with_host();
    if let Some(prepared) = if may_enter { prepared.begin_on_caller(host, &chain, &receiver) } else { Some(prepared) } {
        prepared.dispatch(Kind::Call, chain.clone(), Charge::default(), Arc::clone(&receiver));
    }
    let abort = || match callee.upgrade() {
        Some(remote) => remote.abort(&receiver),
        None => receiver.complete(Err(Fault::aborted())),
    };
    if outermost {
        environment.context.interrupted.set(false);
    }
    let (mut stopped, mut next_check) = (false, NextCheck::default());
    let outcome = loop {
        let version = environment.handle.version();
        if let Some(outcome) = completion.take() {
            break outcome;
        }
        // All calls that wait on this stack end, the innermost first.
        if environment.context.interrupted.get() && !std::mem::replace(&mut stopped, true) {
            abort();
            environment.reply_to_interrupted(js);
            continue;
        }
        if let Some((requester, direct)) = caller_thread::DirectCaller::find(host_id) {
            environment.serve_now(js, Next::Direct(requester, direct));
            continue;
        }
        if let Some(request) = environment.handle.take_call() {
            environment.serve_now(js, Next::Request(request));
            continue;
        }
        let looks_now = match caller_thread::resume() {
            Progress::Resumed => false,
            Progress::Pulsed => true,
            Progress::None => {
                !spin(SPIN, || environment.handle.version() != version) && !environment.handle.park(version, CHECK)
            }
        };
        // Guests that wait may be woken again and again.
        if looks_now || next_check.is_due() {
            environment.note_interruption(js);
        }
    };
    environment.reply_to_interrupted(js);
    // If one was stopped, its call was answered before its guest has returned.
    caller_thread::unwind(before);
    *environment.context.chain.borrow_mut() = outer;
    drop(receiver);
    // Otherwise something else may still look at it, such as the alarm of a deadline, or a guest that was abandoned.
    if let Some(reply) = Arc::get_mut(&mut completion) {
        reply.reset();
        environment.context.spare_reply.set(Some(completion));
    }
    if outermost {
        if chain.is_sole() {
            environment.context.spare_chain.set(Some(chain));
        } else {
            environment.handle.end_chain(&chain);
        }
    }
    outcome
}

/// `installGlobals(mode, request, context, globals)`: installs globals of sandboxes in a context, as `CONTEXT_GLOBALS` declares them. The
/// outcome is a reference to a list of functions for the library's code in the context, see `sandbox::install`.
pub fn install_globals<'a>(
    js: Js<'a>,
    environment: &'static Environment,
    args: &[JsValue<'a>],
) -> JsResult<JsValue<'a>> {
    let [mode, request, context, record, ..] = args else { return Err(Refused) };
    let mode = js.read_number(*mode)? as u32;
    let request = js.read_number(*request)? as i64;
    let Some(Value::Handle(Handle::Context(context))) = environment.handle(js.read_number(*context)? as usize) else {
        return Err(Refused);
    };
    let globals = ContextGlobals::read(execution::read(js, environment, *record, &[])?).map_err(|_| Refused)?;
    finish(js, environment, mode, request, sandbox::install(&context, globals))
}

/// `runAsActor(request, context, begin, code, file, timeout, deadline, …arguments)`: runs a script, named `file` in stacks, for the actor that
/// the function behind the reference `begin` creates from the arguments. A clone of the script's last value settles `request`.
pub fn run_as_actor<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, context, begin, code, file, timeout, deadline, rest @ ..] = args else { return Err(Refused) };
    let request = js.read_number(*request)? as i64;
    let context = environment.handle(js.read_number(*context)? as usize);
    let begin = environment.handle(js.read_number(*begin)? as usize);
    let (code, file) = (carrier::read(js, environment, *code)?, carrier::read(js, environment, *file)?);
    let limits = [*timeout, *deadline].map(|limit| js.read_number(limit).map(ops::milliseconds));
    let [timeout, deadline] = limits;
    let limits = Limits::new(timeout?, deadline?);
    let (
        Some(Value::Handle(Handle::Context(context))),
        Some(Value::Handle(Handle::Reference(begin))),
        Ok(Value::String(code)),
        Ok(Value::String(file)),
    ) = (context, begin, code, file)
    else {
        return Err(Refused);
    };
    let mut arguments = Vec::with_capacity(rest.len());
    for carrier in rest {
        match carrier::read(js, environment, *carrier)? {
            Ok(value) => arguments.push(value),
            Err(fault) => return finish(js, environment, mode::ASYNC, request, Prepared::from(fault)),
        }
    }
    let script = sandbox::ActorScript { begin, arguments, code, file, limits };
    finish(js, environment, mode::ASYNC, request, sandbox::run_as_actor(&context, script))
}

/// `adoptModule(request, context, code, file, timeout, deadline)`: settles `request` with the specifier by which the code, named `file` in stacks,
/// is imported, if it is a module.
pub fn adopt<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, context, code, file, timeout, deadline, ..] = args else { return Err(Refused) };
    let request = js.read_number(*request)? as i64;
    let context = environment.handle(js.read_number(*context)? as usize);
    let (code, file) = (carrier::read(js, environment, *code)?, carrier::read(js, environment, *file)?);
    let [timeout, deadline] = [*timeout, *deadline].map(|limit| js.read_number(limit).map(ops::milliseconds));
    let limits = Limits::new(timeout?, deadline?);
    let (Some(Value::Handle(Handle::Context(context))), Ok(Value::String(code)), Ok(Value::String(file))) =
        (context, code, file)
    else {
        return Err(Refused);
    };
    finish(js, environment, mode::ASYNC, request, sandbox::adopt(&context, code, file, limits))
}

/// `abort(request)`: aborts a call whose number has the bit `ABORTABLE`, or the promise that resulted from it.
pub fn abort<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, ..] = args else { return Err(Refused) };
    environment.abort(js.read_number(*request)? as i64);
    js.undefined()
}

/// `keepContext(request)`: keeps the async context of the caller for a call that begins.
pub fn keep_context<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, ..] = args else { return Err(Refused) };
    environment.context.async_contexts.begin(js, js.read_number(*request)? as i64)?;
    js.undefined()
}

/// `dropContext(request)`: the call has settled.
pub fn drop_context<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [request, ..] = args else { return Err(Refused) };
    environment.context.async_contexts.end(js, js.read_number(*request)? as i64);
    js.undefined()
}

/// `release(handle)`: the surface no longer has a wrapper for the handle.
pub fn release<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [handle, ..] = args else { return Err(Refused) };
    environment.release(js.read_number(*handle)? as usize);
    js.undefined()
}

/// `disowned()`: the slots of the surface's table that are no longer held. Each is returned once.
pub fn disowned<'a>(js: Js<'a>, environment: &'static Environment, _args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let disowned = environment.handle.disowned.take();
    let slots: Result<Vec<_>, _> = disowned.into_iter().map(|slot| js.number(f64::from(slot))).collect();
    js.array(&slots?)
}

/// `pause()`: the surface reads, in several turns, the value that it was just given. Events of the same isolate wait until it calls
/// `resume` with the number that this returns.
pub fn pause<'a>(js: Js<'a>, environment: &'static Environment, _args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    js.number(environment.pause() as f64)
}

/// `wanted(number)`: whether the value that is being read is still wanted, as one of `WANTED`.
pub fn is_wanted<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [number, ..] = args else { return Err(Refused) };
    let id = js.read_number(*number)? as u64;
    js.number(f64::from(match environment.is_wanted(js, id) {
        false => wanted::NO,
        true if environment.handle.with_streams(|streams| streams.is_disposed(id)) => wanted::DISPOSED,
        true => wanted::YES,
    }))
}

/// `resume(number)`: the value was read.
pub fn resume<'a>(js: Js<'a>, environment: &'static Environment, args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let [number, ..] = args else { return Err(Refused) };
    environment.handle.end_reading(js.read_number(*number)? as u64);
    js.undefined()
}

/// `limits()`: milliseconds until the deadline of the call whose outcome was just given to the surface, or that waits while a request is
/// served, and the call's `timeout`; infinite if it has none.
pub fn limits<'a>(js: Js<'a>, environment: &'static Environment, _args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    let Limits { timeout, deadline } = environment.context.limits.get();
    let milliseconds = |time: Option<Duration>| time.map_or(f64::INFINITY, |time| time.as_secs_f64() * 1_000.0);
    let left = deadline.map(|deadline| deadline.time.saturating_duration_since(Instant::now()));
    let mut limits = [0.0; limit::ALL.len()];
    limits[limit::LEFT as usize] = milliseconds(left);
    limits[limit::TIMEOUT as usize] = milliseconds(timeout);
    js.array(&limits.map(|limit| js.number(limit)).into_iter().collect::<Result<Vec<_>, _>>()?)
}

/// `drain()`: handles the events that were left for another turn.
pub fn drain<'a>(js: Js<'a>, environment: &'static Environment, _args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    environment.handle_events(js);
    js.undefined()
}

/// `serveNext()`: see [`Environment::serve_next`].
pub fn serve_next<'a>(js: Js<'a>, environment: &'static Environment, _args: &[JsValue<'a>]) -> JsResult<JsValue<'a>> {
    environment.serve_next(js);
    js.undefined()
}

/// `flushWakeUps()`: wakes the sleeping isolates that were called in this turn.
pub fn flush_wake_ups<'a>(
    js: Js<'a>,
    environment: &'static Environment,
    _args: &[JsValue<'a>],
) -> JsResult<JsValue<'a>> {
    environment.flush_wake_ups();
    js.undefined()
}

/// Values are moved several times on their way; a larger variant should be boxed.
const _: () = assert!(std::mem::size_of::<Value>() <= 32);

//! Calls of a host on whose thread the guest runs, with primitives only. They need no request: the guest waits at once, and the host looks at
//! what it asks. Every call of a function of a host comes here first.

use std::rc::Rc;

use crate::convert;
use crate::isolate::suspension::{self, RunningGuest};
use crate::isolate::{Guest, address_of, async_context};
use crate::ops::op;
use crate::protocol::{APPLY_HEAD, INVOKE_HEAD};
use crate::value::{DirectCall, Fault, Outcome, Slot, Value};

type Args<'s> = v8::FunctionCallbackArguments<'s>;
type Results<'s> = v8::ReturnValue<'s, v8::Value>;

/// How a call ended.
pub enum Called {
    /// Its result was returned to the guest.
    Returned,
    Ended(Outcome),
    /// It must be sent.
    Unsent,
}

/// Calls the function of a host that `args` has as data.
#[inline(always)]
pub fn call(scope: &mut v8::PinScope<'_, '_>, args: &Args<'_>, results: &mut Results<'_>) -> Called {
    let Some(id) = number(args.data()) else { return Called::Unsent };
    Call { op: op::CALL, id, args, results }.start(scope)
}

/// Index of the handle among the arguments of `invoke`, and of the first argument of the operation.
const HANDLE: i32 = FIRST - 1;
const FIRST: i32 = INVOKE_HEAD as i32;
/// Index of the receiver, and of the first argument of the application.
const RECEIVER: i32 = APPLIED - 1;
const APPLIED: i32 = FIRST + APPLY_HEAD as i32;

/// Applies the Reference of a host that is the handle among the arguments of `invoke`.
#[inline(always)]
pub fn apply(scope: &mut v8::PinScope<'_, '_>, args: &Args<'_>, results: &mut Results<'_>) -> Called {
    let Some(id) = number(args.get(HANDLE)) else { return Called::Unsent };
    Call { op: op::REF_APPLY, id, args, results }.start(scope)
}

fn number(value: v8::Local<'_, v8::Value>) -> Option<usize> {
    v8::Local::<v8::Number>::try_from(value).ok().map(|number| number.value() as usize)
}

/// A call as V8 passes it.
struct Call<'a, 's, 'r> {
    op: u32,
    /// By which the guest knows the function, or the Reference.
    id: usize,
    args: &'a Args<'s>,
    results: &'a mut Results<'r>,
}

impl Call<'_, '_, '_> {
    #[inline(always)]
    fn start(self, scope: &mut v8::PinScope<'_, '_>) -> Called {
        let Some(RunningGuest { fiber, guest, remote }) = suspension::running_guest(address_of(scope), self.args)
        else {
            return Called::Unsent;
        };
        // Before the arguments, which take long to read.
        if remote.is_stopping() {
            guest.terminate(scope);
            return Called::Ended(Err(Fault::Stopped));
        }
        guest.handles.collect_references(scope, &remote.accounts.references);
        let mut shared = guest.take_direct_call();
        let is_read = Rc::get_mut(&mut shared).is_some_and(|direct| {
            (direct.op, direct.requester, direct.shows_stacks) = (self.op, remote.id(), remote.settings.host_stacks);
            direct.request = async_context::current(scope);
            self.read(scope, guest, direct).is_some()
        });
        // While the guest waits, the host reads the number of the slot before it runs anything that could release it.
        let call_of = |slot: &Slot| {
            let Some(host) = slot.owner().host() else { return false };
            let Some(direct) = Rc::get_mut(&mut shared) else { return false };
            (direct.host, direct.slot) = (host.id(), slot.index());
            guest.is_answered_on_this_thread(host) && fiber.call_directly(&shared)
        };
        let is_called = is_read
            && match self.op {
                op::REF_APPLY => guest.handles.with_foreign_reference(self.id, call_of),
                _ => guest.handles.with_sync_function(self.id, call_of),
            }
            .unwrap_or(false);
        let mut called = Called::Unsent;
        if is_called {
            let answer = guest.wait_in(scope, remote, &*shared, true);
            if !shared.is_refused() {
                remote.accounts.meter.called_host();
                called = match answer {
                    Ok(Value::Number(number)) => {
                        self.results.set_double(number);
                        Called::Returned
                    }
                    Ok(value) => self.give(scope, &shared, value),
                    Err(fault) => Called::Ended(Err(fault)),
                };
            }
        }
        guest.keep_direct_call(shared);
        called
    }

    /// Returns the result to the guest, if it is a primitive.
    #[inline(always)]
    fn give(self, scope: &v8::PinScope<'_, '_>, direct: &DirectCall, value: Value) -> Called {
        match convert::primitive_to_v8(scope, &value) {
            Some(Ok(primitive)) => {
                self.results.set(primitive);
                direct.keep_result(value);
                Called::Returned
            }
            _ => Called::Ended(Ok(value)),
        }
    }

    /// `None` if there is anything but primitives, or too much.
    fn read(&self, scope: &mut v8::PinScope<'_, '_>, guest: &Guest, direct: &mut DirectCall) -> Option<()> {
        let mut bytes = 0_usize;
        let mut read = |direct: &DirectCall, index| {
            let memory = || direct.argument_memory.take();
            let value = convert::primitive_into(scope, self.args.get(index), guest.max_outside, memory).ok()??;
            if matches!(value, Value::String(_) | Value::BigInt(_)) {
                bytes = bytes.saturating_add(value.byte_size());
            }
            Some(value)
        };
        let first = if self.op == op::REF_APPLY {
            direct.bits = number(self.args.get(FIRST))? as u32;
            // Mostly undefined, as is an argument that is not given.
            if !self.args.get(RECEIVER).is_undefined() {
                direct.receiver = Some(read(direct, RECEIVER)?);
            }
            APPLIED
        } else {
            0
        };
        usize::try_from((self.args.length() - first).max(0)).ok().filter(|count| *count <= DirectCall::MAX_ARGS)?;
        for index in first..self.args.length() {
            if let Ok(number) = v8::Local::<v8::Number>::try_from(self.args.get(index)) {
                // Written where it stays. To move what was just written in parts takes processors long.
                direct.args.push(Value::Number(number.value()));
                continue;
            }
            let value = read(direct, index)?;
            direct.args.push(value);
        }
        (bytes <= guest.max_outside).then_some(())
    }
}

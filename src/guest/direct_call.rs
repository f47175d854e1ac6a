//! Calls of a host on whose thread the guest runs, with small values. They need no request: the guest waits at once, and the host looks at
//! what it asks. Every call of a function of a host comes here first.

use std::cell::Cell;
use std::mem;
use std::rc::Rc;

use super::outgoing::Arguments;
use crate::convert;
use crate::isolate::suspension::{self, RunningGuest};
use crate::isolate::{Guest, GuestRealm, Realm, address_of, async_context};
use crate::ops::{self, Transfer, op};
use crate::protocol::{APPLY_HEAD, INVOKE_HEAD, MAX_OUTCOME};
use crate::value::{DirectCall, Fault, Outcome, Slot, Value};

type Args<'s> = v8::FunctionCallbackArguments<'s>;
type Results<'s> = v8::ReturnValue<'s, v8::Value>;

/// How a call ended.
pub enum Called {
    /// Its result was returned to the guest.
    Returned,
    Ended(Outcome),
    /// It must be sent. These arguments were read already: reading them again would run getters of the guest again.
    Unsent(Option<Arguments>),
}

impl Called {
    const UNREAD: Self = Self::Unsent(None);
}

/// Calls the function of a host that `args` has as data.
#[inline(always)]
pub fn call<'s>(scope: &mut v8::PinScope<'s, '_>, args: &Args<'s>, results: &mut Results<'_>) -> Called {
    let Some(id) = number(args.data()) else { return Called::UNREAD };
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
pub fn apply<'s>(scope: &mut v8::PinScope<'s, '_>, args: &Args<'s>, results: &mut Results<'_>) -> Called {
    let Some(id) = number(args.get(HANDLE)) else { return Called::UNREAD };
    Call { op: op::REF_APPLY, id, args, results }.start(scope)
}

fn number(value: v8::Local<'_, v8::Value>) -> Option<usize> {
    v8::Local::<v8::Number>::try_from(value).ok().map(|number| number.value() as usize)
}

/// Whether a host reads such an object without a request. Rows of a table need one.
fn is_small(value: &Value) -> bool {
    matches!(value, Value::Payload(payload) if payload.table.is_empty() && payload.bytes.len() <= MAX_OUTCOME as usize)
}

/// A short list of primitives, which can be read again.
#[inline(never)]
fn short_list(
    scope: &mut v8::PinScope<'_, '_>,
    guest: &Guest,
    direct: &DirectCall,
    value: v8::Local<'_, v8::Value>,
) -> Option<Value> {
    let realm = Realm::current(scope, guest).ok()?;
    let mut payload = direct.argument_payload.take().unwrap_or_default();
    match convert::short_list_into(scope, &realm.plain_lists, value, &mut payload) {
        Some(()) => Some(Value::Payload(payload)),
        None => {
            direct.argument_payload.set(Some(payload));
            None
        }
    }
}

/// A call as V8 passes it.
struct Call<'a, 's, 'r> {
    op: u32,
    /// By which the guest knows the function, or the Reference.
    id: usize,
    args: &'a Args<'s>,
    results: &'a mut Results<'r>,
}

impl<'s> Call<'_, 's, '_> {
    #[inline(always)]
    fn start(self, scope: &mut v8::PinScope<'s, '_>) -> Called {
        let Some(RunningGuest { fiber, guest, remote }) = suspension::running_guest(address_of(scope), self.args)
        else {
            return Called::UNREAD;
        };
        // Before the arguments, which take long to read.
        if remote.is_stopping() {
            guest.terminate(scope);
            return Called::Ended(Err(Fault::Stopped));
        }
        guest.handles.collect_references(scope, &remote.accounts.references);
        let mut shared = guest.take_direct_call();
        let mut begun = None;
        let read = Rc::get_mut(&mut shared).map_or(Ok(false), |direct| {
            (direct.op, direct.requester, direct.shows_stacks) = (self.op, remote.id(), remote.settings.host_stacks);
            direct.request = async_context::current(scope);
            self.read(scope, guest, direct, &mut begun)
        });
        let is_read = match read {
            Ok(is_read) => is_read,
            Err(fault) => {
                guest.keep_direct_call(shared);
                return Called::Ended(Err(fault));
            }
        };
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
        if is_called {
            let answer = guest.wait_in(scope, remote, &*shared, true);
            if !shared.is_refused() {
                remote.accounts.meter.called_host();
                let called = match answer {
                    Ok(Value::Number(number)) => {
                        self.results.set_double(number);
                        Called::Returned
                    }
                    Ok(value) => self.give(scope, guest, &shared, value),
                    Err(fault) => Called::Ended(Err(fault)),
                };
                guest.keep_direct_call(shared);
                return called;
            }
        }
        if let Some(begun) = &mut begun {
            begun.values = match Rc::get_mut(&mut shared) {
                Some(direct) => mem::take(&mut direct.args),
                None => shared.args.clone(),
            };
        }
        guest.keep_direct_call(shared);
        Called::Unsent(begun)
    }

    /// Returns the result to the guest, if it is a primitive, or a small value that a function has returned. The surface, which applies References,
    /// expects a carrier of everything that is no primitive.
    #[inline(always)]
    fn give(self, scope: &v8::PinScope<'_, '_>, guest: &Guest, direct: &DirectCall, value: Value) -> Called {
        let given = match &value {
            Value::Payload(payload) if self.op == op::CALL => {
                convert::plain_to_v8(scope, guest.known_names(), payload).map(Ok)
            }
            value => convert::primitive_to_v8(scope, value),
        };
        match given {
            Some(Ok(given)) => {
                self.results.set(given);
                direct.keep_result(value);
                Called::Returned
            }
            _ => Called::Ended(Ok(value)),
        }
    }

    /// False if there is anything that needs a request. `begun` is set once an argument was read that must not be read twice.
    fn read(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        guest: &Guest,
        direct: &mut DirectCall,
        begun: &mut Option<Arguments>,
    ) -> Result<bool, Fault> {
        let bytes = Cell::new(0_usize);
        let is_allowed = |value: &Value| {
            bytes.set(bytes.get().saturating_add(value.byte_size()));
            bytes.get() <= guest.max_outside
        };
        let primitive = |scope: &mut v8::PinScope<'_, '_>, direct: &DirectCall, index| {
            let memory = || direct.argument_memory.take();
            let value = convert::primitive_into(scope, self.args.get(index), guest.max_outside, memory).ok()??;
            let has_bytes = matches!(value, Value::String(_) | Value::BigInt(_));
            (!has_bytes || is_allowed(&value)).then_some(value)
        };
        let first = if self.op == op::REF_APPLY {
            let Some(bits) = number(self.args.get(FIRST)) else { return Ok(false) };
            direct.bits = bits as u32;
            // Mostly undefined, as is an argument that is not given.
            if !self.args.get(RECEIVER).is_undefined() {
                let Some(receiver) = primitive(scope, direct, RECEIVER) else { return Ok(false) };
                direct.receiver = Some(receiver);
            }
            APPLIED
        } else {
            0
        };
        if !usize::try_from((self.args.length() - first).max(0)).is_ok_and(|count| count <= DirectCall::MAX_ARGS) {
            return Ok(false);
        }
        for index in first..self.args.length() {
            if let Ok(number) = v8::Local::<v8::Number>::try_from(self.args.get(index))
                && begun.is_none()
            {
                // Written where it stays. To move what was just written in parts takes processors long.
                direct.args.push(Value::Number(number.value()));
                continue;
            }
            if let Some(value) = primitive(scope, direct, index) {
                if let Some(begun) = begun {
                    begun.admit(&value)?;
                }
                direct.args.push(value);
                continue;
            }
            let object = self.args.get(index);
            if self.op != op::CALL || !object.is_object() {
                return Ok(false);
            }
            if begun.is_none()
                && let Some(list) = short_list(scope, guest, direct, object)
            {
                if !is_allowed(&list) || !is_small(&list) {
                    return Ok(false);
                }
                direct.args.push(list);
                continue;
            }
            let at = GuestRealm::current(scope)?;
            let begun = match begun {
                Some(begun) => begun,
                None => {
                    let mut arguments = Arguments::new(&at);
                    direct.args.iter().try_for_each(|value| arguments.admit(value))?;
                    begun.insert(arguments)
                }
            };
            let value = ops::transfer_out(scope, &at, object, Transfer(Transfer::COPY))?;
            begun.admit(&value)?;
            let is_small = is_small(&value);
            direct.args.push(value);
            if !is_small {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

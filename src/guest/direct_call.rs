//! Calls of a host on whose thread the guest runs, with small values. They need no request: the guest waits at once, and the host looks at
//! what it asks. Every call of a function of a host comes here first.

use std::rc::Rc;

use super::arguments::Arguments;
use crate::convert::{self, View};
use crate::isolate::suspension::{self, RunningGuest};
use crate::isolate::{Guest, GuestRealm, Realm, address_of, async_context};
use crate::ops::{self, Transfer, op};
use crate::protocol::{APPLY_HEAD, INVOKE_HEAD, MAX_OUTCOME};
use crate::value::{Answer, Argument, DirectCall, Fault, Outcome, Slot, Value};

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
    Call::<{ op::CALL }> { id, args }.start(scope, results)
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
    Call::<{ op::REF_APPLY }> { id, args }.start(scope, results)
}

#[inline(always)]
fn number(value: v8::Local<'_, v8::Value>) -> Option<usize> {
    // SAFETY: nothing here calls V8.
    match unsafe { convert::view(convert::tagged(value)) } {
        View::Integer(number) => usize::try_from(number).ok(),
        View::Number(number) => Some(number as usize),
        _ => None,
    }
}

/// Whether a host reads such an object without a request. Rows of a table need one.
fn is_small(value: &Value) -> bool {
    matches!(value, Value::Payload(payload) if payload.table.is_empty() && payload.bytes.len() <= MAX_OUTCOME as usize)
}

/// Adds an argument that can be read at once where it lies. False if it is another one.
#[inline(always)]
fn push_simple(direct: &mut DirectCall, argument: v8::Local<'_, v8::Value>) -> bool {
    // SAFETY: nothing here calls V8.
    match unsafe { convert::view(convert::tagged(argument)) } {
        View::Integer(number) => direct.args.push(Argument::Number(f64::from(number))),
        View::Number(number) => direct.args.push(Argument::Number(number)),
        View::OneByte(characters) if characters.len() <= DirectCall::MAX_TEXT => direct.push_one_byte(characters),
        View::TwoByte(characters) if characters.len() <= DirectCall::MAX_TEXT => direct.push_two_byte(characters),
        View::Undefined => direct.push_value(Value::Undefined),
        View::Null => direct.push_value(Value::Null),
        View::Boolean(boolean) => direct.push_value(Value::Boolean(boolean)),
        View::OneByte(_) | View::TwoByte(_) | View::Other => return false,
    }
    true
}

/// Adds a short string that consists of others, or a short list of primitives. False if it is anything else. No code of the guest runs.
#[inline(never)]
fn push_short(
    scope: &mut v8::PinScope<'_, '_>,
    guest: &Guest,
    direct: &mut DirectCall,
    argument: v8::Local<'_, v8::Value>,
    accepts_lists: bool,
) -> bool {
    let start = direct.memory.bytes.len();
    if let Ok(text) = v8::Local::<v8::String>::try_from(argument) {
        let length = text.length();
        if length > DirectCall::MAX_TEXT || !text.is_onebyte() {
            return false;
        }
        convert::append_one_byte(scope, text, length, &mut direct.memory.bytes);
        direct.args.push(Argument::OneByte(start..start + length));
        return true;
    }
    if !accepts_lists || !argument.is_object() {
        return false;
    }
    let list = Realm::current(scope, guest)
        .ok()
        .and_then(|realm| convert::write_short_list(scope, &realm.plain_lists, argument, &mut direct.memory.bytes))
        .filter(|()| direct.memory.bytes.len() - start <= MAX_OUTCOME as usize);
    if list.is_none() {
        direct.memory.bytes.truncate(start);
        return false;
    }
    direct.args.push(Argument::Small(start..direct.memory.bytes.len()));
    true
}

/// A call as V8 passes it.
struct Call<'a, 's, const OP: u32> {
    /// By which the guest knows the function, or the Reference.
    id: usize,
    args: &'a Args<'s>,
}

impl<'s, const OP: u32> Call<'_, 's, OP> {
    #[inline(always)]
    fn start(self, scope: &mut v8::PinScope<'s, '_>, results: &mut Results<'_>) -> Called {
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
        let is_read = match Rc::get_mut(&mut shared) {
            Some(direct) => {
                (direct.op, direct.requester, direct.shows_stacks) = (OP, remote.id(), remote.settings.host_stacks);
                direct.request = async_context::current(scope);
                self.read(scope, guest, direct, &mut begun)
            }
            None => Ok(false),
        };
        // While the guest waits, the host reads the number of the slot before it runs anything that could release it.
        let call_of = |slot: &Slot| {
            let Some(host) = slot.owner().host() else { return false };
            let Some(direct) = Rc::get_mut(&mut shared) else { return false };
            (direct.host, direct.slot) = (host.id(), slot.index());
            guest.is_answered_on_this_thread(host) && fiber.call_directly(&shared)
        };
        let is_called = match is_read {
            Ok(true) => match OP {
                op::REF_APPLY => guest.handles.with_foreign_reference(self.id, call_of),
                _ => guest.handles.with_sync_function(self.id, call_of),
            }
            .unwrap_or(false),
            Ok(false) => false,
            Err(fault) => {
                guest.keep_direct_call(shared);
                return Called::Ended(Err(fault));
            }
        };
        if !is_called {
            return unsent(guest, shared, begun);
        }
        let answer = guest.wait_in(scope, remote, &*shared, true);
        if matches!(answer, Ok(Answer::Refused)) {
            return unsent(guest, shared, begun);
        }
        remote.accounts.meter.called_host();
        match answer {
            Ok(Answer::Number(number)) => results.set_double(number),
            Ok(Answer::Text) => {
                let text =
                    shared.with_result(|text| v8::String::new_from_one_byte(scope, text, v8::NewStringType::Normal));
                match text {
                    Some(text) => results.set(text.into()),
                    None => return ended(guest, shared, Err(Fault::beyond("Invalid string length"))),
                }
            }
            Ok(answer) => return Self::give(scope, guest, shared, answer, results),
            Err(fault) => return ended(guest, shared, Err(fault)),
        }
        guest.keep_direct_call(shared);
        Called::Returned
    }

    /// Returns the result to the guest, if it is a primitive, or a small value that a function has returned. The surface, which applies References,
    /// expects a carrier of everything that is no primitive.
    #[inline(never)]
    fn give(
        scope: &v8::PinScope<'s, '_>,
        guest: &Guest,
        shared: Rc<DirectCall>,
        answer: Answer,
        results: &mut Results<'_>,
    ) -> Called {
        let plain = |bytes: &[u8]| {
            (OP == op::CALL).then(|| convert::plain_to_v8(scope, guest.known_names(), bytes)).flatten().map(Ok)
        };
        let (given, value) = match answer {
            Answer::Value(value) => {
                let given = match &value {
                    Value::Payload(payload) if payload.table.is_empty() => plain(&payload.bytes),
                    value => convert::primitive_to_v8(scope, value),
                };
                (given, Some(value))
            }
            _ => (shared.with_result(plain), None),
        };
        if let Some(Ok(given)) = given {
            results.set(given);
            guest.keep_direct_call(shared);
            return Called::Returned;
        }
        let value = value.unwrap_or_else(|| Value::Payload(Box::new(shared.take_result())));
        ended(guest, shared, Ok(value))
    }

    /// False if there is anything that needs a request. `begun` is set once an argument was read that must not be read twice.
    #[inline(always)]
    fn read(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        guest: &Guest,
        direct: &mut DirectCall,
        begun: &mut Option<Arguments>,
    ) -> Result<bool, Fault> {
        let first = if OP == op::REF_APPLY {
            let Some(bits) = number(self.args.get(FIRST)) else { return Ok(false) };
            direct.bits = bits as u32;
            // Mostly undefined, as is an argument that is not given.
            let receiver = self.args.get(RECEIVER);
            if !receiver.is_undefined() {
                let Ok(Some(receiver)) = convert::primitive_from_v8(scope, receiver, guest.max_outside) else {
                    return Ok(false);
                };
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
            let argument = self.args.get(index);
            if begun.is_none()
                && (push_simple(direct, argument) || push_short(scope, guest, direct, argument, OP == op::CALL))
            {
                continue;
            }
            if !Self::push(scope, guest, direct, argument, begun)? {
                return Ok(false);
            }
        }
        Ok(direct.byte_size() <= guest.max_outside)
    }

    /// Adds another argument. False if it needs a request.
    #[inline(never)]
    fn push(
        scope: &mut v8::PinScope<'s, '_>,
        guest: &Guest,
        direct: &mut DirectCall,
        argument: v8::Local<'s, v8::Value>,
        begun: &mut Option<Arguments>,
    ) -> Result<bool, Fault> {
        if let Ok(Some(value)) = convert::primitive_from_v8(scope, argument, guest.max_outside) {
            if let Some(begun) = begun {
                begun.admit_value(&value)?;
            }
            direct.push_value(value);
            return Ok(true);
        }
        if OP != op::CALL || !argument.is_object() {
            return Ok(false);
        }
        let at = GuestRealm::current(scope)?;
        let begun = match begun {
            Some(begun) => begun,
            None => {
                let mut arguments = Arguments::new(&at);
                arguments.admit(direct.byte_size())?;
                begun.insert(arguments)
            }
        };
        let value = ops::transfer_out(scope, &at, argument, Transfer(Transfer::COPY))?;
        begun.admit_value(&value)?;
        let is_small = is_small(&value);
        direct.push_value(value);
        Ok(is_small)
    }
}

/// The call must be sent.
#[inline(never)]
fn unsent(guest: &Guest, mut shared: Rc<DirectCall>, mut begun: Option<Arguments>) -> Called {
    if let Some(begun) = &mut begun {
        // A host releases the record before it resumes the guest.
        let Some(direct) = Rc::get_mut(&mut shared) else { return Called::Ended(Err(Fault::Stopped)) };
        begun.values = direct.take_values();
    }
    guest.keep_direct_call(shared);
    Called::Unsent(begun)
}

#[inline(never)]
fn ended(guest: &Guest, shared: Rc<DirectCall>, outcome: Outcome) -> Called {
    guest.keep_direct_call(shared);
    Called::Ended(outcome)
}

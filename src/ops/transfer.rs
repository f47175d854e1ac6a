//! How values leave a guest: as the caller requests, or according to their kind.

use std::sync::{Arc, Weak};

use crate::convert::{self, Exchange};
use crate::isolate::{Deadline, GuestRealm, Realm, Remote, SlotValue, clock};
use crate::protocol::{message, transfer};
use crate::value::{
    Callable, CallbackMode, ChargedSettlement, Completion, ExternalCopy, Fault, Handle, Outcome, Owner, Reference,
    Settlement, Text, Value, Wrapper,
};

/// Transfer options as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer(pub u32);

impl Transfer {
    pub const COPY: u32 = transfer::COPY;
    pub const EXTERNAL_COPY: u32 = transfer::EXTERNAL_COPY;
    pub const REFERENCE: u32 = transfer::REFERENCE;
    const TYPE_MASK: u32 = transfer::TYPE_MASK;
    pub const PROMISE: u32 = transfer::PROMISE;
    pub const OR_UNDEFINED: u32 = transfer::OR_UNDEFINED;
    pub const OR_REFERENCE: u32 = transfer::OR_REFERENCE;
    pub const OR_COPY: u32 = transfer::OR_COPY;
    const FALLBACK_MASK: u32 = transfer::FALLBACK_MASK;
    pub const ACCESSORS: u32 = transfer::ACCESSORS;
    pub const UNSAFE_INHERIT: u32 = transfer::UNSAFE_INHERIT;
    /// Everything that a caller can set.
    pub const ALL: u32 = Self::TYPE_MASK | Self::PROMISE | Self::FALLBACK_MASK | Self::ACCESSORS | Self::UNSAFE_INHERIT;

    /// The flags of a reference.
    pub fn of_reference(reference: &Reference) -> u32 {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        flag(reference.accessors, Self::ACCESSORS) | flag(reference.inherit, Self::UNSAFE_INHERIT)
    }

    pub fn from_number(number: f64) -> Self {
        Self(number as u32)
    }

    fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    fn without_promise(self) -> Self {
        Self(self.0 & !Self::PROMISE)
    }
}

/// Transfers `value` out of its realm.
pub fn transfer_out<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    value: v8::Local<'s, v8::Value>,
    transfer: Transfer,
) -> Outcome {
    if transfer.has(Transfer::PROMISE) {
        return Ok(Value::Promise(promise_out(scope, at, value, transfer.without_promise())?));
    }
    match transfer.0 & Transfer::TYPE_MASK {
        Transfer::COPY => convert::clone_from_v8(scope, at, value),
        Transfer::EXTERNAL_COPY => {
            let copy = convert::clone_from_v8(scope, at, value)?;
            Ok(Value::Handle(Handle::ExternalCopy(ExternalCopy::of_guest(copy)?)))
        }
        Transfer::REFERENCE => reference_out(scope, at, value, transfer),
        _ => by_type(scope, at, value, transfer),
    }
}

fn by_type<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    value: v8::Local<'s, v8::Value>,
    transfer: Transfer,
) -> Outcome {
    if let Some(primitive) = convert::primitive_from_v8(scope, value, at.limit())? {
        return Ok(primitive);
    }
    if let Ok(object) = v8::Local::<v8::Object>::try_from(value)
        && let Some(handle) = at.identify(scope, object)?
    {
        return Ok(handle);
    }
    if value.is_function() {
        return function_out(scope, at, value);
    }
    match transfer.0 & Transfer::FALLBACK_MASK {
        Transfer::OR_REFERENCE => return reference_out(scope, at, value, transfer),
        Transfer::OR_UNDEFINED => return Ok(Value::Undefined),
        Transfer::OR_COPY => return convert::clone_from_v8(scope, at, value),
        _ => {}
    }
    Err(Fault::coded(crate::value::ErrorClass::TypeError, message::NOT_TRANSFERABLE, crate::value::Code::Transfer))
}

/// A reference to `value`, which stays where it is. A reference to a `Callback` applies its function.
pub fn reference_out<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    value: v8::Local<'s, v8::Value>,
    transfer: Transfer,
) -> Outcome {
    let value = at.behind(scope, value);
    let slot_value = SlotValue::Value(Arc::clone(&at.realm), v8::Global::new(scope, value));
    Ok(Value::Handle(Handle::Reference(Arc::new(Reference {
        slot: at.guest.new_slot(slot_value)?,
        type_of: convert::type_of(value),
        accessors: transfer.has(Transfer::ACCESSORS),
        inherit: transfer.has(Transfer::UNSAFE_INHERIT),
    }))))
}

/// Maximum number of characters of a function's name that are transferred.
pub const MAX_NAME: usize = 1_000;

/// A function that other realms can call.
pub fn function_out(scope: &mut v8::PinScope<'_, '_>, at: &GuestRealm, value: v8::Local<'_, v8::Value>) -> Outcome {
    let name = match v8::Local::<v8::Function>::try_from(value).map(|function| function.get_name(scope)) {
        Ok(name) => convert::beginning(scope, name, MAX_NAME),
        Err(_) => Text::from(""),
    };
    let slot_value = SlotValue::Value(Arc::clone(&at.realm), v8::Global::new(scope, value));
    let length = length_of(scope, value).unwrap_or(0);
    let slot = at.guest.new_slot(slot_value)?;
    Ok(Value::Function(Arc::new(Callable { slot, name, length, mode: CallbackMode::Sync })))
}

/// The `length` of a function; `None` if reading it fails.
fn length_of(scope: &mut v8::PinScope<'_, '_>, function: v8::Local<'_, v8::Value>) -> Option<u32> {
    v8::tc_scope!(let scope, scope);
    let function = v8::Local::<v8::Object>::try_from(function).ok()?;
    let key = v8::String::new(scope, "length")?;
    let length = v8::Local::<v8::Number>::try_from(function.get(scope, key.into())?).ok()?;
    // The cast saturates.
    Some(length.value() as u32)
}

/// A promise for other realms that settles when `value` settles. If `value` is not a promise, it settles immediately.
fn promise_out<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    value: v8::Local<'s, v8::Value>,
    transfer: Transfer,
) -> Result<Arc<Settlement>, Fault> {
    let remote = at.guest.remote()?;
    let isolate: Weak<dyn Owner> = Arc::<Remote>::downgrade(&remote);
    let Ok(promise) = v8::Local::<v8::Promise>::try_from(value) else {
        return Ok(Settlement::settled(Some(isolate), transfer_out(scope, at, value, transfer)));
    };
    let settlement = Settlement::of_guest(isolate);
    if let Some(Deadline { limit, time }) = at.guest.deadline() {
        // The promise is part of the result of the call.
        let waiting = Arc::downgrade(&settlement);
        settlement.set_timed(clock::at(time, move || {
            if let Some(settlement) = waiting.upgrade() {
                settlement.complete(Err(Fault::deadline(limit)));
            }
        }));
    }
    let outstanding = Arc::clone(&remote.accounts.outstanding);
    let completion = Arc::new(ChargedSettlement::new(Arc::clone(&settlement), outstanding));
    await_promise(scope, at, promise, completion, transfer)?;
    Ok(settlement)
}

/// Keeps the realm of an awaited promise alive: its code continues, even if no handle to the realm exists.
struct RealmKeepAlive {
    completion: Arc<dyn Completion>,
    _realm: Arc<Realm>,
}

impl Wrapper for RealmKeepAlive {
    fn inner(&self) -> &dyn Completion {
        &*self.completion
    }

    fn forward(&self, outcome: Outcome) {
        self.completion.complete(outcome);
    }
}

/// Answers with the promise's outcome once it settles.
pub fn await_promise<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    promise: v8::Local<'s, v8::Promise>,
    completion: Arc<dyn Completion>,
    transfer: Transfer,
) -> Result<(), Fault> {
    let completion = Arc::new(RealmKeepAlive { completion, _realm: Arc::clone(&at.realm) });
    let request = at.guest.request();
    let awaited = at.guest.remote()?.promises.insert(completion, transfer.0, request, at.guest.deadline());
    let id = v8::Number::new(scope, awaited as f64).into();
    let fulfilled = v8::Function::builder(on_fulfilled).data(id).build(scope);
    let rejected = v8::Function::builder(on_rejected).data(id).build(scope);
    match (fulfilled, rejected) {
        (Some(fulfilled), Some(rejected)) if promise.then2(scope, fulfilled, rejected).is_some() => Ok(()),
        _ => Err(Fault::not_awaited(scope.is_execution_terminating())),
    }
}

fn on_fulfilled<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    settle(scope, &args, |scope, at, value, transfer| transfer_out(scope, at, value, transfer));
}

fn on_rejected<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    settle(scope, &args, |scope, _place, value, _transfer| Err(convert::fault_from_exception(scope, value)));
}

fn settle<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: &v8::FunctionCallbackArguments<'s>,
    outcome: impl FnOnce(&mut v8::PinScope<'s, '_>, &GuestRealm, v8::Local<'s, v8::Value>, Transfer) -> Outcome,
) {
    let Ok(at) = GuestRealm::current(scope) else { return };
    let id = args.data().number_value(scope).unwrap_or(-1.0);
    let Some((completion, bits)) = at.guest.remote().ok().and_then(|remote| remote.promises.take(id as usize)) else {
        return;
    };
    match outcome(scope, &at, args.get(0), Transfer(bits)) {
        // The whole isolate is being stopped; the code that stops it gives the answer.
        Err(Fault::Stopped) => {}
        outcome => completion.complete(outcome),
    }
}

//! Calls of a host on whose thread the guest runs, with primitives only. They need no request: the guest waits at once, and the host looks at
//! what it asks. Every call of a function of a host comes here first.

use std::rc::Rc;

use crate::convert;
use crate::isolate::{Guest, Remote, async_context};
use crate::ops::op;
use crate::protocol::INVOKE_HEAD;
use crate::value::{Ask, Host, Outcome, Slot, Value};

type Args<'s> = v8::FunctionCallbackArguments<'s>;

/// Calls the function of a host that `args` has as data; `None` if the call must be sent.
pub fn call(scope: &mut v8::PinScope<'_, '_>, args: &Args<'_>) -> Option<Outcome> {
    let guest = Guest::of(scope).ok()?;
    let id = v8::Local::<v8::Number>::try_from(args.data()).ok()?.value() as usize;
    let slot = guest.handles.sync_function(id)?;
    start(scope, &guest, &slot, op::CALL, args, 0)
}

/// Index of the handle among the arguments of `invoke`, and of the first argument of the operation.
const HANDLE: i32 = FIRST - 1;
const FIRST: i32 = INVOKE_HEAD as i32;

/// Applies the Reference of a host that is the handle among the arguments of `invoke`; `None` if the call must be sent.
pub fn apply(scope: &mut v8::PinScope<'_, '_>, args: &Args<'_>) -> Option<Outcome> {
    let guest = Guest::of(scope).ok()?;
    let id = v8::Local::<v8::Number>::try_from(args.get(HANDLE)).ok()?.value() as usize;
    let slot = guest.handles.foreign_reference(id)?;
    start(scope, &guest, &slot, op::REF_APPLY, args, FIRST)
}

#[inline(always)]
fn start(
    scope: &mut v8::PinScope<'_, '_>,
    guest: &Rc<Guest>,
    slot: &Slot,
    op: u32,
    args: &Args<'_>,
    first: i32,
) -> Option<Outcome> {
    let host = slot.owner().host().filter(|host| host.is_here())?;
    // Before the arguments, which take long to read.
    if let Err(stopped) = guest.end_if_stopping(scope) {
        return Some(Err(stopped));
    }
    let mut ask = guest.take_ask();
    let is_read = Rc::get_mut(&mut ask).is_some_and(|ask| {
        (ask.op, ask.host, ask.slot) = (op, host.id(), slot.index());
        read(scope, guest, &mut ask.args, args, first).is_some()
    });
    let outcome = if is_read { wait(scope, guest, host, &mut ask) } else { None };
    guest.keep_ask(ask);
    outcome
}

/// `None` if there is anything but primitives, or too much.
fn read(
    scope: &mut v8::PinScope<'_, '_>,
    guest: &Guest,
    values: &mut Vec<Value>,
    args: &Args<'_>,
    first: i32,
) -> Option<()> {
    usize::try_from(args.length() - first).ok().filter(|count| *count <= Ask::MAX_ARGS)?;
    let mut bytes = 0_usize;
    for index in first..args.length() {
        let value = convert::primitive_from_v8(scope, args.get(index), guest.max_outside).ok()??;
        if matches!(value, Value::String(_) | Value::BigInt(_)) {
            bytes = bytes.saturating_add(value.byte_size());
        }
        values.push(value);
    }
    (bytes <= guest.max_outside).then_some(())
}

/// The answer of `host`, on whose slot the caller has a handle until this returns.
#[inline(always)]
fn wait(scope: &mut v8::PinScope<'_, '_>, guest: &Rc<Guest>, host: &dyn Host, shared: &mut Rc<Ask>) -> Option<Outcome> {
    let ask_in = |remote: &Remote| {
        guest.handles.collect_references(scope, &remote.accounts.references);
        let ask = Rc::get_mut(shared)?;
        ask.request = async_context::current(scope);
        (ask.shows_stacks, ask.asker) = (remote.settings.host_stacks, remote.id());
        if !guest.asks_here(host, shared) {
            return None;
        }
        let outcome = guest.wait_in(scope, remote, &**shared, true);
        if shared.is_refused() {
            return None;
        }
        remote.accounts.meter.called_host();
        Some(outcome)
    };
    guest.with_remote(ask_in).ok()?
}

//! Calls of a host on whose thread the guest runs, with primitives only. They need no request: the guest waits at once, and the host looks at
//! what it asks. Every call of a function of a host comes here first.

use std::rc::Rc;
use std::sync::Arc;

use crate::convert;
use crate::isolate::{Guest, async_context};
use crate::ops::op;
use crate::value::{Ask, Outcome, Slot, Value};

type Args<'s> = v8::FunctionCallbackArguments<'s>;

/// Calls the function of a host that `args` has as data; `None` if the call must be sent.
pub fn call(scope: &mut v8::PinScope<'_, '_>, args: &Args<'_>) -> Option<Outcome> {
    let guest = Guest::of(scope).ok()?;
    let id = v8::Local::<v8::Number>::try_from(args.data()).ok()?.value() as usize;
    let slot = guest.handles.sync_function(id)?;
    start(scope, &guest, &slot, op::CALL, args, 0)
}

/// Index of the handle among the arguments of `invoke`, and of the first argument of the operation.
const HANDLE: i32 = 3;
const FIRST: i32 = 4;

/// Applies the Reference of a host that is the handle among the arguments of `invoke`; `None` if the call must be sent.
pub fn apply(scope: &mut v8::PinScope<'_, '_>, args: &Args<'_>) -> Option<Outcome> {
    let guest = Guest::of(scope).ok()?;
    let id = v8::Local::<v8::Number>::try_from(args.get(HANDLE)).ok()?.value() as usize;
    let slot = guest.handles.foreign_reference(id)?;
    start(scope, &guest, &slot, op::REF_APPLY, args, FIRST)
}

fn start(
    scope: &mut v8::PinScope<'_, '_>,
    guest: &Arc<Guest>,
    slot: &Arc<Slot>,
    op: u32,
    args: &Args<'_>,
    first: i32,
) -> Option<Outcome> {
    slot.owner().host().filter(|host| host.is_here())?;
    let count = usize::try_from(args.length() - first).ok().filter(|count| *count <= Ask::MAX_ARGS)?;
    let mut values = Vec::with_capacity(count);
    for index in first..args.length() {
        values.push(convert::primitive_from_v8(scope, args.get(index), guest.max_outside).ok()??);
    }
    ask(scope, guest, slot, op, values)
}

fn ask(
    scope: &mut v8::PinScope<'_, '_>,
    guest: &Arc<Guest>,
    slot: &Arc<Slot>,
    op: u32,
    args: Vec<Value>,
) -> Option<Outcome> {
    let host = slot.owner().host()?;
    if args.iter().map(Value::byte_size).fold(0, usize::saturating_add) > guest.max_outside {
        return None;
    }
    if let Err(stopped) = guest.check_stopping() {
        return Some(Err(stopped));
    }
    let request = async_context::current(scope);
    let (shows_stacks, asker) = guest
        .with_remote(|remote| {
            guest.handles.collect_references(scope, &remote.accounts.references);
            (remote.settings.host_stacks, remote.id())
        })
        .ok()?;
    let ask = Rc::new(Ask::new(op, shows_stacks, Arc::clone(slot), args, request, asker));
    if !guest.asks_here(host, &ask) {
        return None;
    }
    let outcome = guest.wait(scope, &*ask, true);
    if ask.is_refused() {
        return None;
    }
    Some(guest.with_remote(|remote| remote.accounts.meter.called_host()).and(outcome))
}

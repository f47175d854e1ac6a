//! Calls of a host on whose thread the guest runs, with primitives only. They need no request: the guest waits at once, and the host looks at
//! what it asks. Every call of a function of a host comes here first.

use std::rc::Rc;

use crate::convert;
use crate::isolate::{Guest, Remote, address_of, async_context, suspension};
use crate::ops::op;
use crate::protocol::INVOKE_HEAD;
use crate::value::{Ask, Fault, Outcome, Slot, Value};

type Args<'s> = v8::FunctionCallbackArguments<'s>;

/// Calls the function of a host that `args` has as data; `None` if the call must be sent.
pub fn call(scope: &mut v8::PinScope<'_, '_>, args: &Args<'_>) -> Option<Outcome> {
    let id = number(args.data())?;
    suspension::with_guest(address_of(scope), |guest, remote| {
        let call = Call { op: op::CALL, args, first: 0 };
        call.start(scope, guest, remote, |ask_of| guest.handles.with_sync_function(id, ask_of))
    })?
}

/// Index of the handle among the arguments of `invoke`, and of the first argument of the operation.
const HANDLE: i32 = FIRST - 1;
const FIRST: i32 = INVOKE_HEAD as i32;

/// Applies the Reference of a host that is the handle among the arguments of `invoke`; `None` if the call must be sent.
pub fn apply(scope: &mut v8::PinScope<'_, '_>, args: &Args<'_>) -> Option<Outcome> {
    let id = number(args.get(HANDLE))?;
    suspension::with_guest(address_of(scope), |guest, remote| {
        let call = Call { op: op::REF_APPLY, args, first: FIRST };
        call.start(scope, guest, remote, |ask_of| guest.handles.with_foreign_reference(id, ask_of))
    })?
}

fn number(value: v8::Local<'_, v8::Value>) -> Option<usize> {
    v8::Local::<v8::Number>::try_from(value).ok().map(|number| number.value() as usize)
}

/// A call as V8 passes it, with the index of its first argument.
struct Call<'a, 's> {
    op: u32,
    args: &'a Args<'s>,
    first: i32,
}

impl Call<'_, '_> {
    /// `with_slot` finds the slot of the host's function. What it does with it runs nothing else.
    #[inline(always)]
    fn start(
        self,
        scope: &mut v8::PinScope<'_, '_>,
        guest: &Rc<Guest>,
        remote: &Remote,
        with_slot: impl FnOnce(&mut dyn FnMut(&Slot) -> bool) -> Option<bool>,
    ) -> Option<Outcome> {
        // Before the arguments, which take long to read.
        if remote.is_stopping() {
            guest.terminate(scope);
            return Some(Err(Fault::Stopped));
        }
        guest.handles.collect_references(scope, &remote.accounts.references);
        let mut shared = guest.take_ask();
        let is_read = Rc::get_mut(&mut shared).is_some_and(|ask| {
            (ask.op, ask.asker, ask.shows_stacks) = (self.op, remote.id(), remote.settings.host_stacks);
            ask.request = async_context::current(scope);
            read(scope, guest, &mut ask.args, self.args, self.first).is_some()
        });
        // While the guest waits, the host reads the number of the slot before it runs anything that could release it.
        let is_asked = is_read
            && with_slot(&mut |slot| {
                let Some(host) = slot.owner().host() else { return false };
                let Some(ask) = Rc::get_mut(&mut shared) else { return false };
                (ask.host, ask.slot) = (host.id(), slot.index());
                guest.asks_here(host, &shared)
            })
            .unwrap_or(false);
        let mut outcome = None;
        if is_asked {
            let answer = guest.wait_in(scope, remote, &*shared, true);
            if !shared.is_refused() {
                remote.accounts.meter.called_host();
                outcome = Some(answer);
            }
        }
        guest.keep_ask(shared);
        outcome
    }
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

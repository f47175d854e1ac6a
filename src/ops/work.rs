//! Work in the realm of a held context or value.

use std::rc::Rc;
use std::sync::Arc;

use super::args::malformed;
use crate::isolate::{Guest, GuestRealm, Realm, SlotValue, Work, async_context};
use crate::value::{Outcome, Slot};

/// Work that runs in the realm of a held value.
pub fn work_on_value(
    slot: Arc<Slot>,
    work: impl for<'s, 'i> FnOnce(&mut v8::PinScope<'s, 'i>, &GuestRealm, v8::Local<'s, v8::Value>) -> Outcome
    + Send
    + 'static,
) -> Work {
    Guest::work(move |scope, guest| {
        let found = guest.read_slot(&slot, |value| match value {
            SlotValue::Value(realm, value) => Some((Arc::clone(realm), v8::Local::new(scope, value))),
            _ => None,
        });
        let (realm, value) = found.ok_or_else(malformed)?;
        let context = v8::Local::new(scope, &realm.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        let at = GuestRealm { guest: Rc::clone(guest), realm };
        async_context::within(scope, guest.request(), |scope| work(scope, &at, value))
    })
}

/// Work that runs in a realm.
pub fn work_in_realm(
    slot: Arc<Slot>,
    work: impl for<'s, 'i> FnOnce(&mut v8::PinScope<'s, 'i>, &GuestRealm) -> Outcome + Send + 'static,
) -> Work {
    Guest::work(move |scope, guest| {
        let realm: Option<Arc<Realm>> = guest.read_slot(&slot, |value| match value {
            SlotValue::Context(realm) => Some(Arc::clone(realm)),
            _ => None,
        });
        let realm = realm.ok_or_else(malformed)?;
        let context = v8::Local::new(scope, &realm.context);
        let scope = &mut v8::ContextScope::new(scope, context);
        let at = GuestRealm { guest: Rc::clone(guest), realm };
        async_context::within(scope, guest.request(), |scope| work(scope, &at))
    })
}

//! The V8 binding: the native functions that a realm's surface calls, and the objects for handles. A realm that never gets a handle has no
//! surface.

mod arguments;
mod carrier;
mod children;
mod completions;
mod direct_call;
pub mod import;
mod invoke;
mod local;
mod moving;
pub mod outgoing;
mod settings;

use std::sync::Arc;

pub use settings::settings;

use crate::convert::{self, Exchange};
use crate::engine::{BOOTSTRAP, BootstrapScript, SnapshotSource};
use crate::isolate::{Binding, Guest, GuestRealm, SlotValue};
use crate::ops;
use crate::protocol::{OTHER_REALM, kind, message};
use crate::value::{Code, Completion, ErrorClass, Fault, Handle, Settlement, Slot, Value};

macro_rules! sources {
    ($($folder:literal: [$($name:literal),* $(,)?]),* $(,)?) => {
        &[$($(($name, include_str!(concat!("../../surface/", $folder, $name)))),*),*]
    };
}

/// What every realm starts with: built-ins as they are before any guest code runs, and what creates the surface when the first handle arrives.
/// The host runs the same files.
pub const SNAPSHOT_SOURCE: SnapshotSource = SnapshotSource {
    modules: sources![
        "": ["atomics.js", "guest.js"],
        "core/": ["error.js", "handle.js", "primordials.js", "protocol.js"],
    ],
    entry: "guest.js",
};

/// The surface. It is not in the startup snapshot, because most realms never get a handle, and each isolate would read it and keep it in its heap.
pub const SURFACE: SnapshotSource = SnapshotSource {
    modules: sources![
        "": ["index.js"],
        "core/": ["calls.js", "classes.js", "options.js"],
        "api/": [
            "callback.js",
            "context.js",
            "external-copy.js",
            "heap.js",
            "isolate.js",
            "library.js",
            "linker.js",
            "module.js",
            "profile.js",
            "reference-access.js",
            "reference.js",
            "script.js",
            "session.js",
            "snapshot.js",
        ],
    ],
    entry: "index.js",
};
static BOOTSTRAP_SCRIPT: BootstrapScript = BootstrapScript::function(SURFACE);

/// Binds a new isolate.
pub fn install(isolate: &mut v8::Isolate) {
    import::install(isolate);
    if let Ok(guest) = Guest::of(isolate) {
        guest.bind(&GuestBinding);
    }
}

struct GuestBinding;

impl Binding for GuestBinding {
    fn adopt<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        at: &GuestRealm,
        value: Value,
    ) -> Result<v8::Local<'s, v8::Value>, Fault> {
        match value {
            Value::Function(callable) => outgoing::function(scope, at, callable),
            Value::Handle(handle) => adopt_handle(scope, at, handle),
            Value::Promise(settlement) => adopt_promise(scope, at, &settlement),
            Value::Dereference(reference) => {
                let value = at
                    .guest
                    .owns(&reference.slot)
                    .then(|| {
                        at.guest.read_slot(&reference.slot, |value| match value {
                            SlotValue::Value(_, value) => Some(v8::Local::new(scope, value)),
                            _ => None,
                        })
                    })
                    .flatten();
                value.ok_or_else(|| Fault::refused(message::WRONG_ISOLATE))
            }
            Value::CopyInto { copy, transfer_in, checked } => match copy.open(transfer_in)? {
                Value::String(text) => Ok(convert::external_text_to_v8(scope, text, &Exchange::budget(at))?.into()),
                value => {
                    if checked {
                        at.guest.remote()?.make_room(scope, value.weight_in_isolate())?;
                    }
                    convert::to_v8(scope, at, value)
                }
            },
            _ => Err(ops::malformed()),
        }
    }

    fn is_handle(&self, scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>) -> bool {
        let brand = brand(scope);
        object.has_private(scope, brand).unwrap_or(false)
    }

    fn function_of<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'_, v8::Object>,
    ) -> Option<v8::Local<'s, v8::Value>> {
        let brand = brand(scope);
        object.get_private(scope, brand).filter(|target| target.is_function())
    }

    fn identify(
        &self,
        scope: &mut v8::PinScope<'_, '_>,
        at: &GuestRealm,
        object: v8::Local<'_, v8::Object>,
    ) -> Result<Option<Value>, Fault> {
        v8::tc_scope!(let scope, scope);
        let surface = surface(scope, at)?;
        let identify = member(scope, surface, "identify").ok_or_else(ops::malformed)?;
        let receiver = v8::undefined(scope).into();
        let object = v8::Local::new(scope, object).into();
        let Some(carrier) = identify.call(scope, receiver, &[object]) else {
            return Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped));
        };
        if let Ok(text) = v8::Local::<v8::String>::try_from(carrier) {
            let message = text.to_rust_string_lossy(scope);
            return Err(Fault::coded(ErrorClass::Error, &message, Code::Released));
        }
        if carrier.is_array() { carrier::read(scope, at, carrier).map(Some) } else { Ok(None) }
    }
}

/// A key that guest code can neither see nor create.
fn private<'s>(scope: &v8::PinScope<'s, '_>, name: &str) -> v8::Local<'s, v8::Private> {
    v8::Private::for_api(scope, v8::String::new(scope, name))
}

/// Marks the surface's objects. For a `Callback`, the value is its function.
fn brand<'s>(scope: &v8::PinScope<'s, '_>) -> v8::Local<'s, v8::Private> {
    private(scope, "isolated-v8")
}

/// The surface of a realm, created on first use.
fn surface<'s>(scope: &mut v8::PinScope<'s, '_>, at: &GuestRealm) -> Result<v8::Local<'s, v8::Object>, Fault> {
    let key = private(scope, "isolated-v8 surface");
    let global = scope.get_current_context().global(scope);
    let found = global.get_private(scope, key).map(v8::Local::<v8::Object>::try_from);
    if let Some(Ok(surface)) = found {
        return Ok(surface);
    }
    let failed = || Fault::coded(ErrorClass::Error, "The isolate's side of the API could not be made", Code::Limit);
    v8::tc_scope!(let scope, scope);
    let native = invoke::native_object(scope).ok_or_else(failed)?;
    let mut made = None;
    let done = BOOTSTRAP_SCRIPT.run_cached(scope, &at.guest.surface, |scope, function| {
        let name = v8::String::new(scope, "createSurface")?;
        native.create_data_property(scope, name.into(), function)?;
        made = bootstrap(scope, "createGuest", native.into());
        made.map(drop)
    });
    let Some(surface) = done.and(made).and_then(|made| v8::Local::<v8::Object>::try_from(made).ok()) else {
        return Err(convert::fault_from_caught(scope).unwrap_or_else(failed));
    };
    global.set_private(scope, key, surface.into());
    at.guest.has_surface.set(true);
    Ok(surface)
}

/// Calls a function that the startup snapshot provides in every realm.
fn bootstrap<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    name: &str,
    argument: v8::Local<'s, v8::Value>,
) -> Option<v8::Local<'s, v8::Value>> {
    let key = private(scope, "isolated-v8 bootstrap");
    let global = scope.get_current_context().global(scope);
    let kept = global.get_private(scope, key).and_then(|kept| v8::Local::<v8::Object>::try_from(kept).ok());
    let exports = match kept {
        Some(exports) => exports,
        None => {
            // V8 returns it only once.
            let exports = scope.get_context_data_from_snapshot_once::<v8::Object>(BOOTSTRAP).ok()?;
            global.set_private(scope, key, exports.into())?;
            exports
        }
    };
    let receiver = v8::undefined(scope).into();
    member(scope, exports, name)?.call(scope, receiver, &[argument])
}

fn member<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    surface: v8::Local<'s, v8::Object>,
    name: &str,
) -> Option<v8::Local<'s, v8::Function>> {
    let name = v8::String::new(scope, name)?;
    let value = surface.get(scope, name.into())?;
    v8::Local::<v8::Function>::try_from(value).ok()
}

/// Where a value lives, as a realm sees it.
enum Place {
    /// In the realm itself.
    Realm,
    /// In another realm of its isolate.
    Isolate,
    Elsewhere,
}

fn place_of(at: &GuestRealm, slot: &Slot) -> Place {
    if !at.guest.owns(slot) {
        return Place::Elsewhere;
    }
    let is_own = at.guest.read_slot(slot, |value| match value {
        SlotValue::Value(realm, _) => Some(Arc::ptr_eq(realm, &at.realm)),
        _ => None,
    });
    if is_own == Some(true) { Place::Realm } else { Place::Isolate }
}

/// The surface's object for a handle.
fn adopt_handle<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    handle: Handle,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    // Sessions are opened by hosts and stay there.
    if matches!(handle, Handle::Session(_)) {
        return Err(ops::malformed());
    }
    let kind = handle.kind();
    let (place, type_of, flags) = match &handle {
        Handle::Reference(reference) => {
            (place_of(at, &reference.slot), reference.type_of.name(), ops::Transfer::of_reference(reference))
        }
        _ => (Place::Elsewhere, "", 0),
    };
    carrier::charge_for(scope, at, &handle)?;
    let surface = surface(scope, at)?;
    let id = if matches!(kind, kind::IVM | kind::LIB) { 0 } else { at.guest.carry(Value::Handle(handle)) };
    let slot = match place {
        Place::Realm => id as f64,
        Place::Isolate => f64::from(OTHER_REALM),
        Place::Elsewhere => -1.0,
    };
    v8::tc_scope!(let scope, scope);
    let args = [
        v8::Number::new(scope, f64::from(kind)).into(),
        v8::Number::new(scope, id as f64).into(),
        v8::Number::new(scope, slot).into(),
        v8::String::new(scope, type_of).ok_or_else(ops::malformed)?.into(),
        v8::Number::new(scope, f64::from(flags)).into(),
    ];
    let receiver = v8::undefined(scope).into();
    let adopted = member(scope, surface, "adopt").and_then(|adopt| adopt.call(scope, receiver, &args));
    let Some(adopted) = adopted else {
        at.guest.handles.release(id);
        return Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped));
    };
    Ok(adopted)
}

/// A promise of this realm that settles with the outcome of a foreign promise.
fn adopt_promise<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    settlement: &Arc<Settlement>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let resolver = v8::PromiseResolver::new(scope).ok_or(Fault::Stopped)?;
    let promise = resolver.get_promise(scope);
    if let Some((outcome, moment)) = settlement.take_settled() {
        // Another promise has settled before this one, and its outcome is queued.
        if at.guest.with_remote(|remote| remote.outcomes().are_any_before(moment))? {
            outgoing::resolution(scope, at, resolver, settlement.is_of_guest())?.deliver(outcome, moment);
            return Ok(promise.into());
        }
        // Settles immediately, as in isolated-vm, before the guest does anything else.
        v8::tc_scope!(let scope, scope);
        let settled = outgoing::settle(scope, at, resolver, outcome);
        return match settled {
            Some(_) => Ok(promise.into()),
            None => Err(Fault::not_awaited(scope.is_execution_terminating())),
        };
    }
    let completion = outgoing::resolution(scope, at, resolver, settlement.is_of_guest())?;
    let recipient = completion.recipient().map(|owner| Arc::downgrade(&owner));
    settlement.subscribe(recipient, Box::new(move |outcome| completion.complete(outcome)));
    Ok(promise.into())
}

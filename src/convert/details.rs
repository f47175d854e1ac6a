//! What crosses with an error besides its class, name, message and stack. Reading it runs no getters, and no traps of proxies.

use super::fault::describe;
use super::primitive::{primitive_from_v8, primitive_to_v8};
use super::text::{beginning, text_to_v8};
use crate::protocol::{MAX_DETAIL, MAX_KEYS};
use crate::value::{Details, DetailsRoom, Fault, is_cause};

/// An error, and the error whose cause it is.
pub struct ErrorChain<'a> {
    pub object: v8::Local<'a, v8::Object>,
    pub outer: Option<&'a ErrorChain<'a>>,
}

impl ErrorChain<'_> {
    fn contains(&self, object: v8::Local<'_, v8::Object>) -> bool {
        self.object == object || self.outer.is_some_and(|outer| outer.contains(object))
    }
}

/// The details of the first error of a chain. `None` when the guest is being stopped.
pub fn read(
    scope: &mut v8::PinScope<'_, '_>,
    chain: &ErrorChain<'_>,
    room: &mut DetailsRoom,
) -> Option<Option<Box<Details>>> {
    let object = chain.object;
    if object.is_proxy() {
        return Some(None);
    }
    v8::tc_scope!(let scope, scope);
    let mut details = Details::default();
    add_properties(scope, object, &mut details, room);
    let cause = v8::String::new(scope, "cause").and_then(|key| data_property(scope, object, key.into()));
    if scope.has_terminated() {
        return None;
    }
    if let Some(cause) = cause.filter(|cause| !cause.is_undefined()) {
        details.cause = read_cause(scope, cause, chain, room)?;
    }
    Some(details.unless_empty())
}

fn add_properties(
    scope: &mut v8::PinScope<'_, '_>,
    object: v8::Local<'_, v8::Object>,
    details: &mut Details,
    room: &mut DetailsRoom,
) -> Option<()> {
    // Not the indices: an object may have millions of them.
    let wanted = v8::GetPropertyNamesArgsBuilder::new()
        .mode(v8::KeyCollectionMode::OwnOnly)
        .property_filter(v8::PropertyFilter::ONLY_ENUMERABLE | v8::PropertyFilter::SKIP_SYMBOLS)
        .index_filter(v8::IndexFilter::SkipIndices)
        .build();
    let names = object.get_property_names(scope, wanted)?;
    for index in 0..names.length().min(MAX_KEYS) {
        if details.is_full() {
            break;
        }
        let name = v8::Local::<v8::String>::try_from(names.get_index(scope, index)?).ok()?;
        let most = MAX_DETAIL as usize;
        let Some(value) = data_property(scope, object, name.into()).filter(|_| name.length() <= most) else { continue };
        // A symbol or an object, or too large.
        let Ok(Some(primitive)) = primitive_from_v8(scope, value, most * size_of::<u16>()) else { continue };
        details.add(beginning(scope, name, most), primitive, room);
    }
    Some(())
}

/// The value of an own property, unless it is an accessor.
fn data_property<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'_, v8::Object>,
    key: v8::Local<'_, v8::Name>,
) -> Option<v8::Local<'s, v8::Value>> {
    let descriptor = object.get_own_property_descriptor(scope, key)?;
    let descriptor = v8::Local::<v8::Object>::try_from(descriptor).ok()?;
    let value = v8::String::new(scope, "value")?;
    if descriptor.has_own_property(scope, value.into())? { descriptor.get(scope, value.into()) } else { None }
}

/// The outer `None` when the guest is being stopped.
fn read_cause(
    scope: &mut v8::PinScope<'_, '_>,
    cause: v8::Local<'_, v8::Value>,
    outer: &ErrorChain<'_>,
    room: &mut DetailsRoom,
) -> Option<Option<Fault>> {
    if let Some(primitive) = primitive_from_v8(scope, cause, MAX_DETAIL as usize).ok().flatten() {
        return Some(Some(Fault::Thrown(primitive)).filter(is_cause));
    }
    let Ok(object) = v8::Local::<v8::Object>::try_from(cause) else { return Some(None) };
    if !cause.is_native_error() || outer.contains(object) || !room.take_cause() {
        return Some(None);
    }
    describe(scope, &ErrorChain { object, outer: Some(outer) }, room).map(Some)
}

/// Defines the details on a new error. `make` creates the error of a cause.
pub fn define<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'_, v8::Object>,
    details: &Details,
    make: impl FnOnce(&mut v8::PinScope<'s, '_>, &Fault) -> Option<v8::Local<'s, v8::Value>>,
) -> Option<()> {
    for (key, value) in &details.properties {
        let key = text_to_v8(scope, key).ok()?;
        if let Some(value) = primitive_to_v8(scope, value) {
            object.create_data_property(scope, key.into(), value.ok()?)?;
        }
    }
    if let Some(cause) = &details.cause {
        let value = make(scope, cause)?;
        let key = v8::String::new(scope, "cause")?;
        object.define_own_property(scope, key.into(), value, v8::PropertyAttribute::DONT_ENUM)?;
    }
    Some(())
}

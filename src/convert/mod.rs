//! Converts between V8 values and neutral values. Depends on V8, but not on isolates' lifecycle or a host.

mod bounds;
pub mod cap;
mod deserialize;
mod details;
mod exchange;
mod external;
mod fault;
pub mod host_object;
mod known_names;
mod plain_value;
mod primitive;
mod serialize;
mod short_list;
mod tagged;
mod template;
mod text;

pub use deserialize::payload_to_v8;
pub use exchange::{Exchange, HostMemoryHolder};
pub use external::external_text_to_v8;
pub use fault::{
    current_frames, exception_from_fault, fault_from_caught, fault_from_compilation, fault_from_exception,
};
pub use known_names::KnownNames;
pub use plain_value::plain_to_v8;
pub use primitive::{primitive_from_v8, primitive_to_v8, type_of};
pub use serialize::{clone_from_v8, move_from_v8};
pub use short_list::{PlainLists, write_short_list};
pub use tagged::{TAG, View, has_no_proxy, tagged, type_of_map, view};
pub use text::{append_one_byte, beginning, key_to_v8, text_from_v8, text_to_v8, too_large};

use crate::value::{Fault, Value};

/// The resolver that a callback of ours was given as `value`; `None` for values that are not promises.
///
/// Only for a value that came from a `PromiseResolver`: V8 ends the process when a promise is settled in two ways.
pub fn resolver_from<'s>(value: v8::Local<'s, v8::Value>) -> Option<v8::Local<'s, v8::PromiseResolver>> {
    if !value.is_promise() {
        return None;
    }
    // SAFETY: to V8, a resolver is the same object as its promise, and every promise is of the class that resolvers have
    // (`v8::Promise::Resolver::CheckCast`).
    Some(unsafe { v8::Local::<v8::PromiseResolver>::cast_unchecked(value) })
}

/// Converts a value into the current realm. A payload is read in full.
pub fn to_v8<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    exchange: &dyn Exchange,
    value: Value,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    if let Some(primitive) = primitive_to_v8(scope, &value) {
        return primitive;
    }
    match value {
        Value::Payload(payload) => payload_to_v8(scope, exchange, *payload),
        value => exchange.adopt(scope, value),
    }
}

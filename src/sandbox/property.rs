//! Properties of objects that user code may have changed.

use crate::convert;
use crate::value::{Code, ErrorClass, Fault};

/// Makes `value` a property of `object`, whatever user code has done to the object, as far as the language allows.
pub fn put(
    scope: &mut v8::PinScope<'_, '_>,
    object: v8::Local<'_, v8::Object>,
    key: v8::Local<'_, v8::Name>,
    value: v8::Local<'_, v8::Value>,
) -> Result<(), Fault> {
    v8::tc_scope!(let scope, scope);
    let done = match object.create_data_property(scope, key, value) {
        // What a script has declared is not configurable.
        Some(false) => object.define_property(scope, key, &v8::PropertyDescriptor::new_from_value(value)),
        done => done,
    };
    match done {
        Some(true) => Ok(()),
        Some(false) => {
            let name = key.to_rust_string_lossy(scope);
            let message = format!("`snapshot` has made it impossible to give the code `{name}`, which the sandbox has");
            Err(Fault::coded(ErrorClass::TypeError, &message, Code::InvalidArgument))
        }
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    }
}

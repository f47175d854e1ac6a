//! The surface's functions that the native side calls.

use std::ffi::CStr;

use super::js::{Js, JsResult, JsType, JsValue, Refused};
use super::reference::Reference;

/// Declares the functions, with their names in JavaScript.
macro_rules! functions {
    ($($field:ident: $name:literal,)*) => {
        pub struct Functions {
            $(pub $field: Reference,)*
        }

        impl Functions {
            /// From the argument of `open`.
            pub fn of(js: Js<'_>, host: JsValue<'_>) -> JsResult<Self> {
                Ok(Self { $($field: reference(js, host, $name)?,)* })
            }
        }
    };
}

functions! {
    settle: c"settle",
    serve: c"serve",
    serve_later: c"serveLater",
    defer: c"defer",
    run_microtasks: c"runMicrotasks",
    flush_later: c"flushLater",
    own: c"own",
    leave: c"leave",
    serve_direct_calls: c"serveDirectCalls",
}

fn reference(js: Js<'_>, host: JsValue<'_>, name: &CStr) -> JsResult<Reference> {
    let function = js.property(host, name)?;
    if js.type_of(function)? == JsType::Function { js.reference(function) } else { Err(Refused) }
}

//! Errors of code that imports modules in a sandbox that has none.

use super::specifier::{self, shown};
use crate::convert::cap;
use crate::guest::import;
use crate::isolate::GuestRealm;
use crate::value::{Fault, Text};

/// The reason, in messages.
const NO_MODULES: &str = "the sandbox has no `modules`";

/// Makes `import()` fail with an error that names the reason.
pub fn refuse(scope: &mut v8::Isolate) {
    scope.set_host_import_module_dynamically_callback(on_refused_import);
}

/// V8's callback for `import()`.
fn on_refused_import<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    _options: v8::Local<'s, v8::Data>,
    _resource_name: v8::Local<'s, v8::Value>,
    specifier: v8::Local<'s, v8::String>,
    _attributes: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    let _lifted = cap::lift();
    let at = GuestRealm::current(scope).ok()?;
    let resolver = v8::PromiseResolver::new(scope)?;
    let specifier = specifier::read(scope, specifier);
    let fault = Fault::error(&format!("Cannot find module '{}': {NO_MODULES}", shown(&specifier)));
    import::reject(scope, &at, resolver, &fault);
    Some(resolver.get_promise(scope))
}

/// Whether V8 has found syntax that only modules have.
pub fn is_for_modules(fault: &Fault) -> bool {
    const SIGNS: [&str; 3] = ["Cannot use import statement", "Unexpected token 'export'", "Cannot use 'import.meta'"];
    let message = fault.message().to_string();
    SIGNS.iter().any(|sign| message.starts_with(sign))
}

/// Adds to V8's error for a module why the code cannot be one. The message ends with the position in the code.
pub fn explain(fault: Fault) -> Fault {
    let Fault::Error(mut error) = fault else { return fault };
    let message = error.message.to_string();
    let (text, place) = message.rsplit_once(" [").unwrap_or((&message, ""));
    let place = if place.is_empty() { String::new() } else { format!(" [{place}") };
    error.message = Text::from(format!("{text} ({NO_MODULES}){place}"));
    Fault::Error(error)
}

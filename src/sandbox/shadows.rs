//! If code of a snapshot declares a name with `const`, `let` or `class`, it shadows the property of the global object with the same name.
//! That cannot be undone, so a sandbox that has a property of its own with that name refuses the snapshot.

use crate::convert;
use crate::value::{Code, ErrorClass, Fault, Text};

/// Keywords that look like identifiers, but are not names.
const LITERALS: [&str; 4] = ["false", "null", "this", "true"];

/// Refuses the current realm if one of the names does not refer to the global object's property. The properties must exist, as data
/// properties.
pub fn check(
    scope: &mut v8::PinScope<'_, '_>,
    global: v8::Local<'_, v8::Object>,
    names: impl IntoIterator<Item = Text>,
) -> Result<(), Fault> {
    let names: Vec<_> = names.into_iter().filter(is_identifier).map(|name| name.to_string()).collect();
    // One script for all is faster. It compiles if none of them is a keyword.
    let Some(values) = evaluate(scope, &format!("[{}]", names.join(","))) else {
        return names.iter().try_for_each(|name| check_value(scope, global, name, None));
    };
    let values = v8::Local::<v8::Object>::try_from(values).map_err(|_| Fault::Stopped)?;
    for (index, name) in (0..).zip(&names) {
        let value = values.get_index(scope, index).ok_or(Fault::Stopped)?;
        check_value(scope, global, name, Some(value))?;
    }
    Ok(())
}

/// The same for one name, whose value may be known.
fn check_value<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    global: v8::Local<'_, v8::Object>,
    name: &str,
    value: Option<v8::Local<'s, v8::Value>>,
) -> Result<(), Fault> {
    let Some(value) = value.or_else(|| evaluate(scope, name)) else { return Ok(()) };
    let key = convert::text_to_v8(scope, &Text::from(name))?;
    let property = global.get(scope, key.into()).ok_or(Fault::Stopped)?;
    if value.same_value(property) {
        return Ok(());
    }
    let message = format!(
        "`snapshot` declares `{name}` by const, let or class, which would shadow what the sandbox has under that name"
    );
    Err(Fault::coded(ErrorClass::TypeError, &message, Code::InvalidArgument))
}

/// The result of a script that reads names. `None` if it does not compile, or if one of the names is uninitialized.
fn evaluate<'s>(scope: &mut v8::PinScope<'s, '_>, text: &str) -> Option<v8::Local<'s, v8::Value>> {
    v8::tc_scope!(let scope, scope);
    let source = v8::String::new(scope, text)?;
    v8::Script::compile(scope, source, None)?.run(scope)
}

fn is_identifier(name: &Text) -> bool {
    let name = name.to_string();
    let is_part = |each: char| each.is_alphanumeric() || each == '_' || each == '$';
    let begins = name.chars().next().is_some_and(|first| is_part(first) && !first.is_numeric());
    begins && name.chars().all(is_part) && !LITERALS.contains(&name.as_str())
}

//! Wrappers of V8's `console` functions for isolates that can be inspected. V8 copies what is printed out of the heap, where no limit
//! applies: the text of whole arrays and, permanently, the labels that guests count and time by. So guest code calls these wrappers, which
//! pass on values of limited size.

use crate::convert;
use crate::isolate::guest::Guest;
use crate::isolate::inspector::{Agent, console, remove_from_console};
use crate::value::Text;

/// Functions whose first argument is a label that V8 stores.
const LABELLED: [&str; 8] = ["count", "countReset", "time", "timeEnd", "timeLog", "timeStamp", "profile", "profileEnd"];
const PRINTING: [&str; 14] = [
    "assert",
    "clear",
    "debug",
    "dir",
    "dirxml",
    "error",
    "group",
    "groupCollapsed",
    "groupEnd",
    "info",
    "log",
    "table",
    "trace",
    "warn",
];

const MAX_ARGUMENTS: i32 = 100;
/// Characters of all strings of one call.
const MAX_TEXT: usize = 1 << 20;
const MAX_LABEL: usize = 200;
const MAX_DESCRIPTION: usize = 10_000;
const MAX_WORDS: usize = 1_000;
/// Array elements in one call whose text V8 writes out; an array that exceeds this has no text.
const MAX_ELEMENTS: usize = 10_000;
const MAX_NESTING: u32 = 32;
const MAX_TAG: usize = 100;

/// Objects in one call whose text guest code may compute.
const MAX_TO_STRING_CALLS: u32 = 4;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Printing = 0,
    Labelled = 1,
    Asserting = 2,
    Tabulating = 3,
}

/// Replaces the functions of the current context's `console`, to limit what it stores in V8. Must be called before any guest code runs in the
/// context. `None` if the heap is full.
pub fn install(scope: &mut v8::PinScope<'_, '_>) -> Option<()> {
    let console = console(scope)?;
    let log = v8::String::new(scope, "log")?;
    let log = console.get(scope, log.into())?;
    let labelled = LABELLED.map(|name| (name, Kind::Labelled));
    let printing = PRINTING.map(|name| match name {
        "assert" => (name, Kind::Asserting),
        "table" => (name, Kind::Tabulating),
        _ => (name, Kind::Printing),
    });
    for (name, kind) in labelled.into_iter().chain(printing) {
        let key = v8::String::new(scope, name)?;
        let original = console.get(scope, key.into())?;
        if !original.is_function() {
            continue;
        }
        let kind = v8::Integer::new(scope, kind as i32).into();
        let data = v8::Array::new_with_elements(scope, &[original, kind, log]);
        let function = v8::Function::builder(call)
            .data(data.into())
            .constructor_behavior(v8::ConstructorBehavior::Throw)
            .build(scope)?;
        function.set_name(key);
        console.set(scope, key.into(), function.into())?;
    }
    // `console.context` creates a console without these wrappers.
    remove_from_console(scope, "context")
}

fn call<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    // `None` means that an exception is pending, or that execution is being terminated.
    let _ = pass_on(scope, &args);
}

fn pass_on<'s>(scope: &mut v8::PinScope<'s, '_>, args: &v8::FunctionCallbackArguments<'s>) -> Option<()> {
    let data = v8::Local::<v8::Array>::try_from(args.data()).ok()?;
    let mut original = data.get_index(scope, 0)?;
    let kind = data.get_index(scope, 1)?.int32_value(scope)?;
    let agent = Guest::of(scope).ok()?.agent()?;
    let mut values = Vec::new();
    let mut first = 0;
    if kind == Kind::Labelled as i32 {
        if args.length() > 0 && !args.get(0).is_undefined() {
            values.push(label(scope, &agent, args.get(0))?);
            first = 1;
        }
    } else if kind == Kind::Asserting as i32 {
        // V8 checks the condition and prints the rest.
        if args.get(0).boolean_value(scope) {
            return Some(());
        }
        values.push(v8::Boolean::new(scope, false).into());
        first = 1;
    }
    let mut room = MAX_TEXT;
    let mut walk = Walk { room: MAX_TEXT, elements: MAX_ELEMENTS };
    let mut speaking = 0;
    for index in first..args.length().min(MAX_ARGUMENTS) {
        let value = bounded(scope, args.get(index), &mut room)?;
        let Ok(object) = v8::Local::<v8::Object>::try_from(value) else {
            values.push(value);
            continue;
        };
        let mut plain = walk.is_plain(scope, value, 0)?;
        if !plain && !value.is_array() {
            speaking += 1;
            plain = speaking <= MAX_TO_STRING_CALLS;
        }
        // `table` does not limit the names of rows, so `log` prints this value.
        if !plain && kind == Kind::Tabulating as i32 {
            original = data.get_index(scope, 2)?;
        }
        values.push(if plain { value } else { behind_proxy(scope, object)?.into() });
    }
    v8::Local::<v8::Function>::try_from(original).ok()?.call(scope, args.this().into(), &values)?;
    Some(())
}

/// A label to count or time by, truncated. `None` if there are too many labels.
fn label<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    agent: &Agent,
    value: v8::Local<'s, v8::Value>,
) -> Option<v8::Local<'s, v8::Value>> {
    let text = head(scope, value.to_string(scope)?, MAX_LABEL);
    let string = convert::text_to_v8(scope, &text).ok()?;
    agent.admit_label(text).then_some(string.into())
}

/// The first `length` code units of a string.
fn head(scope: &mut v8::PinScope<'_, '_>, string: v8::Local<'_, v8::String>, length: usize) -> Text {
    let mut units = vec![0; string.length().min(length)];
    string.write_v2(scope, 0, &mut units, v8::WriteFlags::empty());
    Text::from_utf16(units)
}

/// The value itself, or a replacement for one that is too long.
fn bounded<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    value: v8::Local<'s, v8::Value>,
    room: &mut usize,
) -> Option<v8::Local<'s, v8::Value>> {
    if let Ok(string) = v8::Local::<v8::String>::try_from(value) {
        let length = string.length();
        if length <= *room {
            *room -= length;
            return Some(value);
        }
        let cut = head(scope, string, *room);
        *room = 0;
        let rest = format!("… ({} more characters)", length - cut.len());
        let (cut, rest) = (convert::text_to_v8(scope, &cut).ok()?, v8::String::new(scope, &rest)?);
        return Some(v8::String::concat(scope, cut, rest)?.into());
    }
    if let Ok(symbol) = v8::Local::<v8::Symbol>::try_from(value) {
        let description = v8::Local::<v8::String>::try_from(symbol.description(scope));
        if description.is_ok_and(|description| description.length() > MAX_DESCRIPTION) {
            return Some(v8::String::new(scope, "Symbol(…)")?.into());
        }
    }
    if v8::Local::<v8::BigInt>::try_from(value).is_ok_and(|bigint| bigint.word_count() > MAX_WORDS) {
        return Some(v8::String::new(scope, "a very large BigInt")?.into());
    }
    Some(value)
}

/// A proxy of the object, whose text in V8 is short. DevTools shows the target of the proxy.
fn behind_proxy<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'s, v8::Object>,
) -> Option<v8::Local<'s, v8::Proxy>> {
    let null = v8::null(scope).into();
    let handler = v8::Object::with_prototype_and_properties(scope, null, &[], &[]);
    v8::Proxy::new(scope, object, handler)
}

/// The remaining budget for the text of one call's objects.
struct Walk {
    room: usize,
    elements: usize,
}

impl Walk {
    /// Whether V8 can write the value's text without running guest code, and the text fits into the budget.
    fn is_plain(
        &mut self,
        scope: &mut v8::PinScope<'_, '_>,
        value: v8::Local<'_, v8::Value>,
        depth: u32,
    ) -> Option<bool> {
        if let Ok(string) = v8::Local::<v8::String>::try_from(value) {
            return Some(self.fits(string.length()));
        }
        if let Ok(symbol) = v8::Local::<v8::Symbol>::try_from(value) {
            let description = v8::Local::<v8::String>::try_from(symbol.description(scope));
            return Some(self.fits(description.map_or(0, |description| description.length())));
        }
        if let Ok(bigint) = v8::Local::<v8::BigInt>::try_from(value) {
            return Some(bigint.word_count() <= 1);
        }
        let Ok(object) = v8::Local::<v8::Object>::try_from(value) else { return Some(true) };
        if value.is_proxy() {
            return Some(true);
        }
        let Ok(array) = v8::Local::<v8::Array>::try_from(value) else { return is_tagless(scope, object) };
        let length = array.length() as usize;
        if depth == MAX_NESTING || length > self.elements {
            return Some(false);
        }
        self.elements -= length;
        for index in 0..array.length() {
            v8::scope!(let scope, scope);
            let key = v8::Integer::new_from_unsigned(scope, index).to_string(scope)?;
            // V8 looks up a hole in the prototypes, and a getter is guest code.
            let Some(element) = own_value(scope, object, key.into())? else { return Some(false) };
            if !self.is_plain(scope, element, depth + 1)? {
                return Some(false);
            }
        }
        Some(true)
    }

    fn fits(&mut self, length: usize) -> bool {
        let fits = length <= self.room;
        self.room = self.room.saturating_sub(length);
        fits
    }
}

/// The value of an own data property of an object that is not a proxy. The inner `None` means that there is no such property, or a getter.
fn own_value<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'_, v8::Object>,
    key: v8::Local<'_, v8::Name>,
) -> Option<Option<v8::Local<'s, v8::Value>>> {
    let descriptor = object.get_own_property_descriptor(scope, key)?;
    let Ok(descriptor) = v8::Local::<v8::Object>::try_from(descriptor) else { return Some(None) };
    let value = v8::String::new(scope, "value")?;
    if !descriptor.has_own_property(scope, value.into())? {
        return Some(None);
    }
    descriptor.get(scope, value.into()).map(Some)
}

/// Whether the object's text is `[object …]` with a short name that no guest code computes.
fn is_tagless(scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>) -> Option<bool> {
    if object.is_function()
        || object.is_date()
        || object.is_native_error()
        || object.is_reg_exp()
        || object.is_string_object()
    {
        return Some(false);
    }
    let tag = v8::Symbol::get_to_string_tag(scope);
    let mut holder: v8::Local<'_, v8::Value> = v8::Local::new(scope, object).into();
    while let Ok(object) = v8::Local::<v8::Object>::try_from(holder) {
        if holder.is_proxy() {
            return Some(false);
        }
        if object.has_own_property(scope, tag.into())? {
            let Some(name) = own_value(scope, object, tag.into())? else { return Some(false) };
            let name = v8::Local::<v8::String>::try_from(name);
            return Some(name.is_ok_and(|name| name.length() <= MAX_TAG));
        }
        holder = object.get_prototype(scope)?;
    }
    Some(true)
}

//! A sandbox's `console`. Calls become log lines, whose number and length are limited. Lines that are kept can also be streamed to the
//! host.

use std::sync::Arc;

use super::logs::{LogStyle, Logs, cut};
use super::property::put;
use crate::convert::{self, cap};
use crate::guest::outgoing;
use crate::isolate::{self, Place};
use crate::ops;
use crate::protocol::LEVELS;
use crate::value::{Callable, Fault, Text, Value};

/// Sends a line to the host at once. A guest that writes faster than its host reads has to wait.
fn stream(scope: &mut v8::PinScope<'_, '_>, listener: &Arc<Callable>, level: &str, text: Text) {
    let Ok(at) = Place::current(scope) else { return };
    let bytes = text.byte_len();
    let message = vec![Value::String(Text::from(level)), Value::String(text)];
    // A host that is gone, or a guest that is being stopped, needs no lines.
    let _ = ops::call_callable(listener, message).and_then(|call| outgoing::notify(scope, &at, call, bytes));
}

/// Puts the log functions on the realm's `console`.
pub fn install(scope: &mut v8::PinScope<'_, '_>, global: v8::Local<'_, v8::Object>) -> Result<(), Fault> {
    let console = make(scope).ok_or(Fault::Stopped)?;
    let name = convert::text_to_v8(scope, &Text::from("console"))?;
    put(scope, global, name.into(), console.into())
}

fn make<'s>(scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Object>> {
    let console = v8::Object::new(scope);
    for (index, level) in (0..).zip(LEVELS) {
        let data = v8::Integer::new(scope, index).into();
        let function = v8::Function::builder(log).data(data).build(scope)?;
        let name = v8::String::new(scope, level)?;
        function.set_name(name);
        console.create_data_property(scope, name.into(), function.into())?;
    }
    Some(console)
}

/// A function that formats a list of console arguments as a log does, to at most `most` characters.
pub fn formatter<'s>(scope: &mut v8::PinScope<'s, '_>, most: usize) -> Option<v8::Local<'s, v8::Function>> {
    let data = v8::Number::new(scope, most as f64).into();
    v8::Function::builder(format).data(data).constructor_behavior(v8::ConstructorBehavior::Throw).build(scope)
}

fn format<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    let _lifted = cap::lift();
    let most = args.data().number_value(scope).map_or(0, |most| most as usize);
    let Ok(list) = v8::Local::<v8::Array>::try_from(args.get(0)) else { return };
    let mut line = Vec::new();
    // Not as arguments: the list may be longer than the stack has room for.
    if append_all(scope, list.length(), |scope, index| list.get_index(scope, index), &mut line, most).is_none() {
        return;
    }
    cut(&mut line, most);
    if let Ok(text) = convert::text_to_v8(scope, &Text::from_utf16(line)) {
        result.set(text.into());
    }
}

fn log<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    let _lifted = cap::lift();
    let Some(logs) = isolate::attached::<Logs>(scope) else { return };
    let level = args.data().int32_value(scope).and_then(|index| LEVELS.get(usize::try_from(index).ok()?));
    // Formatting runs guest code and costs time, so skip it for lines that are not kept.
    if !logs.has_room() {
        return;
    }
    let most = logs.logging.most_length;
    let mut line = Vec::new();
    let written = match logs.logging.style {
        LogStyle::Plain | LogStyle::Marked => {
            let argument = |_: &mut _, index: u32| Some(args.get(index as i32));
            append_all(scope, args.length().unsigned_abs(), argument, &mut line, most)
        }
        LogStyle::Tagged => append_data(scope, &args, &mut line, most),
    };
    if written.is_none() {
        return;
    }
    let level = level.unwrap_or(&"log");
    let text = logs.push(level, line);
    if let Some(listener) = &logs.logging.listener {
        stream(scope, listener, level, text);
    }
}

/// Appends `count` values, separated by spaces.
fn append_all<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    count: u32,
    value_at: impl Fn(&mut v8::PinScope<'s, 'i>, u32) -> Option<v8::Local<'s, v8::Value>>,
    line: &mut Vec<u16>,
    most: usize,
) -> Option<()> {
    for index in 0..count {
        if index > 0 {
            line.push(u16::from(b' '));
        }
        let value = value_at(scope, index)?;
        append(scope, value, line, most)?;
        if line.len() > most {
            break;
        }
    }
    Some(())
}

/// Appends the one argument as JSON, or all of them as a list.
fn append_data<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: &v8::FunctionCallbackArguments<'s>,
    line: &mut Vec<u16>,
    most: usize,
) -> Option<()> {
    let single = args.length() == 1;
    if !single {
        line.push(u16::from(b'['));
    }
    for index in 0..args.length() {
        if index > 0 {
            line.push(u16::from(b','));
        }
        let value = args.get(index);
        if value.is_undefined() || value.is_function() || value.is_symbol() {
            line.extend(if single { "undefined" } else { "null" }.encode_utf16());
        } else if let Ok(text) = v8::Local::<v8::String>::try_from(value) {
            // Quoting a string takes time in proportion to its length.
            let text = convert::beginning(scope, text, most + 1);
            let text = convert::text_to_v8(scope, &text).ok()?;
            append_beginning(scope, v8::json::stringify(scope, text.into())?, line, most);
        } else if value.is_native_error() {
            let mut text = Vec::new();
            append_error(scope, value, &mut text, most)?;
            let text = convert::text_to_v8(scope, &Text::from_utf16(text)).ok()?;
            append_beginning(scope, v8::json::stringify(scope, text.into())?, line, most);
        } else {
            append(scope, value, line, most)?;
        }
        if line.len() > most {
            return Some(());
        }
    }
    if !single {
        line.push(u16::from(b']'));
    }
    Some(())
}

fn append_beginning(
    scope: &mut v8::PinScope<'_, '_>,
    text: v8::Local<'_, v8::String>,
    line: &mut Vec<u16>,
    most: usize,
) {
    match convert::beginning(scope, text, most + 1) {
        Text::Latin1(bytes) => line.extend(bytes.iter().map(|byte| u16::from(*byte))),
        Text::Utf16(units) => line.extend_from_slice(&units),
    }
}

/// Appends a string as it is, anything else as JSON, or as a string if it has no JSON. `None` if the guest is being stopped.
fn append(
    scope: &mut v8::PinScope<'_, '_>,
    value: v8::Local<'_, v8::Value>,
    line: &mut Vec<u16>,
    most: usize,
) -> Option<()> {
    if value.is_native_error() {
        return append_error(scope, value, line, most);
    }
    v8::tc_scope!(let scope, scope);
    let value = v8::Local::new(scope, value);
    let text = match v8::Local::<v8::String>::try_from(value) {
        Ok(text) => Some(text),
        Err(_) => json(scope, value),
    };
    let text = text.or_else(|| {
        if scope.has_terminated() {
            return None;
        }
        scope.reset();
        value.to_detail_string(scope)
    });
    if scope.has_terminated() {
        return None;
    }
    if let Some(text) = text {
        append_beginning(scope, text, line, most);
    }
    Some(())
}

/// The maximum number of causes that are logged with an error.
const MAX_CAUSES: usize = 3;

/// Appends an error's stack, which begins with its name and message, and those of its causes. `None` if the guest is being stopped.
fn append_error(
    scope: &mut v8::PinScope<'_, '_>,
    error: v8::Local<'_, v8::Value>,
    line: &mut Vec<u16>,
    most: usize,
) -> Option<()> {
    v8::tc_scope!(let scope, scope);
    let mut next = v8::Local::<v8::Object>::try_from(v8::Local::new(scope, error)).ok();
    for depth in 0..=MAX_CAUSES {
        let Some(error) = next else { break };
        if depth > 0 {
            line.extend("\n  [cause]: ".encode_utf16());
        }
        let stack = property(scope, error, "stack").and_then(|stack| v8::Local::<v8::String>::try_from(stack).ok());
        let text = match stack.filter(|stack| stack.length() > 0) {
            Some(stack) => Some(stack),
            None => error.to_string(scope),
        };
        if let Some(text) = text {
            append_beginning(scope, text, line, most);
        }
        let cause = property(scope, error, "cause").filter(|cause| cause.is_native_error());
        next = cause.and_then(|cause| v8::Local::<v8::Object>::try_from(cause).ok());
        if scope.has_terminated() {
            return None;
        }
        scope.reset();
        if line.len() > most {
            break;
        }
    }
    Some(())
}

fn property<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'s, v8::Object>,
    key: &str,
) -> Option<v8::Local<'s, v8::Value>> {
    let key = v8::String::new(scope, key)?;
    object.get(scope, key.into())
}

/// `JSON.stringify`, which returns nothing for functions, symbols and `undefined`.
fn json<'s>(scope: &mut v8::PinScope<'s, '_>, value: v8::Local<'s, v8::Value>) -> Option<v8::Local<'s, v8::String>> {
    if value.is_undefined() || value.is_function() || value.is_symbol() || value.is_big_int() {
        return None;
    }
    v8::json::stringify(scope, value)
}

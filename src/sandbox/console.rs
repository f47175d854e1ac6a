//! A sandbox's `console`. Calls become log lines, whose number and length are limited. Lines that are kept can also be streamed to the
//! host.

use std::sync::Arc;

use super::labels::Labels;
use super::logs::{LogStyle, Logs, cut};
use super::property::put;
use crate::convert::{self, cap};
use crate::guest::outgoing;
use crate::isolate::{self, Guest, GuestRealm};
use crate::ops;
use crate::protocol::console_method;
use crate::value::{Callable, Fault, Text, Value};

/// Sends a line to the host at once. A guest that writes faster than its host reads has to wait.
fn stream(scope: &mut v8::PinScope<'_, '_>, listener: &Arc<Callable>, level: &str, text: Text) {
    let Ok(at) = GuestRealm::current(scope) else { return };
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
    // A debugger also shows what is printed.
    let shown = Guest::of(scope).ok()?.agent().and_then(|_| isolate::console(scope));
    for (index, (method, _)) in (0..).zip(console_method::ALL) {
        let name = v8::String::new(scope, method)?;
        let index = v8::Integer::new(scope, index).into();
        let data = match shown {
            Some(shown) => {
                let original = shown.get(scope, name.into())?;
                v8::Array::new_with_elements(scope, &[index, original]).into()
            }
            None => index,
        };
        let function = v8::Function::builder(log).data(data).build(scope)?;
        function.set_name(name);
        console.create_data_property(scope, name.into(), function.into())?;
    }
    Some(console)
}

/// What one call of a console's method prints.
struct Entry {
    /// The text before the arguments.
    head: String,
    /// The arguments that are printed.
    first: u32,
    end: u32,
    has_stack: bool,
}

impl Entry {
    fn of(first: u32, end: u32) -> Option<Self> {
        Some(Self { head: String::new(), first, end, has_stack: false })
    }

    fn with_head(head: String, first: u32, end: u32) -> Option<Self> {
        Some(Self { head, first: first.min(end), end, has_stack: false })
    }

    /// Whether the arguments are all of it.
    fn is_data(&self) -> bool {
        self.head.is_empty() && !self.has_stack
    }
}

/// Does what the method does, except for printing. `None` if it prints nothing.
fn enter<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    labels: &Labels,
    method: &str,
    first: v8::Local<'s, v8::Value>,
    count: u32,
) -> Option<Entry> {
    match method {
        "dir" | "table" => Entry::of(0, count.min(1)),
        "trace" => {
            let head = String::from(if count == 0 { "Trace" } else { "Trace: " });
            Some(Entry { head, first: 0, end: count, has_stack: true })
        }
        "assert" => {
            if first.boolean_value(scope) {
                return None;
            }
            let head = if count > 1 { "Assertion failed: " } else { "Assertion failed" };
            Entry::with_head(String::from(head), 1, count)
        }
        "count" => {
            let label = label(scope, first)?;
            let head = format!("{label}: {}", labels.count(label.clone()));
            Entry::with_head(head, count, count)
        }
        "countReset" => {
            labels.reset_count(&label(scope, first)?);
            None
        }
        "time" => {
            labels.start(label(scope, first)?);
            None
        }
        "timeLog" | "timeEnd" => {
            let label = label(scope, first)?;
            let time = labels.elapsed(&label, method == "timeEnd")?;
            let end = if method == "timeEnd" { count.min(1) } else { count };
            let space = if end > 1 { " " } else { "" };
            Entry::with_head(format!("{label}: {time:.3}ms{space}"), 1, end)
        }
        "groupEnd" => {
            labels.end_group();
            None
        }
        _ => Entry::of(0, count),
    }
}

/// Characters of a label.
const MAX_LABEL: usize = 200;

/// The label that the first argument of a method names.
fn label<'s>(scope: &mut v8::PinScope<'s, '_>, value: v8::Local<'s, v8::Value>) -> Option<Text> {
    if value.is_undefined() {
        return Some(Text::from("default"));
    }
    v8::tc_scope!(let scope, scope);
    let text = value.to_string(scope);
    if scope.has_terminated() {
        return None;
    }
    scope.reset();
    Some(text.map_or_else(|| Text::from("default"), |text| convert::beginning(scope, text, MAX_LABEL)))
}

/// The line that a method prints; `None` if it prints nothing, or the guest is being stopped. `has_room` tells whether it is kept.
fn print<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    method: &str,
    (style, most): (LogStyle, usize),
    count: u32,
    value_at: impl Fn(&mut v8::PinScope<'s, 'i>, u32) -> Option<v8::Local<'s, v8::Value>>,
    has_room: impl FnOnce() -> bool,
) -> Option<Vec<u16>> {
    let labels = Labels::of(scope);
    let first = if count > 0 { value_at(scope, 0)? } else { v8::undefined(scope).into() };
    let entry = enter(scope, &labels, method, first, count)?;
    let opens_group = matches!(method, "group" | "groupCollapsed");
    let prints = !opens_group || count > 0;
    // Formatting runs guest code and costs time, so skip it for lines that are not kept.
    let line = if prints && has_room() { write(scope, &entry, (style, most), value_at) } else { None };
    let line = line.map(|line| if style == LogStyle::Tagged { line } else { labels.indent(line) });
    if opens_group {
        labels.begin_group();
    }
    line
}

fn write<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    entry: &Entry,
    (style, most): (LogStyle, usize),
    value_at: impl Fn(&mut v8::PinScope<'s, 'i>, u32) -> Option<v8::Local<'s, v8::Value>>,
) -> Option<Vec<u16>> {
    let mut line = Vec::new();
    let count = entry.end - entry.first;
    let argument = |scope: &mut v8::PinScope<'s, 'i>, index: u32| value_at(scope, entry.first + index);
    if style == LogStyle::Tagged && entry.is_data() {
        append_data(scope, count, argument, &mut line, most)?;
        return Some(line);
    }
    line.extend(entry.head.encode_utf16());
    append_all(scope, count, argument, &mut line, most)?;
    if entry.has_stack && line.len() <= most {
        append_stack(scope, &mut line, most);
    }
    if style == LogStyle::Tagged {
        let text = convert::text_to_v8(scope, &Text::from_utf16(std::mem::take(&mut line))).ok()?;
        append_beginning(scope, v8::json::stringify(scope, text.into())?, &mut line, most);
    }
    Some(line)
}

/// Appends where the guest's code is.
fn append_stack(scope: &mut v8::PinScope<'_, '_>, line: &mut Vec<u16>, most: usize) {
    let error = v8::Exception::error(scope, v8::String::empty(scope));
    let Ok(error) = v8::Local::<v8::Object>::try_from(error) else { return };
    v8::tc_scope!(let scope, scope);
    let error = v8::Local::new(scope, error);
    let Some(stack) = property(scope, error, "stack").and_then(|stack| v8::Local::<v8::String>::try_from(stack).ok())
    else {
        return;
    };
    let Ok(text) = convert::text_from_v8(scope, stack, most.saturating_mul(2).max(1 << 16)) else { return };
    let text = text.to_string();
    for frame in text.lines().filter(|frame| frame.trim_start().starts_with("at ")) {
        line.push(u16::from(b'\n'));
        line.extend(frame.encode_utf16());
    }
}

/// A function that formats a list of console arguments as the method with the index that follows does, to at most `most` characters. It
/// returns nothing if the method prints nothing.
pub fn formatter<'s>(scope: &mut v8::PinScope<'s, '_>, most: usize) -> Option<v8::Local<'s, v8::Function>> {
    let data = v8::Number::new(scope, most as f64).into();
    v8::Function::builder(format).data(data).constructor_behavior(v8::ConstructorBehavior::Throw).build(scope)
}

/// The method with this index; `log` if there is none.
fn method_at(scope: &mut v8::PinScope<'_, '_>, index: v8::Local<'_, v8::Value>) -> (&'static str, &'static str) {
    let index = index.int32_value(scope).and_then(|index| usize::try_from(index).ok()).unwrap_or(0);
    console_method::ALL.get(index).copied().unwrap_or(("log", "log"))
}

fn format<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<v8::Value>,
) {
    let _lifted = cap::lift();
    let most = args.data().number_value(scope).map_or(0, |most| most as usize);
    let Ok(list) = v8::Local::<v8::Array>::try_from(args.get(0)) else { return };
    let (method, _) = method_at(scope, args.get(1));
    // Not as arguments: the list may be longer than the stack has room for.
    let argument = |scope: &mut _, index: u32| list.get_index(scope, index);
    let line = print(scope, method, (LogStyle::Plain, most), list.length(), argument, || true);
    let Some(mut line) = line else { return };
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
    let (index, shown) = match v8::Local::<v8::Array>::try_from(args.data()) {
        Ok(data) => (data.get_index(scope, 0), data.get_index(scope, 1)),
        Err(_) => (Some(args.data()), None),
    };
    let Some(index) = index else { return };
    let (method, level) = method_at(scope, index);
    let count = args.length().unsigned_abs();
    let how = (logs.logging.style, logs.logging.max_length);
    let argument = |_: &mut _, index: u32| Some(args.get(index as i32));
    if let Some(line) = print(scope, method, how, count, argument, || logs.has_room()) {
        let text = logs.push(level, line);
        if let Some(listener) = &logs.logging.listener {
            stream(scope, listener, level, text);
        }
    }
    if let Some(shown) = shown.and_then(|shown| v8::Local::<v8::Function>::try_from(shown).ok()) {
        let arguments: Vec<_> = (0..args.length()).map(|index| args.get(index)).collect();
        let receiver = v8::undefined(scope).into();
        // An exception stays pending, as in V8's console.
        let _ = shown.call(scope, receiver, &arguments);
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
fn append_data<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    count: u32,
    value_at: impl Fn(&mut v8::PinScope<'s, 'i>, u32) -> Option<v8::Local<'s, v8::Value>>,
    line: &mut Vec<u16>,
    most: usize,
) -> Option<()> {
    let single = count == 1;
    if !single {
        line.push(u16::from(b'['));
    }
    for index in 0..count {
        if index > 0 {
            line.push(u16::from(b','));
        }
        let value = value_at(scope, index)?;
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

//! `console` of a sandbox: calls become log lines, few and short, whatever the guest does.

use std::sync::{Mutex, PoisonError};

use super::LogStyle;
use super::session::Session;
use crate::convert::{self, cap};
use crate::value::Text;

/// `createSandbox` keeps this many lines of this many characters.
const PLAIN_LINES: usize = 100;
const PLAIN_LENGTH: usize = 1_000;

/// Other sandboxes keep more; the bound is on what a flood costs the host.
const MARKED_LINES: usize = 10_000;
const MARKED_LENGTH: usize = 10_000;

/// Bytes that all lines may take; a last line tells when they do.
const MOST_BYTES: usize = 8 << 20;

const LEVELS: [&str; 5] = ["log", "info", "warn", "error", "debug"];

/// The lines of one execution.
pub struct Logs {
    style: LogStyle,
    lines: Mutex<Lines>,
}

#[derive(Default)]
struct Lines {
    texts: Vec<Text>,
    bytes: usize,
}

impl Logs {
    pub fn new(style: LogStyle) -> Self {
        Self { style, lines: Mutex::default() }
    }

    pub fn take(&self) -> Vec<Text> {
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner)).texts
    }

    fn is_full(&self) -> bool {
        let limit = match self.style {
            LogStyle::Plain => PLAIN_LINES,
            LogStyle::Marked => MARKED_LINES,
        };
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.texts.len() >= limit || lines.bytes >= MOST_BYTES
    }

    fn push(&self, level: &str, line: Vec<u16>) {
        let mark = match (self.style, level) {
            (LogStyle::Marked, "error") => "[ERROR] ",
            (LogStyle::Marked, "warn") => "[WARN] ",
            _ => "",
        };
        let limit = match self.style {
            LogStyle::Plain => PLAIN_LENGTH,
            LogStyle::Marked => MARKED_LENGTH,
        };
        let mut text: Vec<u16> = mark.encode_utf16().collect();
        let long = line.len() > limit;
        text.extend(line.into_iter().take(limit));
        if long {
            text.extend("...".encode_utf16());
        }
        let text = Text::from_utf16(text);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.bytes += text.byte_len();
        lines.texts.push(text);
        if lines.bytes >= MOST_BYTES {
            lines.texts.push(Text::from("[WARN] Further output is not kept"));
        }
    }
}

/// Puts the log functions on the realm's `console`.
pub fn install(scope: &mut v8::PinScope<'_, '_>, global: v8::Local<'_, v8::Object>) -> Option<()> {
    let console = v8::Object::new(scope);
    for (index, level) in (0..).zip(LEVELS) {
        let data = v8::Integer::new(scope, index).into();
        let function = v8::Function::builder(log).data(data).build(scope)?;
        let name = v8::String::new(scope, level)?;
        function.set_name(name);
        console.create_data_property(scope, name.into(), function.into())?;
    }
    let name = v8::String::new(scope, "console")?;
    global.create_data_property(scope, name.into(), console.into())?;
    Some(())
}

fn log<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    let _lifted = cap::lift();
    let Some(session) = Session::of(scope) else { return };
    let level = args.data().int32_value(scope).and_then(|index| LEVELS.get(usize::try_from(index).ok()?));
    // Formatting runs guest code and costs time: not for lines that nobody keeps.
    if session.logs.is_full() {
        return;
    }
    let mut line = Vec::new();
    for index in 0..args.length() {
        if index > 0 {
            line.push(u16::from(b' '));
        }
        if append(scope, args.get(index), &mut line).is_none() {
            return;
        }
        if line.len() > MARKED_LENGTH {
            break;
        }
    }
    session.logs.push(level.unwrap_or(&"log"), line);
}

/// A string as it is, anything else as JSON, or as a string where it has none. `None` when the guest is being stopped.
fn append(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>, line: &mut Vec<u16>) -> Option<()> {
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
    match text.map(|text| convert::beginning(scope, text, MARKED_LENGTH + 1)) {
        Some(Text::Latin1(bytes)) => line.extend(bytes.iter().map(|byte| u16::from(*byte))),
        Some(Text::Utf16(units)) => line.extend_from_slice(&units),
        None => {}
    }
    Some(())
}

/// `JSON.stringify`, which gives nothing for functions, symbols and `undefined`.
fn json<'s>(scope: &mut v8::PinScope<'s, '_>, value: v8::Local<'s, v8::Value>) -> Option<v8::Local<'s, v8::String>> {
    if value.is_undefined() || value.is_function() || value.is_symbol() || value.is_big_int() {
        return None;
    }
    v8::json::stringify(scope, value)
}

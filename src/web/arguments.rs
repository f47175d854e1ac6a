//! Arguments and results of the native functions, as texts and numbers.

use crate::convert::{self, Exchange};
use crate::isolate::GuestRealm;
use crate::ops;
use crate::value::{Fault, Text};

/// The text of an argument, up to the maximum that may leave the isolate.
pub fn text(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    args: &v8::FunctionCallbackArguments<'_>,
    index: i32,
) -> Result<Text, Fault> {
    match v8::Local::<v8::String>::try_from(args.get(index)) {
        Ok(string) => convert::text_from_v8(scope, string, at.limit()),
        Err(_) => Err(ops::malformed()),
    }
}

/// The same as UTF-8, of at most `most` bytes; `None` for more.
pub fn utf8(
    scope: &v8::PinScope<'_, '_>,
    value: v8::Local<'_, v8::Value>,
    most: usize,
) -> Result<Option<String>, Fault> {
    let Ok(string) = v8::Local::<v8::String>::try_from(value) else {
        return Err(ops::malformed());
    };
    // Every character takes at least one byte, so a text that is too long is not read.
    if string.length() > most {
        return Ok(None);
    }
    let length = string.utf8_length(scope);
    if length > most {
        return Ok(None);
    }
    let mut bytes = vec![0; length];
    let written = string.write_utf8_v2(scope, &mut bytes, v8::WriteFlags::kReplaceInvalidUtf8, None);
    bytes.truncate(written);
    Ok(Some(String::from_utf8(bytes).unwrap_or_default()))
}

/// Longer strings are outside the heap, and are charged there.
const LONG: usize = 1 << 16;

pub fn string<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    text: Text,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    Ok(if text.byte_len() < LONG {
        convert::text_to_v8(scope, &text)?.into()
    } else {
        convert::external_text_to_v8(scope, text, &Exchange::budget(at))?.into()
    })
}

/// An ASCII text.
pub fn ascii(text: String) -> Text {
    Text::Latin1(text.into_bytes())
}

pub fn number(scope: &mut v8::PinScope<'_, '_>, args: &v8::FunctionCallbackArguments<'_>, index: i32) -> u32 {
    args.get(index).uint32_value(scope).unwrap_or(0)
}

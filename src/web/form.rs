//! The names and values of `application/x-www-form-urlencoded`.

use url::form_urlencoded::{byte_serialize, parse};

use super::arguments::{ascii, string, utf8};
use crate::convert::{self, Exchange};
use crate::isolate::Place;
use crate::value::{Fault, Text};

/// Bytes to encode between two checks whether the guest must stop.
const CHUNK: usize = 1 << 18;

/// `decodeForm(text)`: the decoded name or value.
pub fn decode<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &Place,
    args: &v8::FunctionCallbackArguments<'s>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let limit = at.limit();
    let encoded = utf8(scope, args.get(0), limit)?.ok_or_else(|| convert::too_large(limit))?;
    if !encoded.contains(['+', '%']) {
        return Ok(args.get(0));
    }
    // A value without a name, so that nothing in it counts as the end of a name.
    let whole = format!("={encoded}");
    drop(encoded);
    let decoded = parse(whole.as_bytes()).next().map(|(_, value)| Text::from_utf16(value.encode_utf16().collect()));
    drop(whole);
    string(scope, at, decoded.unwrap_or_else(|| Text::from("")))
}

/// `encodeForm(text)`
pub fn encode<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &Place,
    args: &v8::FunctionCallbackArguments<'s>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let limit = at.limit();
    let plain = utf8(scope, args.get(0), limit)?.ok_or_else(|| convert::too_large(limit))?;
    let mut encoded = String::new();
    for chunk in plain.as_bytes().chunks(CHUNK) {
        at.guest.check_stopping()?;
        for part in byte_serialize(chunk) {
            if encoded.len() + part.len() > limit {
                return Err(convert::too_large(limit));
            }
            encoded.push_str(part);
        }
    }
    drop(plain);
    string(scope, at, ascii(encoded))
}

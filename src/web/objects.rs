//! The native side of `crypto` and `performance` (`surface/web/objects.js`).

use super::arguments::{ascii, string};
use super::buffer::Bytes;
use super::state::WebState;
use crate::isolate::GuestRealm;
use crate::ops;
use crate::value::{Code, ErrorClass, Fault};

type Args<'s> = v8::FunctionCallbackArguments<'s>;
type Returned<'s> = Result<v8::Local<'s, v8::Value>, Fault>;

/// The maximum number of bytes per call.
const MAX_BYTES: usize = 65_536;

fn random(bytes: &mut [u8]) -> Result<(), Fault> {
    getrandom::fill(bytes)
        .map_err(|_| Fault::coded(ErrorClass::Error, "The system has no random bytes", Code::Unsupported))
}

/// `fillRandom(view)`
pub fn fill_random<'s>(scope: &mut v8::PinScope<'s, '_>, _at: &GuestRealm, args: &Args<'s>) -> Returned<'s> {
    let bytes = Bytes::of(scope, args.get(0)).ok_or_else(ops::malformed)?;
    let mut values = vec![0; bytes.len().min(MAX_BYTES)];
    random(&mut values)?;
    bytes.write(&values);
    Ok(v8::undefined(scope).into())
}

/// `randomUUID()`: a UUID of version 4.
pub fn random_uuid<'s>(scope: &mut v8::PinScope<'s, '_>, at: &GuestRealm, _args: &Args<'s>) -> Returned<'s> {
    let mut bytes = [0; 16];
    random(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut uuid = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            uuid.push('-');
        }
        for digit in [byte >> 4, byte & 0x0f] {
            uuid.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
    }
    string(scope, at, ascii(uuid))
}

/// `now()`: whole milliseconds, no finer than `Date.now()`.
pub fn now<'s>(scope: &mut v8::PinScope<'s, '_>, _at: &GuestRealm, _args: &Args<'s>) -> Returned<'s> {
    let elapsed = WebState::of(scope)?.began.elapsed().as_millis();
    Ok(v8::Number::new(scope, elapsed as f64).into())
}

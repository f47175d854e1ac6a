//! `atob` and `btoa`, with the web's forgiving decoding.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::arguments::{ascii, string, text};
use crate::convert::{self, Exchange};
use crate::isolate::GuestRealm;
use crate::value::{Fault, Text};

const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// `decodeBase64(text)`: `undefined` for invalid input.
pub fn decode<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    args: &v8::FunctionCallbackArguments<'s>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let decoded = match text(scope, at, args, 0)? {
        Text::Latin1(characters) => forgiving(characters),
        Text::Utf16(_) => None,
    };
    match decoded {
        Some(bytes) => string(scope, at, Text::Latin1(bytes)),
        None => Ok(v8::undefined(scope).into()),
    }
}

fn forgiving(mut characters: Vec<u8>) -> Option<Vec<u8>> {
    characters.retain(|character| !matches!(character, b'\t' | b'\n' | 0x0c | b'\r' | b' '));
    if characters.len().is_multiple_of(4) {
        for _ in 0..2 {
            if characters.last() == Some(&b'=') {
                characters.pop();
            }
        }
    }
    FORGIVING.decode(characters).ok()
}

/// `encodeBase64(text)`: `undefined` if there are characters beyond U+00FF.
pub fn encode<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    args: &v8::FunctionCallbackArguments<'s>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let Text::Latin1(characters) = text(scope, at, args, 0)? else {
        return Ok(v8::undefined(scope).into());
    };
    let limit = at.limit();
    if characters.len().div_ceil(3).saturating_mul(4) > limit {
        return Err(convert::too_large(limit));
    }
    let encoded = ascii(base64::engine::general_purpose::STANDARD.encode(&characters));
    drop(characters);
    string(scope, at, encoded)
}

#[cfg(test)]
mod tests {
    use super::forgiving;

    #[test]
    fn accepts_what_the_web_accepts() {
        let decoded = |text: &str| forgiving(text.as_bytes().to_vec());
        assert_eq!(decoded(""), Some(vec![]));
        assert_eq!(decoded(" YQ = =\n"), Some(b"a".to_vec()));
        assert_eq!(decoded("YQ"), Some(b"a".to_vec()));
        assert_eq!(decoded("YR"), Some(b"a".to_vec()));
        for wrong in ["YQ=", "Y", "=", "====", "YQ===", "Y=Q=", "YWE-", "\u{b}"] {
            assert_eq!(decoded(wrong), None, "{wrong:?}");
        }
    }
}

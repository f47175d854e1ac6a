//! `TextEncoder` and `TextDecoder`.

use encoding_rs::{CoderResult, Decoder, DecoderResult, Encoding};

use super::arguments::{ascii, number, string, utf8};
use super::buffer::Bytes;
use super::state::WebState;
use crate::convert::{self, Exchange};
use crate::isolate::GuestRealm;
use crate::ops;
use crate::protocol::decode::{FATAL, IGNORE_BOM, STREAM};
use crate::value::{Code, ErrorClass, Fault, Text};

type Args<'s> = v8::FunctionCallbackArguments<'s>;
type Returned<'s> = Result<v8::Local<'s, v8::Value>, Fault>;

/// The size that an open stream counts for. A guest may open as many as fill its memory; V8 collects those that are unreachable.
const STREAM_BYTES: i64 = 1_024;

/// Units to decode between two checks whether the guest must stop.
const CHUNK: usize = 1 << 18;

fn text_of<'s>(args: &Args<'s>, index: i32) -> Result<v8::Local<'s, v8::String>, Fault> {
    v8::Local::<v8::String>::try_from(args.get(index)).map_err(|_| ops::malformed())
}

/// `utf8Length(text)`
pub fn utf8_length<'s>(scope: &mut v8::PinScope<'s, '_>, _at: &GuestRealm, args: &Args<'s>) -> Returned<'s> {
    let length = text_of(args, 0)?.utf8_length(scope);
    Ok(v8::Number::new(scope, length as f64).into())
}

/// `encodeInto(text, bytes)`: encodes as many whole characters as fit. Returns the units read and the bytes written.
pub fn encode_into<'s>(scope: &mut v8::PinScope<'s, '_>, at: &GuestRealm, args: &Args<'s>) -> Returned<'s> {
    let text = text_of(args, 0)?;
    let bytes = Bytes::of(scope, args.get(1)).ok_or_else(ops::malformed)?;
    let room = bytes.len().min(text.length().saturating_mul(3));
    let mut read = 0;
    let mut encoded = Vec::new();
    if encoded.try_reserve_exact(room).is_err() {
        return Err(convert::too_large(at.limit()));
    }
    encoded.resize(room, 0);
    let written = text.write_utf8_v2(scope, &mut encoded, v8::WriteFlags::kReplaceInvalidUtf8, Some(&mut read));
    bytes.write(&encoded[..written.min(room)]);
    let counts = [v8::Number::new(scope, read as f64).into(), v8::Number::new(scope, written as f64).into()];
    Ok(v8::Array::new_with_elements(scope, &counts).into())
}

/// `encodingOf(label)`: the encoding's name in lower case; `undefined` if there is none.
pub fn encoding_of<'s>(scope: &mut v8::PinScope<'s, '_>, at: &GuestRealm, args: &Args<'s>) -> Returned<'s> {
    /// Longer than any label, including the blanks that may surround it.
    const MAX_LABEL: usize = 1_000;
    let label = utf8(scope, args.get(0), MAX_LABEL)?.unwrap_or_default();
    match Encoding::for_label_no_replacement(label.as_bytes()) {
        Some(encoding) => string(scope, at, ascii(encoding.name().to_ascii_lowercase())),
        None => Ok(v8::undefined(scope).into()),
    }
}

/// `beginStream()`: the number of a new stream.
pub fn begin_stream<'s>(scope: &mut v8::PinScope<'s, '_>, _at: &GuestRealm, _args: &Args<'s>) -> Returned<'s> {
    let id = WebState::of(scope)?.begin_stream();
    Ok(v8::Integer::new_from_unsigned(scope, id).into())
}

/// `endStream(id)`
pub fn end_stream<'s>(scope: &mut v8::PinScope<'s, '_>, _at: &GuestRealm, args: &Args<'s>) -> Returned<'s> {
    let id = number(scope, args, 0);
    if WebState::of(scope)?.streams().remove(&id).is_some() {
        scope.adjust_amount_of_external_allocated_memory(-STREAM_BYTES);
    }
    Ok(v8::undefined(scope).into())
}

/// `decode(encoding, flags, stream, bytes)`: the text; `undefined` for invalid bytes if those are an error. `stream` is the number of an
/// open or a new stream, or 0. The stream ends unless the flags say that it continues.
pub fn decode<'s>(scope: &mut v8::PinScope<'s, '_>, at: &GuestRealm, args: &Args<'s>) -> Returned<'s> {
    let name = utf8(scope, args.get(0), CHUNK)?.unwrap_or_default();
    let encoding = Encoding::for_label(name.as_bytes()).ok_or_else(ops::malformed)?;
    let (flags, id) = (number(scope, args, 1), number(scope, args, 2));
    let state = WebState::of(scope)?;
    let open = if id == 0 { None } else { state.streams().remove(&id) };
    if open.is_some() {
        scope.adjust_amount_of_external_allocated_memory(-STREAM_BYTES);
    }
    let most = at.guest.remote()?.settings.memory_limit / STREAM_BYTES as usize;
    if open.is_none() && flags & STREAM != 0 && state.streams().len() >= most {
        return Err(Fault::coded(ErrorClass::RangeError, "Too many streams are being decoded", Code::Limit));
    }
    let bytes = Bytes::of(scope, args.get(3));
    let limit = at.limit();
    let work = |bytes: &[u8]| {
        let is_plain = open.is_none() && flags & STREAM == 0 && encoding.is_ascii_compatible() && bytes.is_ascii();
        if is_plain {
            return if bytes.len() > limit {
                Err(convert::too_large(limit))
            } else {
                Ok((Some(Text::Latin1(bytes.into())), None))
            };
        }
        let decoder = open.unwrap_or_else(|| match flags & IGNORE_BOM {
            0 => encoding.new_decoder_with_bom_removal(),
            _ => encoding.new_decoder_without_bom_handling(),
        });
        decode_bytes(at, decoder, bytes, flags, limit)
    };
    let (text, decoder) = match &bytes {
        Some(bytes) => bytes.read(scope, limit, work).ok_or_else(|| convert::too_large(limit))??,
        None => work(&[])?,
    };
    drop(bytes);
    if let Some(decoder) = decoder {
        state.streams().insert(id, decoder);
        scope.adjust_amount_of_external_allocated_memory(STREAM_BYTES);
    }
    match text {
        Some(text) => string(scope, at, text),
        None => Ok(v8::undefined(scope).into()),
    }
}

/// The text, if it is valid or need not be, and the decoder for the bytes that follow.
fn decode_bytes(
    at: &GuestRealm,
    mut decoder: Decoder,
    mut bytes: &[u8],
    flags: u32,
    limit: usize,
) -> Result<(Option<Text>, Option<Decoder>), Fault> {
    let last = flags & STREAM == 0;
    let mut units: Vec<u16> = Vec::new();
    let mut length = 0;
    loop {
        at.guest.check_stopping()?;
        let more = decoder.max_utf16_buffer_length(bytes.len()).map_or(CHUNK, |most| most.clamp(16, CHUNK));
        if (length + more).saturating_mul(2) > limit.saturating_add(CHUNK * 2) || units.try_reserve(more).is_err() {
            return Err(convert::too_large(limit));
        }
        units.resize(length + more, 0);
        let (is_done, read, written) = if flags & FATAL == 0 {
            let (result, read, written, _) = decoder.decode_to_utf16(bytes, &mut units[length..], last);
            (result == CoderResult::InputEmpty, read, written)
        } else {
            let (result, read, written) =
                decoder.decode_to_utf16_without_replacement(bytes, &mut units[length..], last);
            if matches!(result, DecoderResult::Malformed(..)) {
                return Ok((None, None));
            }
            (result == DecoderResult::InputEmpty, read, written)
        };
        bytes = &bytes[read..];
        length += written;
        if is_done {
            break;
        }
    }
    units.truncate(length);
    Ok((Some(Text::from_utf16(units)), (!last).then_some(decoder)))
}

//! Reading strings of the host.

use std::mem::MaybeUninit;
use std::ptr;

use napi_sys as sys;

use super::js::{Js, JsResult, JsValue, check};
use crate::value::Text;

/// Code units of a string that are read without asking for its length first.
const SHORT: usize = 256;

/// Code units of a short string that are converted together.
const TOGETHER: usize = 8;

impl Js<'_> {
    pub fn read_text(self, value: JsValue<'_>) -> JsResult<Text> {
        let mut short = [const { MaybeUninit::<u16>::uninit() }; SHORT];
        let mut length = 0;
        // SAFETY: the buffer has `SHORT` units; the host writes at most that many, the last a terminator.
        check(unsafe {
            sys::napi_get_value_string_utf16(self.env(), value.raw(), short.as_mut_ptr().cast(), SHORT, &raw mut length)
        })?;
        // SAFETY: the host has written this many units, and a terminator.
        let short = unsafe { std::slice::from_raw_parts(short.as_ptr().cast::<u16>(), length.min(SHORT - 1)) };
        if length < SHORT - 1 {
            if short.iter().fold(0, |all, unit| all | unit) >= 256 {
                return Ok(Text::Utf16(short.into()));
            }
            // Checked above: the cast is exact.
            return Ok(Text::Latin1(short.iter().map(|unit| *unit as u8).collect()));
        }
        // SAFETY: without a buffer the host only returns the length.
        check(unsafe {
            sys::napi_get_value_string_utf16(self.env(), value.raw(), ptr::null_mut(), 0, &raw mut length)
        })?;
        // The beginning of a string usually shows whether all of it is ASCII.
        if short.iter().all(|unit| *unit < 128)
            && let Some(ascii) = self.read_ascii(value, length)?
        {
            return Ok(Text::Latin1(ascii));
        }
        let room = length + 1;
        let mut units = Vec::with_capacity(length + Text::SPARE);
        let place = units.as_mut_ptr();
        // SAFETY: there is room for the string and its terminator.
        check(unsafe { sys::napi_get_value_string_utf16(self.env(), value.raw(), place, room, &raw mut length) })?;
        // SAFETY: the host reports that it has written this many units; there was room for no more.
        unsafe { units.set_len(length.min(room - 1)) };
        Ok(Text::from_utf16(units))
    }

    /// Reads a short text with one byte per character into `memory`. False if it is another one.
    pub fn read_short_text(self, value: JsValue<'_>, memory: &mut Vec<u8>) -> JsResult<bool> {
        let mut short = [const { MaybeUninit::<u16>::uninit() }; SHORT + TOGETHER];
        let mut length = 0;
        // SAFETY: the buffer has more than `SHORT` units; the host writes at most that many, the last a terminator.
        check(unsafe {
            sys::napi_get_value_string_utf16(self.env(), value.raw(), short.as_mut_ptr().cast(), SHORT, &raw mut length)
        })?;
        if length >= SHORT - 1 {
            return Ok(false);
        }
        // The last units that are looked at together are zeros.
        short[length..length + TOGETHER].fill(MaybeUninit::new(0));
        let padded = length.next_multiple_of(TOGETHER);
        // SAFETY: the host has written `length` units, and zeros follow.
        let units = unsafe { std::slice::from_raw_parts(short.as_ptr().cast::<u16>(), padded) };
        memory.clear();
        memory.reserve(padded);
        let mut all = [0; TOGETHER];
        for units in units.as_chunks::<TOGETHER>().0 {
            for (all, unit) in all.iter_mut().zip(units) {
                *all |= unit;
            }
            memory.extend_from_slice(&units.map(|unit| unit as u8));
        }
        memory.truncate(length);
        Ok(all.iter().all(|unit| *unit < 256))
    }

    /// The text of a string that the surface knows to have only characters below U+0100.
    pub fn read_one_byte(self, value: JsValue<'_>) -> JsResult<Text> {
        let mut length = 0;
        // SAFETY: without a buffer the host only returns the length.
        check(unsafe {
            sys::napi_get_value_string_latin1(self.env(), value.raw(), ptr::null_mut(), 0, &raw mut length)
        })?;
        let room = length + 1;
        let mut bytes = Vec::<u8>::with_capacity(length + Text::SPARE);
        let place = bytes.as_mut_ptr().cast();
        // SAFETY: there is room for the string and its terminator.
        check(unsafe { sys::napi_get_value_string_latin1(self.env(), value.raw(), place, room, &raw mut length) })?;
        // SAFETY: the host reports that it has written this many characters; there was room for no more.
        unsafe { bytes.set_len(length.min(room - 1)) };
        Ok(Text::Latin1(bytes))
    }

    /// A long string of `length` characters, if all are ASCII. Most are, and hosts write them out twice as fast as UTF-16.
    fn read_ascii(self, value: JsValue<'_>, length: usize) -> JsResult<Option<Vec<u8>>> {
        let room = length + 1;
        let mut bytes = Vec::<u8>::with_capacity(length + Text::SPARE);
        let mut written = 0;
        // SAFETY: there is room for `room` bytes; the host writes at most that many, the last a terminator.
        check(unsafe {
            sys::napi_get_value_string_utf8(self.env(), value.raw(), bytes.as_mut_ptr().cast(), room, &raw mut written)
        })?;
        // A string with other characters needs more room and was truncated, or has bytes above 127.
        if written != length {
            return Ok(None);
        }
        // SAFETY: the host reports that it has written this many bytes, for which there was room.
        unsafe { bytes.set_len(length) };
        Ok(bytes.is_ascii().then_some(bytes))
    }
}

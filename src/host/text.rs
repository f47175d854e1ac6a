//! Reading strings of the host.

use std::mem::MaybeUninit;
use std::ptr;

use napi_sys as sys;

use super::js::{Js, JsResult, JsValue, check};
use crate::value::Text;

/// Code units of a string that are read without asking for its length first.
const SHORT: usize = 256;

impl Js<'_> {
    pub fn read_text(self, value: JsValue<'_>) -> JsResult<Text> {
        self.read_text_into(value, Vec::new())
    }

    /// The same, in `memory` if the text fits into it.
    pub fn read_text_into(self, value: JsValue<'_>, mut memory: Vec<u8>) -> JsResult<Text> {
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
            memory.clear();
            // Checked above: the cast is exact.
            memory.extend(short.iter().map(|unit| *unit as u8));
            return Ok(Text::Latin1(memory));
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

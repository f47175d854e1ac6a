//! The parts of Node-API that this binding needs. Every function here must be called on the thread of its environment, inside a callback of
//! the host; a [`Js`] proves that and cannot be sent elsewhere.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use napi::sys;

use crate::value::{BigInt, Text};

/// A value of the host's engine, valid while the callback that provided it runs.
pub type JsValue = sys::napi_value;

/// The host refused: an exception is pending there, or it is shutting down.
#[derive(Debug)]
pub struct Refused;

pub type JsResult<T> = Result<T, Refused>;

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum JsType {
    Undefined,
    Null,
    Boolean,
    Number,
    String,
    BigInt,
    Object,
    Function,
    Other,
}

/// The host's engine, from inside one of its callbacks.
#[derive(Clone, Copy)]
pub struct Js<'a> {
    env: sys::napi_env,
    _inside: PhantomData<(&'a (), *mut ())>,
}

macro_rules! check {
    ($call:expr) => {
        if $call == sys::Status::napi_ok { Ok(()) } else { Err(Refused) }
    };
}

/// Code units of a string that are read without asking for its length first.
const SHORT: usize = 256;

impl<'a> Js<'a> {
    /// # Safety
    /// `env` must be the environment of the callback that runs now on this thread.
    pub unsafe fn new(env: sys::napi_env) -> Self {
        Self { env, _inside: PhantomData }
    }

    pub fn env(self) -> sys::napi_env {
        self.env
    }

    pub fn type_of(self, value: JsValue) -> JsResult<JsType> {
        let mut kind = 0;
        // SAFETY: `self` proves that the callback runs; the pointer is to a local.
        check!(unsafe { sys::napi_typeof(self.env, value, &raw mut kind) })?;
        Ok(match kind {
            sys::ValueType::napi_undefined => JsType::Undefined,
            sys::ValueType::napi_null => JsType::Null,
            sys::ValueType::napi_boolean => JsType::Boolean,
            sys::ValueType::napi_number => JsType::Number,
            sys::ValueType::napi_string => JsType::String,
            sys::ValueType::napi_object => JsType::Object,
            sys::ValueType::napi_function => JsType::Function,
            sys::ValueType::napi_bigint => JsType::BigInt,
            _ => JsType::Other,
        })
    }

    pub fn undefined(self) -> JsResult<JsValue> {
        let mut value = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_get_undefined(self.env, &raw mut value) })?;
        Ok(value)
    }

    pub fn null(self) -> JsResult<JsValue> {
        let mut value = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_get_null(self.env, &raw mut value) })?;
        Ok(value)
    }

    pub fn boolean(self, boolean: bool) -> JsResult<JsValue> {
        let mut value = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_get_boolean(self.env, boolean, &raw mut value) })?;
        Ok(value)
    }

    pub fn number(self, number: f64) -> JsResult<JsValue> {
        let mut value = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_create_double(self.env, number, &raw mut value) })?;
        Ok(value)
    }

    pub fn text(self, text: &Text) -> JsResult<JsValue> {
        let mut value = ptr::null_mut();
        // SAFETY: the pointers are to slices of the lengths given, which the host copies.
        check!(unsafe {
            match text {
                Text::Latin1(bytes) => sys::napi_create_string_latin1(
                    self.env,
                    bytes.as_ptr().cast(),
                    bytes.len() as isize,
                    &raw mut value,
                ),
                Text::Utf16(units) => {
                    sys::napi_create_string_utf16(self.env, units.as_ptr(), units.len() as isize, &raw mut value)
                }
            }
        })?;
        Ok(value)
    }

    pub fn string(self, text: &str) -> JsResult<JsValue> {
        let mut value = ptr::null_mut();
        // SAFETY: the pointer is to a slice of the length given, which the host copies.
        check!(unsafe {
            sys::napi_create_string_utf8(self.env, text.as_ptr().cast(), text.len() as isize, &raw mut value)
        })?;
        Ok(value)
    }

    pub fn bigint(self, bigint: &BigInt) -> JsResult<JsValue> {
        let mut value = ptr::null_mut();
        // SAFETY: the pointer is to a slice of the length given, which the host copies.
        check!(unsafe {
            sys::napi_create_bigint_words(
                self.env,
                i32::from(bigint.negative),
                bigint.words.len(),
                bigint.words.as_ptr(),
                &raw mut value,
            )
        })?;
        Ok(value)
    }

    pub fn read_boolean(self, value: JsValue) -> JsResult<bool> {
        let mut boolean = false;
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_get_value_bool(self.env, value, &raw mut boolean) })?;
        Ok(boolean)
    }

    pub fn read_number(self, value: JsValue) -> JsResult<f64> {
        let mut number = 0.0;
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_get_value_double(self.env, value, &raw mut number) })?;
        Ok(number)
    }

    pub fn read_bigint(self, value: JsValue) -> JsResult<BigInt> {
        let mut count = 0;
        let mut sign = 0;
        // SAFETY: without a buffer the host only returns the count.
        check!(unsafe {
            sys::napi_get_value_bigint_words(self.env, value, ptr::null_mut(), &raw mut count, ptr::null_mut())
        })?;
        let mut words = vec![0; count];
        // SAFETY: the buffer has room for `count` words.
        check!(unsafe {
            sys::napi_get_value_bigint_words(self.env, value, &raw mut sign, &raw mut count, words.as_mut_ptr())
        })?;
        words.truncate(count);
        Ok(BigInt { negative: sign != 0, words: words.into_boxed_slice() })
    }

    pub fn read_text(self, value: JsValue) -> JsResult<Text> {
        let mut short = [0_u16; SHORT];
        let mut length = 0;
        // SAFETY: the buffer has `SHORT` units; the host writes at most that many, the last a terminator.
        check!(unsafe {
            sys::napi_get_value_string_utf16(self.env, value, short.as_mut_ptr(), SHORT, &raw mut length)
        })?;
        if length < SHORT - 1 {
            let units = &short[..length];
            return Ok(if units.iter().all(|unit| *unit < 256) {
                // Checked above: the cast is exact.
                Text::Latin1(units.iter().map(|unit| *unit as u8).collect())
            } else {
                Text::Utf16(units.into())
            });
        }
        // SAFETY: without a buffer the host only returns the length.
        check!(unsafe { sys::napi_get_value_string_utf16(self.env, value, ptr::null_mut(), 0, &raw mut length) })?;
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
        check!(unsafe { sys::napi_get_value_string_utf16(self.env, value, place, room, &raw mut length) })?;
        // SAFETY: the host reports that it has written this many units; there was room for no more.
        unsafe { units.set_len(length.min(room - 1)) };
        Ok(Text::from_utf16(units))
    }

    /// The text of a string that the surface knows to have only characters below U+0100.
    pub fn read_one_byte(self, value: JsValue) -> JsResult<Text> {
        let mut length = 0;
        // SAFETY: without a buffer the host only returns the length.
        check!(unsafe { sys::napi_get_value_string_latin1(self.env, value, ptr::null_mut(), 0, &raw mut length) })?;
        let room = length + 1;
        let mut bytes = Vec::<u8>::with_capacity(length + Text::SPARE);
        let place = bytes.as_mut_ptr().cast();
        // SAFETY: there is room for the string and its terminator.
        check!(unsafe { sys::napi_get_value_string_latin1(self.env, value, place, room, &raw mut length) })?;
        // SAFETY: the host reports that it has written this many characters; there was room for no more.
        unsafe { bytes.set_len(length.min(room - 1)) };
        Ok(Text::Latin1(bytes))
    }

    /// A long string of `length` characters, if all are ASCII. Most are, and hosts write them out twice as fast as UTF-16.
    fn read_ascii(self, value: JsValue, length: usize) -> JsResult<Option<Vec<u8>>> {
        let room = length + 1;
        let mut bytes = Vec::<u8>::with_capacity(length + Text::SPARE);
        let mut written = 0;
        // SAFETY: there is room for `room` bytes; the host writes at most that many, the last a terminator.
        check!(unsafe {
            sys::napi_get_value_string_utf8(self.env, value, bytes.as_mut_ptr().cast(), room, &raw mut written)
        })?;
        // A string with other characters needs more room and was truncated, or has bytes above 127.
        if written != length {
            return Ok(None);
        }
        // SAFETY: the host reports that it has written this many bytes, for which there was room.
        unsafe { bytes.set_len(length) };
        Ok(bytes.is_ascii().then_some(bytes))
    }

    pub fn array(self, elements: &[JsValue]) -> JsResult<JsValue> {
        let mut array = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_create_array_with_length(self.env, elements.len(), &raw mut array) })?;
        for (index, element) in (0..).zip(elements) {
            // SAFETY: `array` and `element` are values of this callback.
            check!(unsafe { sys::napi_set_element(self.env, array, index, *element) })?;
        }
        Ok(array)
    }

    pub fn element(self, array: JsValue, index: u32) -> JsResult<JsValue> {
        let mut value = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_get_element(self.env, array, index, &raw mut value) })?;
        Ok(value)
    }

    pub fn length(self, array: JsValue) -> JsResult<u32> {
        let mut length = 0;
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_get_array_length(self.env, array, &raw mut length) })?;
        Ok(length)
    }

    /// A new `ArrayBuffer` of zeros, and the address of its memory.
    pub fn empty_buffer(self, length: usize) -> JsResult<(JsValue, *mut u8)> {
        let mut data: *mut c_void = ptr::null_mut();
        let mut buffer = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_create_arraybuffer(self.env, length, &raw mut data, &raw mut buffer) })?;
        Ok((buffer, data.cast()))
    }

    /// A new `ArrayBuffer` with these contents.
    pub fn buffer(self, bytes: &[u8]) -> JsResult<JsValue> {
        let (buffer, data) = self.empty_buffer(bytes.len())?;
        if !bytes.is_empty() {
            // SAFETY: the host has just created the buffer, which is `bytes.len()` long and which no other code has seen.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len()) };
        }
        Ok(buffer)
    }

    /// A `Uint8Array` on a part of an `ArrayBuffer`, which must be long enough.
    pub fn view(self, buffer: JsValue, offset: usize, length: usize) -> JsResult<JsValue> {
        let mut view = ptr::null_mut();
        // SAFETY: as in `type_of`; the host refuses what goes beyond the buffer.
        check!(unsafe {
            sys::napi_create_typedarray(
                self.env,
                sys::TypedarrayType::uint8_array,
                length,
                buffer,
                offset,
                &raw mut view,
            )
        })?;
        Ok(view)
    }

    /// Address and length of a `Uint8Array`'s memory.
    pub fn view_memory(self, view: JsValue) -> JsResult<(*mut u8, usize)> {
        let mut length = 0;
        let mut data = ptr::null_mut();
        // SAFETY: as in `type_of`; outputs that are not needed may be null.
        check!(unsafe {
            sys::napi_get_typedarray_info(
                self.env,
                view,
                ptr::null_mut(),
                &raw mut length,
                &raw mut data,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        })?;
        Ok((data.cast(), length))
    }

    /// Copies a `Uint8Array`'s contents.
    pub fn read_bytes(self, view: JsValue) -> JsResult<Vec<u8>> {
        let (data, length) = self.view_memory(view)?;
        if length == 0 || data.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the host gave address and length of memory that lives while this callback runs, and no JavaScript
        // runs meanwhile.
        Ok(unsafe { std::slice::from_raw_parts(data, length) }.to_vec())
    }

    /// Address and length of an `ArrayBuffer`'s memory.
    pub fn buffer_memory(self, buffer: JsValue) -> JsResult<(*mut u8, usize)> {
        let mut length = 0;
        let mut data = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_get_arraybuffer_info(self.env, buffer, &raw mut data, &raw mut length) })?;
        Ok((data.cast(), length))
    }

    pub fn detach(self, buffer: JsValue) -> JsResult<()> {
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_detach_arraybuffer(self.env, buffer) })
    }

    /// Calls a function with `undefined` as receiver. [`Refused`] if it throws; the exception stays pending.
    pub fn call(self, function: JsValue, args: &[JsValue]) -> JsResult<JsValue> {
        let receiver = self.undefined()?;
        let mut result = ptr::null_mut();
        // SAFETY: the arguments are values of this callback, `args.len()` of them.
        check!(unsafe {
            sys::napi_call_function(self.env, receiver, function, args.len(), args.as_ptr(), &raw mut result)
        })?;
        Ok(result)
    }

    /// Runs `work` in a handle scope of its own: values created in it are released at its end.
    pub fn scoped<T>(self, work: impl FnOnce() -> T) -> JsResult<T> {
        let mut scope = ptr::null_mut();
        // SAFETY: as in `type_of`; closed below.
        check!(unsafe { sys::napi_open_handle_scope(self.env, &raw mut scope) })?;
        let result = work();
        // SAFETY: opened above, on this thread, and innermost.
        check!(unsafe { sys::napi_close_handle_scope(self.env, scope) })?;
        Ok(result)
    }

    /// A function of ours; `data` is passed to every call.
    ///
    /// # Safety
    /// The host may call `callback` with `data` at any time from now on, on the thread of this environment.
    pub unsafe fn function(
        self,
        name: &std::ffi::CStr,
        callback: sys::napi_callback,
        data: *mut c_void,
    ) -> JsResult<JsValue> {
        let mut function = ptr::null_mut();
        // SAFETY: the name has the length given; the caller guarantees that `callback` may be called with `data`.
        check!(unsafe {
            sys::napi_create_function(
                self.env,
                name.as_ptr(),
                name.count_bytes() as isize,
                callback,
                data,
                &raw mut function,
            )
        })?;
        Ok(function)
    }

    pub fn object(self, properties: &[(&std::ffi::CStr, JsValue)]) -> JsResult<JsValue> {
        let mut object = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check!(unsafe { sys::napi_create_object(self.env, &raw mut object) })?;
        for (name, value) in properties {
            self.set(object, name, *value)?;
        }
        Ok(object)
    }

    pub fn set(self, object: JsValue, name: &std::ffi::CStr, value: JsValue) -> JsResult<()> {
        // SAFETY: the name is terminated; the values are of this callback.
        check!(unsafe { sys::napi_set_named_property(self.env, object, name.as_ptr(), value) })
    }

    /// Throws a TypeError; the callback must return at once.
    pub fn throw_type_error(self, message: &std::ffi::CStr) {
        // SAFETY: the message is terminated; no code is given. A failure leaves nothing thrown, which the caller of the
        // callback sees as `undefined`.
        let _ = unsafe { sys::napi_throw_type_error(self.env, ptr::null(), message.as_ptr()) };
    }

    /// Clears the pending exception. False if there was none, or if it was the termination of the environment, which looks like a thrown
    /// `null`.
    pub fn clear_exception(self) -> bool {
        let mut exception = ptr::null_mut();
        // SAFETY: as in `type_of`.
        let status = unsafe { sys::napi_get_and_clear_last_exception(self.env, &raw mut exception) };
        status == sys::Status::napi_ok
            && !exception.is_null()
            && self.type_of(exception).is_ok_and(|kind| !matches!(kind, JsType::Undefined | JsType::Null))
    }

    /// Reports an exception as uncaught, as the host does with one that its event loop gets.
    pub fn report_uncaught(self, exception: JsValue) {
        // SAFETY: as in `type_of`. A failure means that the host is shutting down.
        let _ = unsafe { sys::napi_fatal_exception(self.env, exception) };
    }

    pub fn exception_is_pending(self) -> bool {
        let mut pending = false;
        // SAFETY: as in `type_of`.
        let status = unsafe { sys::napi_is_exception_pending(self.env, &raw mut pending) };
        status != sys::Status::napi_ok || pending
    }

    /// Tells the host's garbage collector how much more memory its objects keep outside its heap, or how much less if negative.
    pub fn adjust_external_memory(self, change: i64) {
        let mut total = 0;
        // SAFETY: as in `type_of`. A failure leaves the collector uninformed.
        let _ = unsafe { sys::napi_adjust_external_memory(self.env, change, &raw mut total) };
    }
}

/// Arguments of a callback, the first few without allocation.
pub struct CallInfo {
    short: [JsValue; CallInfo::SHORT],
    long: Vec<JsValue>,
    count: usize,
    pub data: *mut c_void,
}

impl CallInfo {
    const SHORT: usize = 14;

    /// # Safety
    /// The host must have passed `info` to the callback that `js` proves to run.
    pub unsafe fn read(js: Js<'_>, info: sys::napi_callback_info) -> JsResult<Self> {
        let mut read =
            Self { short: [ptr::null_mut(); Self::SHORT], long: Vec::new(), count: Self::SHORT, data: ptr::null_mut() };
        // SAFETY: guaranteed by the caller; the buffer has room for `count` values.
        check!(unsafe {
            sys::napi_get_cb_info(
                js.env,
                info,
                &raw mut read.count,
                read.short.as_mut_ptr(),
                ptr::null_mut(),
                &raw mut read.data,
            )
        })?;
        if read.count > Self::SHORT {
            read.long = vec![ptr::null_mut(); read.count];
            // SAFETY: as above.
            check!(unsafe {
                sys::napi_get_cb_info(
                    js.env,
                    info,
                    &raw mut read.count,
                    read.long.as_mut_ptr(),
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            })?;
        }
        Ok(read)
    }

    pub fn args(&self) -> &[JsValue] {
        if self.count > Self::SHORT { &self.long } else { &self.short[..self.count] }
    }
}

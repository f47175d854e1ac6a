//! The parts of Node-API that this binding needs. Every function here must be called on the thread of its environment, inside a callback of
//! the host; a [`Js`] proves that and cannot be sent elsewhere.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, Mutex};

use napi_sys as sys;

use crate::native::lock;
use crate::value::{BigInt, Text, block_pool};

/// A value of the host's engine, valid in the callback or handle scope `'a`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct JsValue<'a>(sys::napi_value, PhantomData<(&'a (), *mut ())>);

impl JsValue<'_> {
    /// No value.
    pub const NONE: Self = Self(ptr::null_mut(), PhantomData);

    pub fn raw(self) -> sys::napi_value {
        self.0
    }

    pub fn is_none(self) -> bool {
        self.0.is_null()
    }
}

/// The host refused: an exception is pending there, or it is shutting down.
#[derive(Debug)]
pub struct Refused;

pub type JsResult<T> = Result<T, Refused>;

/// The NaN that engines use themselves.
const NAN: f64 = f64::from_bits(0x7ff8_0000_0000_0000);

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

pub(super) fn check(status: sys::napi_status) -> JsResult<()> {
    if status == sys::Status::napi_ok { Ok(()) } else { Err(Refused) }
}

impl<'a> Js<'a> {
    /// Runs `work` in the callback of the host that calls this.
    ///
    /// # Safety
    /// `env` must be the environment of the callback that runs now on this thread.
    pub unsafe fn inside<T>(env: sys::napi_env, work: impl for<'s> FnOnce(Js<'s>) -> T) -> T {
        work(Js { env, _inside: PhantomData })
    }

    /// A value that the host has just returned. Only for this file, whose functions all call the host with their own `env`.
    fn value(self, raw: sys::napi_value) -> JsValue<'a> {
        JsValue(raw, PhantomData)
    }

    /// The same for functions elsewhere.
    ///
    /// # Safety
    /// The host must have returned, or passed, `raw` in the scope of `self`.
    pub(super) unsafe fn returned(self, raw: sys::napi_value) -> JsValue<'a> {
        self.value(raw)
    }

    /// What `make` has the host write to its argument.
    fn made(self, make: impl FnOnce(*mut sys::napi_value) -> sys::napi_status) -> JsResult<JsValue<'a>> {
        let mut value = ptr::null_mut();
        check(make(&raw mut value))?;
        Ok(self.value(value))
    }

    pub fn env(self) -> sys::napi_env {
        self.env
    }

    pub fn type_of(self, value: JsValue<'_>) -> JsResult<JsType> {
        let mut kind = 0;
        // SAFETY: `self` proves that the callback runs; the pointer is to a local.
        check(unsafe { sys::napi_typeof(self.env, value.raw(), &raw mut kind) })?;
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

    pub fn undefined(self) -> JsResult<JsValue<'a>> {
        // SAFETY: as in `type_of`.
        self.made(|value| unsafe { sys::napi_get_undefined(self.env, value) })
    }

    pub fn null(self) -> JsResult<JsValue<'a>> {
        // SAFETY: as in `type_of`.
        self.made(|value| unsafe { sys::napi_get_null(self.env, value) })
    }

    pub fn boolean(self, boolean: bool) -> JsResult<JsValue<'a>> {
        // SAFETY: as in `type_of`.
        self.made(|value| unsafe { sys::napi_get_boolean(self.env, boolean, value) })
    }

    pub fn number(self, number: f64) -> JsResult<JsValue<'a>> {
        // A guest chooses the bits of a NaN. JavaScriptCore represents its other values by the bits of most of them, and a host need not check.
        let number = if number.is_nan() { NAN } else { number };
        // SAFETY: as in `type_of`.
        self.made(|value| unsafe { sys::napi_create_double(self.env, number, value) })
    }

    pub fn text(self, text: &Text) -> JsResult<JsValue<'a>> {
        match text {
            Text::Latin1(bytes) => self.one_byte(bytes),
            Text::Utf16(units) => self.two_byte(units),
        }
    }

    /// A string of characters below U+0100.
    pub fn one_byte(self, characters: &[u8]) -> JsResult<JsValue<'a>> {
        // SAFETY: the pointer is to a slice of the length given, which the host copies.
        self.made(|value| unsafe {
            sys::napi_create_string_latin1(self.env, characters.as_ptr().cast(), characters.len() as isize, value)
        })
    }

    /// A string of UTF-16 code units.
    pub fn two_byte(self, units: &[u16]) -> JsResult<JsValue<'a>> {
        // SAFETY: the pointer is to a slice of the length given, which the host copies.
        self.made(|value| unsafe {
            sys::napi_create_string_utf16(self.env, units.as_ptr(), units.len() as isize, value)
        })
    }

    pub fn string(self, text: &str) -> JsResult<JsValue<'a>> {
        // SAFETY: the pointer is to a slice of the length given, which the host copies.
        self.made(|value| unsafe {
            sys::napi_create_string_utf8(self.env, text.as_ptr().cast(), text.len() as isize, value)
        })
    }

    pub fn bigint(self, bigint: &BigInt) -> JsResult<JsValue<'a>> {
        // SAFETY: the pointer is to a slice of the length given, which the host copies.
        self.made(|value| unsafe {
            sys::napi_create_bigint_words(
                self.env,
                i32::from(bigint.negative),
                bigint.words.len(),
                bigint.words.as_ptr(),
                value,
            )
        })
    }

    pub fn read_boolean(self, value: JsValue<'_>) -> JsResult<bool> {
        let mut boolean = false;
        // SAFETY: as in `type_of`.
        check(unsafe { sys::napi_get_value_bool(self.env, value.raw(), &raw mut boolean) })?;
        Ok(boolean)
    }

    pub fn read_number(self, value: JsValue<'_>) -> JsResult<f64> {
        self.number_of(value)?.ok_or(Refused)
    }

    /// `None` if it is no number.
    pub fn number_of(self, value: JsValue<'_>) -> JsResult<Option<f64>> {
        let mut number = 0.0;
        // SAFETY: as in `type_of`.
        match unsafe { sys::napi_get_value_double(self.env, value.raw(), &raw mut number) } {
            sys::Status::napi_number_expected => Ok(None),
            status => check(status).map(|()| Some(number)),
        }
    }

    pub fn read_bigint(self, value: JsValue<'_>) -> JsResult<BigInt> {
        let mut count = 0;
        let mut sign = 0;
        // SAFETY: without a buffer the host only returns the count.
        check(unsafe {
            sys::napi_get_value_bigint_words(self.env, value.raw(), ptr::null_mut(), &raw mut count, ptr::null_mut())
        })?;
        let mut words = vec![0; count];
        // SAFETY: the buffer has room for `count` words.
        check(unsafe {
            sys::napi_get_value_bigint_words(self.env, value.raw(), &raw mut sign, &raw mut count, words.as_mut_ptr())
        })?;
        words.truncate(count);
        Ok(BigInt { negative: sign != 0, words: words.into_boxed_slice() })
    }

    pub fn array(self, elements: &[JsValue<'_>]) -> JsResult<JsValue<'a>> {
        let mut array = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check(unsafe { sys::napi_create_array_with_length(self.env, elements.len(), &raw mut array) })?;
        for (index, element) in (0..).zip(elements) {
            // SAFETY: `array` and `element` are values of this callback.
            check(unsafe { sys::napi_set_element(self.env, array, index, element.raw()) })?;
        }
        Ok(self.value(array))
    }

    pub fn element(self, array: JsValue<'_>, index: u32) -> JsResult<JsValue<'a>> {
        // SAFETY: as in `type_of`.
        self.made(|value| unsafe { sys::napi_get_element(self.env, array.raw(), index, value) })
    }

    pub fn length(self, array: JsValue<'_>) -> JsResult<u32> {
        let mut length = 0;
        // SAFETY: as in `type_of`.
        check(unsafe { sys::napi_get_array_length(self.env, array.raw(), &raw mut length) })?;
        Ok(length)
    }

    /// A new `ArrayBuffer` of zeros, and the address of its memory.
    pub fn empty_buffer(self, length: usize) -> JsResult<(JsValue<'a>, *mut u8)> {
        let mut data: *mut c_void = ptr::null_mut();
        let mut buffer = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check(unsafe { sys::napi_create_arraybuffer(self.env, length, &raw mut data, &raw mut buffer) })?;
        Ok((self.value(buffer), data.cast()))
    }

    /// A new `ArrayBuffer` with these contents.
    pub fn buffer(self, bytes: &[u8]) -> JsResult<JsValue<'a>> {
        let (buffer, data) = self.empty_buffer(bytes.len())?;
        if !bytes.is_empty() {
            // SAFETY: the host has just created the buffer, which is `bytes.len()` long and which no other code has seen.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len()) };
        }
        Ok(buffer)
    }

    /// A new `ArrayBuffer` that has these bytes themselves, if the host allows that. No program may get it: hosts do not transfer such buffers.
    pub fn buffer_of(self, mut bytes: Vec<u8>) -> JsResult<JsValue<'a>> {
        let (data, length) = (bytes.as_mut_ptr(), bytes.len());
        let held = Arc::new(Mutex::new(bytes));
        let owner = Arc::into_raw(Arc::clone(&held)).cast_mut();
        let mut buffer = ptr::null_mut();
        // SAFETY: the memory stays where it is until `free_bytes` is called, which the host does when nothing has the buffer any more, on any thread.
        let status = unsafe {
            sys::napi_create_external_arraybuffer(
                self.env,
                data.cast(),
                length,
                Some(free_bytes),
                owner.cast(),
                &raw mut buffer,
            )
        };
        if status == sys::Status::napi_ok {
            return Ok(self.value(buffer));
        }
        // Whether a host that refuses calls `free_bytes` depends on the reason. So the count that it was given is never taken back.
        self.clear_exception();
        let bytes = std::mem::take(&mut *lock(&held));
        if bytes.is_empty() { Err(Refused) } else { self.buffer(&bytes) }
    }

    /// A `Uint8Array` on a part of an `ArrayBuffer`, which must be long enough.
    pub fn view(self, buffer: JsValue<'_>, offset: usize, length: usize) -> JsResult<JsValue<'a>> {
        let mut view = ptr::null_mut();
        // SAFETY: as in `type_of`; the host refuses what goes beyond the buffer.
        check(unsafe {
            sys::napi_create_typedarray(
                self.env,
                sys::TypedarrayType::uint8_array,
                length,
                buffer.raw(),
                offset,
                &raw mut view,
            )
        })?;
        Ok(self.value(view))
    }

    /// Address and length of a `Uint8Array`'s memory.
    pub fn view_memory(self, view: JsValue<'_>) -> JsResult<(*mut u8, usize)> {
        let mut length = 0;
        let mut data = ptr::null_mut();
        // SAFETY: as in `type_of`; outputs that are not needed may be null.
        check(unsafe {
            sys::napi_get_typedarray_info(
                self.env,
                view.raw(),
                ptr::null_mut(),
                &raw mut length,
                &raw mut data,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        })?;
        Ok((data.cast(), length))
    }

    /// Copies a `Uint8Array`'s contents. Then clears the first byte, to tell the surface that it may use the memory again.
    pub fn take_bytes(self, view: JsValue<'_>) -> JsResult<Vec<u8>> {
        let (data, length) = self.view_memory(view)?;
        if length == 0 || data.is_null() {
            return Ok(Vec::new());
        }
        // Perhaps with memory of an earlier value.
        let mut bytes = block_pool::take(length).unwrap_or_default();
        // SAFETY: the host gave address and length of memory that lives while this callback runs, and no JavaScript
        // runs meanwhile.
        bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(data, length) });
        // SAFETY: as above; the memory is not empty.
        unsafe { *data = 0 };
        Ok(bytes)
    }

    /// The buffer of a `Uint8Array`.
    pub fn buffer_of_view(self, view: JsValue<'_>) -> JsResult<JsValue<'a>> {
        let mut buffer = ptr::null_mut();
        // SAFETY: as in `view_memory`.
        check(unsafe {
            sys::napi_get_typedarray_info(
                self.env,
                view.raw(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                &raw mut buffer,
                ptr::null_mut(),
            )
        })?;
        Ok(self.value(buffer))
    }

    /// Address and length of an `ArrayBuffer`'s memory.
    pub fn buffer_memory(self, buffer: JsValue<'_>) -> JsResult<(*mut u8, usize)> {
        let mut length = 0;
        let mut data = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check(unsafe { sys::napi_get_arraybuffer_info(self.env, buffer.raw(), &raw mut data, &raw mut length) })?;
        Ok((data.cast(), length))
    }

    pub fn detach(self, buffer: JsValue<'_>) -> JsResult<()> {
        // SAFETY: as in `type_of`.
        check(unsafe { sys::napi_detach_arraybuffer(self.env, buffer.raw()) })
    }

    /// Calls a function with `undefined` as receiver. [`Refused`] if it throws; the exception stays pending.
    pub fn call(self, function: JsValue<'_>, args: &[JsValue<'_>]) -> JsResult<JsValue<'a>> {
        let receiver = self.undefined()?;
        let mut result = ptr::null_mut();
        // SAFETY: the arguments are values of this callback, `args.len()` of them.
        check(unsafe {
            sys::napi_call_function(
                self.env,
                receiver.raw(),
                function.raw(),
                args.len(),
                args.as_ptr().cast(),
                &raw mut result,
            )
        })?;
        Ok(self.value(result))
    }

    /// Runs `work` in a handle scope of its own: values created in it are released at its end. It needs `data`. It can have no other [`Js`],
    /// whose new values would be released, too: neither `work` nor `data` may borrow anything.
    pub fn scoped<D: 'static, T>(self, data: &D, work: impl for<'s> FnOnce(Js<'s>, &D) -> T + 'static) -> JsResult<T> {
        let mut scope = ptr::null_mut();
        // SAFETY: as in `type_of`; closed below.
        check(unsafe { sys::napi_open_handle_scope(self.env, &raw mut scope) })?;
        let result = work(Js { env: self.env, _inside: PhantomData }, data);
        // SAFETY: opened above, on this thread, and innermost.
        check(unsafe { sys::napi_close_handle_scope(self.env, scope) })?;
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
    ) -> JsResult<JsValue<'a>> {
        let mut function = ptr::null_mut();
        // SAFETY: the name has the length given; the caller guarantees that `callback` may be called with `data`.
        check(unsafe {
            sys::napi_create_function(
                self.env,
                name.as_ptr(),
                name.count_bytes() as isize,
                callback,
                data,
                &raw mut function,
            )
        })?;
        Ok(self.value(function))
    }

    pub fn object(self, properties: &[(&std::ffi::CStr, JsValue<'_>)]) -> JsResult<JsValue<'a>> {
        let mut object = ptr::null_mut();
        // SAFETY: as in `type_of`.
        check(unsafe { sys::napi_create_object(self.env, &raw mut object) })?;
        for (name, value) in properties {
            self.set(self.value(object), name, *value)?;
        }
        Ok(self.value(object))
    }

    pub fn property(self, object: JsValue<'_>, name: &std::ffi::CStr) -> JsResult<JsValue<'a>> {
        // SAFETY: the name is terminated; the object is a value of this callback.
        self.made(|value| unsafe { sys::napi_get_named_property(self.env, object.raw(), name.as_ptr(), value) })
    }

    pub fn set(self, object: JsValue<'_>, name: &std::ffi::CStr, value: JsValue<'_>) -> JsResult<()> {
        // SAFETY: the name is terminated; the values are of this callback.
        check(unsafe { sys::napi_set_named_property(self.env, object.raw(), name.as_ptr(), value.raw()) })
    }

    /// Throws a TypeError; the callback must return at once.
    pub fn throw_type_error(self, message: &std::ffi::CStr) {
        // SAFETY: the message is terminated; no code is given. A failure leaves nothing thrown, which the caller of the
        // callback sees as `undefined`.
        let _ = unsafe { sys::napi_throw_type_error(self.env, ptr::null(), message.as_ptr()) };
    }

    /// Clears the pending exception. False if there was none that JavaScript has thrown, see [`Js::take_exception`].
    pub fn clear_exception(self) -> bool {
        self.take_exception().is_some()
    }

    /// Takes the pending exception. `None` if there was none, or if it was the termination of the environment, which looks like a thrown `null`.
    pub fn take_exception(self) -> Option<JsValue<'a>> {
        // SAFETY: as in `type_of`.
        let exception = self.made(|value| unsafe { sys::napi_get_and_clear_last_exception(self.env, value) }).ok()?;
        let is_thrown = !exception.is_none()
            && self.type_of(exception).is_ok_and(|kind| !matches!(kind, JsType::Undefined | JsType::Null));
        is_thrown.then_some(exception)
    }

    /// Reports an exception as uncaught, as the host does with one that its event loop gets.
    pub fn report_uncaught(self, exception: JsValue<'_>) {
        // SAFETY: as in `type_of`. A failure means that the host is shutting down.
        let _ = unsafe { sys::napi_fatal_exception(self.env, exception.raw()) };
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

/// Frees what `buffer_of` has given to the host.
unsafe extern "C" fn free_bytes(_env: sys::napi_env, _data: *mut c_void, owner: *mut c_void) {
    // SAFETY: `owner` is the count that `buffer_of` gave away. The host calls this once.
    let held = unsafe { Arc::from_raw(owner.cast::<Mutex<Vec<u8>>>()) };
    drop(std::mem::take(&mut *lock(&held)));
}

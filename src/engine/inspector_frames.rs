//! Limits the memory of stack traces in V8's inspector. V8 copies the names of a function and its script out of the heap for each frame, and a guest
//! may give them millions of characters. On Linux the linker redirects three functions to this module (`build.rs`), which cuts the names off: the
//! one that makes a frame in the stack traces of console messages, exceptions and promises, and those that name a frame and a scope of a paused guest.

use std::ffi::c_void;
use std::mem::{self, MaybeUninit};
use std::ptr::{self, NonNull};

/// Characters of a name, as V8 limits them in CPU profiles.
const MAX_NAME: usize = 1_024;

type Frame = *mut c_void;
type Object = *mut c_void;

/// `v8::internal::DirectHandle`, which is never null here.
type Handle = NonNull<v8::Value>;

/// `v8_inspector::String16`: `std::u16string` of libc++ in its alternative layout, and a hash. The characters of a short string take the place of
/// the first three fields.
#[repr(C)]
struct Name {
    characters: *const u16,
    length: usize,
    capacity: usize,
    _hash: usize,
}

unsafe extern "C" {
    /// `v8_inspector::StackFrame::StackFrame`, which moves the names into the frame.
    #[link_name = "__real__ZN12v8_inspector10StackFrameC1EONS_8String16EiS2_iib"]
    fn new_frame(
        frame: Frame,
        function: *mut Name,
        script: i32,
        url: *mut Name,
        line: i32,
        column: i32,
        has_url_comment: bool,
    );
    /// `v8_inspector::String16::String16`, which copies the characters.
    #[link_name = "_ZN12v8_inspector8String16C1EPKDsm"]
    fn new_name(name: *mut Name, characters: *const u16, length: usize);
    /// `v8::internal::FrameInspector::GetFunctionName`.
    #[link_name = "__real__ZN2v88internal14FrameInspector15GetFunctionNameEv"]
    fn name_of_frame(frame: Object) -> Handle;
    /// `v8::internal::ScopeIterator::GetFunctionDebugName`.
    #[link_name = "__real__ZNK2v88internal13ScopeIterator20GetFunctionDebugNameEv"]
    fn name_of_scope(scope: Object) -> Handle;
    /// `v8::Isolate::GetCurrent`.
    #[link_name = "_ZN2v87Isolate10GetCurrentEv"]
    fn current_isolate() -> Object;
    /// `v8::internal::Factory::NewProperSubString`. The factory of an isolate has its address.
    #[link_name = "_ZN2v88internal7Factory18NewProperSubStringENS0_12DirectHandleINS0_6StringEEEjj"]
    fn part_of_string(factory: Object, string: Handle, begin: u32, end: u32) -> Handle;
}

core::arch::global_asm!(
    ".hidden __wrap__ZN12v8_inspector10StackFrameC1EONS_8String16EiS2_iib",
    ".hidden __wrap__ZN2v88internal14FrameInspector15GetFunctionNameEv",
    ".hidden __wrap__ZNK2v88internal13ScopeIterator20GetFunctionDebugNameEv"
);

impl Name {
    /// Whether `characters` is a block of its own.
    const fn is_long(&self) -> bool {
        self.capacity >> (usize::BITS - 1) == 1
    }

    /// A copy of its beginning, if it is too long. The caller moves it into another one; nothing frees it here.
    fn cut(&self) -> Option<Self> {
        if !self.is_long() || self.length <= MAX_NAME {
            return None;
        }
        let mut cut = MaybeUninit::uninit();
        // SAFETY: a long string has a block with at least this many characters. The call makes a string of `cut`, which does not refer to
        // itself, so it can be moved.
        unsafe {
            new_name(cut.as_mut_ptr(), self.characters, MAX_NAME);
            Some(cut.assume_init())
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN12v8_inspector10StackFrameC1EONS_8String16EiS2_iib(
    frame: Frame,
    function: *mut Name,
    script: i32,
    url: *mut Name,
    line: i32,
    column: i32,
    has_url_comment: bool,
) {
    // SAFETY: V8 passes two strings. The call moves from the strings that it gets, which own nothing afterwards; V8 frees its own.
    unsafe {
        let [mut short_function, mut short_url] = [(*function).cut(), (*url).cut()];
        let function = short_function.as_mut().map_or(function, ptr::from_mut);
        let url = short_url.as_mut().map_or(url, ptr::from_mut);
        new_frame(frame, function, script, url, line, column, has_url_comment);
    }
}

/// The name of a function in a paused guest, or its beginning.
///
/// # Safety
/// The current isolate has entered the handle's scope.
unsafe fn beginning(name: Handle) -> Handle {
    // SAFETY: guaranteed by the caller; a `v8::Local` is a handle, and is not used after this function.
    let value = unsafe { mem::transmute::<Handle, v8::Local<'_, v8::Value>>(name) };
    let is_long = v8::Local::<v8::String>::try_from(value).is_ok_and(|string| string.length() > MAX_NAME);
    if !is_long {
        return name;
    }
    // SAFETY: guaranteed by the caller. The string is longer than its part.
    unsafe { part_of_string(current_isolate(), name, 0, MAX_NAME as u32) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal14FrameInspector15GetFunctionNameEv(frame: Object) -> Handle {
    // SAFETY: forwards the call. V8 inspects the frames of the isolate that is paused on this thread.
    unsafe { beginning(name_of_frame(frame)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZNK2v88internal13ScopeIterator20GetFunctionDebugNameEv(scope: Object) -> Handle {
    // SAFETY: as above.
    unsafe { beginning(name_of_scope(scope)) }
}

//! V8 functions that pass guests' texts to ICU, or let it write long ones. The linker redirects V8's calls of them here (`build.rs`).
//!
//! V8 does not check whether ICU could copy a text. So if a guest cannot have the copy, its text is replaced with an empty one and the
//! guest ends: it never sees the result.

use crate::native::context;

/// Whether this thread's current work can handle a failed allocation of ICU: it ends in an error or in a shorter text, and nothing worse.
pub fn expects_refusals() -> bool {
    context::with(|context| context.icu.expects_refusals.get())
}

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::{c_int, c_void};

    use crate::native::{Share, context};

    type Isolate = *mut c_void;
    /// `v8::internal::DirectHandle`: the location of an object's address, as in `v8::Local`.
    type Handle = *const c_void;
    /// Any other argument that is forwarded.
    type Pointer = *mut c_void;

    unsafe extern "C" {
        #[link_name = "v8__String__Length"]
        fn length(text: Handle) -> c_int;
        #[link_name = "v8__String__IsOneByte"]
        fn is_one_byte(text: Handle) -> bool;
        #[link_name = "v8__String__Empty"]
        fn empty(isolate: Isolate) -> Handle;
        #[link_name = "__real__ZN2v88internal24IcuBreakIteratorWithTextC1EPNS0_7IsolateENSt4__Cr10unique_ptrIN6icu_7813BreakIteratorENS4_14default_deleteIS7_EEEENS0_12DirectHandleINS0_6StringEEE"]
        fn break_iterator(this: Pointer, isolate: Isolate, iterator: Pointer, text: Handle);
        #[link_name = "__real__ZN2v88internal24IcuBreakIteratorWithText7SetTextEPNS0_7IsolateENS0_12DirectHandleINS0_6StringEEE"]
        fn set_text(this: Pointer, isolate: Isolate, text: Handle);
        #[link_name = "__real__ZN2v88internal4Intl9NormalizeEPNS0_7IsolateENS0_12DirectHandleINS0_6StringEEENS4_INS0_6ObjectEEE"]
        fn normalize(isolate: Isolate, text: Handle, form: Handle) -> Handle;
        #[link_name = "__real__ZN2v88internal4Intl14CompareStringsEPNS0_7IsolateERKN6icu_788CollatorENS0_12DirectHandleINS0_6StringEEESA_NS1_21CompareStringsOptionsE"]
        fn compare(isolate: Isolate, collator: Pointer, one: Handle, other: Handle, options: c_int) -> c_int;
        #[link_name = "__real__ZN2v88internal12JSListFormat10FormatListEPNS0_7IsolateENS0_12DirectHandleIS1_EENS4_INS0_10FixedArrayEEE"]
        fn format_list(isolate: Isolate, format: Handle, list: Handle) -> Handle;
        #[link_name = "__real__ZN2v88internal12JSListFormat17FormatListToPartsEPNS0_7IsolateENS0_12DirectHandleIS1_EENS4_INS0_10FixedArrayEEE"]
        fn format_list_to_parts(isolate: Isolate, format: Handle, list: Handle) -> Handle;
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN2v88internal24IcuBreakIteratorWithTextC1EPNS0_7IsolateENSt4__Cr10unique_ptrIN6icu_7813BreakIteratorENS4_14default_deleteIS7_EEEENS0_12DirectHandleINS0_6StringEEE",
        ".hidden __wrap__ZN2v88internal24IcuBreakIteratorWithText7SetTextEPNS0_7IsolateENS0_12DirectHandleINS0_6StringEEE",
        ".hidden __wrap__ZN2v88internal4Intl9NormalizeEPNS0_7IsolateENS0_12DirectHandleINS0_6StringEEENS4_INS0_6ObjectEEE",
        ".hidden __wrap__ZN2v88internal4Intl14CompareStringsEPNS0_7IsolateERKN6icu_788CollatorENS0_12DirectHandleINS0_6StringEEESA_NS1_21CompareStringsOptionsE",
        ".hidden __wrap__ZN2v88internal12JSListFormat10FormatListEPNS0_7IsolateENS0_12DirectHandleIS1_EENS4_INS0_10FixedArrayEEE",
        ".hidden __wrap__ZN2v88internal12JSListFormat17FormatListToPartsEPNS0_7IsolateENS0_12DirectHandleIS1_EENS4_INS0_10FixedArrayEEE"
    );

    /// Memory of ICU itself, in addition to the text.
    const REST: usize = 1 << 10;

    /// `text`, or the empty string if the copies would be too much for its isolate, which then ends.
    fn affordable(isolate: Isolate, text: Handle) -> Handle {
        // SAFETY: V8 has passed a handle to a string.
        let (length, is_one_byte) = unsafe { (length(text), is_one_byte(text)) };
        let units = usize::try_from(length).unwrap_or(0);
        // V8 first converts a text of one-byte characters to 16-bit units.
        let copies = if is_one_byte { 2 } else { 1 };
        match Share::of_current(units * size_of::<u16>() * copies + REST) {
            Some(share) if !share.is_within_limit() => {
                share.refuse();
                // SAFETY: the isolate is the one that is entered on this thread.
                unsafe { empty(isolate) }
            }
            _ => text,
        }
    }

    /// Does `work`, which can handle refused memory.
    fn expecting<T>(work: impl FnOnce() -> T) -> T {
        let before = context::with(|context| context.icu.expects_refusals.replace(true));
        let result = work();
        context::with(|context| context.icu.expects_refusals.set(before));
        result
    }

    /// The constructor that receives a segmenter's text.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal24IcuBreakIteratorWithTextC1EPNS0_7IsolateENSt4__Cr10unique_ptrIN6icu_7813BreakIteratorENS4_14default_deleteIS7_EEEENS0_12DirectHandleINS0_6StringEEE(
        this: Pointer,
        isolate: Isolate,
        iterator: Pointer,
        text: Handle,
    ) {
        let text = affordable(isolate, text);
        // SAFETY: forwards V8's arguments, or the empty string.
        unsafe { break_iterator(this, isolate, iterator, text) };
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal24IcuBreakIteratorWithText7SetTextEPNS0_7IsolateENS0_12DirectHandleINS0_6StringEEE(
        this: Pointer,
        isolate: Isolate,
        text: Handle,
    ) {
        let text = affordable(isolate, text);
        // SAFETY: forwards V8's arguments, or the empty string.
        unsafe { set_text(this, isolate, text) };
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal4Intl9NormalizeEPNS0_7IsolateENS0_12DirectHandleINS0_6StringEEENS4_INS0_6ObjectEEE(
        isolate: Isolate,
        text: Handle,
        form: Handle,
    ) -> Handle {
        let text = affordable(isolate, text);
        // SAFETY: forwards V8's arguments, or the empty string.
        expecting(|| unsafe { normalize(isolate, text, form) })
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal4Intl14CompareStringsEPNS0_7IsolateERKN6icu_788CollatorENS0_12DirectHandleINS0_6StringEEESA_NS1_21CompareStringsOptionsE(
        isolate: Isolate,
        collator: Pointer,
        one: Handle,
        other: Handle,
        options: c_int,
    ) -> c_int {
        // SAFETY: forwards the call.
        expecting(|| unsafe { compare(isolate, collator, one, other, options) })
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal12JSListFormat10FormatListEPNS0_7IsolateENS0_12DirectHandleIS1_EENS4_INS0_10FixedArrayEEE(
        isolate: Isolate,
        format: Handle,
        list: Handle,
    ) -> Handle {
        // SAFETY: forwards the call.
        expecting(|| unsafe { format_list(isolate, format, list) })
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal12JSListFormat17FormatListToPartsEPNS0_7IsolateENS0_12DirectHandleIS1_EENS4_INS0_10FixedArrayEEE(
        isolate: Isolate,
        format: Handle,
        list: Handle,
    ) -> Handle {
        // SAFETY: forwards the call.
        expecting(|| unsafe { format_list_to_parts(isolate, format, list) })
    }
}

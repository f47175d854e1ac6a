//! Where code of an isolate lies.

/// The memory ranges that hold V8's built-in functions and an isolate's code compiled from JavaScript, as addresses.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "unused on other systems"))]
pub struct Code {
    pub stretches: [(usize, usize); Code::MAX_COUNT],
}

impl Code {
    pub const MAX_COUNT: usize = 4;
}

#[cfg(target_os = "linux")]
impl Code {
    pub fn of(isolate: &v8::Isolate) -> Self {
        use std::ffi::c_void;

        /// `v8::MemoryRange`.
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct MemoryRange {
            start: *const c_void,
            length: usize,
        }
        unsafe extern "C" {
            /// `v8::Isolate::CopyCodePages`, which the crate does not bind: writes up to `capacity` ranges and returns how many exist.
            #[link_name = "_ZN2v87Isolate13CopyCodePagesEmPNS_11MemoryRangeE"]
            fn copy_code_pages(isolate: *mut c_void, capacity: usize, ranges: *mut MemoryRange) -> usize;
        }
        let mut ranges = [MemoryRange { start: std::ptr::null(), length: 0 }; Self::MAX_COUNT];
        // SAFETY: `UnsafeRawIsolatePtr` is a pointer in a newtype, to the isolate that the caller has entered; V8 writes no more ranges
        // than the array has room for.
        let found = unsafe {
            let isolate: *mut c_void = std::mem::transmute(isolate.as_raw_isolate_ptr());
            copy_code_pages(isolate, ranges.len(), ranges.as_mut_ptr())
        };
        // On this V8's targets all code compiled from JavaScript lies in one range that is known from the start. If there were more ranges than fit, some
        // code would not be found, and threads that run it would not be suspended.
        let mut stretches = [(0, 0); Self::MAX_COUNT];
        for (stretch, range) in stretches.iter_mut().zip(&ranges).take(found) {
            *stretch = (range.start as usize, range.length);
        }
        Self { stretches }
    }
}

#[cfg(not(target_os = "linux"))]
impl Code {
    pub fn of(_isolate: &v8::Isolate) -> Self {
        Self { stretches: [(0, 0); Self::MAX_COUNT] }
    }
}

//! Replaces functions of V8's page allocator. V8 takes the allocator from its platform, but the crate does not let a platform provide one.
//! So the functions in question are replaced in a copy of its vtable, which has the layout of the C++ ABI of all systems but Windows.

use std::ffi::{c_int, c_void};

use super::{Change, Use};
use crate::engine::heap;

/// `v8::PageAllocator::Permission`.
const NO_ACCESS: c_int = 0;
const READ_WRITE: c_int = 2;
const CODE_LATER: c_int = 5;

/// V8 aligns buffers to pages, and WebAssembly memories to WebAssembly pages. Regions of its heap have a larger alignment.
const MAX_ALIGNED: usize = 64 << 10;

/// `v8::PageAllocator::AllocationHint`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Hint {
    address: *mut c_void,
    may_grow: bool,
}

type Allocator = *mut c_void;

unsafe extern "C" {
    /// `v8::internal::GetPlatformPageAllocator`.
    #[link_name = "_ZN2v88internal24GetPlatformPageAllocatorEv"]
    fn platform_page_allocator() -> *mut *const usize;
    /// `v8::base::PageAllocator`'s functions.
    #[link_name = "_ZN2v84base13PageAllocator13AllocatePagesEPvmmNS_13PageAllocator10PermissionE"]
    fn allocate(this: Allocator, address: *mut c_void, size: usize, alignment: usize, access: c_int) -> *mut c_void;
    #[link_name = "_ZN2v84base13PageAllocator9FreePagesEPvm"]
    fn free(this: Allocator, address: *mut c_void, size: usize) -> bool;
    #[link_name = "_ZN2v84base13PageAllocator12ReleasePagesEPvmm"]
    fn release(this: Allocator, address: *mut c_void, size: usize, new_size: usize) -> bool;
    #[link_name = "_ZN2v84base13PageAllocator14SetPermissionsEPvmNS_13PageAllocator10PermissionE"]
    fn set_permissions(this: Allocator, address: *mut c_void, size: usize, access: c_int) -> bool;
    #[link_name = "_ZN2v84base13PageAllocator13RecommitPagesEPvmNS_13PageAllocator10PermissionE"]
    fn recommit(this: Allocator, address: *mut c_void, size: usize, access: c_int) -> bool;
    #[link_name = "_ZN2v84base13PageAllocator13DecommitPagesEPvm"]
    fn decommit(this: Allocator, address: *mut c_void, size: usize) -> bool;
    /// The vtable of `v8::base::PageAllocator`.
    #[link_name = "_ZTVN2v84base13PageAllocatorE"]
    static TABLE: Table;
    /// `v8::Isolate::TryGetCurrent`.
    #[link_name = "_ZN2v87Isolate13TryGetCurrentEv"]
    fn current_isolate() -> *mut c_void;
}

/// Entries of the vtable, and the words before them that identify the C++ type.
const ENTRIES: usize = 19;
const PREFIX: usize = 2;
type Table = [usize; PREFIX + ENTRIES];

/// Indices of the functions.
const ALLOCATE: usize = PREFIX + 6;
const ALLOCATE_WITH_HINT: usize = ALLOCATE + 1;
const FREE: usize = PREFIX + 9;
const RELEASE: usize = PREFIX + 10;
const SET_PERMISSIONS: usize = PREFIX + 11;
const RECOMMIT: usize = PREFIX + 12;
const DECOMMIT: usize = PREFIX + 14;

/// Replaces the functions. V8's platform exists at this point, and no isolate does. False if the platform's allocator is of another class, or
/// the functions are not where this code expects them.
#[must_use]
pub fn replace() -> bool {
    // SAFETY: the platform exists. A C++ object with virtual functions begins with a pointer to the first of them.
    let (allocator, functions) = unsafe {
        let allocator = platform_page_allocator();
        (allocator, *allocator)
    };
    // A derived class has a vtable of its own.
    if functions != (&raw const TABLE).cast::<usize>().wrapping_add(PREFIX) {
        return false;
    }
    // SAFETY: the vtable of this class has this many words (`v8::PageAllocator` declares as many virtual functions), which never change.
    let mut table = unsafe { TABLE };
    let known = [
        (ALLOCATE, allocate as *const () as usize),
        (FREE, free as *const () as usize),
        (RELEASE, release as *const () as usize),
        (SET_PERMISSIONS, set_permissions as *const () as usize),
        (RECOMMIT, recommit as *const () as usize),
        (DECOMMIT, decommit as *const () as usize),
    ];
    if known.into_iter().any(|(index, function)| table[index] != function) {
        return false;
    }
    table[ALLOCATE] = on_allocate as *const () as usize;
    table[ALLOCATE_WITH_HINT] = on_allocate_with_hint as *const () as usize;
    table[FREE] = on_free as *const () as usize;
    table[RELEASE] = on_release as *const () as usize;
    table[SET_PERMISSIONS] = on_set_permissions as *const () as usize;
    table[RECOMMIT] = on_recommit as *const () as usize;
    table[DECOMMIT] = on_decommit as *const () as usize;
    let table: &'static [usize] = Box::leak(Box::new(table));
    // SAFETY: the new vtable is a copy of the old one, except for functions of the same types that do the same and more. No other thread
    // uses V8 yet.
    unsafe { *allocator = table.as_ptr().add(PREFIX) };
    true
}

/// Called for stacks. No other allocation is inaccessible at first and aligned to no more than a page.
unsafe extern "C" fn on_allocate(
    this: Allocator,
    address: *mut c_void,
    size: usize,
    alignment: usize,
    access: c_int,
) -> *mut c_void {
    // SAFETY: forwards V8's arguments.
    let allocate = || unsafe { allocate(this, address, size, alignment, access) };
    if access == NO_ACCESS && alignment <= MAX_ALIGNED && address.is_null() {
        super::reserve(Use::Stack, size, allocate)
    } else {
        allocate()
    }
}

unsafe extern "C" fn on_allocate_with_hint(
    this: Allocator,
    size: usize,
    alignment: usize,
    access: c_int,
    hint: Hint,
) -> *mut c_void {
    // SAFETY: forwards V8's arguments. This does the same as the function that was replaced.
    let allocate = || unsafe { allocate(this, hint.address, size, alignment, access) };
    match access {
        NO_ACCESS if alignment <= MAX_ALIGNED && hint.address.is_null() => super::reserve(Use::Buffer, size, allocate),
        CODE_LATER if alignment <= MAX_ALIGNED => super::reserve(Use::Code, size, allocate),
        _ => allocate(),
    }
}

unsafe extern "C" fn on_free(this: Allocator, address: *mut c_void, size: usize) -> bool {
    // Before the pages are freed, because they may be reserved again immediately afterwards.
    super::forget(address as usize);
    heap::shrink_page(address as usize, 0);
    // SAFETY: forwards V8's arguments.
    unsafe { free(this, address, size) }
}

/// Called when V8 needs less of a part of its heap.
unsafe extern "C" fn on_release(this: Allocator, address: *mut c_void, size: usize, new_size: usize) -> bool {
    heap::shrink_page(address as usize, new_size);
    // SAFETY: forwards V8's arguments.
    unsafe { release(this, address, size, new_size) }
}

unsafe extern "C" fn on_set_permissions(this: Allocator, address: *mut c_void, size: usize, access: c_int) -> bool {
    // SAFETY: forwards V8's arguments.
    let apply = || unsafe { set_permissions(this, address, size, access) };
    let accessible = match access {
        NO_ACCESS => false,
        READ_WRITE => true,
        _ => return apply(),
    };
    match Change::plan(address as usize, size, accessible) {
        Some(change) => change.make(|| apply() && (accessible || drop_pages(address, size)), collect),
        None => apply(),
    }
}

/// Called when V8 is about to write WebAssembly code, and for pages of its own.
unsafe extern "C" fn on_recommit(this: Allocator, address: *mut c_void, size: usize, access: c_int) -> bool {
    super::use_for_code(address as usize, size);
    // SAFETY: forwards V8's arguments.
    unsafe { recommit(this, address, size, access) }
}

/// Called for stacks that V8 no longer uses. V8 would keep their address space forever; here it is freed.
unsafe extern "C" fn on_decommit(this: Allocator, address: *mut c_void, size: usize) -> bool {
    if super::is_stack(address as usize) {
        // SAFETY: the whole stack was allocated this way, and V8 no longer refers to it.
        return unsafe { on_free(this, address, size) };
    }
    // SAFETY: forwards V8's arguments.
    unsafe { decommit(this, address, size) }
}

/// Makes the isolate of this thread release unreachable buffers. V8 does so itself before it refuses a new buffer, but not when a buffer
/// grows.
fn collect() {
    // SAFETY: has no preconditions.
    let isolate = unsafe { current_isolate() };
    if isolate.is_null() {
        return;
    }
    // SAFETY: `UnsafeRawIsolatePtr` is a pointer in a newtype.
    let isolate: v8::UnsafeRawIsolatePtr = unsafe { std::mem::transmute(isolate) };
    // SAFETY: the isolate is entered on this thread. V8 is about to grow a buffer, and holds only handles meanwhile: if there is no memory,
    // it may collect right afterwards.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    isolate.low_memory_notification();
}

/// V8 only lets the system reclaim the released pages of a buffer when the system needs memory. This returns them at once.
#[cfg(target_os = "linux")]
fn drop_pages(address: *mut c_void, size: usize) -> bool {
    // SAFETY: nothing has access to these pages, which belong to the buffer.
    unsafe { libc::madvise(address, size, libc::MADV_DONTNEED) };
    true
}

#[cfg(not(target_os = "linux"))]
fn drop_pages(_address: *mut c_void, _size: usize) -> bool {
    true
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_the_expected_class_is_replaced() {
        // Starting the engine has replaced the functions, so the allocator no longer has the vtable of its class.
        assert!((crate::guest::settings().engine)().is_ok());
        assert!(!super::replace());
    }
}

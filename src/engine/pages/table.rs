//! V8's page allocator, told to ask here. V8 takes one from its platform, but the crate does not let a platform bring one. So the
//! functions in question are replaced in a copy of its table of virtual functions, which is as the C++ ABI of all systems but
//! Windows lays it out.

use std::ffi::{c_int, c_void};

use super::{Change, Use};
use crate::engine::heap;

/// `v8::PageAllocator::Permission`.
const NO_ACCESS: c_int = 0;
const READ_WRITE: c_int = 2;
const CODE_LATER: c_int = 5;

/// What V8 aligns buffers to: to pages, and WebAssembly's memories to WebAssembly's pages. Its heap has larger parts.
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
    /// `v8::Isolate::TryGetCurrent`.
    #[link_name = "_ZN2v87Isolate13TryGetCurrentEv"]
    fn current_isolate() -> *mut c_void;
}

/// Entries of the table, and before them what C++ knows the type by.
const ENTRIES: usize = 19;
const PREFIX: usize = 2;

/// Where it has which function.
const ALLOCATE: usize = PREFIX + 6;
const ALLOCATE_WITH_HINT: usize = ALLOCATE + 1;
const FREE: usize = PREFIX + 9;
const RELEASE: usize = PREFIX + 10;
const SET_PERMISSIONS: usize = PREFIX + 11;
const RECOMMIT: usize = PREFIX + 12;
const DECOMMIT: usize = PREFIX + 14;

/// Replaces the functions. V8's platform is there.
pub fn replace() {
    // SAFETY: the platform is there. A C++ object with virtual functions begins with the address of the first of them.
    let (allocator, functions) = unsafe {
        let allocator = platform_page_allocator();
        (allocator, *allocator)
    };
    // SAFETY: the table of this class has so many words, which never change.
    let mut table: [usize; PREFIX + ENTRIES] = unsafe { functions.sub(PREFIX).cast::<[usize; _]>().read() };
    let known = [
        (ALLOCATE, allocate as *const () as usize),
        (FREE, free as *const () as usize),
        (RELEASE, release as *const () as usize),
        (SET_PERMISSIONS, set_permissions as *const () as usize),
        (RECOMMIT, recommit as *const () as usize),
        (DECOMMIT, decommit as *const () as usize),
    ];
    if known.into_iter().any(|(index, function)| table[index] != function) {
        // Not the class that it is taken for.
        return;
    }
    table[ALLOCATE] = on_allocate as *const () as usize;
    table[ALLOCATE_WITH_HINT] = on_allocate_with_hint as *const () as usize;
    table[FREE] = on_free as *const () as usize;
    table[RELEASE] = on_release as *const () as usize;
    table[SET_PERMISSIONS] = on_set_permissions as *const () as usize;
    table[RECOMMIT] = on_recommit as *const () as usize;
    table[DECOMMIT] = on_decommit as *const () as usize;
    let table: &'static [usize] = Box::leak(Box::new(table));
    // SAFETY: the new table is a copy of the old one, but for functions of the same types that do the same and more. No other thread
    // works with V8 yet.
    unsafe { *allocator = table.as_ptr().add(PREFIX) };
}

/// Called for stacks, and for nothing else that is not accessible yet and no more than a page aligned.
unsafe extern "C" fn on_allocate(
    this: Allocator,
    address: *mut c_void,
    size: usize,
    alignment: usize,
    access: c_int,
) -> *mut c_void {
    // SAFETY: passed on from V8.
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
    // SAFETY: passed on from V8. This is what the function that was replaced does.
    let allocate = || unsafe { allocate(this, hint.address, size, alignment, access) };
    match access {
        NO_ACCESS if alignment <= MAX_ALIGNED && hint.address.is_null() => super::reserve(Use::Buffer, size, allocate),
        CODE_LATER if alignment <= MAX_ALIGNED => super::reserve(Use::Code, size, allocate),
        _ => allocate(),
    }
}

unsafe extern "C" fn on_free(this: Allocator, address: *mut c_void, size: usize) -> bool {
    // Before: once it is free it may be reserved anew.
    super::forget(address as usize);
    heap::shrink_page(address as usize, 0);
    // SAFETY: passed on from V8.
    unsafe { free(this, address, size) }
}

/// Called where V8 needs less of a part of its heap.
unsafe extern "C" fn on_release(this: Allocator, address: *mut c_void, size: usize, new_size: usize) -> bool {
    heap::shrink_page(address as usize, new_size);
    // SAFETY: passed on from V8.
    unsafe { release(this, address, size, new_size) }
}

unsafe extern "C" fn on_set_permissions(this: Allocator, address: *mut c_void, size: usize, access: c_int) -> bool {
    // SAFETY: passed on from V8.
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

/// Called where V8 is about to write code of WebAssembly, and for pages of its own.
unsafe extern "C" fn on_recommit(this: Allocator, address: *mut c_void, size: usize, access: c_int) -> bool {
    super::use_for_code(address as usize, size);
    // SAFETY: passed on from V8.
    unsafe { recommit(this, address, size, access) }
}

/// Called for stacks that V8 has no more use for. It keeps their address space for ever; here that is freed.
unsafe extern "C" fn on_decommit(this: Allocator, address: *mut c_void, size: usize) -> bool {
    if super::is_stack(address as usize) {
        // SAFETY: the whole stack was allocated like that, and V8 forgets about it now.
        return unsafe { on_free(this, address, size) };
    }
    // SAFETY: passed on from V8.
    unsafe { decommit(this, address, size) }
}

/// Has the isolate of this thread give up buffers that nobody refers to. V8 does so itself before it refuses a new buffer, but not
/// where one grows.
fn collect() {
    // SAFETY: has no preconditions.
    let isolate = unsafe { current_isolate() };
    if isolate.is_null() {
        return;
    }
    // SAFETY: `UnsafeRawIsolatePtr` is a pointer in a newtype.
    let isolate: v8::UnsafeRawIsolatePtr = unsafe { std::mem::transmute(isolate) };
    // SAFETY: the isolate is entered on this thread. V8 is about to grow a buffer, for which it keeps nothing but handles: where there
    // is no memory it may collect right afterwards.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    isolate.low_memory_notification();
}

/// V8 lets the system take back what a buffer no longer has, when it needs memory. It is to have it at once.
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

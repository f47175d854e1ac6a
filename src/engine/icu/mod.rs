//! Memory of V8's ICU, whose every block counts for the isolate that the thread works for: V8 knows of a fraction only, and a
//! formatter is made of hundreds of small ones.

mod texts;

use std::ffi::{c_int, c_void};
use std::ptr;

use super::abort;
use crate::native::{self, Ration, Share, locks};

/// Before each block.
#[repr(C, align(16))]
struct Header {
    /// Null for what counts for nobody.
    ration: *const Ration,
    bytes: usize,
    size: usize,
}

const HEADER: usize = size_of::<Header>();

/// A block so large is made of a guest's text. Its guest may be refused it; smaller ones may be part of what all isolates share.
const LARGE: usize = 1 << 20;

type Allocate = unsafe extern "C" fn(*const c_void, usize) -> *mut c_void;
type Reallocate = unsafe extern "C" fn(*const c_void, *mut c_void, usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*const c_void, *mut c_void);

unsafe extern "C" {
    #[link_name = "u_setMemoryFunctions_78"]
    fn set_memory_functions(context: *const c_void, a: Allocate, r: Reallocate, f: Free, status: *mut c_int);
}

/// Has ICU take its memory here. It has taken none yet.
pub fn count() {
    let mut status = 0;
    // SAFETY: the functions keep the contract of `malloc`, `realloc` and `free`, from any thread. `status` is valid for writes; it
    // stays 0, as no function is missing.
    unsafe { set_memory_functions(ptr::null(), allocate, reallocate, free, &raw mut status) };
}

/// Most of ICU and V8 does not look whether it got a block, so nobody gets null but who does ([`texts::expects_refusals`]): the guest
/// whose thread needs it ends here. Where other threads wait for this one it gets its block all the same.
unsafe extern "C" fn allocate(_context: *const c_void, size: usize) -> *mut c_void {
    let Some(whole) = size.checked_add(HEADER) else { return refuse(None) };
    let share = Share::of_current(whole);
    if size >= LARGE && share.as_ref().is_some_and(|share| !share.is_bearable()) && !locks::held() {
        return refuse(share);
    }
    // SAFETY: has no preconditions.
    let header: *mut Header = unsafe { native::malloc(whole) }.cast();
    if header.is_null() {
        return refuse(share);
    }
    let (ration, bytes) = share.map_or((ptr::null(), 0), Share::take);
    // SAFETY: there is room for the header, and the block after it.
    unsafe {
        header.write(Header { ration, bytes, size });
        header.add(1).cast()
    }
}

#[cold]
fn refuse(share: Option<Share>) -> *mut c_void {
    if let Some(share) = share {
        share.refuse();
    }
    if !texts::expects_refusals() && !locks::held() {
        abort::park();
    }
    ptr::null_mut()
}

unsafe extern "C" fn free(_context: *const c_void, block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: ICU frees what `allocate` gave it, once, and before it is the header.
    unsafe {
        let header = block.cast::<Header>().sub(1);
        let Header { ration, bytes, .. } = header.read();
        if !ration.is_null() {
            Share::give_back(ration, bytes);
        }
        native::free(header.cast());
    }
}

unsafe extern "C" fn reallocate(context: *const c_void, block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: passed on.
    let larger = unsafe { allocate(context, size) };
    if block.is_null() || larger.is_null() {
        return larger;
    }
    // SAFETY: both blocks have as many bytes as are copied, and do not overlap. ICU has no more use for the old one.
    unsafe {
        let before = (*block.cast::<Header>().sub(1)).size;
        ptr::copy_nonoverlapping(block.cast::<u8>(), larger.cast::<u8>(), before.min(size));
        free(context, block);
    }
    larger
}

//! Memory of V8's ICU. Every block counts for the isolate that the thread works for: V8 knows only about a fraction of it, and a formatter
//! consists of hundreds of small blocks.

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod caches;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod patterns;
mod texts;

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use super::abort;
use crate::native::{self, NativeQuota, Share, lock, locks};

/// Precedes each block.
#[repr(C, align(16))]
struct Header {
    /// Null for a block that counts for no isolate.
    quota: *const NativeQuota,
    bytes: usize,
    size: usize,
}

const HEADER: usize = size_of::<Header>();

/// A block of at least this size is made from a guest's text, and may be refused. Smaller blocks may be part of data that all isolates share.
const LARGE: usize = 1 << 20;

type Allocate = unsafe extern "C" fn(*const c_void, usize) -> *mut c_void;
type Reallocate = unsafe extern "C" fn(*const c_void, *mut c_void, usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*const c_void, *mut c_void);

unsafe extern "C" {
    #[link_name = "u_setMemoryFunctions_78"]
    fn set_memory_functions(context: *const c_void, a: Allocate, r: Reallocate, f: Free, status: *mut c_int);
}

/// Makes ICU allocate its memory here. It has allocated none yet.
pub fn count() {
    let mut status = 0;
    // SAFETY: the functions keep the contract of `malloc`, `realloc` and `free`, on any thread. `status` is valid for writes; it stays 0,
    // because no function is missing.
    unsafe { set_memory_functions(ptr::null(), allocate, reallocate, free, &raw mut status) };
}

/// Most of ICU and V8 does not check whether it got a block, so only code that checks gets null ([`texts::expects_refusals`]). Otherwise the
/// guest whose thread needs the block ends here. A thread that other threads may wait for gets its block regardless.
unsafe extern "C" fn allocate(_context: *const c_void, size: usize) -> *mut c_void {
    let Some(whole) = size.checked_add(HEADER) else { return refuse(None) };
    let share = Share::of_current(whole);
    if size >= LARGE && share.as_ref().is_some_and(|share| !share.is_within_limit()) {
        return refuse(share);
    }
    // SAFETY: has no preconditions.
    let header: *mut Header = unsafe { native::malloc(whole) }.cast();
    if header.is_null() {
        return refuse(share);
    }
    let (quota, bytes) = share.map_or((ptr::null(), 0), Share::take);
    if size >= LARGE && !quota.is_null() && !locks::held() {
        lock(&BLOCKS).insert(header as usize, Block { quota: quota as usize, size: whole });
    }
    // SAFETY: there is room for the header and the block after it.
    unsafe {
        header.write(Header { quota, bytes, size });
        header.add(1).cast()
    }
}

/// A large block that belongs to one guest alone.
struct Block {
    quota: usize,
    size: usize,
}

/// Large blocks by the address of their header.
static BLOCKS: Mutex<BTreeMap<usize, Block>> = Mutex::new(BTreeMap::new());

/// The thread stops here permanently, and only it reads the large blocks of its isolate. Their memory is returned to the system, but not
/// their addresses.
pub fn abandon() {
    #[cfg(target_os = "linux")]
    if let Some(quota) = native::current() {
        // SAFETY: only reads a value.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(64 << 10);
        let quota = std::sync::Arc::as_ptr(&quota) as usize;
        for (header, block) in lock(&BLOCKS).iter().filter(|(_, block)| block.quota == quota) {
            let start = (header + HEADER).next_multiple_of(page);
            let end = (header + block.size) / page * page;
            if start < end {
                // SAFETY: these pages lie inside a block that only this thread accesses, and it no longer does. The block is not freed
                // meanwhile, because it is in the list, which is locked.
                unsafe { libc::madvise(start as *mut c_void, end - start, libc::MADV_DONTNEED) };
            }
        }
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
    // SAFETY: ICU frees what `allocate` gave it, once, and the header precedes it.
    unsafe {
        let header = block.cast::<Header>().sub(1);
        let Header { quota, bytes, size } = header.read();
        if size >= LARGE {
            lock(&BLOCKS).remove(&(header as usize));
        }
        if !quota.is_null() {
            Share::give_back(quota, bytes);
        }
        native::free(header.cast());
    }
}

unsafe extern "C" fn reallocate(context: *const c_void, block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: forwards the call.
    let larger = unsafe { allocate(context, size) };
    if block.is_null() || larger.is_null() {
        return larger;
    }
    // SAFETY: both blocks have as many bytes as are copied, and do not overlap. ICU no longer uses the old one.
    unsafe {
        let before = (*block.cast::<Header>().sub(1)).size;
        ptr::copy_nonoverlapping(block.cast::<u8>(), larger.cast::<u8>(), before.min(size));
        free(context, block);
    }
    larger
}

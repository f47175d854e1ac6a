//! V8 has three tables of 120 KB in each isolate for property accesses that see objects of many shapes (`src/ic/stub-cache.h`). It writes
//! all of their entries when an isolate is made, and in each full collection, though few guests use many of them. So on Linux the linker
//! sends the functions that do here (`build.rs`), where only pages that are in memory already are written to: with zeros, as those are that
//! the system gives out.
//!
//! An entry of zeros is as good as an empty one. A lookup compares the entry's key with the address of a name, which is never null; an
//! update looks at the map of what it replaces, and takes one that is no object, as an empty entry's, for nothing.

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::c_void;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    unsafe extern "C" {
        /// `v8::internal::StubCache::StubCache`.
        #[link_name = "__real__ZN2v88internal9StubCacheC1EPNS0_7IsolateE"]
        fn construct(cache: *mut c_void, isolate: *mut c_void);
        /// `v8::internal::StubCache::Initialize`.
        #[link_name = "__real__ZN2v88internal9StubCache10InitializeEv"]
        fn initialize(cache: *mut c_void);
        /// `v8::internal::StubCache::Clear`.
        #[link_name = "__real__ZN2v88internal9StubCache5ClearEv"]
        fn clear(cache: *mut c_void);
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN2v88internal9StubCacheC1EPNS0_7IsolateE",
        ".hidden __wrap__ZN2v88internal9StubCache10InitializeEv",
        ".hidden __wrap__ZN2v88internal9StubCache5ClearEv"
    );

    /// Key, value and map: the first two are objects, the third is zero when the entry is empty.
    type Entry = [usize; 3];

    /// Entries of the primary and of the secondary table, which lie one behind the other at the start of a cache. A pointer to the isolate
    /// is all that follows.
    const ENTRIES: usize = (1 << 12) + (1 << 10);

    const BYTES: usize = ENTRIES * size_of::<Entry>();
    /// Of the smallest kind.
    const MAX_PAGES: usize = BYTES >> 12;

    /// Whether caches lie in memory as described above, and pages of the allocator become zeros: learned from the first cache.
    static IS_KNOWN: OnceLock<bool> = OnceLock::new();
    static ENDS_AS_EXPECTED: AtomicBool = AtomicBool::new(false);

    fn is_known() -> bool {
        IS_KNOWN.get() == Some(&true)
    }

    /// # Safety
    /// `cache` is at the start of a block of the allocator.
    unsafe fn ends_with(cache: *mut c_void, isolate: *mut c_void) -> bool {
        // SAFETY: asks the allocator whose block it is; it is read no further than it is long.
        unsafe {
            libc::malloc_usable_size(cache) >= BYTES + size_of::<*mut c_void>()
                && cache.byte_add(BYTES).cast::<*mut c_void>().read() == isolate
        }
    }

    /// Whether all entries are empty as V8 writes them and then, once they are made zeros, zeros.
    ///
    /// # Safety
    /// `cache` is a block of at least `BYTES`, and nothing uses it yet.
    unsafe fn becomes_zeros(cache: *mut c_void) -> bool {
        // SAFETY: the block is large enough.
        let read = || unsafe { std::slice::from_raw_parts(cache.cast::<Entry>(), ENTRIES) };
        let [key, value, map] = read()[0];
        if key == 0 || value == 0 || map != 0 || read().iter().any(|entry| *entry != [key, value, map]) {
            return false;
        }
        // SAFETY: nothing uses it.
        unsafe { zero(cache) };
        read().iter().all(|entry| *entry == [0; 3])
    }

    /// Makes all entries zeros.
    ///
    /// # Safety
    /// `cache` is one, and nothing reads it meanwhile.
    unsafe fn zero(cache: *mut c_void) {
        // SAFETY: asks for a constant of the system.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let before = cache.align_offset(page).min(BYTES);
        let count = (BYTES - before) / page;
        let behind = before + count * page;
        let mut are_resident = [0_u8; MAX_PAGES];
        // SAFETY: within the cache, and there is a byte for each page.
        let ask = |answers: &mut [u8; MAX_PAGES]| unsafe {
            libc::mincore(cache.byte_add(before), count * page, answers.as_mut_ptr()) == 0
        };
        if is_filtered() || !ask(&mut are_resident) {
            are_resident.fill(0);
        }
        let mut first = before;
        for run in are_resident[..count].chunk_by(|one, other| one & 1 == other & 1) {
            let length = run.len() * page;
            // SAFETY: whole pages within the cache, which nobody else has a part of.
            unsafe {
                let pages = cache.byte_add(first);
                // To have the system take back what is resident, with all processors told, takes longer than to write to it. What is not
                // may lie in swap, with what was there before. Locked pages the system keeps.
                if run[0] & 1 == 1 || libc::madvise(pages, length, libc::MADV_DONTNEED) != 0 {
                    ptr::write_bytes(pages.cast::<u8>(), 0, length);
                }
            }
            first += length;
        }
        // SAFETY: what is in the cache before and behind those pages.
        unsafe {
            ptr::write_bytes(cache.cast::<u8>(), 0, before);
            ptr::write_bytes(cache.byte_add(behind).cast::<u8>(), 0, BYTES - behind);
        }
    }

    /// Whether there is a filter for system calls: some end the process for one that they do not know, and `mincore` is not in systemd's
    /// `@system-service`. Without it all pages are given back.
    fn is_filtered() -> bool {
        // SAFETY: asks for a number.
        unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) != 0 }
    }

    /// `v8::internal::StubCache::StubCache`, which writes zeros: what is there matters to nobody before `Initialize`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal9StubCacheC1EPNS0_7IsolateE(cache: *mut c_void, isolate: *mut c_void) {
        if is_known() {
            // SAFETY: within the block that the cache is made in.
            unsafe { cache.byte_add(BYTES).cast::<*mut c_void>().write(isolate) };
        } else {
            // SAFETY: passed on; V8 has taken a block for the cache alone.
            unsafe {
                construct(cache, isolate);
                ENDS_AS_EXPECTED.store(ends_with(cache, isolate), Ordering::Relaxed);
            }
        }
    }

    /// `v8::internal::StubCache::Initialize`: an isolate is nearly made.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal9StubCache10InitializeEv(cache: *mut c_void) {
        if is_known() {
            // SAFETY: V8 calls this for a cache that nothing uses yet.
            unsafe { zero(cache) };
        } else {
            // SAFETY: passed on; a cache that ends where it is expected to is as large. Where it turns out not to be as expected, it is
            // emptied as V8 does.
            unsafe {
                initialize(cache);
                if !*IS_KNOWN.get_or_init(|| ENDS_AS_EXPECTED.load(Ordering::Relaxed) && becomes_zeros(cache)) {
                    clear(cache);
                }
            }
        }
    }

    /// `v8::internal::StubCache::Clear`: all live objects are marked, and some will be moved.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal9StubCache5ClearEv(cache: *mut c_void) {
        if is_known() {
            // SAFETY: V8 calls this while the isolate's code stands still.
            unsafe { zero(cache) };
        } else {
            // SAFETY: passed on.
            unsafe { clear(cache) };
        }
    }
}

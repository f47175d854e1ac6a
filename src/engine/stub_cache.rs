//! Each isolate has three stub caches of 120 KB, for property accesses that see objects of many shapes (`src/ic/stub-cache.h`). V8 writes
//! all of their entries when it creates an isolate and in each full collection, though few guests use many of them. On Linux the linker
//! replaces the functions that do this with the ones here (`build.rs`). They write only to pages that are already in memory, and they write
//! zeros, because pages that the system provides contain zeros.
//!
//! An entry of zeros works like an empty entry. A lookup compares the entry's key with the address of a name, which is never null. An
//! update looks at the map of the entry that it replaces, and ignores the entry if the map is not an object, as in an empty entry.
//!
//! Collections of the young generation neither clear the caches nor update their entries. V8 creates all handlers in the old generation, among
//! them the records of accessors, which are young here (`generations`). So a handler is not added as long as it is young: such an access then
//! takes longer.

#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped {
    use std::ffi::c_void;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Mutex, OnceLock};

    use crate::native::lock;

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
        /// `v8::internal::StubCache::Set`. A `v8::internal::Tagged` is one word.
        #[link_name = "__real__ZN2v88internal9StubCache3SetENS0_6TaggedINS0_4NameEEENS2_INS0_3MapEEENS2_INS0_5UnionIJNS0_3SmiENS0_10HeapObjectENS0_4WeakIS9_EEEEEEE"]
        fn set(cache: *mut c_void, name: usize, map: usize, handler: usize);
    }

    core::arch::global_asm!(
        ".hidden __wrap__ZN2v88internal9StubCacheC1EPNS0_7IsolateE",
        ".hidden __wrap__ZN2v88internal9StubCache10InitializeEv",
        ".hidden __wrap__ZN2v88internal9StubCache5ClearEv",
        ".hidden __wrap__ZN2v88internal9StubCache3SetENS0_6TaggedINS0_4NameEEENS2_INS0_3MapEEENS2_INS0_5UnionIJNS0_3SmiENS0_10HeapObjectENS0_4WeakIS9_EEEEEEE"
    );

    /// Key, value and map: the first two are objects, the third is zero when the entry is empty.
    type Entry = [usize; 3];

    /// Entries of the primary and the secondary table, which lie one after the other at the start of a cache. Only a pointer to the isolate
    /// follows them.
    const ENTRIES: usize = (1 << 12) + (1 << 10);

    const BYTES: usize = ENTRIES * size_of::<Entry>();
    /// For the smallest page size.
    const MAX_PAGES: usize = BYTES >> 12;

    /// Whether caches are laid out as described above, and the allocator's pages become zeros. Determined from the first cache.
    static IS_KNOWN: OnceLock<bool> = OnceLock::new();
    static ENDS_AS_EXPECTED: AtomicBool = AtomicBool::new(false);

    /// Caches that are constructed when they are initialized, with their isolates: those of isolates that were begun before the layout was known. V8
    /// constructs all caches of an isolate before it initializes the first one.
    static WAITING: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());
    static WAITING_COUNT: AtomicUsize = AtomicUsize::new(0);

    fn wait(cache: *mut c_void, isolate: *mut c_void) {
        let mut waiting = lock(&WAITING);
        waiting.push((cache.expose_provenance(), isolate.expose_provenance()));
        WAITING_COUNT.store(waiting.len(), Ordering::Relaxed);
    }

    /// The isolate of a cache that waits, which does no more.
    fn take_waiting(cache: *mut c_void) -> Option<*mut c_void> {
        // The thread that has made the cache sees its own store.
        if WAITING_COUNT.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut waiting = lock(&WAITING);
        let place = waiting.iter().position(|(address, _)| *address == cache.addr())?;
        let (_, isolate) = waiting.swap_remove(place);
        WAITING_COUNT.store(waiting.len(), Ordering::Relaxed);
        Some(ptr::with_exposed_provenance_mut(isolate))
    }

    fn is_known() -> bool {
        IS_KNOWN.get() == Some(&true)
    }

    /// # Safety
    /// `cache` is at the start of a block of the allocator.
    unsafe fn ends_with(cache: *mut c_void, isolate: *mut c_void) -> bool {
        // SAFETY: `malloc_usable_size` takes a block of the allocator; no more is read than the block holds.
        unsafe {
            libc::malloc_usable_size(cache) >= BYTES + size_of::<*mut c_void>()
                && cache.byte_add(BYTES).cast::<*mut c_void>().read() == isolate
        }
    }

    /// Whether all entries are empty as V8 writes them, and read as zeros after `zero`.
    ///
    /// # Safety
    /// `cache` is a block of at least `BYTES` bytes, and nothing uses it yet.
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
    /// `cache` is a stub cache, and nothing reads it meanwhile.
    unsafe fn zero(cache: *mut c_void) {
        // SAFETY: reads a constant of the system.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let before = cache.align_offset(page).min(BYTES);
        let count = (BYTES - before) / page;
        let behind = before + count * page;
        let mut are_resident = [0_u8; MAX_PAGES];
        // SAFETY: the pages are within the cache, and `answers` has a byte for each page.
        let ask = |answers: &mut [u8; MAX_PAGES]| unsafe {
            libc::mincore(cache.byte_add(before), count * page, answers.as_mut_ptr()) == 0
        };
        if is_filtered() || !ask(&mut are_resident) {
            are_resident.fill(0);
        }
        let mut first = before;
        for run in are_resident[..count].chunk_by(|one, other| one & 1 == other & 1) {
            let length = run.len() * page;
            // SAFETY: whole pages within the cache; no other code uses any part of them.
            unsafe {
                let pages = cache.byte_add(first);
                // For a resident page, writing is faster than returning it to the system, which has to notify all processors. A page that
                // is not resident may lie in swap with its old contents. The system does not take back locked pages.
                if run[0] & 1 == 1 || libc::madvise(pages, length, libc::MADV_DONTNEED) != 0 {
                    ptr::write_bytes(pages.cast::<u8>(), 0, length);
                }
            }
            first += length;
        }
        // SAFETY: the parts of the cache before and after those pages.
        unsafe {
            ptr::write_bytes(cache.cast::<u8>(), 0, before);
            ptr::write_bytes(cache.byte_add(behind).cast::<u8>(), 0, BYTES - behind);
        }
    }

    /// Whether system calls are filtered. Some filters end the process on an unknown call, and `mincore` is not in systemd's
    /// `@system-service`. Without `mincore`, all pages are returned to the system.
    fn is_filtered() -> bool {
        // SAFETY: only returns a number.
        unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) != 0 }
    }

    /// Writes what a cache has besides its entries.
    ///
    /// # Safety
    /// The layout is known, and `cache` is the block in which V8 constructs a cache.
    unsafe fn write_isolate(cache: *mut c_void, isolate: *mut c_void) {
        // SAFETY: within the block.
        unsafe { cache.byte_add(BYTES).cast::<*mut c_void>().write(isolate) };
    }

    /// `v8::internal::StubCache::StubCache`, which writes zeros. Nothing reads the cache before `Initialize`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal9StubCacheC1EPNS0_7IsolateE(cache: *mut c_void, isolate: *mut c_void) {
        match IS_KNOWN.get() {
            // SAFETY: V8 has allocated the block for the cache.
            Some(true) => unsafe { write_isolate(cache, isolate) },
            // SAFETY: forwards the call.
            Some(false) => unsafe { construct(cache, isolate) },
            None => wait(cache, isolate),
        }
    }

    /// `v8::internal::StubCache::Initialize`, called when an isolate is almost complete.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal9StubCache10InitializeEv(cache: *mut c_void) {
        let isolate = take_waiting(cache);
        if is_known() {
            // SAFETY: V8 calls this for a cache that nothing uses yet.
            unsafe {
                if let Some(isolate) = isolate {
                    write_isolate(cache, isolate);
                }
                zero(cache);
            }
        } else {
            // SAFETY: forwards the calls; V8 has allocated a block for the cache alone. If the cache ends where expected, it has the expected size. If
            // the check fails, the cache is cleared as V8 does it.
            unsafe {
                if let Some(isolate) = isolate {
                    construct(cache, isolate);
                    ENDS_AS_EXPECTED.store(ends_with(cache, isolate), Ordering::Relaxed);
                }
                initialize(cache);
                if !*IS_KNOWN.get_or_init(|| ENDS_AS_EXPECTED.load(Ordering::Relaxed) && becomes_zeros(cache)) {
                    clear(cache);
                }
            }
        }
    }

    /// `v8::internal::StubCache::Clear`, called when all live objects are marked and some are about to be moved.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal9StubCache5ClearEv(cache: *mut c_void) {
        if is_known() {
            // SAFETY: V8 calls this while the isolate runs no code.
            unsafe { zero(cache) };
        } else {
            // SAFETY: forwards the call.
            unsafe { clear(cache) };
        }
    }

    /// The alignment of V8's pages, `v8::internal::MemoryChunk::kAlignment`.
    const PAGE: usize = 1 << 18;

    /// `v8::internal::MemoryChunk::kIsInYoungGenerationMask`. A page begins with its flags.
    const YOUNG: usize = 1 << 3 | 1 << 4;

    /// Whether a strong or weak reference refers to an object of the young generation.
    ///
    /// # Safety
    /// The object exists.
    unsafe fn is_young(reference: usize) -> bool {
        let page = reference & !(PAGE - 1);
        // A small integer has no tag. A weak reference that was cleared has no address.
        let is_object = reference & 1 != 0 && page != 0;
        // SAFETY: each object lies in a page of V8's.
        is_object && unsafe { ptr::with_exposed_provenance::<usize>(page).read() } & YOUNG != 0
    }

    /// `v8::internal::StubCache::Set`, called when an access that the cache did not know was served.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap__ZN2v88internal9StubCache3SetENS0_6TaggedINS0_4NameEEENS2_INS0_3MapEEENS2_INS0_5UnionIJNS0_3SmiENS0_10HeapObjectENS0_4WeakIS9_EEEEEEE(
        cache: *mut c_void,
        name: usize,
        map: usize,
        handler: usize,
    ) {
        // SAFETY: V8 has just made the handler, or still has a handle to it. Forwards the call.
        unsafe {
            if !is_young(handler) {
                set(cache, name, map, handler);
            }
        }
    }
}

//! ICU's process-wide caches whose keys a guest can choose. ICU keeps their entries for the lifetime of the process, so a guest could fill
//! the memory of the process, and the memory would stay after the guest. On Linux the linker redirects the functions that create these
//! caches and add entries to this module (`build.rs`), which removes unused entries above a limit. ICU creates a removed entry again when
//! it needs it, so no result changes.
//!
//! - `uresbund.cpp` keeps an entry for each locale name that has been opened. For a name without data, the entry only records that there is
//!   none. ICU accepts names of any number, for example `en-abcde`, `en-abcdf` and so on.
//! - `tznames.cpp` and `tzgnames.cpp` keep the names of time zones for each locale, including its calendar, numbering system and hour cycle.
//!   ICU intends to remove them three minutes after their last use, but waits for a reference count that the first one never reaches.
//! - `astro.cpp` keeps the start of each year or month of some calendars.
//! - `numfmt.cpp` keeps the numbering system of each locale by its 32-bit hash code alone. A guest could choose a locale whose hash code is
//!   that of another locale, and so change the digits of other guests' dates. This cache is not created; ICU works without it.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use crate::native::context;

type Pointer = *mut c_void;
type Table = *mut Hashtable;

unsafe extern "C" {
    #[link_name = "__real_uhash_open_78"]
    fn open(hash: Pointer, compare_keys: Pointer, compare_values: Pointer, status: *mut c_int) -> Table;
    #[link_name = "__real_uhash_put_78"]
    fn put(table: Table, key: Pointer, value: Pointer, status: *mut c_int) -> Pointer;
    #[link_name = "__real_uhash_iputi_78"]
    fn put_integer(table: Table, key: c_int, value: c_int, status: *mut c_int) -> c_int;
    #[link_name = "__real_ucln_common_registerCleanup_78"]
    fn register_common(kind: c_int, function: Pointer);
    #[link_name = "__real_ucln_i18n_registerCleanup_78"]
    fn register_i18n(kind: c_int, function: Pointer);
    /// `icu::CalendarCache::put`.
    #[link_name = "__real__ZN6icu_7813CalendarCache3putEPPS0_iiR10UErrorCode"]
    fn put_date(cache: Pointer, key: c_int, value: c_int, status: *mut c_int);
    #[link_name = "uhash_hashLong_78"]
    fn hash_integer(key: Pointer) -> c_int;
    #[link_name = "uhash_nextElement_78"]
    fn next(table: Table, position: *mut c_int) -> *const Element;
    #[link_name = "uhash_removeElement_78"]
    fn remove(table: Table, element: *const Element) -> Pointer;
    #[link_name = "uprv_free_78"]
    fn free(block: Pointer);
}

// Visible only to the addon's linker.
core::arch::global_asm!(
    ".hidden __wrap_uhash_open_78",
    ".hidden __wrap_uhash_put_78",
    ".hidden __wrap_uhash_iputi_78",
    ".hidden __wrap_ucln_common_registerCleanup_78",
    ".hidden __wrap_ucln_i18n_registerCleanup_78",
    ".hidden __wrap__ZN6icu_7813CalendarCache3putEPPS0_iiR10UErrorCode"
);

/// `UHashElement`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Element {
    hash: c_int,
    value: Pointer,
    key: Pointer,
}

impl Element {
    /// The hash code is `HASH_EMPTY`. That of a removed element is less by one, and those of others are not negative.
    const EMPTY: Self = Self { hash: c_int::MIN + 1, value: ptr::null_mut(), key: ptr::null_mut() };
}

/// The start of `UHashtable`.
#[repr(C)]
struct Hashtable {
    elements: *mut Element,
    _functions: [Pointer; 5],
    count: c_int,
    length: c_int,
}

/// Removes all elements and returns them. A search stops only at elements that have always been empty, so a table from which ICU's
/// functions have removed many elements is slow.
///
/// # Safety
/// The thread holds the lock of `table`.
unsafe fn take_all(table: Table) -> Vec<Element> {
    // SAFETY: guaranteed by the caller; ICU has allocated as many elements as it says.
    let elements = unsafe {
        (*table).count = 0;
        slice::from_raw_parts_mut((*table).elements, usize::try_from((*table).length).unwrap_or(0))
    };
    let taken = elements.iter().filter(|element| element.hash >= 0).copied().collect();
    elements.fill(Element::EMPTY);
    taken
}

/// A cache whose unused entries are removed when it is full.
struct Cache {
    table: AtomicPtr<Hashtable>,
    /// Number of entries.
    limit: c_int,
    /// At this number of entries, unused ones are removed.
    full: AtomicI32,
    /// Removes an entry if nothing uses it.
    remove_unused: unsafe fn(Table, *const Element),
}

impl Cache {
    const fn new(limit: c_int, remove_unused: unsafe fn(Table, *const Element)) -> Self {
        Self { table: AtomicPtr::new(ptr::null_mut()), limit, full: AtomicI32::new(limit), remove_unused }
    }

    /// Makes room for an entry.
    ///
    /// # Safety
    /// The thread holds ICU's lock of this cache, whose table is `table`.
    unsafe fn make_room(&self, table: Table) {
        // SAFETY: guaranteed by the caller. ICU allows the removal of the current element while it enumerates. The elements that are put back
        // fit, because there were more.
        unsafe {
            if (*table).count < self.full.load(Ordering::Relaxed) {
                return;
            }
            let mut position = -1;
            loop {
                let element = next(table, &raw mut position);
                if element.is_null() {
                    break;
                }
                (self.remove_unused)(table, element);
            }
            let mut status = 0;
            for Element { key, value, .. } in take_all(table) {
                put(table, key, value, &raw mut status);
            }
            // Twice the used entries, so that an entry costs constant time on average.
            self.full.store(self.limit.max((*table).count.saturating_mul(2)), Ordering::Relaxed);
        }
    }
}

/// Of each tree of data, such as collations, ICU has about 800 names with data.
static BUNDLES: Cache = Cache::new(8_192, remove_missing_bundle);
static ZONE_NAMES: Cache = Cache::new(64, remove_names::<1>);
static GENERIC_ZONE_NAMES: Cache = Cache::new(64, remove_names::<0>);

/// Entries of each cache of dates.
const MAX_DATES: c_int = 16_384;

/// `UResourceDataEntry`.
#[repr(C)]
struct Bundle {
    name: *mut c_char,
    path: *mut c_char,
    parent: *mut Self,
    alias: *mut Self,
    pool: *mut Self,
    data: Data,
    short_name: [c_char; 3],
    references: u32,
    /// 0 if the name has data.
    missing: c_int,
}

/// `ResourceData`.
#[repr(C)]
struct Data {
    mapped: Pointer,
    _rest: [u64; 7],
}

/// Bundles with data stay: their number is limited, and bundles that are open refer to them without counting. Others refer to a missing one
/// only as long as it is open or, permanently, if it is between a bundle and its parent, and then it has a parent itself.
///
/// # Safety
/// `element` is one of `table`, which is the cache of bundles, and whose lock the thread holds.
unsafe fn remove_missing_bundle(table: Table, element: *const Element) {
    // SAFETY: guaranteed by the caller; the values are bundles. Nothing refers to the one that is removed, and ICU has allocated its parts.
    unsafe {
        let bundle = (*element).value.cast::<Bundle>();
        let is_unused = (*bundle).references == 0
            && (*bundle).missing != 0
            && (*bundle).parent.is_null()
            && (*bundle).alias.is_null()
            && (*bundle).pool.is_null()
            && (*bundle).data.mapped.is_null();
        if is_unused {
            remove(table, element);
            if (*bundle).name != (&raw mut (*bundle).short_name).cast() {
                free((*bundle).name.cast());
            }
            free((*bundle).path.cast());
            free(bundle.cast());
        }
    }
}

/// `TimeZoneNamesCacheEntry` and `TZGNCoreRef`.
#[repr(C)]
struct Names {
    _names: Pointer,
    references: c_int,
    _last_use: f64,
}

/// Removes names with `OWN` references, those of the cache itself.
///
/// # Safety
/// `element` is one of `table`, which is a cache of names, and whose lock the thread holds.
unsafe fn remove_names<const OWN: c_int>(table: Table, element: *const Element) {
    // SAFETY: guaranteed by the caller. The table has functions that free keys and values.
    unsafe {
        if (*(*element).value.cast::<Names>()).references <= OWN {
            remove(table, element);
        }
    }
}

thread_local! {
    /// The table that ICU created last.
    static LAST: Cell<Table> = const { Cell::new(ptr::null_mut()) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_uhash_open_78(
    hash: Pointer,
    compare_keys: Pointer,
    compare_values: Pointer,
    status: *mut c_int,
) -> Table {
    /// `U_MEMORY_ALLOCATION_ERROR`.
    const NO_MEMORY: c_int = 7;
    if context::with(|context| context.icu.creates_numbering_systems.take())
        && ptr::eq(hash, hash_integer as *const c_void)
    {
        // SAFETY: ICU's functions return their status by a valid pointer.
        unsafe { *status = NO_MEMORY };
        return ptr::null_mut();
    }
    // SAFETY: forwards the call.
    let table = unsafe { open(hash, compare_keys, compare_values, status) };
    let _ = LAST.try_with(|last| last.set(table));
    table
}

/// ICU registers a function that frees a cache just after it has created the cache's table.
fn created(cache: &Cache) {
    cache.table.store(LAST.try_with(Cell::get).unwrap_or(ptr::null_mut()), Ordering::Relaxed);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_ucln_common_registerCleanup_78(kind: c_int, function: Pointer) {
    /// `UCLN_COMMON_URES`.
    const BUNDLE: c_int = 27;
    if kind == BUNDLE {
        created(&BUNDLES);
    }
    // SAFETY: forwards the call.
    unsafe { register_common(kind, function) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_ucln_i18n_registerCleanup_78(kind: c_int, function: Pointer) {
    /// `UCLN_I18N_TIMEZONEGENERICNAMES`.
    const GENERIC_ZONE_NAME: c_int = 17;
    /// `UCLN_I18N_TIMEZONENAMES`.
    const ZONE_NAME: c_int = 18;
    /// `UCLN_I18N_NUMFMT`.
    const NUMBER_FORMAT: c_int = 23;
    match kind {
        GENERIC_ZONE_NAME => created(&GENERIC_ZONE_NAMES),
        ZONE_NAME => created(&ZONE_NAMES),
        _ => {}
    }
    context::with(|context| context.icu.creates_numbering_systems.set(kind == NUMBER_FORMAT));
    // SAFETY: forwards the call.
    unsafe { register_i18n(kind, function) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_uhash_put_78(table: Table, key: Pointer, value: Pointer, status: *mut c_int) -> Pointer {
    for cache in [&BUNDLES, &ZONE_NAMES, &GENERIC_ZONE_NAMES] {
        if table == cache.table.load(Ordering::Relaxed) {
            // SAFETY: ICU adds entries to its caches only while it holds their locks.
            unsafe { cache.make_room(table) };
        }
    }
    // SAFETY: forwards the call.
    unsafe { put(table, key, value, status) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN6icu_7813CalendarCache3putEPPS0_iiR10UErrorCode(
    cache: Pointer,
    key: c_int,
    value: c_int,
    status: *mut c_int,
) {
    context::with(|context| context.icu.adds_date.set(true));
    // SAFETY: forwards the call.
    unsafe { put_date(cache, key, value, status) };
    context::with(|context| context.icu.adds_date.set(false));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_uhash_iputi_78(table: Table, key: c_int, value: c_int, status: *mut c_int) -> c_int {
    // SAFETY: `CalendarCache::put` holds the lock of its caches when it calls this, and keeps no reference to an entry.
    unsafe {
        if context::with(|context| context.icu.adds_date.get()) && (*table).count >= MAX_DATES {
            take_all(table);
        }
        put_integer(table, key, value, status)
    }
}

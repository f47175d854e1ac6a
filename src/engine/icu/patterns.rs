//! V8's process-wide cache of `icu::DateTimePatternGenerator`, which `Intl.DateTimeFormat` clones. V8 keeps one of about 50 KB for each locale
//! name, including its calendar, numbering system and hour cycle, for the lifetime of the process. On Linux the linker redirects the call
//! that clones one to this module (`build.rs`), which empties the cache when it is full. V8 creates a generator again when it needs it, so no
//! result changes.
//!
//! The cache is `DateTimePatternGeneratorCache` in `js-date-time-format.cc`: a `std::map` of strings to `std::unique_ptr`s, followed by its
//! `base::Mutex`. V8 clones while it holds the mutex, and uses neither the map nor the original after that.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::native::last_of_v8;

type Pointer = *mut c_void;

/// Entries.
const MAX_GENERATORS: usize = 128;

/// The cache's mutex. It is static, so any other one is not the cache's.
static MUTEX: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

unsafe extern "C" {
    #[link_name = "__real__ZNK6icu_7824DateTimePatternGenerator5cloneEv"]
    fn clone(generator: *const Generator) -> *mut Generator;
    /// `operator delete`.
    #[link_name = "_ZdlPv"]
    fn delete(block: Pointer);
}

// Visible only to the addon's linker.
core::arch::global_asm!(".hidden __wrap__ZNK6icu_7824DateTimePatternGenerator5cloneEv");

/// The start of `icu::DateTimePatternGenerator`.
#[repr(C)]
struct Generator {
    functions: *const Functions,
}

/// The start of its virtual table: the destructors.
#[repr(C)]
struct Functions {
    _destroy: Pointer,
    delete: unsafe extern "C" fn(*mut Generator),
}

/// `std::map` of libc++.
#[repr(C)]
struct Map {
    first: *mut Node,
    root: *mut Node,
    size: usize,
}

/// A node of its tree.
#[repr(C)]
struct Node {
    left: *mut Node,
    right: *mut Node,
    _parent: Pointer,
    _is_black: bool,
    key: Key,
    value: *mut Generator,
}

/// `std::string` of libc++, in its alternative layout. The characters of a short string take the place of the three fields.
#[repr(C)]
struct Key {
    characters: Pointer,
    _size: usize,
    capacity: usize,
}

impl Key {
    /// Whether `characters` is a block of its own.
    const fn is_long(&self) -> bool {
        self.capacity >> (usize::BITS - 1) == 1
    }
}

impl Map {
    /// The nodes, parents first, or none if the tree is not as long as it should be.
    ///
    /// # Safety
    /// The thread holds the lock of the map.
    unsafe fn nodes(&self) -> Option<Vec<*mut Node>> {
        let mut nodes = Vec::with_capacity(self.size);
        nodes.push(self.root);
        let mut index = 0;
        while let Some(&node) = nodes.get(index) {
            // SAFETY: guaranteed by the caller; the nodes of a map that does not change are valid.
            let children = unsafe { [(*node).left, (*node).right] };
            nodes.extend(children.into_iter().filter(|child| !child.is_null()));
            if nodes.len() > self.size {
                return None;
            }
            index += 1;
        }
        (nodes.len() == self.size).then_some(nodes)
    }

    /// Removes everything, if `generator` is one of the values.
    ///
    /// # Safety
    /// The thread holds the lock of the map, and nothing refers to the entries.
    unsafe fn clear(&mut self, generator: *const Generator) {
        // SAFETY: guaranteed by the caller. V8 has allocated the nodes and long keys by `operator new`.
        unsafe {
            let Some(nodes) = self.nodes().filter(|nodes| nodes.iter().any(|node| ptr::eq((**node).value, generator)))
            else {
                return;
            };
            self.first = (&raw mut self.root).cast();
            self.root = ptr::null_mut();
            self.size = 0;
            for node in nodes {
                if let Some(generator) = (*node).value.as_mut() {
                    ((*generator.functions).delete)(generator);
                }
                if (*node).key.is_long() {
                    delete((*node).key.characters);
                }
                delete(node.cast());
            }
        }
    }
}

/// The first one is.
fn is_of_cache(mutex: Pointer) -> bool {
    MUTEX.compare_exchange(ptr::null_mut(), mutex, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        || MUTEX.load(Ordering::Relaxed) == mutex
}

/// Only V8's cache calls this.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZNK6icu_7824DateTimePatternGenerator5cloneEv(
    generator: *const Generator,
) -> *mut Generator {
    // SAFETY: forwards the call. V8 has locked the cache's mutex last: ICU takes no locks of V8, and nothing interrupts a thread that holds
    // one (`native::quota`). The map lies before the mutex.
    unsafe {
        let clone = clone(generator);
        if let Some(mutex) = last_of_v8().map(NonNull::as_ptr).filter(|mutex| is_of_cache(*mutex)) {
            let map = mutex.cast::<Map>().sub(1);
            if (*map).size >= MAX_GENERATORS {
                (*map).clear(generator);
            }
        }
        clone
    }
}

//! The objects of a V8 heap, with their types: for what must be known about all of them, and what V8 does not check itself.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use crate::convert::{self, TAG};

type Pointer = *mut c_void;

unsafe extern "C" {
    /// `v8::internal::LocalHeap::TryGetCurrent`: the part of a heap that this thread works with. It begins with the address of the heap.
    #[link_name = "_ZN2v88internal9LocalHeap13TryGetCurrentEv"]
    fn current_local_heap() -> *const Pointer;
    /// `v8::internal::HeapObjectIterator::HeapObjectIterator`.
    #[link_name = "_ZN2v88internal18HeapObjectIteratorC1EPNS0_4HeapENS1_20HeapObjectsFilteringE"]
    fn construct_iterator(iterator: Pointer, heap: Pointer, filtering: c_int);
    /// `v8::internal::HeapObjectIterator::Next`. A `v8::internal::Tagged` is one word, which is zero at the end.
    #[link_name = "_ZN2v88internal18HeapObjectIterator4NextEv"]
    fn next_object(iterator: Pointer) -> usize;
    #[link_name = "_ZN2v88internal18HeapObjectIteratorD1Ev"]
    fn destroy_iterator(iterator: Pointer);
    /// `v8::internal::HeapObject::SizeFromMap`, in bytes.
    #[link_name = "_ZNK2v88internal10HeapObject11SizeFromMapENS0_6TaggedINS0_3MapEEE"]
    fn size_from_map(object: usize, map: usize) -> c_int;
    /// `v8::internal::Heap::GetObjectTypeName`, which reads nothing of the heap.
    #[link_name = "_ZN2v88internal4Heap17GetObjectTypeNameEmPPKcS4_"]
    fn type_name(heap: Pointer, number: usize, name: *mut *const c_char, detail: *mut *const c_char) -> bool;
}

/// The bits of which tags consist.
const TAG_BITS: usize = 3;

/// Where the own properties of objects with a map begin, in words. Fields of the embedder lie before them. In bytes, in the map.
const OWN_PROPERTIES: usize = 9;

/// An object of V8.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Object(usize);

impl Object {
    /// The object that a strong pointer refers to.
    ///
    /// # Safety
    /// `word` is what V8 has in a field for tagged values, and the object stays where it is as long as the result is used.
    pub unsafe fn from_tagged(word: usize) -> Option<Self> {
        (word & TAG_BITS == TAG).then(|| Self(word - TAG))
    }

    pub fn tagged(self) -> usize {
        self.0 + TAG
    }

    /// # Safety
    /// The object exists and has this word.
    pub unsafe fn word(self, index: usize) -> usize {
        // SAFETY: the caller guarantees it.
        unsafe { ptr::with_exposed_provenance::<usize>(self.0).add(index).read() }
    }

    /// # Safety
    /// As for [`Self::word`]. Nothing else accesses the object meanwhile, and V8 can do with the value.
    pub unsafe fn set_word(self, index: usize, value: usize) {
        // SAFETY: the caller guarantees it.
        unsafe { ptr::with_exposed_provenance_mut::<usize>(self.0).add(index).write(value) }
    }

    /// The number of its type.
    ///
    /// # Safety
    /// The object exists.
    pub unsafe fn type_number(self) -> u16 {
        // SAFETY: an object begins with a pointer to its map.
        unsafe { convert::type_of_map(self.word(0)) }
    }

    /// Its size in bytes.
    ///
    /// # Safety
    /// The object exists.
    pub unsafe fn size(self) -> usize {
        // SAFETY: as above. The function only reads the object.
        usize::try_from(unsafe { size_from_map(self.0, self.word(0)) }).unwrap_or_default()
    }

    /// Where the own properties of an object of JavaScript begin, in words.
    ///
    /// # Safety
    /// It is such an object.
    pub unsafe fn own_properties(self) -> usize {
        // SAFETY: as above.
        usize::from(unsafe { ptr::with_exposed_provenance::<u8>(self.word(0) - TAG + OWN_PROPERTIES).read() })
    }
}

/// For each type of object whose name `select` knows, what it returns. The index is the number of the type.
pub fn types<T: Copy>(select: impl Fn(&CStr) -> Option<T>) -> Box<[Option<T>]> {
    let mut found = Vec::new();
    for number in 0..=u16::MAX {
        let (mut name, mut detail) = (ptr::null(), ptr::null());
        // SAFETY: the function writes two texts that exist as long as the process, or returns false.
        let is_type = unsafe { type_name(ptr::null_mut(), usize::from(number), &raw mut name, &raw mut detail) };
        // SAFETY: as above.
        if let Some(selected) = is_type.then(|| select(unsafe { CStr::from_ptr(name) })).flatten() {
            found.resize(usize::from(number), None);
            found.push(Some(selected));
        }
    }
    found.into()
}

/// An iterator of V8 in memory of this thread. No collection can begin as long as it exists.
struct Iterator {
    /// V8's takes seven words. With checks of V8 it takes more.
    memory: MaybeUninit<[usize; 64]>,
}

impl Iterator {
    fn address(&mut self) -> Pointer {
        self.memory.as_mut_ptr().cast()
    }
}

impl Drop for Iterator {
    fn drop(&mut self) {
        // SAFETY: it was constructed and has not moved since.
        unsafe { destroy_iterator(self.address()) };
    }
}

/// Calls `visit` for each object in the heap of the isolate that this thread has entered, also for those that only a collection would notice to be
/// unreachable. Ends with the first result. The read-only heap, which all isolates share, is not part of it.
///
/// # Safety
/// The isolate's own thread calls this, outside of V8. `visit` allocates nothing in V8's heap, and calls no other function that does.
pub unsafe fn find<T>(mut visit: impl FnMut(Object) -> Option<T>) -> Option<T> {
    // SAFETY: reads a value of this thread.
    let heap = unsafe { current_local_heap().as_ref() }.copied()?;
    let mut iterator = Iterator { memory: MaybeUninit::uninit() };
    // The address of a local value, which stays where it is.
    let iterator = &mut iterator;
    // SAFETY: there is enough room. The heap is that of the entered isolate.
    unsafe { construct_iterator(iterator.address(), heap, 0) };
    loop {
        // SAFETY: constructed above. The result is zero or refers to an object, and no collection moves it.
        let object = unsafe { Object::from_tagged(next_object(iterator.address())) }?;
        if let Some(result) = visit(object) {
            return Some(result);
        }
    }
}

//! What must be true of the objects of a snapshot.

use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_void};
use std::ops::Range;
use std::ptr;

use super::Unusable;
use super::fields::{
    BYTES, CODE_START, DESCRIPTORS, ELEMENTS, Kind, Kinds, MAP, PROPERTIES, WRAPPED, attachments, buffer, text, view,
};
use crate::engine::heap::objects::{self, Object};
use crate::engine::library;

type Pointer = *const c_void;

unsafe extern "C" {
    /// `v8::internal::ExternalReferenceEncoder::ExternalReferenceEncoder`. The isolate keeps what it makes.
    #[link_name = "_ZN2v88internal24ExternalReferenceEncoderC1EPNS0_7IsolateE"]
    fn construct_encoder(encoder: *mut Pointer, isolate: Pointer);
    /// `v8::internal::ExternalReferenceEncoder::NameOfAddress`.
    #[link_name = "_ZNK2v88internal24ExternalReferenceEncoder13NameOfAddressEPNS0_7IsolateEm"]
    fn name_of_address(encoder: *const Pointer, isolate: Pointer, address: usize) -> *const c_char;
    /// `v8::Isolate::GetCodeRange`.
    #[link_name = "_ZN2v87Isolate12GetCodeRangeEPPvPm"]
    fn code_range(isolate: Pointer, start: *mut usize, length: *mut usize);
    /// `v8::Isolate::GetEmbeddedCodeRange`.
    #[link_name = "_ZN2v87Isolate20GetEmbeddedCodeRangeEPPKvPm"]
    fn embedded_code_range(isolate: Pointer, start: *mut usize, length: *mut usize);
    /// `v8::RegisteredExtension::first_extension_`.
    #[link_name = "_ZN2v819RegisteredExtension16first_extension_E"]
    static FIRST_EXTENSION: *const RegisteredExtension;

    #[link_name = "v8__BackingStore__Data"]
    fn memory_of(store: Pointer) -> usize;
    #[link_name = "v8__BackingStore__ByteLength"]
    fn length_of(store: Pointer) -> usize;
    #[link_name = "v8__BackingStore__IsResizableByUserJavaScript"]
    fn is_resizable(store: Pointer) -> bool;
    #[link_name = "v8__BackingStore__IsShared"]
    fn is_shared(store: Pointer) -> bool;
}

/// `v8::RegisteredExtension`.
#[repr(C)]
struct RegisteredExtension {
    extension: *const Extension,
    next: *const RegisteredExtension,
}

/// The beginning of `v8::Extension`.
#[repr(C)]
struct Extension {
    _functions: Pointer,
    _name: *const c_char,
    source: *const Source,
}

/// The resource of an extension's source, a `v8::String::ExternalOneByteStringResource`.
#[repr(C)]
struct Source {
    _functions: Pointer,
    _cached: usize,
    data: usize,
    length: usize,
}

pub(super) const VIEWS: &str = "A buffer in a snapshot must not have several views and properties of its own";
pub(super) const PROPERTIES_OF_RESIZABLE: &str =
    "A resizable buffer in a snapshot must not have typed arrays and properties of its own";
pub(super) const ACCESSORS: &str = "A buffer in a snapshot must not have both views and accessors of its own";
pub(super) const BUFFER: &str = "V8 cannot restore a buffer of the snapshot";
pub(super) const TYPED_ARRAY: &str = "V8 cannot restore a typed array of the snapshot";
pub(super) const TEXT: &str = "V8 cannot restore a string of the snapshot";
pub(super) const REFERENCE: &str = "V8 cannot restore a native function of the snapshot";
pub(super) const WRAPPER: &str = "V8 cannot restore a native object of the snapshot";
pub(super) const CODE: &str = "V8 cannot restore the code of a function of the snapshot";

/// Where the content of lists begins. Their length lies before it.
const LIST: usize = 2;

/// The number of objects after which this asks again whether it continues: about a tenth of a millisecond.
const STEP: usize = 1 << 13;

/// Calls `look` for each object that has addresses, in the isolate that this thread has entered.
fn each(
    mut continues: impl FnMut() -> bool,
    mut look: impl FnMut(Object, Kind) -> Option<&'static str>,
) -> Result<(), Unusable> {
    let kinds = Kinds::get();
    let mut count = 0_usize;
    let visit = |object| {
        count += 1;
        if count.is_multiple_of(STEP) && !continues() {
            return Some(Unusable::Abandoned);
        }
        // SAFETY: the object is in the heap, where no collection can begin.
        unsafe { kinds.of(object) }.and_then(|kind| look(object, kind)).map(Unusable::Content)
    };
    // SAFETY: the callers are on the thread of the isolate that they have made, outside of V8. Nothing here allocates in V8's heap.
    unsafe { objects::find(visit) }.map_or(Ok(()), Err)
}

pub fn verify(isolate: Pointer, continues: impl FnMut() -> bool) -> Result<(), Unusable> {
    let verifier = Verifier::new(isolate);
    // SAFETY: the objects are in the heap of this isolate. Nothing has run in it.
    each(continues, |object, kind| unsafe { verifier.look(object, kind) }.err())
}

/// While V8 writes a buffer, it asks for the length of the buffer's memory if it arrives at a typed array that may shrink, and ends the process: the
/// buffer has no memory then. A buffer refers to its view if it has only one. It need not: V8 then treats it like one with several views.
///
/// V8 reads the map of a buffer, with the accessors of its objects, before the buffer. It cannot read a `DataView` there.
pub fn prepare(continues: impl FnMut() -> bool) -> Result<(), Unusable> {
    let kinds = Kinds::get();
    // A buffer may have many views, and each of them takes a look at all of its properties. Nothing moves meanwhile.
    let (mut shrinking, mut described) = (HashSet::new(), HashSet::new());
    each(continues, |object, kind| {
        // SAFETY: the object is of that kind. The word is aligned, and a small integer needs no write barrier, so V8's threads that mark objects may read
        // it meanwhile.
        unsafe {
            let may_shrink = kind == Kind::TypedArray && object.word(view::FLAGS) & view::MAY_SHRINK != 0;
            if kind != Kind::DataView && !may_shrink {
                return None;
            }
            let of = Object::from_tagged(object.word(view::BUFFER)).filter(|of| kinds.of(*of) == Some(Kind::Buffer))?;
            if of.word(buffer::FLAGS) & buffer::WAS_DETACHED != 0 {
                return None;
            }
            if may_shrink {
                of.set_word(buffer::VIEWS, buffer::MANY_VIEWS);
                if shrinking.insert(of.tagged()) && refers_to_objects(of, &kinds) {
                    return Some(PROPERTIES_OF_RESIZABLE);
                }
            }
            (described.insert(of.tagged()) && has_accessors(of, &kinds)).then_some(ACCESSORS)
        }
    })
}

/// Whether an object refers to objects with more than a plain value, from the field `first` on.
///
/// # Safety
/// It is in the heap of the isolate that this thread has entered. All of these fields have tagged values.
unsafe fn has_objects(object: Object, first: usize, kinds: &Kinds) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe {
        (first..object.size() / size_of::<usize>()).any(|field| {
            Object::from_tagged(object.word(field)).is_some_and(|value| kinds.of(value) != Some(Kind::Plain))
        })
    }
}

/// The same for a list of properties or elements.
///
/// # Safety
/// As above. Instead of a list, a field may have a small integer.
unsafe fn is_list_with_objects(list: usize, kinds: &Kinds) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe { Object::from_tagged(list).is_some_and(|list| has_objects(list, LIST, kinds)) }
}

/// Whether properties of a buffer are objects.
///
/// # Safety
/// It is a buffer in the heap of the isolate that this thread has entered.
unsafe fn refers_to_objects(of: Object, kinds: &Kinds) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe {
        has_objects(of, of.own_properties(), kinds)
            || [PROPERTIES, ELEMENTS].iter().any(|field| is_list_with_objects(of.word(*field), kinds))
    }
}

/// Whether the map of a buffer has accessors. Other properties are described there by weak references and small integers.
///
/// # Safety
/// As above.
unsafe fn has_accessors(of: Object, kinds: &Kinds) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe { Object::from_tagged(of.word(MAP)).is_some_and(|map| is_list_with_objects(map.word(DESCRIPTORS), kinds)) }
}

struct Verifier {
    isolate: Pointer,
    kinds: Kinds,
    encoder: Pointer,
    /// Where V8's compiled code is.
    code: [Range<usize>; 2],
}

type Verdict = Result<(), &'static str>;

fn must(be: bool, otherwise: &'static str) -> Verdict {
    if be { Ok(()) } else { Err(otherwise) }
}

impl Verifier {
    fn new(isolate: Pointer) -> Self {
        let mut encoder = ptr::null();
        // SAFETY: `isolate` is the isolate that this thread has entered. An encoder is one pointer.
        unsafe { construct_encoder(&raw mut encoder, isolate) };
        let code = [code_range, embedded_code_range].map(|of| {
            let (mut start, mut length) = (0, 0);
            // SAFETY: as above. The functions write two words.
            unsafe { of(isolate, &raw mut start, &raw mut length) };
            start..start.saturating_add(length)
        });
        Self { isolate, kinds: Kinds::get(), encoder, code }
    }

    /// # Safety
    /// `object` is of that kind, and in the heap of the isolate. This is also required of the functions below.
    unsafe fn look(&self, object: Object, kind: Kind) -> Verdict {
        // SAFETY: the caller guarantees it.
        unsafe {
            match kind {
                Kind::Buffer => self.buffer(object),
                Kind::TypedArray => self.typed_array(object),
                Kind::DataView => self.data_view(object),
                Kind::Text { is_cached } => must(is_of_extension(object, is_cached), TEXT),
                Kind::References { first, last } => self.references(object, first, last),
                Kind::Wrapper { field } => wrapper(object, field),
                Kind::Attachments => attached(object),
                Kind::Code => self.code(object),
                Kind::Bytes | Kind::Plain => Ok(()),
                Kind::Unknown => Err(WRAPPER),
            }
        }
    }

    unsafe fn buffer(&self, object: Object) -> Verdict {
        // SAFETY: the caller guarantees it. An extension begins with a `std::shared_ptr` to the memory. V8 has made it here, or there is none.
        unsafe {
            no_fields_of_embedder(object, buffer::END)?;
            let [length, max, memory, extension, flags] =
                [buffer::LENGTH, buffer::MAX_LENGTH, buffer::MEMORY, buffer::EXTENSION, buffer::FLAGS]
                    .map(|field| object.word(field));
            let has = |flag| flags & flag != 0;
            if extension == 0 {
                // `resize` needs the extension.
                let may_lack_it = has(buffer::WAS_DETACHED) || !has(buffer::IS_RESIZABLE);
                return must(memory == 0 && length == 0 && may_lack_it, BUFFER);
            }
            must(!has(buffer::WAS_DETACHED) && extension.is_multiple_of(align_of::<usize>()), BUFFER)?;
            let store = ptr::with_exposed_provenance::<Pointer>(extension).read();
            must(!store.is_null(), BUFFER)?;
            let agrees = memory == memory_of(store)
                && length == length_of(store)
                && has(buffer::IS_RESIZABLE) == is_resizable(store)
                && has(buffer::IS_SHARED) == is_shared(store);
            must(agrees && length <= max && (memory != 0 || length == 0), BUFFER)
        }
    }

    /// The buffer of a view.
    unsafe fn buffer_of(&self, object: Object) -> Option<Object> {
        // SAFETY: the caller guarantees it.
        unsafe { Object::from_tagged(object.word(view::BUFFER)).filter(|of| self.kinds.of(*of) == Some(Kind::Buffer)) }
    }

    /// Whether a view begins at `address`, and ends inside of its buffer's memory.
    unsafe fn lies_in(&self, object: Object, of: Object, address: usize) -> bool {
        // SAFETY: the caller guarantees it.
        unsafe {
            if of.word(buffer::FLAGS) & buffer::WAS_DETACHED != 0 {
                return address == 0;
            }
            let [offset, mut size] = [view::OFFSET, view::SIZE].map(|field| object.word(field));
            if object.word(view::FLAGS) & view::TRACKS_LENGTH != 0 {
                size = 0;
            }
            of.word(buffer::MEMORY).checked_add(offset) == Some(address)
                && offset.checked_add(size).is_some_and(|end| end <= of.word(buffer::LENGTH))
        }
    }

    unsafe fn data_view(&self, object: Object) -> Verdict {
        // SAFETY: the caller guarantees it.
        unsafe {
            no_fields_of_embedder(object, view::data_view::END)?;
            let of = self.buffer_of(object).ok_or(BUFFER)?;
            must(self.lies_in(object, of, object.word(view::data_view::ADDRESS)), VIEWS)
        }
    }

    unsafe fn typed_array(&self, object: Object) -> Verdict {
        use view::typed_array::{ADDRESS, BASE, END};

        // SAFETY: the caller guarantees it. A base is an object, which V8 reads before the array.
        unsafe {
            no_fields_of_embedder(object, END)?;
            let of = self.buffer_of(object).ok_or(BUFFER)?;
            let [address, base, size] = [ADDRESS, BASE, view::SIZE].map(|field| object.word(field));
            if base == 0 {
                return must(self.lies_in(object, of, address), TYPED_ARRAY);
            }
            let bytes = Object::from_tagged(base).filter(|bytes| self.kinds.of(*bytes) == Some(Kind::Bytes));
            let bytes = bytes.ok_or(TYPED_ARRAY)?;
            let is_inside = base.wrapping_add(address) == bytes.tagged() - 1 + BYTES
                && size.checked_add(BYTES).is_some_and(|end| end <= bytes.size())
                && object.word(view::OFFSET) == 0;
            must(is_inside && of.word(buffer::MEMORY) == 0, TYPED_ARRAY)
        }
    }

    unsafe fn references(&self, object: Object, first: usize, last: usize) -> Verdict {
        // SAFETY: the caller guarantees it.
        let is_known = (first..=last).all(|field| self.is_reference(unsafe { object.word(field) }));
        must(is_known, REFERENCE)
    }

    /// Whether an address is one that V8 writes to snapshots by its number.
    fn is_reference(&self, address: usize) -> bool {
        if address == 0 {
            return true;
        }
        // SAFETY: the encoder was made for the isolate. The function returns a text that exists as long as the process.
        let name = unsafe { CStr::from_ptr(name_of_address(&raw const self.encoder, self.isolate, address)) };
        // V8 does not write other addresses to snapshots. It adds functions of its own that have no number when it has read a context, such as the
        // one for `--expose-gc`.
        name != c"<unknown>" || library::contains(address)
    }

    unsafe fn code(&self, object: Object) -> Verdict {
        // SAFETY: the caller guarantees it.
        let start = unsafe { object.word(CODE_START) };
        must(self.code.iter().any(|range| range.contains(&start)), CODE)
    }
}

/// Whether a string outside of the heap is the source of an extension of V8, such as the one for `--expose-gc`, which V8 compiles for each context.
/// V8 writes other such strings to snapshots as strings of the heap.
unsafe fn is_of_extension(object: Object, is_cached: bool) -> bool {
    // SAFETY: the caller guarantees that it is such a string. V8 has registered all extensions when it started, and never removes one.
    unsafe {
        let mut registered = FIRST_EXTENSION;
        while let Some(entry) = registered.as_ref() {
            let source = entry.extension.as_ref().map_or(ptr::null(), |extension| extension.source);
            if !source.is_null() && source.addr() == object.word(text::RESOURCE) {
                let Source { data, length, .. } = *source;
                return object.word(text::LENGTH) >> 32 == length && (!is_cached || object.word(text::DATA) == data);
            }
            registered = entry.next;
        }
    }
    false
}

/// Whether a field has an address that is not that of an object of V8. A small integer is in the upper half.
fn is_address(word: usize) -> bool {
    word & 1 == 0 && word as u32 != 0
}

unsafe fn no_fields_of_embedder(object: Object, end: usize) -> Verdict {
    // SAFETY: the caller guarantees that it is an object of JavaScript whose header ends there.
    unsafe {
        let has_address = (end..object.own_properties()).any(|field| is_address(object.word(field)));
        must(object.word(WRAPPED) == 0 && !has_address, WRAPPER)
    }
}

unsafe fn wrapper(object: Object, field: usize) -> Verdict {
    // SAFETY: the caller guarantees that it is a wrapper, whose header ends with the field.
    unsafe {
        if field == WRAPPED { no_fields_of_embedder(object, field + 1) } else { must(object.word(field) == 0, WRAPPER) }
    }
}

unsafe fn attached(object: Object) -> Verdict {
    // SAFETY: the caller guarantees it.
    let has_address = unsafe {
        let end = attachments::FIRST + (object.word(attachments::LENGTH) >> 32);
        (attachments::FIRST..end).any(|field| is_address(object.word(field)))
    };
    must(!has_address, WRAPPER)
}

//! The kinds of objects with addresses, and their fields, in words (`src/objects/*.h` of V8, without pointer compression and without its sandbox).

use std::ffi::CStr;
use std::sync::OnceLock;

use crate::engine::heap::objects::{self, Object};

/// What an object has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Buffer,
    TypedArray,
    DataView,
    /// A string outside of the heap.
    Text {
        is_cached: bool,
    },
    /// Addresses of functions and constants of V8, from one field to another.
    References {
        first: usize,
        last: usize,
    },
    /// What wraps an object of the embedder, with its address in this field.
    Wrapper {
        field: usize,
    },
    /// What the embedder has attached to a context.
    Attachments,
    Code,
    Bytes,
    /// No address, and no reference to an object of JavaScript.
    Plain,
    /// V8 has no such objects without flags that this library does not set.
    Unknown,
}

/// `HeapObject::map`.
pub const MAP: usize = 0;
/// `Map::instance_descriptors`, which have the accessors of its objects.
pub const DESCRIPTORS: usize = 5;
/// `JSObject::properties_or_hash`, and `elements`.
pub const PROPERTIES: usize = 1;
pub const ELEMENTS: usize = 2;

/// `JSAPIObjectWithEmbedderSlots::cpp_heap_wrappable`, which buffers and views also have.
pub const WRAPPED: usize = 3;

/// `JSArrayBuffer`.
pub mod buffer {
    pub const VIEWS: usize = 4;
    pub const LENGTH: usize = 5;
    pub const MAX_LENGTH: usize = 6;
    pub const MEMORY: usize = 7;
    pub const EXTENSION: usize = 8;
    pub const FLAGS: usize = 9;
    pub const END: usize = 10;

    pub const WAS_DETACHED: usize = 1 << 2;
    pub const IS_SHARED: usize = 1 << 3;
    pub const IS_RESIZABLE: usize = 1 << 4;

    /// `JSArrayBuffer::kManyViews`, a small integer.
    pub const MANY_VIEWS: usize = 1 << 32;
}

/// `JSArrayBufferView`, and what follows in its two kinds.
pub mod view {
    pub const BUFFER: usize = 4;
    pub const FLAGS: usize = 5;
    pub const OFFSET: usize = 6;
    pub const SIZE: usize = 7;

    pub const TRACKS_LENGTH: usize = 1 << 0;
    /// Its buffer is resizable, and not shared.
    pub const MAY_SHRINK: usize = 1 << 1;

    pub mod typed_array {
        // V8 does not use the length in elements, which lies before the address.
        pub const ADDRESS: usize = 9;
        /// A list of bytes in the heap, or zero.
        pub const BASE: usize = 10;
        pub const END: usize = 11;
    }

    pub mod data_view {
        pub const ADDRESS: usize = 8;
        pub const END: usize = 9;
    }
}

/// `ByteArray`, whose content begins here. In bytes.
pub const BYTES: usize = 16;

/// `ExternalString`. The first word after the map consists of the hash, and of the length in the upper half.
pub mod text {
    pub const LENGTH: usize = 1;
    pub const RESOURCE: usize = 2;
    pub const DATA: usize = 3;
}

/// `EmbedderDataArray`.
pub mod attachments {
    /// A small integer.
    pub const LENGTH: usize = 1;
    pub const FIRST: usize = 2;
}

/// `Code::instruction_start`.
pub const CODE_START: usize = 5;

fn kind_of(name: &CStr) -> Option<Kind> {
    Some(match name.to_bytes() {
        b"JS_ARRAY_BUFFER_TYPE" => Kind::Buffer,
        b"JS_TYPED_ARRAY_TYPE" | b"JS_DETACHED_TYPED_ARRAY_TYPE" => Kind::TypedArray,
        b"JS_DATA_VIEW_TYPE" | b"JS_RAB_GSAB_DATA_VIEW_TYPE" => Kind::DataView,
        b"BYTE_ARRAY_TYPE" => Kind::Bytes,
        b"FOREIGN_TYPE" | b"TRUSTED_FOREIGN_TYPE" => Kind::References { first: 1, last: 1 },
        b"ACCESSOR_INFO_TYPE" => Kind::References { first: 3, last: 4 },
        b"INTERCEPTOR_INFO_TYPE" => Kind::References { first: 3, last: 11 },
        b"FUNCTION_TEMPLATE_INFO_TYPE" => Kind::References { first: 14, last: 14 },
        b"JS_EXTERNAL_OBJECT_TYPE" => Kind::References { first: 3, last: 3 },
        b"CPP_HEAP_EXTERNAL_OBJECT_TYPE" => Kind::Wrapper { field: 1 },
        b"JS_API_OBJECT_TYPE" | b"JS_SPECIAL_API_OBJECT_TYPE" | b"JS_GLOBAL_OBJECT_TYPE" | b"JS_GLOBAL_PROXY_TYPE" => {
            Kind::Wrapper { field: WRAPPED }
        }
        b"EMBEDDER_DATA_ARRAY_TYPE" => Kind::Attachments,
        b"CODE_TYPE" => Kind::Code,
        b"JS_ATOMICS_MUTEX_TYPE" | b"JS_ATOMICS_CONDITION_TYPE" => Kind::Unknown,
        name if name.ends_with(b"_STRING_TYPE") && contains(name, b"EXTERNAL_") => {
            Kind::Text { is_cached: !contains(name, b"UNCACHED_") }
        }
        b"HEAP_NUMBER_TYPE" | b"BIG_INT_BASE_TYPE" | b"SYMBOL_TYPE" | b"ODDBALL_TYPE" | b"HOLE_TYPE"
        | b"ENUM_CACHE_TYPE" => Kind::Plain,
        name if name.ends_with(b"_STRING_TYPE") => Kind::Plain,
        _ => return None,
    })
}

fn contains(name: &[u8], part: &[u8]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}

/// The kind of each type.
pub struct Kinds(&'static [Option<Kind>]);

impl Kinds {
    pub fn get() -> Self {
        static KINDS: OnceLock<Box<[Option<Kind>]>> = OnceLock::new();
        Self(KINDS.get_or_init(|| objects::types(kind_of)))
    }

    /// `None` if an object has no address.
    ///
    /// # Safety
    /// The object exists.
    pub unsafe fn of(&self, object: Object) -> Option<Kind> {
        // SAFETY: the caller guarantees it.
        self.0.get(usize::from(unsafe { object.type_number() })).copied().flatten()
    }

    #[cfg(test)]
    pub fn all(&self) -> impl Iterator<Item = Kind> {
        self.0.iter().copied().flatten()
    }
}

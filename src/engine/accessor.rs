//! Whether reading a property runs code. The property's descriptor has the same information, but takes longer to create than the property
//! takes to read.

/// Whether an own property of `object` is known to be plain data. V8 computes some properties that look like data, such as the `length` of
/// an array, and a proxy can compute any: of these, this knows nothing.
#[cfg(not(windows))]
pub fn is_plain(
    context: v8::Local<'_, v8::Context>,
    object: v8::Local<'_, v8::Object>,
    name: v8::Local<'_, v8::Name>,
) -> bool {
    /// `v8::Maybe<bool>`, which is trivially copyable and so returned in a register like this one.
    #[repr(C)]
    struct Maybe {
        is_known: u8,
        value: u8,
    }
    unsafe extern "C" {
        /// `v8::Object::HasRealNamedCallbackProperty`, which the crate does not bind. It answers for the properties of the object itself, without
        /// interceptors: templates make these, and this library has none that do. A `v8::Local` is a pointer, here and in C++.
        #[link_name = "_ZN2v86Object28HasRealNamedCallbackPropertyENS_5LocalINS_7ContextEEENS1_INS_4NameEEE"]
        fn has_callback(object: *const v8::Object, context: *const v8::Context, name: *const v8::Name) -> Maybe;
    }
    // V8 would say that a proxy has no callback.
    if object.is_proxy() {
        return false;
    }
    // SAFETY: all of them are alive in the isolate's current scope, and `context` is entered. The signature is that of V8's header. The function
    // only looks: it runs no code of the guest.
    let has_callback = unsafe { has_callback(&raw const *object, &raw const *context, &raw const *name) };
    has_callback.is_known == 1 && has_callback.value == 0
}

/// Nothing is known: the function has another name, and returns its result in another way.
#[cfg(windows)]
pub fn is_plain(
    _context: v8::Local<'_, v8::Context>,
    _object: v8::Local<'_, v8::Object>,
    _name: v8::Local<'_, v8::Name>,
) -> bool {
    false
}

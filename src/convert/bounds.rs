//! Views that are out of bounds because their resizable buffer has shrunk. V8's serializer rejects them; isolated-vm gives an empty view.

/// `value`, or, if it is a view that is out of bounds, an empty view of the same class on the same buffer.
pub fn within<'s>(scope: &v8::PinScope<'s, '_>, value: v8::Local<'s, v8::Value>) -> v8::Local<'s, v8::Value> {
    empty_view(scope, value).unwrap_or(value)
}

fn empty_view<'s>(scope: &v8::PinScope<'s, '_>, value: v8::Local<'s, v8::Value>) -> Option<v8::Local<'s, v8::Value>> {
    let view = v8::Local::<v8::ArrayBufferView>::try_from(value).ok()?;
    // V8 reports these values for a view out of bounds. For a view that is only empty the result is the same.
    if view.byte_length() != 0 || view.byte_offset() != 0 {
        return None;
    }
    let buffer = view.buffer(scope)?;
    if v8::Local::<v8::Value>::from(buffer).is_shared_array_buffer()
        || buffer.was_detached()
        || !buffer.get_backing_store().is_resizable_by_user_javascript()
    {
        return None;
    }
    macro_rules! of_same_class {
        ($($is:ident => $class:ident),+ $(,)?) => {
            $(if value.$is() {
                return v8::$class::new(scope, buffer, 0, 0).map(Into::into);
            })+
        };
    }
    of_same_class! {
        is_uint8_array => Uint8Array,
        is_uint8_clamped_array => Uint8ClampedArray,
        is_int8_array => Int8Array,
        is_uint16_array => Uint16Array,
        is_int16_array => Int16Array,
        is_uint32_array => Uint32Array,
        is_int32_array => Int32Array,
        is_float32_array => Float32Array,
        is_float64_array => Float64Array,
        is_big_uint64_array => BigUint64Array,
        is_big_int64_array => BigInt64Array,
    }
    value.is_data_view().then(|| v8::DataView::new(scope, buffer, 0, 0).into())
}

//! Values with buffers that a guest transfers.

use std::collections::HashMap;

use super::carrier::element;
use crate::convert;
use crate::isolate::GuestRealm;
use crate::ops;
use crate::value::{Fault, Value};

/// Reads `[TAG.MOVE, value, transferOut, buffers]`. The surface has created the list, which contains only buffers.
pub fn read<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    at: &GuestRealm,
    carrier: v8::Local<'s, v8::Array>,
) -> Result<Value, Fault> {
    let value = element(scope, carrier, 1)?;
    let transfer_out = element(scope, carrier, 2)?.is_true();
    let list = v8::Local::<v8::Array>::try_from(element(scope, carrier, 3)?).map_err(|_| ops::malformed())?;
    let mut moved: Vec<v8::Local<v8::ArrayBuffer>> = Vec::new();
    // Indices by identity hash. Guests cannot choose the hashes, so a long list takes no more time than its length requires.
    let mut known: HashMap<_, Vec<usize>> = HashMap::new();
    let mut add = |buffer: v8::Local<'s, v8::ArrayBuffer>| {
        let same = known.entry(buffer.get_identity_hash()).or_default();
        if !same.iter().any(|index| moved[*index] == buffer) {
            same.push(moved.len());
            moved.push(buffer);
        }
    };
    for index in 0..list.length() {
        let buffer = element(scope, list, index)?;
        add(v8::Local::<v8::ArrayBuffer>::try_from(buffer).map_err(|_| ops::malformed())?);
    }
    if transfer_out {
        if let Ok(buffer) = v8::Local::<v8::ArrayBuffer>::try_from(value) {
            // A detached buffer has nothing left to move.
            if !buffer.was_detached() {
                add(buffer);
            }
        } else if let Ok(view) = v8::Local::<v8::ArrayBufferView>::try_from(value)
            && let Some(buffer) = view.buffer(scope)
            && !v8::Local::<v8::Value>::from(buffer).is_shared_array_buffer()
        {
            add(buffer);
        }
    }
    convert::move_from_v8(scope, at, value, &moved)
}

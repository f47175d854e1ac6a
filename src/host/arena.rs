//! Holds the bytes of small values until the surface has read them, one after the other in one buffer. A host takes longer to create a
//! buffer than to read such a value.

use std::cell::Cell;

use napi::sys;

use super::js::{Js, JsResult, JsValue};

/// Bytes of the buffer, and of the largest value that counts as small.
const SIZE: usize = 64 << 10;
const SMALL: usize = 2 << 10;

/// The buffer of an environment that has room left.
#[derive(Default)]
pub struct Arena(Cell<Option<Chunk>>);

#[derive(Clone, Copy)]
struct Chunk {
    buffer: sys::napi_ref,
    used: usize,
}

impl Arena {
    /// A `Uint8Array` with these contents. It may be part of a larger buffer: only the surface may see it.
    pub fn view(&self, js: Js<'_>, bytes: &[u8]) -> JsResult<JsValue> {
        if bytes.len() > SMALL {
            return js.view(js.buffer(bytes)?, 0, bytes.len());
        }
        let (buffer, data, used) = self.room_for(js, bytes.len())?;
        // SAFETY: there is room behind the used part, which no code has read yet, in memory whose address the host has just returned; no
        // JavaScript has run since.
        unsafe { data.add(used).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        js.view(buffer, used, bytes.len())
    }

    /// Reserves room for `length` bytes. Returns a buffer, its memory, and the offset of the room in it.
    fn room_for(&self, js: Js<'_>, length: usize) -> JsResult<(JsValue, *mut u8, usize)> {
        let chunk = self.0.get();
        if let Some(Chunk { buffer: reference, used }) = chunk
            && used + length <= SIZE
        {
            let buffer = js.dereference(reference)?;
            let (data, size) = js.buffer_memory(buffer)?;
            // A host whose built-ins were replaced may have moved the memory away.
            if size == SIZE {
                self.0.set(Some(Chunk { buffer: reference, used: used + length }));
                return Ok((buffer, data, used));
            }
        }
        let (buffer, data) = js.empty_buffer(SIZE)?;
        self.0.set(Some(Chunk { buffer: js.reference(buffer)?, used: length }));
        if let Some(full) = chunk {
            js.delete_reference(full.buffer);
        }
        Ok((buffer, data, 0))
    }
}

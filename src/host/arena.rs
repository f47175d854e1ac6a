//! Holds the bytes of small values until the surface has read them, one after the other in one buffer. A host takes longer to create a
//! buffer than to read such a value.

use std::cell::RefCell;

use super::js::{Js, JsResult, JsValue};
use super::reference::Reference;

/// Bytes of the buffer, and of the largest value that counts as small.
const SIZE: usize = 64 << 10;
const SMALL: usize = 2 << 10;

/// The buffer of an environment that has room left.
#[derive(Default)]
pub struct Arena(RefCell<Option<Chunk>>);

struct Chunk {
    buffer: Reference,
    used: usize,
}

impl Arena {
    /// A `Uint8Array` with these contents. It may be part of a larger buffer: only the surface may see it.
    pub fn view<'a>(&self, js: Js<'a>, bytes: &[u8]) -> JsResult<JsValue<'a>> {
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
    fn room_for<'a>(&self, js: Js<'a>, length: usize) -> JsResult<(JsValue<'a>, *mut u8, usize)> {
        if let Some(chunk) = &mut *self.0.borrow_mut()
            && chunk.used + length <= SIZE
        {
            let buffer = js.dereference(&chunk.buffer)?;
            let (data, size) = js.buffer_memory(buffer)?;
            // A host whose built-ins were replaced may have moved the memory away.
            if size == SIZE {
                let used = chunk.used;
                chunk.used += length;
                return Ok((buffer, data, used));
            }
        }
        let (buffer, data) = js.empty_buffer(SIZE)?;
        let chunk = Chunk { buffer: js.reference(buffer)?, used: length };
        if let Some(full) = self.0.replace(Some(chunk)) {
            js.delete_reference(full.buffer);
        }
        Ok((buffer, data, 0))
    }
}

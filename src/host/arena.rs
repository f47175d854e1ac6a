//! Holds the bytes of values until the surface has read them. Small ones lie one after the other in one buffer, since a host takes longer to
//! create a buffer than to read such a value. Larger ones reuse a buffer, since new memory costs more than the copy. A buffer is free
//! when its first byte is zero: the first byte of a value never is, and the surface clears it after it has read the value.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use super::js::{Js, JsResult, JsValue, Refused};
use super::reference::Reference;
use crate::protocol::{MAX_OUTCOME, tag};

/// Bytes of the buffer, and of the largest value that counts as small.
const SIZE: usize = 64 << 10;
const SMALL: usize = 2 << 10;

/// Bytes of the largest buffer that is kept.
const LARGE: usize = 4 << 20;

/// The buffers of an environment: one that has room left, one for larger values, and one for small outcomes of synchronous calls.
#[derive(Default)]
pub struct Arena {
    chunk: RefCell<Option<Chunk>>,
    large: RefCell<Option<Reference>>,
    outcome: OnceCell<OutcomeBuffer>,
}

/// A buffer for one value, which the surface reads at once, and the carrier that says so. For such a value, the host makes nothing.
struct OutcomeBuffer {
    buffer: Reference,
    carrier: Reference,
}

/// Bytes of that buffer: the value, and two bytes for its length at the end.
const OUTCOME: usize = MAX_OUTCOME as usize + 2;

struct Chunk {
    buffer: Reference,
    used: usize,
}

impl Arena {
    /// A `Uint8Array` with these contents. It may be part of a larger buffer: only the surface may see it.
    ///
    /// `stays`: a large value may stay where it is. Hosts free such memory between turns of their event loop, so only for what the event loop delivers.
    pub fn view<'a>(&self, js: Js<'a>, bytes: Arc<Vec<u8>>, stays: bool) -> JsResult<JsValue<'a>> {
        if bytes.len() > LARGE {
            let length = bytes.len();
            let buffer = match if stays { Arc::try_unwrap(bytes) } else { Err(bytes) } {
                Ok(bytes) => js.buffer_of(bytes)?,
                // Perhaps an `ExternalCopy` has them as well.
                Err(bytes) => js.buffer(&bytes)?,
            };
            return js.view(buffer, 0, length);
        }
        if bytes.len() > SMALL {
            let (buffer, data) = self.large(js, bytes.len())?;
            // SAFETY: the buffer has that many bytes, at the address that the host has just returned. No JavaScript has run since, and none
            // reads a buffer that is free.
            unsafe { data.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            return js.view(buffer, 0, bytes.len());
        }
        let (buffer, data, used) = self.room_for(js, bytes.len())?;
        // SAFETY: there is room behind the used part, which no code has read yet, in memory whose address the host has just returned; no
        // JavaScript has run since.
        unsafe { data.add(used).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        js.view(buffer, used, bytes.len())
    }

    /// The buffer for small outcomes, for the surface.
    pub fn outcome_buffer<'a>(&self, js: Js<'a>) -> JsResult<JsValue<'a>> {
        if let Some(OutcomeBuffer { buffer, .. }) = self.outcome.get() {
            return js.dereference(buffer);
        }
        let (buffer, _) = js.empty_buffer(OUTCOME)?;
        let carrier = js.array(&[js.number(f64::from(tag::OUTCOME))?])?;
        // It was empty just now, and no other thread uses it.
        let _ = self.outcome.set(OutcomeBuffer { buffer: js.reference(buffer)?, carrier: js.reference(carrier)? });
        Ok(buffer)
    }

    /// The carrier of an outcome with these contents, if it is small and the surface has read the previous one.
    pub fn outcome<'a>(&self, js: Js<'a>, bytes: &[u8]) -> JsResult<Option<JsValue<'a>>> {
        let Some(OutcomeBuffer { buffer, carrier }) = self.outcome.get() else { return Ok(None) };
        let Some(length) = u16::try_from(bytes.len()).ok().filter(|length| u32::from(*length) <= MAX_OUTCOME) else {
            return Ok(None);
        };
        let (data, size) = js.buffer_memory(js.dereference(buffer)?)?;
        // A host whose built-ins were replaced may have moved the memory away.
        // SAFETY: the buffer is not empty, and its memory is at the address that the host has just returned. No JavaScript runs in this function.
        if size != OUTCOME || unsafe { *data } != 0 {
            return Ok(None);
        }
        // SAFETY: as above. The value ends where its length begins, at the latest, and that takes the last two bytes.
        unsafe {
            data.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            data.add(MAX_OUTCOME as usize).copy_from_nonoverlapping(length.to_le_bytes().as_ptr(), 2);
        }
        js.dereference(carrier).map(Some)
    }

    /// Moves a value of `length` bytes that the surface has written to the buffer for small outcomes.
    pub fn take_small(&self, js: Js<'_>, length: usize, bytes: &mut Vec<u8>) -> JsResult<()> {
        let OutcomeBuffer { buffer, .. } = self.outcome.get().ok_or(Refused)?;
        let (data, size) = js.buffer_memory(js.dereference(buffer)?)?;
        if size != OUTCOME || length > MAX_OUTCOME as usize {
            return Err(Refused);
        }
        bytes.clear();
        // SAFETY: the buffer has at least `length` bytes, at the address that the host has just returned. No JavaScript runs in this function.
        unsafe {
            bytes.extend_from_slice(std::slice::from_raw_parts(data, length));
            *data = 0;
        }
        Ok(())
    }

    /// Reserves room for `length` bytes. Returns a buffer, its memory, and the offset of the room in it.
    fn room_for<'a>(&self, js: Js<'a>, length: usize) -> JsResult<(JsValue<'a>, *mut u8, usize)> {
        if let Some(chunk) = &mut *self.chunk.borrow_mut()
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
        if let Some(full) = self.chunk.replace(Some(chunk)) {
            js.delete_reference(full.buffer);
        }
        Ok((buffer, data, 0))
    }

    /// A buffer of at least `length` bytes that no reader uses, and its memory.
    fn large<'a>(&self, js: Js<'a>, length: usize) -> JsResult<(JsValue<'a>, *mut u8)> {
        if let Some(kept) = &*self.large.borrow() {
            let buffer = js.dereference(kept)?;
            let (data, size) = js.buffer_memory(buffer)?;
            // SAFETY: the buffer has memory, at the address that the host has just returned.
            let is_free = size == 0 || unsafe { *data } == 0;
            if is_free && size >= length {
                return Ok((buffer, data));
            }
            // The surface has not read it yet. There may be thousands of values at a time.
            if !is_free {
                return js.empty_buffer(length);
            }
        }
        let (buffer, data) = js.empty_buffer(length.next_power_of_two().max(SIZE))?;
        if let Some(old) = self.large.replace(Some(js.reference(buffer)?)) {
            js.delete_reference(old);
        }
        Ok((buffer, data))
    }
}

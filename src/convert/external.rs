//! Strings whose characters lie outside V8's heap. They are charged to their isolate's buffer budget until V8 has collected them.

use std::alloc::{self, Layout};
use std::ffi::c_char;
use std::sync::Arc;

use super::text::{take_or_collect, text_to_v8, too_large};
use crate::value::{Budget, Fault, Text};

/// Shorter strings are kept in the heap, as in isolated-vm.
const MIN_BYTES: usize = 1_024;

/// Precedes the characters: the budget that is charged.
type Header = *const Budget;
const HEADER: usize = 16;
const _: () = assert!(HEADER >= size_of::<Header>() && HEADER.is_multiple_of(align_of::<Header>()));

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(HEADER)?, HEADER).ok()
}

/// `text` as a string of the isolate. A long one lies outside its heap.
pub fn external_text_to_v8<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    text: &Text,
    budget: &Arc<Budget>,
) -> Result<v8::Local<'s, v8::String>, Fault> {
    let bytes = text.byte_len();
    if !(MIN_BYTES..=v8::String::MAX_LENGTH).contains(&bytes) {
        return text_to_v8(scope, text);
    }
    if !take_or_collect(scope, budget, bytes) {
        return Err(too_large(bytes));
    }
    let string = match text {
        Text::Latin1(characters) => {
            let characters = place(characters, budget)?;
            // SAFETY: the string owns the characters until V8 calls the destructor, which frees what `place` has allocated.
            unsafe { v8::String::new_external_onebyte_raw(scope, characters.cast(), text.len(), free_one_byte) }
        }
        Text::Utf16(units) => {
            let units = place(units, budget)?;
            // SAFETY: as above; the units are aligned, because the header is.
            unsafe { v8::String::new_external_twobyte_raw(scope, units.cast(), text.len(), free_two_byte) }
        }
    };
    string.ok_or_else(|| Fault::beyond("Invalid string length"))
}

/// A copy of the characters behind a header. The budget has already been charged.
fn place<T: Copy>(characters: &[T], budget: &Arc<Budget>) -> Result<*mut u8, Fault> {
    let bytes = size_of_val(characters);
    let refused = || {
        budget.give_back(bytes);
        too_large(bytes)
    };
    let layout = layout(bytes).ok_or_else(refused)?;
    // SAFETY: the layout is not empty.
    let block = unsafe { alloc::alloc(layout) };
    if block.is_null() {
        return Err(refused());
    }
    // SAFETY: the block has room for the header and the characters after it, and does not overlap with `characters`.
    unsafe {
        block.cast::<Header>().write(Arc::into_raw(Arc::clone(budget)));
        let place = block.add(HEADER);
        std::ptr::copy_nonoverlapping(characters.as_ptr().cast::<u8>(), place, bytes);
        Ok(place)
    }
}

unsafe extern "C" fn free_one_byte(characters: *mut c_char, length: usize) {
    // SAFETY: V8 passes what it was given, once.
    unsafe { free(characters.cast(), length) };
}

unsafe extern "C" fn free_two_byte(units: *mut u16, length: usize) {
    // SAFETY: as above.
    unsafe { free(units.cast(), length * 2) };
}

/// # Safety
/// `characters` must come from [`place`], for `bytes` bytes, and must not be used again.
unsafe fn free(characters: *mut u8, bytes: usize) {
    // SAFETY: the block and the budget reference in its header are those of `place`.
    unsafe {
        let block = characters.sub(HEADER);
        Arc::from_raw(block.cast::<Header>().read()).give_back(bytes);
        if let Some(layout) = layout(bytes) {
            alloc::dealloc(block, layout);
        }
    }
}

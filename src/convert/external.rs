//! Strings whose characters lie outside V8's heap. They are charged to their isolate's buffer budget until V8 has collected them.

use std::ffi::c_char;
use std::sync::Arc;

use super::text::{take_or_collect, text_to_v8, too_large};
use crate::value::{Budget, Fault, Text};

/// Shorter strings are kept in the heap, as in isolated-vm.
const MIN_BYTES: usize = 1_024;

/// Follows the characters in their memory, for the code that frees them.
struct Trailer {
    budget: *const Budget,
    /// Of the vector that the memory came from.
    capacity: usize,
}

/// `text` as a string of the isolate. A long one lies outside its heap, in the memory of `text` if that has [`Text::SPARE`] bytes left.
pub fn external_text_to_v8<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    text: Text,
    budget: &Arc<Budget>,
) -> Result<v8::Local<'s, v8::String>, Fault> {
    let bytes = text.byte_len();
    if !(MIN_BYTES..=v8::String::MAX_LENGTH).contains(&bytes) {
        return text_to_v8(scope, &text);
    }
    if !take_or_collect(scope, budget, bytes) {
        return Err(too_large(bytes));
    }
    let string = match text {
        Text::Latin1(characters) => {
            let (characters, length) = place(characters, budget)?;
            // SAFETY: the string owns the characters until V8 calls the destructor, which frees what `place` has prepared.
            unsafe { v8::String::new_external_onebyte_raw(scope, characters.cast(), length, free_one_byte) }
        }
        Text::Utf16(units) => {
            let (units, length) = place(units, budget)?;
            // SAFETY: as above.
            unsafe { v8::String::new_external_twobyte_raw(scope, units, length, free_two_byte) }
        }
    };
    string.ok_or_else(|| Fault::beyond("Invalid string length"))
}

/// Abandons the memory of the characters, with a trailer behind them. The budget has already been charged.
fn place<T: Copy>(mut characters: Vec<T>, budget: &Arc<Budget>) -> Result<(*mut T, usize), Fault> {
    const { assert!(size_of::<Trailer>() <= Text::SPARE && Text::SPARE.is_multiple_of(size_of::<T>())) };
    let bytes = size_of_val(characters.as_slice());
    if characters.try_reserve_exact(Text::SPARE / size_of::<T>()).is_err() {
        budget.give_back(bytes);
        return Err(too_large(bytes));
    }
    let trailer = Trailer { budget: Arc::into_raw(Arc::clone(budget)), capacity: characters.capacity() };
    let length = characters.len();
    let characters = characters.leak().as_mut_ptr();
    // SAFETY: there is room for the trailer behind the characters, at an address of any alignment.
    unsafe { characters.add(length).cast::<Trailer>().write_unaligned(trailer) };
    Ok((characters, length))
}

unsafe extern "C" fn free_one_byte(characters: *mut c_char, length: usize) {
    // SAFETY: V8 passes what it was given, once.
    unsafe { free(characters.cast::<u8>(), length) };
}

unsafe extern "C" fn free_two_byte(units: *mut u16, length: usize) {
    // SAFETY: as above.
    unsafe { free(units, length) };
}

/// # Safety
/// `characters` must come from [`place`], for `length` characters, and must not be used again.
unsafe fn free<T>(characters: *mut T, length: usize) {
    let bytes = length * size_of::<T>();
    // SAFETY: the trailer is that of `place`, with a reference to the budget, and the capacity of the vector.
    unsafe {
        let Trailer { budget, capacity } = characters.add(length).cast::<Trailer>().read_unaligned();
        Arc::from_raw(budget).give_back(bytes);
        drop(Vec::from_raw_parts(characters, length, capacity));
    }
}

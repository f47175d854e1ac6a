//! Keeps the memory of large values that were read, for the next ones (`value::block_pool`).

use std::sync::Arc;
use std::time::Duration;

use super::clock;
use crate::value::block_pool::{self, Unit};
use crate::value::{Bytes, Text};

/// How long memory is kept without use.
const KEPT_FOR: Duration = Duration::from_secs(1);

pub fn keep_text(text: Text) {
    match text {
        Text::Latin1(bytes) => keep(bytes),
        Text::Utf16(units) => keep(units),
    }
}

/// Keeps the memory if nothing else uses it.
pub fn keep_bytes(bytes: Bytes) {
    if let Bytes::Own(bytes) = bytes {
        keep_shared(bytes);
    }
}

/// The same for the bytes of a serialized value.
pub fn keep_shared(bytes: Arc<Vec<u8>>) {
    if let Ok(bytes) = Arc::try_unwrap(bytes) {
        keep(bytes);
    }
}

fn keep<T: Unit>(block: Vec<T>) {
    if block_pool::keep(block) {
        expire_later();
    }
}

fn expire_later() {
    clock::after(KEPT_FOR, || {
        if block_pool::expire() {
            expire_later();
        }
    });
}

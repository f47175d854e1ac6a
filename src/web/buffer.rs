//! The bytes of buffers and of their views, whatever happens to those meanwhile.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::isolate::GuestRealm;
use crate::protocol::buffer_kind::{BUFFER, NONE, SHARED, VIEW};
use crate::value::Fault;

/// `bufferKind(value)`: whether it is a view of unshared memory, a buffer, or either of shared memory.
pub fn kind<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    _at: &GuestRealm,
    args: &v8::FunctionCallbackArguments<'s>,
) -> Result<v8::Local<'s, v8::Value>, Fault> {
    let value = args.get(0);
    let kind = if value.is_array_buffer() {
        BUFFER
    } else if value.is_shared_array_buffer() {
        SHARED
    } else {
        match Bytes::of(scope, value) {
            Some(bytes) if bytes.shared => SHARED,
            Some(_) => VIEW,
            None => NONE,
        }
    };
    Ok(v8::Integer::new_from_unsigned(scope, kind).into())
}

/// Bytes that keep their address as long as this lives and no guest code runs.
pub struct Bytes {
    store: v8::SharedRef<v8::BackingStore>,
    offset: usize,
    length: usize,
    /// Other threads may write to them at any time.
    pub shared: bool,
}

impl Bytes {
    /// `None` for values that are neither buffers nor views.
    pub fn of(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>) -> Option<Self> {
        let (store, offset, length, shared) = if let Ok(view) = v8::Local::<v8::ArrayBufferView>::try_from(value) {
            let buffer = view.buffer(scope)?;
            let shared = v8::Local::<v8::Value>::from(buffer).is_shared_array_buffer();
            (buffer.get_backing_store(), view.byte_offset(), view.byte_length(), shared)
        } else if let Ok(buffer) = v8::Local::<v8::SharedArrayBuffer>::try_from(value) {
            (buffer.get_backing_store(), 0, buffer.byte_length(), true)
        } else {
            let buffer = v8::Local::<v8::ArrayBuffer>::try_from(value).ok()?;
            (buffer.get_backing_store(), 0, buffer.byte_length(), false)
        };
        // Empty for a detached buffer, and for a view that no longer lies within its buffer.
        let inside = store.data().is_some() && offset.checked_add(length).is_some_and(|end| end <= store.byte_length());
        let (offset, length) = if inside { (offset, length) } else { (0, 0) };
        Some(Self { store, offset, length, shared })
    }

    pub fn len(&self) -> usize {
        self.length
    }

    fn start(&self) -> *mut u8 {
        match self.store.data() {
            // SAFETY: `of` has checked that the offset lies within the store.
            Some(data) => unsafe { data.as_ptr().cast::<u8>().add(self.offset) },
            None => std::ptr::NonNull::dangling().as_ptr(),
        }
    }

    /// The bytes, which other threads may change meanwhile.
    fn cells(&self) -> &[AtomicU8] {
        // SAFETY: `length` bytes begin there, which live as long as the store. The only other code that accesses shared bytes is V8's, in
        // units of any size: words, when it copies, and whatever the guest's code was compiled to. Rust does not define races with such
        // code. They are harmless because a relaxed access to one byte is a single plain instruction on all targets: no value is assumed to
        // stay the same, and each byte is the one before or after a write of V8's, which is all that JavaScript promises.
        unsafe { std::slice::from_raw_parts(self.start().cast_const().cast::<AtomicU8>(), self.length) }
    }

    /// Calls `read` with the bytes; shared ones as a copy of at most `limit` bytes. `None` if there are more.
    ///
    /// `read` cannot use the scope that this borrows, and runs no guest code without it.
    pub fn read<T>(&self, _scope: &mut v8::PinScope<'_, '_>, limit: usize, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        if !self.shared {
            // SAFETY: `length` bytes begin there, and stay there while `self` holds the store and no guest code runs. Only guest code of
            // this isolate, on this thread, writes to them. None runs until `read` returns: that needs the scope.
            return Some(read(unsafe { std::slice::from_raw_parts(self.start(), self.length) }));
        }
        if self.length > limit {
            return None;
        }
        let copy: Vec<u8> = self.cells().iter().map(|cell| cell.load(Ordering::Relaxed)).collect();
        Some(read(&copy))
    }

    /// Writes `bytes` at the beginning, as many as there is room for.
    pub fn write(&self, bytes: &[u8]) {
        for (cell, byte) in self.cells().iter().zip(bytes) {
            cell.store(*byte, Ordering::Relaxed);
        }
    }
}

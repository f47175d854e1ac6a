//! What the functions of a realm share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::isolate;
use crate::native::{Guard, lock};
use crate::value::Fault;

pub struct WebState {
    /// `performance.now()` counts from here.
    pub began: Instant,
    streams: Mutex<HashMap<u32, encoding_rs::Decoder>>,
    last_stream: AtomicU32,
}

impl WebState {
    /// Makes it, for a guest that began at `began`.
    pub fn begin(isolate: &mut v8::Isolate, began: Instant) {
        isolate::attach(isolate, Arc::new(Self { began, streams: Mutex::default(), last_stream: AtomicU32::new(0) }));
    }

    pub fn of(scope: &v8::Isolate) -> Result<Arc<Self>, Fault> {
        isolate::attached(scope).ok_or(Fault::Stopped)
    }

    /// A number for a stream that begins. The realms of the isolate share the numbers.
    pub fn begin_stream(&self) -> u32 {
        self.last_stream.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    pub fn streams(&self) -> Guard<'_, HashMap<u32, encoding_rs::Decoder>> {
        lock(&self.streams)
    }
}

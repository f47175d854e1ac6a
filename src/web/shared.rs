//! What the functions of a realm share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::isolate;
use crate::native::{Guard, lock};
use crate::value::Fault;

pub struct Shared {
    /// `performance.now()` counts from here.
    pub began: Instant,
    streams: Mutex<HashMap<u32, encoding_rs::Decoder>>,
}

impl Shared {
    /// Makes it, for a guest that began at `began`.
    pub fn begin(isolate: &mut v8::Isolate, began: Instant) {
        isolate::attach(isolate, Arc::new(Self { began, streams: Mutex::default() }));
    }

    pub fn of(scope: &v8::Isolate) -> Result<Arc<Self>, Fault> {
        isolate::attached(scope).ok_or(Fault::Stopped)
    }

    pub fn streams(&self) -> Guard<'_, HashMap<u32, encoding_rs::Decoder>> {
        lock(&self.streams)
    }
}

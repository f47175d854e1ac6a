//! Compilation caches and snapshots that come from outside.

use std::sync::Arc;

use super::input::Input;
use crate::engine;
use crate::ops;
use crate::value::{Payload, Text, Value};

const MAGIC: [u8; 4] = *b"test";

/// Only sealed contents open, and nothing that was changed opens.
pub fn seal(data: &[u8]) {
    as_it_is(data);
    let mut input = Input::new(data);
    let facts = [input.word(), input.word()];
    let (at, bits) = (input.word(), input.byte());
    let contents = input.rest();
    let mut sealed = engine::seal(MAGIC, facts, contents);
    assert_eq!(engine::open(MAGIC, &sealed), Some((facts, contents)));
    let at = usize::try_from(at).unwrap_or(usize::MAX) % sealed.len();
    assert!(engine::open::<2>(MAGIC, &sealed[..at]).is_none_or(|_| false), "shorter by {}", sealed.len() - at);
    sealed[at] ^= bits;
    assert_eq!(engine::open::<2>(MAGIC, &sealed).is_some(), bits == 0, "bits {bits} at {at}");
}

/// Few inputs have a valid tag. Those that have must be what sealing makes of their contents.
fn as_it_is(data: &[u8]) {
    if let Some((facts, contents)) = engine::open::<3>(*b"iv8s", data) {
        assert_eq!(engine::seal(*b"iv8s", facts, contents), data);
    }
    let code = Text::Latin1(data.into());
    let bytes = Value::Payload(Box::new(Payload::buffer(Arc::new(data.to_vec()))));
    if let Some(contents) = ops::cache_contents(bytes, &code) {
        assert!(contents < data.len());
    }
}

//! Bytes and tables that become values of a guest.

use std::sync::Arc;
use std::time::Duration;

use super::input::Input;
use super::isolate::{Kept, Pair, closure, settle_within};
use crate::value::{ExternalCopy, Handle, Outcome, Payload, SharedMemory, TableEntry, Value};

static KEPT: Kept = Kept::new(|| Pair::new(false));
const MAX_USES: u32 = 5_000;
/// Nothing here loops. Only a busy machine, or a new isolate, takes long.
const DEADLINE: Duration = Duration::from_secs(2);

/// A value that a payload becomes in a guest can leave again, and come back.
pub fn payload(data: &[u8]) {
    let mut input = Input::new(data);
    let table = (0..input.below(6)).map(|_| entry(&mut input)).collect();
    let mut bytes = vec![0xff, 13 + input.byte() % 4];
    bytes.extend_from_slice(input.rest());
    let first = Value::Payload(Box::new(Payload { bytes: Arc::new(bytes), table, moved: false }));
    let Ok(second) = echo(first) else { return };
    let is_payload = matches!(second, Value::Payload(_));
    match echo(second) {
        Ok(third) => assert_eq!(matches!(third, Value::Payload(_)), is_payload),
        Err(fault) => {
            // The heap was full, or the deadline has passed.
            assert!(!fault.message().contains("deserialize"), "it came out, and does not go in: {fault:?}");
        }
    }
}

fn echo(value: Value) -> Outcome {
    KEPT.with(MAX_USES, |pair| settle_within(DEADLINE, closure(pair, "return $0", value)))
}

/// A row of the table.
fn entry(input: &mut Input<'_>) -> TableEntry {
    match input.byte() % 7 {
        0 => TableEntry::Buffer(input.some_bytes().to_vec().into()),
        1 => {
            let mut pin = vec![0u64; 2];
            let length = input.below(size_of_val(&pin[..]) + 1);
            let pointer = pin.as_mut_ptr().cast();
            // SAFETY: the vector's memory keeps its address for as long as the vector lives.
            let memory = unsafe { SharedMemory::new(pointer, length, None, Box::new(pin)) };
            TableEntry::Shared(Arc::new(memory))
        }
        2 => TableEntry::Value(Value::Handle(Handle::Ivm)),
        3 => TableEntry::Value(Value::Handle(Handle::ExternalCopy(ExternalCopy::new(Value::Number(1.0))))),
        4 => TableEntry::Value(Value::String(input.text())),
        5 => TableEntry::Value(Value::Payload(Box::new(Payload::buffer(Arc::new(input.some_bytes().to_vec()))))),
        _ => TableEntry::Value(Value::List(vec![Value::Undefined])),
    }
}

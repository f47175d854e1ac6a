//! `ExternalCopy`: values outside of any heap.

use super::args::malformed;
use super::{Args, Prepared};
use crate::value::{ExternalCopy, Fault, Handle, Value};

pub fn create(mut args: Args) -> Result<Prepared, Fault> {
    let copy = ExternalCopy::of_guest(args.value())?;
    Ok(Prepared::Done(Ok(Value::Handle(Handle::ExternalCopy(copy)))))
}

/// The value itself, for the realm that requests it. With `transferIn`, a buffer is moved.
pub fn copy(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let Some(Value::Handle(Handle::ExternalCopy(copy))) = target else {
        return Err(malformed());
    };
    let transfer_in = args.boolean();
    Ok(Prepared::Done(copy.open(transfer_in)))
}

pub fn total_size() -> Result<Prepared, Fault> {
    Ok(Prepared::Done(Ok(Value::Number(ExternalCopy::total_size() as f64))))
}

//! What a receiver has to make of a value in one piece, besides reading its bytes.

use super::{Fault, TableEntry, Value};

/// The most rows that a guest may send in one value, or in the arguments of one call. Each takes a receiver up to a few microseconds and some hundred
/// bytes. A copy may refer to another one many times, so a few copies in each other can have any number of rows.
const MAX_ROWS: usize = 8_192;

/// The most bytes of several copies in the same. The receiver copies them again each time, while the guest has them once.
const MAX_COPIED: usize = 64 << 20;

/// Rows of a value's table, with those inside of copies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rows {
    /// Handles, functions, promises, buffers and copies.
    count: usize,
    copies: usize,
    /// Bytes of the copies.
    copied: usize,
}

impl Rows {
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Payload(payload) => payload.table.iter().fold(Self::default(), |sum, entry| match entry {
                TableEntry::Value(value) => sum.and(Self::of(value)),
                TableEntry::Buffer(_) | TableEntry::Shared(_) => sum.and(Self::ONE),
            }),
            Value::CopyInto { copy, .. } => {
                let inside = copy.rows();
                let copies = inside.copies.saturating_add(1);
                Self { count: inside.count.saturating_add(1), copies, copied: copy.created_bytes() }
            }
            Value::Promise(settlement) => Self::ONE.and(settlement.rows()),
            Value::Handle(_) | Value::Function(_) | Value::Dereference(_) => Self::ONE,
            Value::List(values) => values.iter().map(Self::of).fold(Self::default(), Self::and),
            Value::Undefined
            | Value::Null
            | Value::Boolean(_)
            | Value::Number(_)
            | Value::BigInt(_)
            | Value::String(_) => Self::default(),
        }
    }

    pub const ONE: Self = Self { count: 1, copies: 0, copied: 0 };

    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            copies: self.copies.saturating_add(other.copies),
            copied: self.copied.saturating_add(other.copied),
        }
    }

    /// Whether a guest may send that.
    pub fn check(self) -> Result<(), Fault> {
        if self.count > MAX_ROWS {
            return Err(Fault::beyond(&format!(
                "A value may have {MAX_ROWS} handles, functions, buffers and copies, with those inside the copies. All arguments of a call together have the same limit, and an argument that is an object counts, too"
            )));
        }
        if self.copies > 1 && self.copied > MAX_COPIED {
            return Err(Fault::beyond(&format!(
                "Several copies in a value, or in all arguments of a call, may have {} MB",
                MAX_COPIED >> 20
            )));
        }
        Ok(())
    }
}

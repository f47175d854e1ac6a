//! The arguments of a guest's calls, and how much they may be.

use std::sync::Arc;

use crate::convert::{self, Exchange};
use crate::isolate::{GuestRealm, Remote};
use crate::value::{Fault, Rows, Value};

/// Arguments of one call, which together may be no larger than one value.
pub struct Arguments {
    pub values: Vec<Value>,
    pub bytes: usize,
    rows: Rows,
    limit: usize,
    remote: Option<Arc<Remote>>,
    /// Number of handles to values of the guest before the call.
    handles: u32,
}

impl Arguments {
    pub fn new(at: &GuestRealm) -> Self {
        let remote = at.guest.remote().ok();
        let handles = remote.as_ref().map_or(0, |remote| remote.slots.handles());
        Self { values: Vec::new(), bytes: 0, rows: Rows::default(), limit: at.limit(), remote, handles }
    }

    pub fn push(&mut self, value: Value) -> Result<(), Fault> {
        self.admit_value(&value)?;
        self.values.push(value);
        Ok(())
    }

    /// Counts a value that is kept elsewhere. A receiver also makes objects for each argument that is an object.
    pub fn admit_value(&mut self, value: &Value) -> Result<(), Fault> {
        let own = if matches!(value, Value::Payload(_)) { Rows::ONE } else { Rows::default() };
        self.rows = self.rows.and(Rows::of(value)).and(own);
        self.rows.check()?;
        self.admit(value.byte_size())
    }

    /// Counts primitives of `bytes` that are kept elsewhere.
    pub fn admit(&mut self, bytes: usize) -> Result<(), Fault> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limit {
            return Err(convert::too_large(self.limit));
        }
        if let Some(remote) = &self.remote {
            let handles = remote.slots.handles();
            if handles > self.handles && handles > remote.accounts.max_handles() {
                return Err(Fault::too_many_handles(remote.accounts.max_handles()));
            }
        }
        Ok(())
    }
}

//! References to values of the host's engine, which outlive the callback that provided them.

use std::ptr;

use napi_sys as sys;

use super::js::{Js, JsResult, JsValue, Refused, check};

/// What keeps a value of the host's engine, until [`Js::delete_reference`] takes it. Dropping it leaks the value.
pub struct Reference {
    env: sys::napi_env,
    reference: sys::napi_ref,
}

impl<'a> Js<'a> {
    /// Keeps `value` alive until the reference is deleted.
    pub fn reference(self, value: JsValue<'_>) -> JsResult<Reference> {
        self.counted_reference(value, 1)
    }

    fn counted_reference(self, value: JsValue<'_>, count: u32) -> JsResult<Reference> {
        let mut reference = ptr::null_mut();
        // SAFETY: `self` proves that a callback of this environment runs; the pointer is to a local.
        check(unsafe { sys::napi_create_reference(self.env(), value.raw(), count, &raw mut reference) })?;
        Ok(Reference { env: self.env(), reference })
    }

    /// A reference that shows whether `value` is still alive; see [`Js::dereference`].
    pub fn weak_reference(self, value: JsValue<'_>) -> JsResult<Reference> {
        self.counted_reference(value, 0)
    }

    /// Null if the reference is weak and its value is gone. [`Refused`] for a reference of another environment.
    pub fn dereference(self, reference: &Reference) -> JsResult<JsValue<'a>> {
        if reference.env != self.env() {
            return Err(Refused);
        }
        let mut value = ptr::null_mut();
        // SAFETY: the reference belongs to this environment. It was not deleted: that would have taken it.
        check(unsafe { sys::napi_get_reference_value(self.env(), reference.reference, &raw mut value) })?;
        // SAFETY: returned by the host just now.
        Ok(unsafe { self.returned(value) })
    }

    pub fn delete_reference(self, reference: Reference) {
        if reference.env == self.env() {
            // SAFETY: as in `dereference`; nothing else has the reference. A failure leaves the value alive.
            let _ = unsafe { sys::napi_delete_reference(self.env(), reference.reference) };
        }
    }
}

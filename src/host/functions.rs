//! The surface's functions that the native side calls.

use super::js::{Js, JsResult, JsValue};
use super::reference::Reference;

pub struct Functions {
    pub settle: Reference,
    pub serve: Reference,
    pub serve_later: Reference,
    pub defer: Reference,
    pub run_microtasks: Reference,
    pub flush_later: Reference,
    pub own: Reference,
    pub leave: Reference,
    pub serve_here: Reference,
}

impl Functions {
    /// `functions`: in the order of the fields.
    pub fn of(
        js: Js<'_>,
        [settle, serve, serve_later, defer, run_microtasks, flush_later, own, leave, serve_here]: [JsValue<'_>; 9],
    ) -> JsResult<Self> {
        Ok(Self {
            settle: js.reference(settle)?,
            serve: js.reference(serve)?,
            serve_later: js.reference(serve_later)?,
            defer: js.reference(defer)?,
            run_microtasks: js.reference(run_microtasks)?,
            flush_later: js.reference(flush_later)?,
            own: js.reference(own)?,
            leave: js.reference(leave)?,
            serve_here: js.reference(serve_here)?,
        })
    }
}

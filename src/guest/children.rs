//! Isolates that guests create.

use std::sync::Arc;

use crate::isolate::{GuestRealm, MAX_DESCENDANTS};
use crate::ops;
use crate::value::{Code, Completion, ErrorClass, Fault, Handle, IsolateHandle, Outcome, Owner, Value};

/// A new isolate. If the existing isolates leave no room, this waits until those that are being disposed are gone.
pub fn create(scope: &mut v8::PinScope<'_, '_>, at: &GuestRealm, args: Vec<Value>) -> Outcome {
    let maker = at.guest.remote()?;
    let ops::Plan { settings, on_catastrophe, .. } = ops::plan_child(args, &maker.settings, at.guest.limits())?;
    let host = maker.settings.host.as_ref().and_then(std::sync::Weak::upgrade).ok_or_else(Fault::environment_gone)?;
    loop {
        // Read first, so that isolates that are gone by then have released their place.
        let ending = maker.ending_relative();
        if let Some(made) = maker.create_child(settings.clone())? {
            if let Some(notify) = &on_catastrophe {
                made.listeners.when_abandoned(Arc::clone(notify));
            }
            let handle = IsolateHandle(made as Arc<dyn Owner>);
            host.register(&handle.0);
            return Ok(Value::Handle(Handle::Isolate(handle)));
        }
        let Some(ending) = ending else {
            let message = format!(
                "The isolates that guests have made are {MAX_DESCENDANTS}, or take four times the memory of the isolate in \
                 which that began; dispose of some"
            );
            return Err(Fault::coded(ErrorClass::RangeError, &message, Code::Limit));
        };
        let reply = at.guest.reply();
        ending.when_gone(Arc::clone(&reply) as Arc<dyn Completion>);
        drop(ending);
        at.guest.wait(scope, &*reply, false)?;
    }
}

//! The creation of contexts.

use std::sync::Arc;

use super::console_guard;
use super::realm::Realm;
use crate::engine;
use crate::isolate::guest::Guest;
use crate::isolate::job::IsolateScope;
use crate::isolate::remote::Remote;
use crate::value::{Charge, Code, ErrorClass, Fault};

impl Realm {
    /// A new context from the snapshot that the isolate started from.
    pub fn create(scope: &mut IsolateScope<'_, '_>, guest: &Guest) -> Result<Arc<Realm>, Fault> {
        let remote = guest.remote();
        let snapshot = remote.as_ref().ok().and_then(|remote| Some((remote, remote.settings.snapshot.as_ref()?)));
        let prepaid = match snapshot {
            Some((remote, snapshot)) => take_space(scope, remote, snapshot.size().space)?,
            None => Default::default(),
        };
        let create = || v8::Context::new(scope, v8::ContextOptions::default());
        let context = match snapshot.map(|(remote, _)| &remote.accounts) {
            Some(accounts) => engine::with_prepaid_space(&accounts.budget, &accounts.space, prepaid, || {
                accounts.budget.overdraw(|| engine::contain_fatal_errors(create))
            }),
            None => create(),
        };
        // Makes V8 call `codegen::on_code_generation`.
        context.set_allow_generation_from_strings(false);
        let realm = Realm::new(scope, context);
        let index = guest.realms.add(&realm);
        // A realm's number is its security token. It is as unique as V8's default token, and the only way to identify a context without a
        // weak handle: the crate's embedder data uses weak handles, which shared isolates refuse.
        let scope = &mut v8::ContextScope::new(scope, context);
        context.set_security_token(v8::Integer::new_from_unsigned(scope, index).into());
        if guest.agent().is_some() {
            // Fails only if the heap is full; the context is unusable then.
            let _ = console_guard::install(scope);
        }
        Ok(realm)
    }
}

/// Takes the address space for the buffers of a context of a snapshot before V8 creates the context: it ends the process if it gets none for one of
/// them. Other threads may create such contexts at the same time.
fn take_space(scope: &mut v8::Isolate, remote: &Remote, size: usize) -> Result<[Charge; 2], Fault> {
    let take = || engine::take_space_for_buffers(&remote.accounts.space, size);
    if let Some(space) = take() {
        return Ok(space);
    }
    scope.low_memory_notification();
    let message = "The buffers of another context of this snapshot take more address space than there is";
    take().ok_or_else(|| Fault::coded(ErrorClass::Error, message, Code::Memory))
}

impl Guest {
    /// Any realm, for work that does not depend on a particular one.
    pub fn utility_realm(&self, scope: &mut IsolateScope<'_, '_>) -> Result<Arc<Realm>, Fault> {
        if let Some(realm) = self.realms.any() {
            return Ok(realm);
        }
        let realm = Realm::create(scope, self)?;
        self.realms.keep(Arc::clone(&realm));
        Ok(realm)
    }
}

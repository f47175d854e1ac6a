//! The creation of contexts.

use std::sync::Arc;

use super::console_guard;
use super::realm::Realm;
use crate::engine;
use crate::isolate::guest::Guest;
use crate::isolate::job::IsolateScope;
use crate::isolate::remote::Remote;
use crate::value::{Code, ErrorClass, Fault};

impl Realm {
    /// A new context from the snapshot that the isolate started from.
    pub fn create(scope: &mut IsolateScope<'_, '_>, guest: &Guest) -> Result<Arc<Realm>, Fault> {
        let remote = guest.remote();
        let snapshot = remote.as_ref().ok().and_then(|remote| Some((remote, remote.settings.snapshot.as_ref()?)));
        if let Some((remote, snapshot)) = snapshot {
            make_space(scope, remote, snapshot.size().space)?;
        }
        let create = || v8::Context::new(scope, v8::ContextOptions::default());
        let context = match snapshot {
            Some((remote, _)) => remote.accounts.budget.overdraw(|| engine::contain_fatal_errors(create)),
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

/// The buffers of a snapshot get their address space whether there is some or not: V8 ends the process otherwise.
fn make_space(scope: &mut v8::Isolate, remote: &Remote, size: usize) -> Result<(), Fault> {
    let has_space = || remote.accounts.space.has(size) && engine::has_space(size);
    if has_space() {
        return Ok(());
    }
    scope.low_memory_notification();
    if has_space() {
        return Ok(());
    }
    let message = "The buffers of another context of this snapshot take more address space than there is";
    Err(Fault::coded(ErrorClass::Error, message, Code::Memory))
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

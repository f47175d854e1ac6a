//! The creation of contexts.

use std::sync::Arc;

use super::console_guard;
use super::realm::Realm;
use crate::engine;
use crate::isolate::guest::Guest;
use crate::isolate::job::IsolateScope;

impl Realm {
    /// A new context from the snapshot that the isolate started from.
    pub fn create(scope: &mut IsolateScope<'_, '_>, guest: &Guest) -> Arc<Realm> {
        let create = || v8::Context::new(scope, v8::ContextOptions::default());
        let context = match guest.remote() {
            Ok(remote) if remote.settings.snapshot.is_some() => {
                remote.accounts.budget.overdraw(|| engine::contain_fatal_errors(create))
            }
            _ => create(),
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
        realm
    }
}

impl Guest {
    /// Any realm, for work that does not depend on a particular one.
    pub fn utility_realm(&self, scope: &mut IsolateScope<'_, '_>) -> Arc<Realm> {
        if let Some(realm) = self.realms.any() {
            return realm;
        }
        let realm = Realm::create(scope, self);
        self.realms.keep(Arc::clone(&realm));
        realm
    }
}

//! What an execution finds in its isolate whatever its code is. It can be prepared before the execution is known.

use std::iter;
use std::sync::Arc;
use std::time::Instant;

use super::property::put;
use super::{builtins, console, timers};
use crate::convert;
use crate::engine::Snapshot;
use crate::isolate::{Guest, IsolateScope, Prepare, Realm, Remote, Settings};
use crate::value::{Fault, Text};
use crate::web::{self, Names};

/// Isolates of equal templates are interchangeable.
#[derive(Clone, PartialEq)]
pub struct IsolateTemplate {
    /// Bytes of heap, and the same number again of buffers.
    pub memory_limit: usize,
    /// The snapshot that the heap starts from.
    pub snapshot: Option<Snapshot>,
    pub realm: RealmTemplate,
    /// Whether the guest can share memory that it has made. Guests of sandboxes cannot: hosts expect copies.
    pub shares_memory: bool,
}

/// What the realm has besides ECMAScript's built-ins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RealmTemplate {
    /// Nothing: the caller adds what it needs.
    Bare,
    Sandbox {
        /// Whether `globalThis` is shadowed: undefined in the code itself.
        shadow_global: bool,
        timers: bool,
        /// The web APIs.
        web: Names,
    },
}

impl IsolateTemplate {
    /// The names of the properties that the realm's global object gets, except `global`, which user code may use as its own name for the
    /// global object.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let (timers, web) = match self.realm {
            RealmTemplate::Bare => (false, Names::default()),
            RealmTemplate::Sandbox { timers, web, .. } => (timers, web),
        };
        names(timers, web)
    }

    /// The settings of an isolate with this template.
    pub fn settings(&self, settings: &Settings) -> Settings {
        let (memory_limit, snapshot, shares_memory) = (self.memory_limit, self.snapshot.clone(), self.shares_memory);
        Settings { memory_limit, snapshot, shares_memory, ..settings.clone() }
    }

    /// A warm isolate with this template. `prepared` is called when it is ready.
    pub fn make_warm(&self, settings: &Settings, prepared: impl FnOnce() + Send + 'static) -> Arc<Remote> {
        let preparation = self.preparation();
        let prepare: Prepare = Box::new(move |scope| {
            preparation(scope);
            prepared();
        });
        Remote::create_warm(self.settings(settings), prepare)
    }

    /// Makes the realm as soon as the isolate exists. If that fails, [`IsolateTemplate::realm`] tries again and reports the error.
    pub fn preparation(&self) -> Prepare {
        let template = self.clone();
        Box::new(move |scope| {
            if let Ok(guest) = Guest::of(scope)
                && let Ok(realm) = template.make(scope, &guest)
            {
                guest.realms.prepare(realm);
            }
        })
    }

    /// The realm of an execution that began at `began`.
    pub fn realm(&self, scope: &mut IsolateScope<'_, '_>, guest: &Guest, began: Instant) -> Result<Arc<Realm>, Fault> {
        let realm = match guest.realms.take_prepared() {
            Some(realm) => realm,
            None => self.make(scope, guest)?,
        };
        if let RealmTemplate::Sandbox { web, .. } = self.realm {
            let context = v8::Local::new(scope, &realm.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            if self.snapshot.is_some() {
                web::install(scope, web)?;
            }
            web::begin(scope, web, began);
        }
        Ok(realm)
    }

    /// Makes a realm, as far as that is possible without code that may never end. If there is a snapshot, the web's code runs in a realm
    /// that user code has already changed, so it does not run here.
    fn make(&self, scope: &mut IsolateScope<'_, '_>, guest: &Guest) -> Result<Arc<Realm>, Fault> {
        let realm = Realm::create(scope, guest)?;
        if let RealmTemplate::Sandbox { shadow_global, timers, web } = self.realm {
            v8::scope!(let scope, scope);
            let context = v8::Local::new(scope, &realm.context);
            if let Some(agent) = guest.agent() {
                agent.show_context(scope, context);
            }
            let scope = &mut v8::ContextScope::new(scope, context);
            install_names(scope, shadow_global, timers)?;
            if self.snapshot.is_none() {
                web::install(scope, web)?;
            } else {
                web::compile(scope, web);
                // Elsewhere, built-ins are not frozen.
                if !(guest.remote()?.settings.engine)().is_ok_and(crate::engine::Engine::has_startup_snapshot) {
                    builtins::compile(scope);
                }
            }
        }
        Ok(realm)
    }
}

/// The names that a realm has with timers and these web APIs.
pub fn names(timers: bool, web: Names) -> impl Iterator<Item = &'static str> {
    let timers = if timers { &timers::NAMES[..] } else { &[] };
    iter::once("console").chain(timers.iter().copied()).chain(web.list())
}

fn install_names(scope: &mut v8::PinScope<'_, '_>, shadow_global: bool, timers: bool) -> Result<(), Fault> {
    v8::tc_scope!(let scope, scope);
    let global = scope.get_current_context().global(scope);
    console::install(scope, global)?;
    if timers {
        timers::install(scope, global)?;
    }
    if shadow_global {
        return Ok(());
    }
    let key = convert::text_to_v8(scope, &Text::from("global"))?;
    put(scope, global, key.into(), global.into())
}

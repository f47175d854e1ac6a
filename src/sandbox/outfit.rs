//! What an execution finds in its isolate whatever its code is. That can be there before anybody knows of the execution.

use std::iter;
use std::sync::Arc;
use std::time::Instant;

use super::{Names, builtins, console, timers};
use crate::convert;
use crate::engine::Snapshot;
use crate::isolate::{Guest, IsolateScope, Prepare, Realm, Remote, Settings};
use crate::value::{Code, ErrorClass, Fault, Text};
use crate::web;

/// Isolates of equal outfits can take each other's place.
#[derive(Clone, PartialEq)]
pub struct Outfit {
    /// Bytes of heap, and again as many of buffers.
    pub memory_limit: usize,
    /// What the heap starts from.
    pub snapshot: Option<Snapshot>,
    pub realm: RealmOutfit,
}

/// What the realm has beside ECMAScript's built-ins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RealmOutfit {
    /// Nothing: somebody else sees to that.
    Bare,
    Sandbox {
        /// `globalThis` is shadowed: undefined in the code itself.
        shadow_global: bool,
        timers: bool,
        /// What there is of the web.
        web: Names,
    },
}

impl Outfit {
    /// What the realm has under names of the global object, but for `global`, which may well be somebody's name for it.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let (timers, web) = match self.realm {
            RealmOutfit::Bare => (false, Names::default()),
            RealmOutfit::Sandbox { timers, web, .. } => (timers, web),
        };
        names(timers, web)
    }

    /// Those of an isolate with this outfit.
    pub fn settings(&self, settings: &Settings) -> Settings {
        Settings { memory_limit: self.memory_limit, snapshot: self.snapshot.clone(), ..settings.clone() }
    }

    /// An isolate that waits for whoever needs one of this outfit. `prepared` is called when all is there.
    pub fn spare(&self, settings: &Settings, prepared: impl FnOnce() + Send + 'static) -> Arc<Remote> {
        let preparation = self.preparation();
        let prepare: Prepare = Box::new(move |scope, guest| {
            preparation(scope, guest);
            prepared();
        });
        Remote::create_spare(self.settings(settings), prepare)
    }

    /// Has the realm made as soon as there is the isolate. Where that fails, [`Outfit::realm`] makes another and tells why it cannot.
    pub fn preparation(&self) -> Prepare {
        let outfit = self.clone();
        Box::new(move |scope, guest| {
            if let Ok(realm) = outfit.make(scope, guest) {
                guest.prepare(realm);
            }
        })
    }

    /// The realm of an execution that began at `began`.
    pub fn realm(&self, scope: &mut IsolateScope<'_, '_>, guest: &Guest, began: Instant) -> Result<Arc<Realm>, Fault> {
        let realm = match guest.take_prepared() {
            Some(realm) => realm,
            None => self.make(scope, guest)?,
        };
        if let RealmOutfit::Sandbox { web, .. } = self.realm {
            let context = v8::Local::new(scope, &realm.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            if self.snapshot.is_some() {
                web::install(scope, web)?;
            }
            web::begin(scope, web, began);
        }
        Ok(realm)
    }

    /// A realm as far as it can be made without running code that may never end: that of the web runs in what the user's own
    /// code has left behind, where there is a snapshot.
    fn make(&self, scope: &mut IsolateScope<'_, '_>, guest: &Guest) -> Result<Arc<Realm>, Fault> {
        let realm = Realm::create(scope, guest);
        if let RealmOutfit::Sandbox { shadow_global, timers, web } = self.realm {
            v8::scope!(let scope, scope);
            let context = v8::Local::new(scope, &realm.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            furnish(scope, shadow_global, timers)?;
            if self.snapshot.is_none() {
                web::install(scope, web)?;
            } else {
                web::compile(scope, web);
                // Elsewhere nobody freezes them.
                if !(guest.remote()?.settings.engine)().is_some_and(crate::engine::Engine::follows_recipe) {
                    builtins::compile(scope);
                }
            }
        }
        Ok(realm)
    }
}

/// What a realm has with timers and these names of the web.
pub fn names(timers: bool, web: Names) -> impl Iterator<Item = &'static str> {
    let timers = if timers { &timers::NAMES[..] } else { &[] };
    iter::once("console").chain(timers.iter().copied()).chain(web.list())
}

fn furnish(scope: &mut v8::PinScope<'_, '_>, shadow_global: bool, timers: bool) -> Result<(), Fault> {
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

/// Makes `value` a property of `object`, whatever the user's own code has made of it, as far as the language allows that.
pub fn put(
    scope: &mut v8::PinScope<'_, '_>,
    object: v8::Local<'_, v8::Object>,
    key: v8::Local<'_, v8::Name>,
    value: v8::Local<'_, v8::Value>,
) -> Result<(), Fault> {
    v8::tc_scope!(let scope, scope);
    let done = match object.create_data_property(scope, key, value) {
        // What a script has declared cannot be configured any more.
        Some(false) => object.define_property(scope, key, &v8::PropertyDescriptor::new_from_value(value)),
        done => done,
    };
    match done {
        Some(true) => Ok(()),
        Some(false) => {
            let name = key.to_rust_string_lossy(scope);
            let message = format!("`snapshot` has made it impossible to give the code `{name}`, which the sandbox has");
            Err(Fault::coded(ErrorClass::TypeError, &message, Code::InvalidArgument))
        }
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    }
}

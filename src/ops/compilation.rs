//! The inputs for compiling scripts and modules, and the handling of their compilation caches.

use std::sync::Arc;

use v8::script_compiler::{CachedData, CompileOptions, Source};

use super::args::{Args, malformed};
use super::cache::{self, Cache, Identity};
use super::compiling::{Compiling, Form};
use crate::convert;
use crate::isolate::Remote;
use crate::protocol::FILENAME;
use crate::value::{Fault, Handle, Text, Value};

/// The file name and position that code reports as its origin.
pub struct Origin {
    pub filename: Text,
    pub line: i32,
    pub column: i32,
}

impl Origin {
    /// The origin of code for which none was given.
    pub fn nowhere() -> Self {
        Self { filename: Text::from(FILENAME), line: 0, column: 0 }
    }

    pub fn from_args(args: &mut Args) -> Result<Self, Fault> {
        let filename = args.optional_text()?.unwrap_or_else(|| Text::from(FILENAME));
        // The surface has checked that these are 32-bit integers; casts saturate.
        Ok(Self { filename, line: args.number()? as i32, column: args.number()? as i32 })
    }

    pub fn to_v8<'s>(&self, scope: &mut v8::PinScope<'s, '_>) -> Result<v8::ScriptOrigin<'s>, Fault> {
        let name = convert::text_to_v8(scope, &self.filename)?.into();
        Ok(v8::ScriptOrigin::new(scope, name, self.line, self.column, false, -1, None, false, false, false, None))
    }

    /// The origin of a module. V8 passes `options` along when the module calls `import()`.
    pub fn to_v8_module<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        options: Option<v8::Local<'s, v8::Data>>,
    ) -> Result<v8::ScriptOrigin<'s>, Fault> {
        let name = convert::text_to_v8(scope, &self.filename)?.into();
        Ok(v8::ScriptOrigin::new(scope, name, self.line, self.column, false, -1, None, false, false, true, options))
    }
}

pub struct Compilation {
    pub code: Text,
    pub origin: Origin,
    cached: Option<Cache>,
    produce: bool,
    /// Set if a cache is used or produced.
    identity: Option<Identity>,
}

impl Compilation {
    /// Reads the arguments that scripts and modules have in common, and the isolate to compile in.
    pub fn read(target: Option<Value>, args: &mut Args, is_module: bool) -> Result<(Arc<Remote>, Self), Fault> {
        let Some(Value::Handle(Handle::Isolate(isolate))) = target else {
            return Err(malformed());
        };
        let remote = Remote::from_owner(&isolate.0).ok_or_else(malformed)?;
        let code = args.text()?;
        let origin = Origin::from_args(args)?;
        let cached = args.value();
        let produce = args.boolean();
        // Done here and not in the isolate, whose thread may be busy, or may still be creating the isolate.
        let identity = (produce || !matches!(cached, Value::Undefined)).then(|| Identity::new(&code, is_module));
        let cached = identity.and_then(|identity| Cache::open(cached, identity));
        Ok((remote, Self { code, origin, cached, produce, identity }))
    }

    /// Code whose cache the caller passes or wants does not use that of the process.
    pub fn begin(&self, isolate: &mut v8::Isolate, form: Form) -> Compiling {
        match self.identity {
            Some(_) => Compiling::alone(),
            None => Compiling::begin(isolate, &self.code, &self.origin, form),
        }
    }

    /// The source for V8, and how to compile it.
    pub fn source(
        &self,
        scope: &v8::PinScope<'_, '_>,
        origin: &v8::ScriptOrigin<'_>,
        compiling: &Compiling,
    ) -> Result<(Source, CompileOptions), Fault> {
        let code = convert::text_to_v8(scope, &self.code)?;
        Ok(match self.cached.as_ref().and_then(Cache::contents) {
            Some(contents) => (
                Source::new_with_cached_data(code, Some(origin), CachedData::new(contents)),
                CompileOptions::ConsumeCodeCache,
            ),
            None => compiling.source(code, origin),
        })
    }

    /// Whether the passed cache, if any, was rejected by this crate or by V8.
    pub fn cache_rejected(&self, source: &Source) -> Option<bool> {
        self.cached.as_ref().map(|_| source.get_cached_data().is_none_or(CachedData::rejected))
    }

    /// The cache to return, if one is requested. `make` creates it.
    pub fn cache<'a>(
        &self,
        rejected: Option<bool>,
        make: impl FnOnce() -> Option<v8::UniqueRef<CachedData<'a>>>,
    ) -> Option<Arc<Vec<u8>>> {
        let identity = self.identity.filter(|_| self.produce && rejected != Some(false))?;
        Some(Arc::new(cache::seal(identity, &make()?)))
    }
}

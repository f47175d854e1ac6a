//! Compiling and running scripts.

use std::rc::Rc;
use std::sync::Arc;

use super::args::malformed;
use super::{
    Args, Prepared, Transfer,
    cache::{self, Cache},
    work_in_realm,
};
use crate::convert;
use crate::isolate::{CompiledScript, Held, Limits, Place, Remote};
use crate::value::{Code, ErrorClass, Fault, Handle, Outcome, Text, Value};

/// Where code says it comes from.
pub struct Origin {
    pub filename: Text,
    pub line: i32,
    pub column: i32,
}

/// The name that code has unless its caller gives one.
const FILENAME: &str = "<isolated-vm>";

impl Origin {
    /// Of code that nobody has said anything about.
    pub fn nowhere() -> Self {
        Self { filename: Text::from(FILENAME), line: 0, column: 0 }
    }

    pub fn from_args(args: &mut Args) -> Result<Self, Fault> {
        let filename = args.optional_text()?.unwrap_or_else(|| Text::from(FILENAME));
        // Checked to be 32-bit integers by the surface; casts saturate.
        Ok(Self { filename, line: args.number()? as i32, column: args.number()? as i32 })
    }

    pub fn to_v8<'s>(&self, scope: &mut v8::PinScope<'s, '_>) -> Result<v8::ScriptOrigin<'s>, Fault> {
        let name = convert::text_to_v8(scope, &self.filename)?.into();
        Ok(v8::ScriptOrigin::new(scope, name, self.line, self.column, false, -1, None, false, false, false, None))
    }

    /// The origin of a module, whose `import()` is known by `options`.
    pub fn to_v8_module<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        options: Option<v8::Local<'s, v8::Data>>,
    ) -> Result<v8::ScriptOrigin<'s>, Fault> {
        let name = convert::text_to_v8(scope, &self.filename)?.into();
        Ok(v8::ScriptOrigin::new(scope, name, self.line, self.column, false, -1, None, false, false, true, options))
    }
}

/// Compiles `code` for any context of its isolate.
pub fn compile<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    code: &Text,
    origin: &Origin,
) -> Result<v8::Local<'s, v8::UnboundScript>, Fault> {
    let code = convert::text_to_v8(scope, code)?;
    let origin = origin.to_v8(scope)?;
    compile_source(scope, &mut v8::script_compiler::Source::new(code, Some(&origin)))
}

/// As [`compile`], with a compilation cache. Also tells whether V8 refused the cache.
fn compile_cached<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    code: &Text,
    origin: &Origin,
    cache: &Cache,
) -> Result<(v8::Local<'s, v8::UnboundScript>, bool), Fault> {
    let Some(contents) = cache.contents() else {
        return Ok((compile(scope, code, origin)?, true));
    };
    let code = convert::text_to_v8(scope, code)?;
    let origin = origin.to_v8(scope)?;
    let cached = v8::script_compiler::CachedData::new(contents);
    let mut source = v8::script_compiler::Source::new_with_cached_data(code, Some(&origin), cached);
    let script = compile_source(scope, &mut source)?;
    let rejected = source.get_cached_data().is_none_or(v8::script_compiler::CachedData::rejected);
    Ok((script, rejected))
}

fn compile_source<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    source: &mut v8::script_compiler::Source,
) -> Result<v8::Local<'s, v8::UnboundScript>, Fault> {
    let options = if source.get_cached_data().is_some() {
        v8::script_compiler::CompileOptions::ConsumeCodeCache
    } else {
        v8::script_compiler::CompileOptions::NoCompileOptions
    };
    v8::tc_scope!(let scope, scope);
    let reason = v8::script_compiler::NoCacheReason::NoReason;
    v8::script_compiler::compile_unbound_script(scope, source, options, reason)
        .ok_or_else(|| convert::fault_from_compilation(scope).unwrap_or(Fault::Stopped))
}

/// Runs a compiled script in the current context and takes its last value out.
pub fn run_unbound<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    place: &Place,
    script: v8::Local<'s, v8::UnboundScript>,
    transfer: Transfer,
) -> Outcome {
    v8::tc_scope!(let scope, scope);
    let script = script.bind_to_current_context(scope);
    match script.run(scope) {
        Some(value) => super::transfer_out(scope, place, value, transfer),
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    }
}

pub fn compile_script(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let Some(Value::Handle(Handle::Isolate(isolate))) = target else {
        return Err(malformed());
    };
    let remote = Remote::from_owner(&isolate.0).ok_or_else(malformed)?;
    let code = args.text()?;
    let origin = Origin::from_args(&mut args)?;
    // Here and not in the isolate, whose thread may be busy, or still at making it.
    let cached = Cache::open(args.value());
    let produce = args.boolean();
    Ok(Prepared::Enter {
        remote,
        limits: Limits::default(),
        work: Box::new(move |scope, guest| {
            let realm = guest.spare_realm(scope);
            let context = v8::Local::new(scope, &realm.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            let (script, cache_rejected) = match &cached {
                Some(cached) => {
                    let (script, rejected) = compile_cached(scope, &code, &origin, cached)?;
                    (script, Some(rejected))
                }
                None => (compile(scope, &code, &origin)?, None),
            };
            let fresh = produce && cache_rejected != Some(false);
            let cache = fresh.then(|| script.create_code_cache()).flatten();
            let cache = cache.map(|cache| Arc::new(cache::seal(&cache)));
            let script = v8::Global::new(scope, script);
            let held = Held::Script(Rc::new(CompiledScript { script, cache_rejected, cache }));
            Ok(Value::Handle(Handle::Script(guest.hold(held)?)))
        }),
    })
}

/// `[rejected, data]` of a script's or module's compilation cache; `undefined` where it has no part in the compilation.
pub fn cached_data(target: Option<Value>) -> Result<Prepared, Fault> {
    let script = match target {
        Some(Value::Handle(Handle::Script(slot))) => slot,
        Some(Value::Handle(Handle::Module(module))) => Arc::clone(&module.slot),
        _ => return Err(malformed()),
    };
    let remote = Remote::from_owner(script.owner()).ok_or_else(malformed)?;
    Ok(Prepared::Enter {
        remote,
        limits: Limits::default(),
        work: Box::new(move |_scope, guest| {
            let found = guest.held(&script, |held| match held {
                Held::Script(script) => Some((script.cache_rejected, script.cache.clone())),
                Held::Module(module) => Some((module.cache_rejected, module.cache.clone())),
                _ => None,
            });
            let (rejected, cache) = found.ok_or_else(malformed)?;
            let rejected = rejected.map_or(Value::Undefined, Value::Boolean);
            let cache = cache.as_ref().map_or(Value::Undefined, cache::to_value);
            Ok(Value::List(vec![rejected, cache]))
        }),
    })
}

pub fn run(script: Option<Value>, context: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let (Some(Value::Handle(Handle::Script(script))), Some(Value::Handle(Handle::Context(context)))) =
        (script, context)
    else {
        return Err(malformed());
    };
    if script.owner().id() != context.slot.owner().id() {
        return Err(Fault::coded(ErrorClass::Error, "Invalid context", Code::InvalidArgument));
    }
    let transfer = Transfer::from_number(args.number()?);
    let limits = args.limits()?;
    let remote = Remote::from_owner(script.owner()).ok_or_else(malformed)?;
    let work = work_in_realm(Arc::clone(&context.slot), move |scope, place| {
        let held = place.guest.held(&script, |held| match held {
            Held::Script(compiled) => Some(v8::Local::new(scope, &compiled.script)),
            _ => None,
        });
        run_unbound(scope, place, held.ok_or_else(malformed)?, transfer)
    });
    Ok(Prepared::Enter { remote, limits, work })
}

//! Built-in scripts that run in realms whose snapshot does not contain them. V8 compiles them once.

use std::cell::RefCell;
use std::sync::OnceLock;

use v8::script_compiler::{CachedData, CompileOptions, NoCacheReason, Source, compile_unbound_script};

use super::SnapshotSource;

pub struct BootstrapScript {
    source: SnapshotSource,
    /// File name in stack frames.
    name: Option<&'static str>,
    /// Whether the script evaluates to a function that needs the modules that the source lacks.
    is_function: bool,
    text: OnceLock<String>,
    /// V8's code cache, with the functions that had run when it was created.
    cache: OnceLock<Vec<u8>>,
}

impl BootstrapScript {
    pub const fn new(source: SnapshotSource, name: Option<&'static str>) -> Self {
        Self { source, name, is_function: false, text: OnceLock::new(), cache: OnceLock::new() }
    }

    /// A script that evaluates to [`SnapshotSource::function`].
    pub const fn function(source: SnapshotSource) -> Self {
        Self { source, name: None, is_function: true, text: OnceLock::new(), cache: OnceLock::new() }
    }

    /// Compiles the script with all its functions in advance for the current isolate. Runs nothing.
    pub fn compile(&self, scope: &mut v8::PinScope<'_, '_>) -> Option<()> {
        let (source, origin) = self.source(scope)?;
        let mut source = Source::new(source, Some(&origin));
        compile_unbound_script(scope, &mut source, CompileOptions::EagerCompile, NoCacheReason::NoReason).map(drop)
    }

    /// Runs the script in the current realm, then `rest` with its result. `None` if an exception was thrown.
    pub fn run<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        rest: impl FnOnce(&mut v8::PinScope<'s, '_>, v8::Local<'s, v8::Value>) -> Option<()>,
    ) -> Option<()> {
        let script = self.compiled(scope)?;
        self.evaluate(scope, script, rest)
    }

    /// The same in an isolate from which a snapshot is made. There, V8 creates no code cache.
    pub fn run_for_snapshot<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        rest: impl FnOnce(&mut v8::PinScope<'s, '_>, v8::Local<'s, v8::Value>) -> Option<()>,
    ) -> Option<()> {
        let result = self.compiled(scope)?.bind_to_current_context(scope).run(scope)?;
        rest(scope, result)
    }

    /// The same as [`BootstrapScript::run`], with the compiled script in `kept`, which belongs to the isolate, for its other realms.
    pub fn run_cached<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        kept: &RefCell<Option<v8::Global<v8::UnboundScript>>>,
        rest: impl FnOnce(&mut v8::PinScope<'s, '_>, v8::Local<'s, v8::Value>) -> Option<()>,
    ) -> Option<()> {
        let known = kept.borrow().as_ref().map(|script| v8::Local::new(scope, script));
        let script = match known {
            Some(script) => script,
            None => {
                let script = self.compiled(scope)?;
                *kept.borrow_mut() = Some(v8::Global::new(scope, script));
                script
            }
        };
        self.evaluate(scope, script, rest)
    }

    fn compiled<'s>(&self, scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::UnboundScript>> {
        let (source, origin) = self.source(scope)?;
        let (mut source, options) = match self.cache.get() {
            Some(bytes) => {
                let source = Source::new_with_cached_data(source, Some(&origin), CachedData::new(bytes));
                (source, CompileOptions::ConsumeCodeCache)
            }
            None => (Source::new(source, Some(&origin)), CompileOptions::NoCompileOptions),
        };
        compile_unbound_script(scope, &mut source, options, NoCacheReason::NoReason)
    }

    fn evaluate<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        script: v8::Local<'s, v8::UnboundScript>,
        rest: impl FnOnce(&mut v8::PinScope<'s, '_>, v8::Local<'s, v8::Value>) -> Option<()>,
    ) -> Option<()> {
        let result = script.bind_to_current_context(scope).run(scope)?;
        rest(scope, result)?;
        if self.cache.get().is_none()
            && let Some(cache) = script.create_code_cache()
        {
            // Another thread may have been faster.
            let _ = self.cache.set(cache.to_vec());
        }
        Some(())
    }

    fn source<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
    ) -> Option<(v8::Local<'s, v8::String>, v8::ScriptOrigin<'s>)> {
        let text =
            self.text.get_or_init(|| if self.is_function { self.source.function() } else { self.source.script() });
        let source = v8::String::new_from_one_byte(scope, text.as_bytes(), v8::NewStringType::Normal)?;
        let name: v8::Local<v8::Value> = match self.name {
            Some(name) => v8::String::new(scope, name)?.into(),
            None => v8::undefined(scope).into(),
        };
        Some((source, v8::ScriptOrigin::new(scope, name, 0, 0, false, -1, None, false, false, false, None)))
    }
}

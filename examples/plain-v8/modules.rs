//! Modules: files beside the test.

use std::path::{Path, PathBuf};

use crate::host::with_state;

/// A module that was compiled, and what for.
pub struct Known {
    path: PathBuf,
    kind: String,
    module: v8::Global<v8::Module>,
}

/// An `import()` that was asked for.
pub struct Import {
    path: PathBuf,
    kind: String,
    resolver: v8::Global<v8::PromiseResolver>,
}

/// Items of V8 for an attribute: of a static import, with where it stands, and of `import()`.
const STATIC: usize = 3;
const DYNAMIC: usize = 2;

type ErrorOf = for<'s> fn(&v8::PinScope<'s, '_>, v8::Local<'_, v8::String>) -> v8::Local<'s, v8::Value>;

fn throw(scope: &mut v8::PinScope<'_, '_>, error: ErrorOf, message: &str) {
    if let Some(message) = v8::String::new(scope, message) {
        let error = error(scope, message);
        scope.throw_exception(error);
    }
}

/// The attribute `type`; throws for others.
fn kind_of(
    scope: &mut v8::PinScope<'_, '_>,
    attributes: v8::Local<'_, v8::FixedArray>,
    stride: usize,
) -> Option<String> {
    let mut kind = String::new();
    for index in (0..attributes.length()).step_by(stride) {
        let text = |index| {
            let item = v8::Local::<v8::Value>::try_from(attributes.get(scope, index)?).ok()?;
            Some(item.to_rust_string_lossy(scope))
        };
        let (key, value) = (text(index)?, text(index + 1)?);
        if key != "type" {
            let error: ErrorOf = if stride == STATIC { v8::Exception::syntax_error } else { v8::Exception::type_error };
            throw(scope, error, "no such import attribute");
            return None;
        }
        kind = value;
    }
    Some(kind)
}

/// A module known by its path and type, compiled on first use. Throws where that fails.
fn module_at<'s>(scope: &mut v8::PinScope<'s, '_>, path: &Path, kind: &str) -> Option<v8::Local<'s, v8::Module>> {
    let known = with_state(|state| {
        let mut modules = state.modules.iter();
        modules.find(|known| known.path == path && known.kind == kind).map(|known| known.module.clone())
    });
    if let Some(Some(module)) = known {
        return Some(v8::Local::new(scope, &module));
    }
    let Ok(bytes) = std::fs::read(path) else {
        throw(scope, v8::Exception::error, "no such module");
        return None;
    };
    let text = String::from_utf8_lossy(&bytes);
    let quoted = serde_json::Value::from(&*text);
    let source = match kind {
        "" => text.into_owned(),
        "json" => {
            let json = v8::String::new(scope, &text)?;
            v8::json::parse(scope, json)?;
            format!("export default JSON.parse({quoted});")
        }
        "text" => format!("export default {quoted};"),
        _ => {
            throw(scope, v8::Exception::type_error, "no such type of module");
            return None;
        }
    };
    compile(scope, &source, path, kind)
}

pub fn compile<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    source: &str,
    path: &Path,
    kind: &str,
) -> Option<v8::Local<'s, v8::Module>> {
    let (code, name) = (v8::String::new(scope, source)?, v8::String::new(scope, &path.to_string_lossy())?);
    let origin = v8::ScriptOrigin::new(scope, name.into(), 0, 0, false, 0, None, false, false, true, None);
    let mut source = v8::script_compiler::Source::new(code, Some(&origin));
    let module = v8::script_compiler::compile_module(scope, &mut source)?;
    let known = Known { path: path.to_owned(), kind: kind.to_owned(), module: v8::Global::new(scope, module) };
    with_state(|state| state.modules.push(known));
    Some(module)
}

/// V8 asks for what a module imports.
pub fn resolve<'s>(
    context: v8::Local<'s, v8::Context>,
    specifier: v8::Local<'s, v8::String>,
    attributes: v8::Local<'s, v8::FixedArray>,
    referrer: v8::Local<'s, v8::Module>,
) -> Option<v8::Local<'s, v8::Module>> {
    v8::callback_scope!(unsafe let scope, context);
    let kind = kind_of(scope, attributes, STATIC)?;
    let referrer = v8::Global::new(scope, referrer);
    let from = with_state(|state| {
        state.modules.iter().find(|known| known.module == referrer).map(|known| known.path.clone())
    })??;
    let path = beside(&from, &specifier.to_rust_string_lossy(scope));
    module_at(scope, &path, &kind)
}

fn beside(path: &Path, specifier: &str) -> PathBuf {
    path.parent().map(|folder| folder.join(specifier.trim_start_matches("./"))).unwrap_or_default()
}

/// Code calls `import()`: that is for later.
pub fn import<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    _options: v8::Local<'s, v8::Data>,
    referrer: v8::Local<'s, v8::Value>,
    specifier: v8::Local<'s, v8::String>,
    attributes: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    let resolver = v8::PromiseResolver::new(scope)?;
    v8::tc_scope!(let scope, scope);
    match kind_of(scope, attributes, DYNAMIC) {
        Some(kind) => {
            let specifier = specifier.to_rust_string_lossy(scope);
            let referrer = PathBuf::from(referrer.to_rust_string_lossy(scope));
            let resolver = v8::Global::new(scope, resolver);
            with_state(|state| {
                let from = if referrer.is_absolute() { &referrer } else { &state.test };
                let path = beside(from, &specifier);
                state.imports.push_back(Import { path, kind, resolver });
            });
        }
        None => {
            let reason = scope.exception()?;
            resolver.reject(scope, reason)?;
        }
    }
    Some(resolver.get_promise(scope))
}

/// Does what the oldest `import()` asked for; false if there is none.
pub fn load_next(scope: &mut v8::PinScope<'_, '_>) -> bool {
    let Some(Some(Import { path, kind, resolver })) = with_state(|state| state.imports.pop_front()) else {
        return false;
    };
    v8::tc_scope!(let scope, scope);
    let resolver = v8::Local::new(scope, &resolver);
    if load(scope, &path, &kind, resolver).is_none()
        && let Some(reason) = scope.exception()
    {
        scope.reset();
        let _ = resolver.reject(scope, reason);
    }
    true
}

/// Links and evaluates a module; `resolver` settles with its namespace. Throws where it does not come so far.
fn load(
    scope: &mut v8::PinScope<'_, '_>,
    path: &Path,
    kind: &str,
    resolver: v8::Local<'_, v8::PromiseResolver>,
) -> Option<()> {
    let module = module_at(scope, path, kind)?;
    module.instantiate_module(scope, resolve)?;
    let evaluated = v8::Local::<v8::Promise>::try_from(module.evaluate(scope)?).ok()?;
    let resolver = v8::Local::new(scope, resolver);
    let both = v8::Array::new_with_elements(scope, &[resolver.into(), module.get_module_namespace()]).into();
    let done = v8::Function::builder(on_evaluated).data(both).build(scope)?;
    let failed = v8::Function::builder(on_failed).data(both).build(scope)?;
    evaluated.then2(scope, done, failed).map(drop)
}

type Arguments<'s> = v8::FunctionCallbackArguments<'s>;
type Answer<'s> = v8::ReturnValue<'s, v8::Value>;

fn on_evaluated<'s>(scope: &mut v8::PinScope<'s, '_>, args: Arguments<'s>, _answer: Answer<'s>) {
    if let Some((resolver, namespace)) = importer(scope, &args) {
        let _ = resolver.resolve(scope, namespace);
    }
}

fn on_failed<'s>(scope: &mut v8::PinScope<'s, '_>, args: Arguments<'s>, _answer: Answer<'s>) {
    if let Some((resolver, _)) = importer(scope, &args) {
        let _ = resolver.reject(scope, args.get(0));
    }
}

fn importer<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: &Arguments<'s>,
) -> Option<(v8::Local<'s, v8::PromiseResolver>, v8::Local<'s, v8::Value>)> {
    let both = v8::Local::<v8::Array>::try_from(args.data()).ok()?;
    let promise = both.get_index(scope, 0).filter(|value| value.is_promise())?;
    // SAFETY: a resolver is its promise under another name, and this one came from `load`.
    let resolver = unsafe { v8::Local::<v8::PromiseResolver>::cast_unchecked(promise) };
    Some((resolver, both.get_index(scope, 1)?))
}

//! A sandbox's modules: a map from names to sources, given by the host. They are found, linked and evaluated in the isolate itself, under
//! the limits of its code, without any calls outside. A source becomes a string in the guest when it is first imported.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use url::Url;

use super::code::UserCode;
use super::specifier::{self, MAX_SPECIFIER, shown};
use crate::convert::{self, cap};
use crate::guest::import;
use crate::isolate::{self, GuestRealm, Unit};
use crate::native::{Guard, lock};
use crate::ops;
use crate::protocol::{MAIN_FILE, MODULE_ROOT as ROOT};
use crate::value::{Code, ErrorClass, Fault, Text};

/// The name of the code itself. No module has this name.
pub const MAIN: &str = MAIN_FILE;

/// The name by which added code can be imported.
pub fn name(number: usize) -> String {
    format!("{MAIN}#{number}")
}

/// The maximum number of pieces of added code that are kept until they are imported.
const MAX_KEPT_SOURCES: usize = 10_000;

/// The modules as the host passes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Sources {
    /// The name and length of each source, in the order of the text, each followed by a NUL.
    pub index: Text,
    /// All sources, concatenated.
    pub text: Text,
}

struct Source {
    name: Text,
    url: Url,
    text: Text,
    line: i32,
    column: i32,
}

/// The parts of [`Sources`]; made for the first import.
struct Index {
    names: Vec<(Text, Url, Range<usize>)>,
    places: HashMap<Url, usize>,
}

impl Index {
    fn read(sources: &Sources, root: &Url) -> Self {
        let index = sources.index.to_string();
        let mut parts = index.split('\0');
        let mut read = Self { names: Vec::new(), places: HashMap::new() };
        let mut start = 0_usize;
        while let (Some(name), Some(length)) = (parts.next(), parts.next()) {
            let end =
                length.parse().map_or(start, |length: usize| start.saturating_add(length)).min(sources.text.len());
            // The surface has refused names that are not URLs.
            if let Ok(url) = root.join(name) {
                read.places.entry(url.clone()).or_insert(read.names.len());
                read.names.push((Text::from(name), url, start..end));
            }
            start = end;
        }
        read
    }
}

/// The modules of an isolate, by number: first those of the map, then added code.
pub struct Graph {
    root: Option<Url>,
    sources: Sources,
    index: OnceLock<Index>,
    /// Only the isolate's thread takes this lock, and never while V8 compiles, links or runs anything.
    entries: Mutex<Entries>,
}

/// What changes as code is added and modules are imported.
#[derive(Default)]
struct Entries {
    /// Code that imports from the map, but is not in it.
    added: BTreeMap<usize, Arc<Source>>,
    last_added: usize,
    compiled: HashMap<usize, v8::Global<v8::Module>>,
    /// The numbers of modules, by V8's hash of them.
    numbers: HashMap<std::num::NonZeroI32, Vec<usize>>,
    /// The exports of JSON modules that have not been evaluated.
    values: HashMap<usize, v8::Global<v8::Value>>,
}

impl Entries {
    /// See [`Graph::forget`].
    fn forget(&mut self, number: usize) {
        if self.added.remove(&number).is_some() && self.compiled.remove(&number).is_some() {
            self.numbers.retain(|_, numbers| {
                numbers.retain(|each| *each != number);
                !numbers.is_empty()
            });
        }
    }
}

impl Graph {
    /// Makes the modules importable for code of this isolate.
    pub fn install(scope: &mut v8::Isolate, sources: Sources) {
        let root = Url::parse(ROOT).ok();
        let graph = Self { root, sources, index: OnceLock::new(), entries: Mutex::default() };
        isolate::attach(scope, Arc::new(graph));
        scope.set_host_import_module_dynamically_callback(on_import);
    }

    pub fn of(scope: &v8::Isolate) -> Option<Arc<Self>> {
        isolate::attached(scope)
    }

    fn entries(&self) -> Guard<'_, Entries> {
        lock(&self.entries)
    }

    fn root(&self) -> Result<&Url, Fault> {
        self.root.as_ref().ok_or_else(ops::malformed)
    }

    fn index(&self) -> Result<&Index, Fault> {
        let root = self.root()?;
        Ok(self.index.get_or_init(|| Index::read(&self.sources, root)))
    }

    fn source(&self, number: usize) -> Result<Arc<Source>, Fault> {
        let index = self.index()?;
        let Some((name, url, range)) = index.names.get(number) else {
            return self.entries().added.get(&number).cloned().ok_or_else(ops::malformed);
        };
        let text = match &self.sources.text {
            Text::Latin1(bytes) => Text::Latin1(bytes[range.clone()].into()),
            Text::Utf16(units) => Text::from_utf16(units[range.clone()].to_vec()),
        };
        Ok(Arc::new(Source { name: name.clone(), url: url.clone(), text, line: 0, column: 0 }))
    }

    /// Compiles code that imports from the map, and is called `file` in stacks. Returns its number; it can be imported by its [`name`].
    pub fn add(&self, scope: &mut v8::PinScope<'_, '_>, main: &UserCode, file: Text) -> Result<usize, Fault> {
        let number = {
            let mut entries = self.entries();
            entries.last_added += 1;
            self.index()?.names.len() + entries.last_added
        };
        let url = self.root()?.join(&name(number)).map_err(|_| ops::malformed())?;
        let UserCode { text, line, column } = main;
        let source = Source { name: file, url, text: text.clone(), line: *line, column: *column };
        self.entries().added.insert(number, Arc::new(source));
        self.compile(scope, number).inspect_err(|_| self.forget(number))?;
        // Drop the oldest code that was not imported.
        let mut entries = self.entries();
        let oldest = entries.added.first_key_value().map(|(number, _)| *number);
        if let Some(oldest) = oldest.filter(|oldest| number - oldest > MAX_KEPT_SOURCES) {
            entries.forget(oldest);
        }
        Ok(number)
    }

    /// Forgets added code once its import has begun: it is not asked for again.
    fn forget(&self, number: usize) {
        self.entries().forget(number);
    }

    /// The module with that number and all that it imports, ready to be evaluated.
    pub fn linked<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        number: usize,
    ) -> Result<v8::Local<'s, v8::Module>, Fault> {
        let root = self.compile(scope, number)?;
        if root.get_status() != v8::ModuleStatus::Uninstantiated {
            return Ok(root);
        }
        self.compile_all(scope, number)?;
        v8::tc_scope!(let scope, scope);
        if root.instantiate_module(scope, resolve) == Some(true) && !scope.has_caught() {
            return Ok(root);
        }
        Err(convert::fault_from_compilation(scope).unwrap_or(Fault::Stopped))
    }

    /// Compiles everything that a module imports, directly or indirectly.
    fn compile_all(&self, scope: &mut v8::PinScope<'_, '_>, number: usize) -> Result<(), Fault> {
        let mut seen = HashSet::from([number]);
        let mut waiting = vec![number];
        while let Some(number) = waiting.pop() {
            v8::scope!(let scope, scope);
            let module = self.compile(scope, number)?;
            if module.get_status() != v8::ModuleStatus::Uninstantiated {
                continue;
            }
            let requests = module.get_module_requests();
            for at in 0..requests.length() {
                let request =
                    requests.get(scope, at).and_then(|data| v8::Local::<v8::ModuleRequest>::try_from(data).ok());
                let request = request.ok_or_else(ops::malformed)?;
                let found = self.requested(scope, number, &request).map_err(|fault| {
                    let location = module.source_offset_to_location(request.get_source_offset());
                    self.located(fault, number, location.get_line_number() + 1, location.get_column_number() + 1)
                })?;
                if seen.insert(found) {
                    waiting.push(found);
                }
            }
        }
        Ok(())
    }

    fn requested(
        &self,
        scope: &mut v8::PinScope<'_, '_>,
        referrer: usize,
        request: &v8::ModuleRequest,
    ) -> Result<usize, Fault> {
        if request.get_phase() == v8::ModuleImportPhase::kSource {
            return Err(unsupported(ErrorClass::SyntaxError, "Source phase imports are not supported"));
        }
        let attributes = ops::attributes_of(scope, request.get_import_attributes(), 3)?;
        let json = is_for_json(&attributes, ErrorClass::SyntaxError)?;
        let specifier = specifier::read(scope, request.get_specifier());
        self.find_as(&specifier, Some(referrer), json)
    }

    /// Like [`Graph::find`], for an import that says whether it is for JSON.
    fn find_as(&self, specifier: &str, referrer: Option<usize>, json: bool) -> Result<usize, Fault> {
        let number = self.find(specifier, referrer)?;
        let (name, url) = self.source_name(number)?;
        match (is_json(&url), json) {
            (true, false) => {
                Err(Fault::error(&format!("Module '{name}' is JSON, which imports must say: with {{ type: 'json' }}")))
            }
            (false, true) => {
                Err(Fault::error(&format!("Module '{name}' is not JSON: the names of such modules end in .json")))
            }
            _ => Ok(number),
        }
    }

    /// Adds the position of a static import to a fault, as the compiler does for its errors.
    fn located(&self, fault: Fault, number: usize, line: i32, column: i32) -> Fault {
        match (fault, self.source(number)) {
            (Fault::Error(mut error), Ok(source)) => {
                error.stack = Text::from(format!("\n    at {}:{line}:{column}{}", source.name, error.stack));
                Fault::Error(error)
            }
            (fault, _) => fault,
        }
    }

    /// The number of the module that `specifier` refers to in a module, or in the code itself.
    fn find(&self, specifier: &str, referrer: Option<usize>) -> Result<usize, Fault> {
        let root = self.root()?;
        // Added code that was forgotten has no place of its own.
        let source = referrer.and_then(|number| self.source_name(number).ok());
        let base = source.as_ref().map_or(root, |(_, url)| url);
        let is_relative = ["./", "../", "/"].iter().any(|start| specifier.starts_with(start));
        let url = if specifier.is_empty() || specifier.len() > MAX_SPECIFIER {
            None
        } else {
            base.join(specifier).ok().filter(|_| is_relative).or_else(|| root.join(specifier).ok())
        };
        let found = url.and_then(|url| {
            let added = || {
                let entries = self.entries();
                entries.added.iter().find(|(_, source)| source.url == url).map(|(number, _)| *number)
            };
            self.index().ok()?.places.get(&url).copied().or_else(added)
        });
        found.ok_or_else(|| {
            let by = source.map_or_else(|| Text::from(MAIN), |(name, _)| name);
            Fault::error(&format!("Cannot find module '{}' imported by {by}", shown(specifier)))
        })
    }

    fn source_name(&self, number: usize) -> Result<(Text, Url), Fault> {
        let index = self.index()?;
        match index.names.get(number) {
            Some((name, url, _)) => Ok((name.clone(), url.clone())),
            None => self.source(number).map(|source| (source.name.clone(), source.url.clone())),
        }
    }

    fn compile<'s>(&self, scope: &mut v8::PinScope<'s, '_>, number: usize) -> Result<v8::Local<'s, v8::Module>, Fault> {
        if let Some(module) = self.compiled(scope, number) {
            // A module that was stopped by a limit starts over.
            if module.get_status() != v8::ModuleStatus::Errored || !module.get_exception().is_null() {
                return Ok(module);
            }
        }
        GuestRealm::current(scope)?.guest.check_stopping()?;
        let source = self.source(number)?;
        let module = if is_json(&source.url) {
            self.compile_json(scope, number, &source)?
        } else {
            self.compile_source(scope, number, &source)?
        };
        let compiled = v8::Global::new(scope, module);
        let mut entries = self.entries();
        entries.numbers.entry(module.get_identity_hash()).or_default().push(number);
        entries.compiled.insert(number, compiled);
        Ok(module)
    }

    fn compile_source<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        number: usize,
        source: &Source,
    ) -> Result<v8::Local<'s, v8::Module>, Fault> {
        let origin = ops::Origin { filename: source.name.clone(), line: source.line, column: source.column };
        // Module numbers are small, so strings for them are cached.
        let known = ops::numbered(scope, number as u32);
        let compiling = ops::Compiling::begin(scope, &source.text, &origin, ops::Form::Module);
        let origin = origin.to_v8_module(scope, Some(known))?;
        let text = convert::text_to_v8(scope, &source.text)?;
        v8::tc_scope!(let scope, scope);
        let (mut source, options) = compiling.source(text, &origin);
        let reason = v8::script_compiler::NoCacheReason::NoReason;
        let module = v8::script_compiler::compile_module2(scope, &mut source, options, reason)
            .ok_or_else(|| convert::fault_from_compilation(scope).unwrap_or(Fault::Stopped))?;
        compiling.end(scope, &source, |scope| Unit::of_module(scope, module));
        Ok(module)
    }

    /// Makes a module whose default export is the parsed text. The value is kept until the module is evaluated.
    fn compile_json<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        number: usize,
        source: &Source,
    ) -> Result<v8::Local<'s, v8::Module>, Fault> {
        let text = convert::text_to_v8(scope, &source.text)?;
        let name = convert::text_to_v8(scope, &source.name)?;
        let exports = [v8::String::new(scope, DEFAULT).ok_or(Fault::Stopped)?];
        v8::tc_scope!(let scope, scope);
        let Some(value) = v8::json::parse(scope, text) else {
            let place =
                scope.message().and_then(|found| Some((found.get_line_number(scope)?, found.get_start_column() + 1)));
            return Err(match (convert::fault_from_caught(scope).unwrap_or(Fault::Stopped), place) {
                (Fault::Error(mut error), Some((line, column))) => {
                    let place = format!("{}:{line}:{column}", source.name);
                    error.message = Text::from(format!("{} [{place}]", error.message));
                    error.stack = Text::from(format!("\n    at {place}"));
                    Fault::Error(error)
                }
                (fault, _) => fault,
            });
        };
        self.entries().values.insert(number, v8::Global::new(scope, value));
        Ok(v8::Module::create_synthetic_module(scope, name, &exports, evaluate_json))
    }

    fn number_of(&self, module: v8::Local<'_, v8::Module>) -> Option<usize> {
        let Entries { numbers, compiled, .. } = &*self.entries();
        let same = numbers.get(&module.get_identity_hash())?;
        same.iter().copied().find(|number| compiled.get(number).is_some_and(|each| *each == module))
    }

    fn compiled<'s>(&self, scope: &v8::PinScope<'s, '_>, number: usize) -> Option<v8::Local<'s, v8::Module>> {
        self.entries().compiled.get(&number).map(|module| v8::Local::new(scope, module))
    }
}

const DEFAULT: &str = "default";

/// Whether a module is JSON, by its name.
fn is_json(url: &Url) -> bool {
    url.path().ends_with(".json")
}

/// Whether an import with these attributes is for JSON.
fn is_for_json(attributes: &[(Text, Text)], class: ErrorClass) -> Result<bool, Fault> {
    ops::check_attributes(attributes, class)?;
    match attributes.first() {
        None => Ok(false),
        Some((_, kind)) if *kind == Text::from("json") => Ok(true),
        Some((_, kind)) => {
            Err(unsupported(class, &format!("Import attribute \"type\" with value \"{kind}\" is not supported")))
        }
    }
}

/// V8's callback that evaluates a JSON module.
fn evaluate_json<'s>(
    context: v8::Local<'s, v8::Context>,
    module: v8::Local<'s, v8::Module>,
) -> Option<v8::Local<'s, v8::Value>> {
    // SAFETY: V8 calls this on the isolate's thread, from within `evaluate`, with the context it was given.
    v8::callback_scope!(unsafe let scope, context);
    let graph = Graph::of(scope)?;
    let value = graph.number_of(module).and_then(|number| graph.entries().values.remove(&number));
    let value = match value {
        Some(value) => v8::Local::new(scope, value),
        None => v8::undefined(scope).into(),
    };
    let key = v8::String::new(scope, DEFAULT)?;
    module.set_synthetic_module_export(scope, key, value)?;
    let resolver = v8::PromiseResolver::new(scope)?;
    let nothing = v8::undefined(scope).into();
    resolver.resolve(scope, nothing)?;
    Some(resolver.get_promise(scope).into())
}

fn unsupported(class: ErrorClass, message: &str) -> Fault {
    Fault::coded(class, message, Code::Unsupported)
}

/// V8's callback that resolves a request to its module, which is already compiled.
fn resolve<'s>(
    context: v8::Local<'s, v8::Context>,
    specifier: v8::Local<'s, v8::String>,
    _attributes: v8::Local<'s, v8::FixedArray>,
    referrer: v8::Local<'s, v8::Module>,
) -> Option<v8::Local<'s, v8::Module>> {
    // SAFETY: V8 calls this on the isolate's thread, from within `instantiate_module`, with the context it was given.
    v8::callback_scope!(unsafe let scope, context);
    let graph = Graph::of(scope)?;
    let specifier = specifier::read(scope, specifier);
    let number = graph.number_of(referrer).and_then(|referrer| graph.find(&specifier, Some(referrer)).ok());
    let found = number.and_then(|number| graph.compiled(scope, number));
    if found.is_none() {
        let message = v8::String::new(scope, "Dependency was left unresolved")?;
        let exception = v8::Exception::error(scope, message);
        scope.throw_exception(exception);
    }
    found
}

/// V8's callback for `import()`. It finds the module at once, and evaluates it in a microtask.
fn on_import<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    options: v8::Local<'s, v8::Data>,
    _resource_name: v8::Local<'s, v8::Value>,
    specifier: v8::Local<'s, v8::String>,
    attributes: v8::Local<'s, v8::FixedArray>,
) -> Option<v8::Local<'s, v8::Promise>> {
    let _lifted = cap::lift();
    let at = GuestRealm::current(scope).ok()?;
    let graph = Graph::of(scope)?;
    let resolver = v8::PromiseResolver::new(scope)?;
    let specifier = specifier::read(scope, specifier);
    let referrer = import::number_of(scope, options).map(|number| number as usize);
    let found = ops::attributes_of(scope, attributes, 2)
        .and_then(|attributes| is_for_json(&attributes, ErrorClass::TypeError))
        .and_then(|json| graph.find_as(&specifier, referrer, json));
    let begun = found.and_then(|number| {
        let number = v8::Number::new(scope, number as f64).into();
        let data = import::importer_data(scope, resolver, number);
        let begin = v8::Function::builder(on_turn).data(data).build(scope).ok_or(Fault::Stopped)?;
        scope.enqueue_microtask(begin);
        Ok(())
    });
    if let Err(fault) = begun {
        import::reject(scope, &at, resolver, &fault);
    }
    Some(resolver.get_promise(scope))
}

/// The microtask of an `import()`.
fn on_turn<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<v8::Value>,
) {
    let _lifted = cap::lift();
    let (Some(graph), Ok(at)) = (Graph::of(scope), GuestRealm::current(scope)) else { return };
    let Some((resolver, number)) = import::importer(scope, &args) else { return };
    let Some(number) = number.number_value(scope) else { return };
    let number = number as usize;
    let linked = graph.linked(scope, number);
    graph.forget(number);
    if let Err(fault) = linked.and_then(|module| import::evaluate_for(scope, resolver, module)) {
        import::reject(scope, &at, resolver, &fault);
    }
}

//! Installs globals of the ready-made sandboxes in a context of an ordinary isolate, for plugins and for `createContext`.

use std::sync::{Arc, Weak};
use std::time::Instant;

use super::code::UserCode;
use super::modules::{Graph, Sources, name};
use super::property::put;
use super::refused_modules::{self, is_for_modules};
use super::template::names;
use super::timers::{self, Timers};
use super::{actors, console, shadows};
use crate::convert;
use crate::isolate::{GuestRealm, Limits, Remote};
use crate::ops::{self, Prepared, Record, Transfer};
use crate::protocol::context_globals;
use crate::value::{
    Callable, Chain, Charge, Code, Completion, ContextHandle, Fault, NoCompletion, Outcome, Text, Value,
};
use crate::web::{self, Names};

pub struct ContextGlobals {
    /// A function of the host that receives failures in timers, as an error's code, name and message.
    pub timers: Option<Arc<Callable>>,
    pub web: Names,
    pub modules: Option<Sources>,
    /// The maximum number of characters of a console entry's text, if console entries are wanted.
    pub log_length: Option<usize>,
    /// Whether the context is that of a plugin, which has a console in any case, and actors.
    pub is_plugin: bool,
}

impl ContextGlobals {
    /// Reads what the host declares, see `CONTEXT_GLOBALS`.
    pub fn read(mut record: Record) -> Result<ContextGlobals, Fault> {
        let (index, text) = (
            record.optional_text(context_globals::MODULE_INDEX)?,
            record.optional_text(context_globals::MODULE_SOURCES)?,
        );
        Ok(Self {
            timers: record.optional_function(context_globals::TIMERS)?,
            web: Names::from_bits(record.number(context_globals::WEB)? as u32),
            modules: index.zip(text).map(|(index, text)| Sources { index, text }),
            log_length: match record.value(context_globals::MAX_LOG_LENGTH) {
                Value::Number(length) => Some(length as usize),
                _ => None,
            },
            is_plugin: record.number(context_globals::IS_PLUGIN)? != 0.0,
        })
    }
}

/// Installs the globals before other code runs in the context. Contexts of one isolate share their timers. Returns a list of functions for
/// the library's code there: for a plugin those of [`actors`], and if console entries are wanted, one that formats a list of console
/// arguments.
pub fn install(context: &ContextHandle, globals: ContextGlobals) -> Prepared {
    let Some(remote) = Remote::from_owner(context.slot.owner()) else {
        return Prepared::from(ops::malformed());
    };
    let weak = Arc::downgrade(&remote);
    let work = ops::work_in_realm(Arc::clone(&context.slot), move |scope, at| {
        let (log_length, is_plugin) = (globals.log_length, globals.is_plugin);
        install_in_realm(scope, at, &weak, globals)?;
        let mut functions = Vec::new();
        if is_plugin {
            functions.extend(actors::functions(scope).ok_or(Fault::Stopped)?);
        }
        if let Some(length) = log_length {
            functions.push(console::formatter(scope, length).ok_or(Fault::Stopped)?);
        }
        let functions: Vec<_> = functions.into_iter().map(v8::Local::<v8::Value>::from).collect();
        let functions = v8::Array::new_with_elements(scope, &functions);
        ops::transfer_out(scope, at, functions.into(), Transfer(Transfer::REFERENCE))
    });
    Prepared::Enter { remote, limits: Limits::standard(), work }
}

fn install_in_realm(
    scope: &mut v8::PinScope<'_, '_>,
    at: &GuestRealm,
    remote: &Weak<Remote>,
    globals: ContextGlobals,
) -> Result<(), Fault> {
    v8::tc_scope!(let scope, scope);
    let global = scope.get_current_context().global(scope);
    web::begin(scope, globals.web, Instant::now());
    if at.guest.remote()?.settings.snapshot.is_some() {
        check_names(scope, global, &globals)?;
    }
    if let Some(function) = globals.timers {
        if !timers::has_begun(scope) {
            let remote = remote.clone();
            let reporter: Arc<dyn Completion> = Arc::new(Reporter { function, remote });
            let timers = Timers::new(&at.guest.remote()?, Box::new(move || Some(Arc::clone(&reporter))));
            timers::begin(scope, &timers);
        }
        timers::install(scope, global)?;
    }
    match globals.modules {
        Some(sources) => Graph::install(scope, sources),
        None if globals.is_plugin => refused_modules::refuse(scope),
        // `import()` belongs to the isolate: its option, or the resolvers of its modules, handle it.
        None => {}
    }
    web::install(scope, globals.web)
}

/// The names on a plugin's global object that are not installed here.
const OWN: [&str; 2] = ["context", "pluginId"];

/// Refuses a snapshot that declares one of the names that the context gets. None of the properties exists yet, except for web APIs that the
/// snapshot has.
fn check_names(
    scope: &mut v8::PinScope<'_, '_>,
    global: v8::Local<'_, v8::Object>,
    globals: &ContextGlobals,
) -> Result<(), Fault> {
    let has_console = globals.is_plugin || globals.log_length.is_some();
    let names = names(globals.timers.is_some(), globals.web).filter(|name| has_console || *name != "console");
    let own = if globals.is_plugin { &OWN[..] } else { &[] };
    let names: Vec<_> = names.chain(own.iter().copied()).collect();
    let missing: Vec<_> = web::connect(scope, globals.web)?.list().collect();
    let exists = |name: &str| globals.web.list().any(|each| each == name) && !missing.contains(&name);
    // User code may use this as its own name for the global object, so it is not checked.
    let global_name = globals.is_plugin.then_some("global");
    let made: Vec<_> = names.iter().copied().chain(global_name).filter(|name| !exists(name)).map(Text::from).collect();
    let mark = v8::Object::new(scope).into();
    for name in &made {
        let key = convert::text_to_v8(scope, name)?;
        put(scope, global, key.into(), mark)?;
    }
    shadows::check(scope, global, names.iter().copied().map(Text::from))?;
    for name in &made {
        let key = convert::text_to_v8(scope, name)?;
        // Properties that the snapshot has declared with `var` stay, and are overwritten.
        global.delete(scope, key.into()).ok_or(Fault::Stopped)?;
    }
    Ok(())
}

/// If code is a module rather than a script, returns the name by which it can be imported; undefined for a script. For a context that has
/// modules. `file` is the code's name in stacks.
pub fn adopt(context: &ContextHandle, code: Text, file: Text, limits: Limits) -> Prepared {
    let Some(remote) = Remote::from_owner(context.slot.owner()) else {
        return Prepared::from(ops::malformed());
    };
    let work = ops::work_in_realm(Arc::clone(&context.slot), move |scope, _at| {
        let origin = ops::Origin { filename: file.clone(), line: 0, column: 0 };
        let script = ops::compile(scope, &code, &origin).map(drop);
        let Err(fault) = script else { return Ok(Value::Undefined) };
        let graph = Graph::of(scope).ok_or_else(ops::malformed)?;
        match graph.add(scope, &UserCode { text: code, line: 0, column: 0 }, file) {
            Ok(number) => Ok(Value::String(Text::from(name(number)))),
            Err(own) if is_for_modules(&fault) => Err(own),
            // Running the code reports this error.
            Err(_) => Ok(Value::Undefined),
        }
    });
    Prepared::Enter { remote, limits, work }
}

/// Reports failures to the host, as long as the host keeps up.
struct Reporter {
    function: Arc<Callable>,
    remote: Weak<Remote>,
}

impl Completion for Reporter {
    fn complete(&self, outcome: Outcome) {
        let (Err(fault), Some(remote)) = (outcome, self.remote.upgrade()) else { return };
        let (code, name) = match &fault {
            Fault::Error(error) if error.code == Some(Code::Disposed) => return,
            Fault::Error(error) => (error.code, error.name.clone().unwrap_or_else(|| Text::from(error.class.name()))),
            Fault::Thrown(_) | Fault::Stopped => (None, Text::from("Error")),
        };
        let message: String = fault.message().chars().take(MAX_MESSAGE).collect();
        let code = code.map_or(Value::Undefined, |code| Value::String(Text::from(code.name())));
        let Some(charge) = Charge::take(&remote.accounts.posted, COST) else { return };
        let args = vec![code, Value::String(name), Value::String(Text::from(message))];
        if let Ok(prepared) = ops::call_callable(&self.function, args) {
            let prepared = prepared.requested_by(&remote);
            prepared.dispatch(crate::isolate::Kind::Task, Chain::default(), charge, Arc::new(NoCompletion));
        }
    }
}

/// The maximum number of characters of a reported message.
const MAX_MESSAGE: usize = 1_000;

/// The maximum memory of a report on its way to the host.
const COST: usize = 8_192;

//! The web APIs that guests of sandboxes get if their host asks for them: `TextDecoder`, `URL` and so on. Their classes are JavaScript
//! (`surface/web`), evaluated in a realm before its guest's code. This module has the native functions that the classes call.

mod arguments;
mod base64;
mod buffer;
mod clone;
mod coding;
mod form;
mod objects;
mod state;
mod url;

use std::time::Instant;

use crate::convert;
use crate::engine::{BootstrapScript, SnapshotSource};
use crate::protocol::{NO_WASM, web};
use crate::value::{Fault, Text};

/// The sources, and one script that combines them.
pub const SNAPSHOT_SOURCE: SnapshotSource = SnapshotSource { modules: SOURCES, entry: "index.js" };
static BOOTSTRAP_SCRIPT: BootstrapScript = BootstrapScript::new(SNAPSHOT_SOURCE, Some("<web>"));

/// Node's `Buffer`, as a package implements it.
const BUFFER_SOURCE: SnapshotSource = SnapshotSource {
    modules: &[
        ("base64-js", include_str!("../../vendor/buffer/base64-js.js")),
        ("buffer", include_str!("../../vendor/buffer/buffer.js")),
        ("ieee754", include_str!("../../vendor/buffer/ieee754.js")),
    ],
    entry: "buffer",
};
static BUFFER_SCRIPT: BootstrapScript = BootstrapScript::new(BUFFER_SOURCE, Some("<buffer>"));

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../surface/web/", $name)))),*]
    };
}

const SOURCES: &[(&str, &str)] = sources![
    "encoding.js",
    "exception.js",
    "functions.js",
    "index.js",
    "interfaces.js",
    "late-binding.js",
    "objects.js",
    "primordials.js",
    "protocol.js",
    "search-params.js",
    "url.js",
];

/// The names that a realm gets, as bits, and whether it has no WebAssembly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names(u32);

impl Names {
    pub fn from_bits(bits: u32) -> Self {
        Self(web::ALL.iter().fold(bits & NO_WASM, |names, (_, bit)| names | bits & bit))
    }

    fn web(self) -> u32 {
        self.0 & !NO_WASM
    }

    pub fn is_empty(self) -> bool {
        self.web() == 0
    }

    fn has_buffer(self) -> bool {
        self.0 & web::BUFFER != 0
    }

    fn is_without_wasm(self) -> bool {
        self.0 & NO_WASM != 0
    }

    pub fn list(self) -> impl Iterator<Item = &'static str> {
        web::ALL.iter().filter(move |(_, bit)| self.0 & bit != 0).map(|(name, _)| *name)
    }
}

/// A native function that returns the result of `$work`, or throws its fault.
macro_rules! native {
    ($scope:ident, $work:path) => {{
        fn native<'s>(
            scope: &mut v8::PinScope<'s, '_>,
            args: v8::FunctionCallbackArguments<'s>,
            mut result: v8::ReturnValue<v8::Value>,
        ) {
            // A getter may call this while the serializer runs.
            let _lifted = $crate::convert::cap::lift();
            let Ok(at) = $crate::isolate::GuestRealm::current(scope) else { return };
            match $work(scope, &at, &args) {
                Ok(value) => result.set(value),
                // An exception is already pending, or execution is terminating.
                Err($crate::value::Fault::Stopped) => {}
                Err(fault) => $crate::guest::outgoing::throw(scope, &at, &fault),
            }
        }
        v8::Function::builder(native).constructor_behavior(v8::ConstructorBehavior::Throw).build($scope)?
    }};
}

fn native_object<'s>(scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Object>> {
    let functions = [
        ("beginStream", native!(scope, coding::begin_stream)),
        ("bufferKind", native!(scope, buffer::kind)),
        ("clone", native!(scope, clone::clone)),
        ("decode", native!(scope, coding::decode)),
        ("decodeBase64", native!(scope, base64::decode)),
        ("decodeForm", native!(scope, form::decode)),
        ("encodeBase64", native!(scope, base64::encode)),
        ("encodeForm", native!(scope, form::encode)),
        ("encodeInto", native!(scope, coding::encode_into)),
        ("encodingOf", native!(scope, coding::encoding_of)),
        ("endStream", native!(scope, coding::end_stream)),
        ("fillRandom", native!(scope, objects::fill_random)),
        ("mark", native!(scope, clone::mark)),
        ("now", native!(scope, objects::now)),
        ("originOf", native!(scope, url::origin)),
        ("parseUrl", native!(scope, url::parse)),
        ("randomUUID", native!(scope, objects::random_uuid)),
        ("setUrl", native!(scope, url::set)),
        ("transferable", native!(scope, clone::transferable)),
        ("utf8Length", native!(scope, coding::utf8_length)),
    ];
    let object = v8::Object::new(scope);
    for (name, function) in functions {
        let name = v8::String::new(scope, name)?;
        object.create_data_property(scope, name.into(), function.into())?;
    }
    Some(object)
}

/// Makes what the functions share, for a guest that began at `began`. Call it before any guest code. Contexts of one isolate share it.
pub fn begin(isolate: &mut v8::Isolate, names: Names, began: Instant) {
    if !names.is_empty() && state::WebState::of(isolate).is_err() {
        state::WebState::begin(isolate, began);
    }
}

/// Puts the names on the global object of the current context. Call it before any guest code; guest code cannot call it.
pub fn install(scope: &mut v8::PinScope<'_, '_>, names: Names) -> Result<(), Fault> {
    if names.is_without_wasm() {
        turn_off_wasm(scope)?;
    }
    let missing = connect(scope, names)?;
    if missing.is_empty() {
        return Ok(());
    }
    v8::tc_scope!(let scope, scope);
    match evaluate(scope, missing, false) {
        Some(_) => Ok(()),
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    }
}

/// Where the realm of a snapshot with web APIs keeps the function that connects them with native functions. Guests cannot see it.
fn connector<'s>(scope: &v8::PinScope<'s, '_>) -> v8::Local<'s, v8::Private> {
    v8::Private::for_api(scope, v8::String::new(scope, "isolated-v8 web"))
}

/// The same for the realm of a snapshot: the APIs work while its scripts run, until the returned function is called.
pub fn install_for_snapshot(scope: &mut v8::PinScope<'_, '_>, names: u32) -> Result<v8::Global<v8::Function>, Fault> {
    let names = Names::from_bits(names);
    begin(scope, names, Instant::now());
    v8::tc_scope!(let scope, scope);
    let key = connector(scope);
    let connect = evaluate(scope, names, true).and_then(|connect| {
        scope.get_current_context().global(scope).set_private(scope, key, connect)?;
        v8::Local::<v8::Function>::try_from(connect).ok()
    });
    match connect {
        Some(connect) => Ok(v8::Global::new(scope, connect)),
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    }
}

/// If the snapshot that the current context has started from has some of these APIs, makes them work. Returns the names of the others.
pub fn connect(scope: &mut v8::PinScope<'_, '_>, names: Names) -> Result<Names, Fault> {
    if names.is_empty() {
        return Ok(names);
    }
    let (key, global) = (connector(scope), scope.get_current_context().global(scope));
    let connect = global.get_private(scope, key).map(v8::Local::<v8::Function>::try_from);
    let Some(Ok(connect)) = connect else { return Ok(names) };
    v8::tc_scope!(let scope, scope);
    let receiver = v8::undefined(scope).into();
    let native = native_object(scope).ok_or(Fault::Stopped)?.into();
    match connect.call(scope, receiver, &[native]).and_then(|had| had.uint32_value(scope)) {
        Some(had) => Ok(Names(names.web() & !had)),
        None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
    }
}

/// From now on, the isolate compiles no WebAssembly, whatever a snapshot has kept, and the realm does not have the global.
fn turn_off_wasm(scope: &mut v8::PinScope<'_, '_>) -> Result<(), Fault> {
    scope.set_allow_wasm_code_generation_callback(refuse_wasm);
    let key = convert::text_to_v8(scope, &Text::from("WebAssembly"))?;
    let global = scope.get_current_context().global(scope);
    global.delete(scope, key.into()).map(drop).ok_or(Fault::Stopped)
}

unsafe extern "C" fn refuse_wasm(_context: v8::Local<'_, v8::Context>, _source: v8::Local<'_, v8::String>) -> bool {
    false
}

/// Compiles in advance what [`install`] runs, if `install` has to wait for the guest's time.
pub fn compile(scope: &mut v8::PinScope<'_, '_>, names: Names) {
    if !names.is_empty() {
        // If this fails, `install` fails too.
        let _ = BOOTSTRAP_SCRIPT.compile(scope);
    }
    if names.has_buffer() {
        let _ = BUFFER_SCRIPT.compile(scope);
    }
}

fn evaluate<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    names: Names,
    is_for_snapshot: bool,
) -> Option<v8::Local<'s, v8::Value>> {
    let mut buffer = v8::undefined(scope).into();
    if names.has_buffer() {
        let rest = |_: &mut v8::PinScope<'s, '_>, exports| {
            buffer = exports;
            Some(())
        };
        if is_for_snapshot { BUFFER_SCRIPT.run_for_snapshot(scope, rest) } else { BUFFER_SCRIPT.run(scope, rest) }?;
    }
    let mut connect = None;
    let rest = |scope: &mut v8::PinScope<'s, '_>, install| {
        let install = v8::Local::<v8::Function>::try_from(install).ok()?;
        let names = v8::Integer::new_from_unsigned(scope, names.web()).into();
        let is_for_snapshot = v8::Boolean::new(scope, is_for_snapshot).into();
        let arguments = [native_object(scope)?.into(), names, buffer, is_for_snapshot];
        let receiver = v8::undefined(scope).into();
        connect = install.call(scope, receiver, &arguments);
        connect.map(drop)
    };
    if is_for_snapshot { BOOTSTRAP_SCRIPT.run_for_snapshot(scope, rest) } else { BOOTSTRAP_SCRIPT.run(scope, rest) }?;
    connect
}

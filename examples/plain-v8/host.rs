//! `$262` and `print`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agents::{self, Agents};
use crate::modules::{Import, Known};
use crate::run::compile;

/// What the test of this thread's isolate has.
pub struct State {
    pub test: PathBuf,
    pub agents: Arc<Agents>,
    pub modules: Vec<Known>,
    pub imports: VecDeque<Import>,
    printed: Option<String>,
}

impl State {
    pub fn new(test: &Path, agents: Arc<Agents>) -> Self {
        Self { test: test.to_owned(), agents, modules: Vec::new(), imports: VecDeque::new(), printed: None }
    }
}

thread_local! {
    pub static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
}

pub fn with_state<T>(use_it: impl FnOnce(&mut State) -> T) -> Option<T> {
    STATE.with_borrow_mut(|state| state.as_mut().map(use_it))
}

/// The first thing that was printed.
pub fn printed() -> Option<String> {
    with_state(|state| state.printed.clone()).flatten()
}

type Arguments<'s> = v8::FunctionCallbackArguments<'s>;
type Answer<'s> = v8::ReturnValue<'s, v8::Value>;

/// A property that is a function of the host.
pub fn define(
    scope: &mut v8::PinScope<'_, '_>,
    object: v8::Local<'_, v8::Object>,
    name: &str,
    function: impl v8::MapFnTo<v8::FunctionCallback>,
) -> Option<()> {
    let function = v8::Function::builder(function).build(scope)?;
    set(scope, object, name, function.into())
}

pub fn set(
    scope: &mut v8::PinScope<'_, '_>,
    object: v8::Local<'_, v8::Object>,
    name: &str,
    value: v8::Local<'_, v8::Value>,
) -> Option<()> {
    let key = v8::String::new(scope, name)?;
    object.define_own_property(scope, key.into(), value, v8::PropertyAttribute::DONT_ENUM).map(drop)
}

/// Gives the current realm its `$262`, and `print`.
pub fn install<'s>(scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Object>> {
    let global = scope.get_current_context().global(scope);
    let host = v8::Object::new(scope);
    set(scope, host, "global", global.into())?;
    define(scope, host, "createRealm", create_realm)?;
    define(scope, host, "evalScript", eval_script)?;
    define(scope, host, "detachArrayBuffer", detach)?;
    let gc = v8::String::new(scope, "gc")?;
    let gc = global.get(scope, gc.into())?;
    set(scope, host, "gc", gc)?;
    let agent = v8::Object::new(scope);
    agents::install_parent(scope, agent)?;
    set(scope, host, "agent", agent.into())?;
    set(scope, global, "$262", host.into())?;
    define(scope, global, "print", print)?;
    Some(host)
}

fn print(scope: &mut v8::PinScope<'_, '_>, args: Arguments<'_>, _answer: Answer<'_>) {
    let text = args.get(0).to_rust_string_lossy(scope);
    with_state(|state| state.printed.get_or_insert(text).len());
}

fn create_realm<'s>(scope: &mut v8::PinScope<'s, '_>, _args: Arguments<'s>, mut answer: Answer<'s>) {
    let token = scope.get_current_context().get_security_token(scope);
    let context = v8::Context::new(scope, v8::ContextOptions::default());
    context.set_security_token(token);
    let scope = &mut v8::ContextScope::new(scope, context);
    if let Some(host) = install(scope) {
        answer.set(host.into());
    }
}

fn eval_script<'s>(scope: &mut v8::PinScope<'s, '_>, args: Arguments<'s>, mut answer: Answer<'s>) {
    let source = args.get(0).to_rust_string_lossy(scope);
    if let Some(value) = compile(scope, &source, "evalScript").and_then(|script| script.run(scope)) {
        answer.set(value);
    }
}

fn detach(scope: &mut v8::PinScope<'_, '_>, args: Arguments<'_>, _answer: Answer<'_>) {
    let buffer = v8::Local::<v8::ArrayBuffer>::try_from(args.get(0)).ok();
    if buffer.and_then(|buffer| buffer.detach(None)).is_none()
        && let Some(message) = v8::String::new(scope, "cannot be detached")
    {
        let error = v8::Exception::type_error(scope, message);
        scope.throw_exception(error);
    }
}

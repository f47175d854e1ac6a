//! How the code of an execution is compiled and called.

use v8::script_compiler::CompileOptions;

use super::code::UserCode;
use super::modules::{Graph, MAIN};
use super::refused_modules::{self, is_for_modules};
use super::spec::Spec;
use crate::convert;
use crate::isolate::Unit;
use crate::ops;
use crate::value::{Fault, Text};

/// What happens to a value once it is there.
#[derive(Clone, Copy)]
pub enum Then<'s> {
    /// It is the result.
    Take,
    /// If it is a function, it is called and returns the result.
    Call,
    /// The module with this namespace has been evaluated, and its default export is the value.
    Export(v8::Local<'s, v8::Value>),
}

impl<'s> Then<'s> {
    /// As the data of the functions below.
    pub fn data(self, scope: &mut v8::PinScope<'s, '_>) -> v8::Local<'s, v8::Value> {
        match self {
            Then::Take => v8::undefined(scope).into(),
            Then::Call => v8::null(scope).into(),
            Then::Export(namespace) => namespace,
        }
    }

    pub fn of(data: v8::Local<'s, v8::Value>) -> Self {
        if data.is_undefined() {
            Then::Take
        } else if data.is_null() {
            Then::Call
        } else {
            Then::Export(data)
        }
    }
}

/// Compiles and calls the code.
pub fn evaluate<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    spec: &Spec,
    main: Option<&UserCode>,
) -> Result<(v8::Local<'s, v8::Value>, Then<'s>), Fault> {
    for form in &spec.forms {
        if let Some(guard) = &form.guard
            && compiles(scope, &guard.text)? != guard.must_compile
        {
            continue;
        }
        match evaluate_text(scope, spec, &form.code) {
            Err(Failure::Syntax(_)) => {}
            result => {
                let then = if form.is_function { Then::Call } else { Then::Take };
                return Ok((result.map_err(Failure::into_fault)?, then));
            }
        }
    }
    match (evaluate_text(scope, spec, &spec.code), main) {
        (Err(Failure::Syntax(fault)), Some(main)) => evaluate_module(scope, main, fault),
        (Err(Failure::Syntax(fault)), None) if is_for_modules(&fault) => Err(refused_modules::explain(fault)),
        (result, _) => Ok((result.map_err(Failure::into_fault)?, Then::Take)),
    }
}

/// Evaluates the code as a module, if it is one; `fault` is why it is not anything else.
fn evaluate_module<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    main: &UserCode,
    fault: Fault,
) -> Result<(v8::Local<'s, v8::Value>, Then<'s>), Fault> {
    let graph = Graph::of(scope).ok_or(Fault::Stopped)?;
    let number =
        graph.add(scope, main, Text::from(MAIN)).map_err(|own| if is_for_modules(&fault) { own } else { fault })?;
    let module = graph.linked(scope, number)?;
    let promise = ops::evaluate(scope, module)?;
    Ok((promise.into(), Then::Export(module.get_module_namespace())))
}

fn compiles(scope: &mut v8::PinScope<'_, '_>, code: &Text) -> Result<bool, Fault> {
    let code = convert::text_to_v8(scope, code)?;
    v8::tc_scope!(let scope, scope);
    let mut source = v8::script_compiler::Source::new(code, None);
    Ok(compile_body(scope, &mut source, &[], CompileOptions::NoCompileOptions).is_some())
}

fn compile_body<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    source: &mut v8::script_compiler::Source,
    names: &[v8::Local<'s, v8::String>],
    options: CompileOptions,
) -> Option<v8::Local<'s, v8::Function>> {
    let reason = v8::script_compiler::NoCacheReason::NoReason;
    v8::script_compiler::compile_function(scope, source, names, &[], options, reason)
}

enum Failure {
    Syntax(Fault),
    Run(Fault),
}

impl Failure {
    fn into_fault(self) -> Fault {
        match self {
            Failure::Syntax(fault) | Failure::Run(fault) => fault,
        }
    }
}

fn evaluate_text<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    spec: &Spec,
    body: &UserCode,
) -> Result<v8::Local<'s, v8::Value>, Failure> {
    // Positions are those of the user's own text.
    let origin = ops::Origin { filename: Text::from(MAIN), line: body.line, column: body.column };
    let form = ops::Form::Body { shadows: spec.shadows_global() };
    let compiling = ops::Compiling::begin(scope, &body.text, &origin, form);
    let code = convert::text_to_v8(scope, &body.text).map_err(Failure::Run)?;
    let origin = origin.to_v8(scope).map_err(Failure::Run)?;
    let shadowed = convert::text_to_v8(scope, &Text::from("globalThis")).map_err(Failure::Run)?;
    let names: &[_] = if spec.shadows_global() { &[shadowed] } else { &[] };
    v8::tc_scope!(let scope, scope);
    let (mut source, options) = compiling.source(code, &origin);
    let Some(function) = compile_body(scope, &mut source, names, options) else {
        return Err(Failure::Syntax(convert::fault_from_compilation(scope).unwrap_or(Fault::Stopped)));
    };
    compiling.end(scope, &source, |scope| Unit::Function(v8::Global::new(scope, function)));
    let receiver = v8::undefined(scope).into();
    function
        .call(scope, receiver, &[])
        .ok_or_else(|| Failure::Run(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)))
}

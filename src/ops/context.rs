//! `Context`: runs source text in it, and returns its global object.

use std::sync::Arc;

use super::args::malformed;
use super::compilation::Origin;
use super::{Args, Prepared, Transfer, compile, run_unbound, transfer_out, work_in_realm};
use crate::convert;
use crate::isolate::Remote;
use crate::value::{ContextHandle, Fault, Handle, Text, Value};

fn context_of(target: Option<Value>) -> Result<(Arc<ContextHandle>, Arc<Remote>), Fault> {
    let Some(Value::Handle(Handle::Context(context))) = target else {
        return Err(malformed());
    };
    let remote = Remote::from_owner(context.slot.owner()).ok_or_else(malformed)?;
    Ok((context, remote))
}

pub fn global(target: Option<Value>) -> Result<Prepared, Fault> {
    let (context, _remote) = context_of(target)?;
    Ok(Prepared::Done(Ok(Value::Handle(Handle::Reference(Arc::clone(&context.global))))))
}

pub fn eval(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let (context, remote) = context_of(target)?;
    let code = args.text()?;
    let origin = Origin::from_args(&mut args)?;
    let transfer = Transfer::from_number(args.number()?);
    let limits = args.limits()?;
    let work = work_in_realm(Arc::clone(&context.slot), move |scope, at| {
        let script = compile(scope, &code, &origin)?;
        run_unbound(scope, at, script, transfer)
    });
    Ok(Prepared::Enter { remote, limits, work })
}

/// V8 ends the process when it compiles a function with more parameters than it can call with arguments.
const MAX_PARAMETERS: usize = (1 << 16) - 2;

/// The code is the body of a function, which can access its arguments as `$0`, `$1`, … and as `arguments`.
pub fn eval_closure(target: Option<Value>, mut args: Args) -> Result<Prepared, Fault> {
    let (context, remote) = context_of(target)?;
    let code = args.text()?;
    let origin = Origin::from_args(&mut args)?;
    let transfer = Transfer::from_number(args.number()?);
    let limits = args.limits()?;
    let arguments = args.rest();
    if arguments.len() > MAX_PARAMETERS {
        return Err(Fault::beyond(&format!("A closure has more than {MAX_PARAMETERS} arguments")));
    }
    let work = work_in_realm(Arc::clone(&context.slot), move |scope, at| {
        let code = convert::text_to_v8(scope, &code)?;
        let origin = origin.to_v8(scope)?;
        let mut names = Vec::with_capacity(arguments.len());
        let mut values = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.into_iter().enumerate() {
            names.push(convert::text_to_v8(scope, &Text::from(format!("${index}")))?);
            values.push(convert::to_v8(scope, at, argument)?);
        }
        v8::tc_scope!(let scope, scope);
        let mut source = v8::script_compiler::Source::new(code, Some(&origin));
        let function = v8::script_compiler::compile_function(
            scope,
            &mut source,
            &names,
            &[],
            v8::script_compiler::CompileOptions::NoCompileOptions,
            v8::script_compiler::NoCacheReason::NoReason,
        );
        let Some(function) = function else {
            return Err(convert::fault_from_compilation(scope).unwrap_or(Fault::Stopped));
        };
        let receiver = scope.get_current_context().global(scope).into();
        match function.call(scope, receiver, &values) {
            Some(value) => transfer_out(scope, at, value, transfer),
            None => Err(convert::fault_from_caught(scope).unwrap_or(Fault::Stopped)),
        }
    });
    Ok(Prepared::Enter { remote, limits, work })
}

//! Converts exceptions of a guest to neutral faults and back. Reading an error's properties can run guest code, so it must only be done
//! where the guest's limits apply.

use super::details::{self, ErrorChain};
use super::primitive::{primitive_from_v8, primitive_to_v8};
use super::text::{beginning, text_to_v8};
use crate::protocol::{BOUNDARY_FRAME, MAX_DETAIL, message};
use crate::value::{Code, DetailsRoom, ErrorClass, ErrorFault, Fault, Text, Value};

type Caught<'a, 'scope, 'obj, 'iso> = v8::PinnedRef<'a, v8::TryCatch<'scope, 'obj, v8::HandleScope<'iso>>>;

/// The fault for the exception that a try-catch scope has caught: [`Fault::Stopped`] for a termination, `None` if nothing was caught.
pub fn fault_from_caught<'obj, 'iso: 'obj>(scope: &mut Caught<'_, '_, 'obj, 'iso>) -> Option<Fault> {
    if scope.has_terminated() {
        return Some(Fault::Stopped);
    }
    let exception = scope.exception()?;
    scope.reset();
    Some(fault_from_exception(scope, exception))
}

/// Like [`fault_from_caught`], for code that did not compile: V8 does not put the position into the message or the stack.
pub fn fault_from_compilation<'obj, 'iso: 'obj>(scope: &mut Caught<'_, '_, 'obj, 'iso>) -> Option<Fault> {
    let message = scope.message();
    let fault = fault_from_caught(scope)?;
    Some(match (fault, message) {
        (Fault::Error(mut error), Some(message)) => {
            locate_syntax_error(scope, &mut error, message);
            Fault::Error(error)
        }
        (fault, _) => fault,
    })
}

fn locate_syntax_error(scope: &mut v8::PinScope<'_, '_>, error: &mut ErrorFault, message: v8::Local<'_, v8::Message>) {
    let (Some(file), Some(line)) = (message.get_script_resource_name(scope), message.get_line_number(scope)) else {
        return;
    };
    let Ok(file) = v8::Local::<v8::String>::try_from(file) else {
        return;
    };
    let file = beginning(scope, file, MAX_TEXT);
    let column = message.get_start_column() + 1;
    error.message = Text::from(format!("{} [{file}:{line}:{column}]", error.message));
    error.stack = Text::from(format!("\n    at {file}:{line}:{column}{}", error.stack));
}

/// Maximum size in bytes of a thrown primitive.
const MAX_THROWN: usize = 64 << 20;

/// Maximum number of characters kept of an error's message and stack.
const MAX_TEXT: usize = 1 << 20;

/// Maximum number of characters kept of the names of files, functions and constructors.
const MAX_NAME: usize = 200;

/// The fault for a thrown value.
pub fn fault_from_exception(scope: &mut v8::PinScope<'_, '_>, exception: v8::Local<'_, v8::Value>) -> Fault {
    match primitive_from_v8(scope, exception, MAX_THROWN) {
        Ok(Some(primitive)) => return Fault::Thrown(primitive),
        Ok(None) => {}
        Err(fault) => return fault,
    }
    match v8::Local::<v8::Object>::try_from(exception) {
        Ok(object) => {
            let chain = ErrorChain { object, outer: None };
            describe(scope, &chain, &mut DetailsRoom::default()).unwrap_or(Fault::Stopped)
        }
        Err(_) => Fault::error(message::NOT_AN_ERROR),
    }
}

/// The part of a thrown object, or of the cause of one, that is preserved. Standard errors are recognized by their constructor's name, others
/// by a message or a stack. Standard errors may have been given another name. `None` when the guest is being stopped.
pub(super) fn describe(
    scope: &mut v8::PinScope<'_, '_>,
    chain: &ErrorChain<'_>,
    room: &mut DetailsRoom,
) -> Option<Fault> {
    let object = chain.object;
    let made_by = object.get_constructor_name();
    let made_by = beginning(scope, made_by, MAX_NAME).to_string();
    let class = ErrorClass::named(&made_by);
    let standard = class.name() == made_by;
    let message = read_text(scope, object, "message")?;
    let stack = read_text(scope, object, "stack")?;
    if !standard && message.is_none() && stack.is_none() {
        return Some(Fault::error(message::NOT_AN_ERROR));
    }
    let mut name = if standard && !has_own(scope, object, "name")? { None } else { read_text(scope, object, "name")? };
    let mut message = message.unwrap_or_else(|| Text::from(""));
    let mut stack = stack.map_or_else(|| Text::from(""), |stack| frames_of(&stack));
    if chain.outer.is_some() {
        (message, stack) = (room.fit(message), room.fit(stack));
        name = name.map(|name| name.beginning(MAX_DETAIL as usize));
    }
    Some(Fault::Error(Box::new(ErrorFault {
        class,
        name: name.filter(|name| name.to_string() != class.name()),
        message,
        stack,
        code: is_refusal(scope, object).then_some(Code::Transfer),
        details: details::read(scope, chain, room)?,
    })))
}

/// Whether an object has an own property, as far as that can be determined; `None` when the guest is being stopped.
fn has_own(scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>, key: &str) -> Option<bool> {
    v8::tc_scope!(let scope, scope);
    let key = v8::String::new(scope, key)?;
    let has = object.has_own_property(scope, key.into());
    if scope.has_terminated() { None } else { Some(has.unwrap_or(false)) }
}

/// Marks the errors with which values of a guest were refused. If the guest does not catch such an error, its caller gets the code as well.
/// An error that the guest itself creates has no code.
fn refusal_mark<'s>(scope: &v8::PinScope<'s, '_>) -> v8::Local<'s, v8::Private> {
    let name = v8::String::new(scope, "isolated-v8 refusal");
    v8::Private::for_api(scope, name)
}

fn is_refusal(scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>) -> bool {
    let mark = refusal_mark(scope);
    object.get_private(scope, mark).is_some_and(|found| found.is_true())
}

/// A property as text, if it can be read; `None` when the guest is being stopped.
fn read_text(scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>, key: &str) -> Option<Option<Text>> {
    v8::tc_scope!(let scope, scope);
    let key = v8::String::new(scope, key)?;
    let value = object.get(scope, key.into()).filter(|value| !value.is_undefined());
    let text = value.and_then(|value| value.to_string(scope));
    if scope.has_terminated() {
        return None;
    }
    Some(text.map(|text| beginning(scope, text, MAX_TEXT)))
}

/// The frames of a stack, from the line break before the first one.
fn frames_of(stack: &Text) -> Text {
    let stack = stack.to_string();
    match stack.find("\n    at ") {
        Some(start) => Text::from(&stack[start..]),
        None => Text::from(""),
    }
}

/// The error object for a fault. Its stack is joined to the frames of the guest that receives it.
pub fn exception_from_fault<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    fault: &Fault,
    to_v8: impl FnOnce(&mut v8::PinScope<'s, '_>, Value) -> Option<v8::Local<'s, v8::Value>>,
) -> Option<v8::Local<'s, v8::Value>> {
    let error = match fault {
        Fault::Thrown(value) => return to_v8(scope, value.clone()),
        Fault::Stopped => return None,
        Fault::Error(error) => error,
    };
    let own = current_frames(scope);
    error_object(scope, error, &format!("\n{BOUNDARY_FRAME}{own}"))
}

/// The error object for a fault. `frames` follow those of the fault.
fn error_object<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    error: &ErrorFault,
    frames: &str,
) -> Option<v8::Local<'s, v8::Value>> {
    let message = text_to_v8(scope, &error.message).ok()?;
    let exception = match error.class {
        ErrorClass::Error => v8::Exception::error(scope, message),
        ErrorClass::RangeError => v8::Exception::range_error(scope, message),
        ErrorClass::ReferenceError => v8::Exception::reference_error(scope, message),
        ErrorClass::SyntaxError => v8::Exception::syntax_error(scope, message),
        ErrorClass::TypeError => v8::Exception::type_error(scope, message),
    };
    let object = v8::Local::<v8::Object>::try_from(exception).ok()?;
    let name = error.name.as_ref().map_or_else(|| error.class.name().to_owned(), Text::to_string);
    let header = if error.message.is_empty() { name.clone() } else { format!("{name}: {}", error.message) };
    let stack = format!("{header}{}{frames}", error.stack);
    define(scope, object, "stack", &stack)?;
    if error.name.is_some() {
        define(scope, object, "name", &name)?;
    }
    if let Some(code) = error.code {
        define(scope, object, "code", code.name())?;
    }
    if error.code == Some(Code::Transfer) {
        let (mark, yes) = (refusal_mark(scope), v8::Boolean::new(scope, true));
        object.set_private(scope, mark, yes.into())?;
    }
    if let Some(details) = &error.details {
        details::define(scope, object, details, |scope, cause| match cause {
            Fault::Error(error) => error_object(scope, error, ""),
            Fault::Thrown(value) => primitive_to_v8(scope, value)?.ok(),
            Fault::Stopped => None,
        })?;
    }
    Some(exception)
}

fn define(scope: &mut v8::PinScope<'_, '_>, object: v8::Local<'_, v8::Object>, key: &str, text: &str) -> Option<()> {
    let key = v8::String::new(scope, key)?;
    let value = v8::String::new(scope, text)?;
    object.define_own_property(scope, key.into(), value.into(), v8::PropertyAttribute::DONT_ENUM)?;
    Some(())
}

/// At most this many frames of the receiving side are joined to a stack.
const FRAMES: usize = 10;

/// The JavaScript frames that are currently running, as lines of a stack.
pub fn current_frames(scope: &v8::PinScope<'_, '_>) -> Text {
    let mut text = String::new();
    let Some(trace) = v8::StackTrace::current_stack_trace(scope, FRAMES) else {
        return Text::from("");
    };
    for index in 0..trace.get_frame_count() {
        let Some(frame) = trace.get_frame(scope, index) else {
            break;
        };
        let file = frame
            .get_script_name_or_source_url(scope)
            .map_or_else(|| Text::from("<anonymous>"), |name| beginning(scope, name, MAX_NAME));
        // Less than 1 within code that wraps a source text, as in V8's own stacks.
        let column = frame.get_column().cast_signed();
        let position = format!("{file}:{}:{column}", frame.get_line_number());
        match frame.get_function_name(scope).map(|name| beginning(scope, name, MAX_NAME)) {
            Some(name) if !name.is_empty() => text.push_str(&format!("\n    at {name} ({position})")),
            _ => text.push_str(&format!("\n    at {position}")),
        }
    }
    Text::from(text)
}

//! Interruptions of the host's JavaScript: a time limit of `node:vm`, or the termination of the worker.

use std::ffi::CStr;

use super::environment::Environment;
use super::js::{Js, JsType, JsValue};
use crate::value::{Code, ErrorClass, Fault};

/// How engines begin the message of an exhausted stack's error.
const EXHAUSTED: &str = "Maximum call stack size exceeded";

/// Codes of the system's errors for which a process, or the system, has to have more.
const LACKS: [&str; 4] = ["EMFILE", "ENFILE", "ENOMEM", "EAGAIN"];

/// Most characters of a reason that a guest gets.
const MAX_REASON: usize = 200;

impl Environment {
    /// Clears the exception of JavaScript that could not run to its end. False if there is none, because a time limit of `node:vm` has expired or the
    /// worker is being terminated. That is noted: the host has forgotten the limit now, so JavaScript that waits for this, and guests, may treat it as
    /// an ordinary error and call again, endlessly.
    pub(super) fn clear_exception(&self, js: Js<'_>) -> bool {
        self.take_exception(js).is_some()
    }

    /// As [`Environment::clear_exception`], and returns the exception.
    fn take_exception<'a>(&self, js: Js<'a>) -> Option<JsValue<'a>> {
        let thrown = js.take_exception();
        if thrown.is_none() {
            self.context.interrupted.set(true);
        }
        thrown
    }

    /// Notes if JavaScript cannot run here any more. A thread that waits in native code is not notified when its worker is terminated; only an
    /// attempt to run JavaScript shows it.
    pub fn note_interruption(&self, js: Js<'_>) {
        // Request 0 settles nothing.
        let ping = |js: Js<'_>, environment: &Self| {
            let zero = js.number(0.0)?;
            js.call(js.dereference(&environment.functions.settle)?, &[zero, js.undefined()?]).map(drop)
        };
        // Deep in a recursion even this may throw; an environment that throws is alive.
        if !matches!(js.scoped(self, ping), Ok(Ok(()))) {
            self.clear_exception(js);
        }
    }

    /// Why the surface could not answer.
    pub(super) fn failure(&self, js: Js<'_>) -> Fault {
        self.take_exception(js).map_or_else(Fault::environment_gone, |thrown| fault_of(js, thrown))
    }
}

/// What a guest learns about an exception of the surface, which throws none itself: the stack is exhausted, or a file of the package could not be loaded,
/// or the engine lacks memory.
pub(super) fn fault_of(js: Js<'_>, thrown: JsValue<'_>) -> Fault {
    let text = |name| text_of(js, thrown, name);
    let message = text(c"message").unwrap_or_default();
    if message.starts_with(EXHAUSTED) {
        return Fault::range_error(EXHAUSTED);
    }
    let code = text(c"code").unwrap_or_default();
    let is_lacking = LACKS.iter().any(|lack| code == *lack || message.starts_with(lack));
    let reason = reason_of(&message, &code);
    let reason = if reason.is_empty() { text(c"name").unwrap_or_default() } else { reason };
    let message =
        format!("The host could not handle the call: {}", reason.chars().take(MAX_REASON).collect::<String>());
    Fault::coded(ErrorClass::Error, &message, if is_lacking { Code::Limit } else { Code::Unsupported })
}

/// A property that is a string.
fn text_of(js: Js<'_>, object: JsValue<'_>, name: &CStr) -> Option<String> {
    let is_string = |value: &JsValue<'_>| js.type_of(*value).is_ok_and(|kind| kind == JsType::String);
    let text = js.property(object, name).ok().filter(is_string).and_then(|value| js.read_text(value).ok());
    if text.is_none() {
        // A getter has thrown, for example.
        js.clear_exception();
    }
    text.map(|text| text.to_string())
}

/// An error's message and code, without the paths of this host.
fn reason_of(message: &str, code: &str) -> String {
    let is_path = |character| matches!(character, '/' | '\\');
    let end = |character| is_path(character) || matches!(character, ',' | '\n' | '\'' | '"');
    let shown = if message.contains(is_path) { message.split(end).next().unwrap_or_default() } else { message };
    match shown.trim() {
        "" => code.to_owned(),
        shown if shown.contains(code) => shown.to_owned(),
        shown => format!("{shown} ({code})"),
    }
}

#[cfg(test)]
mod tests {
    use super::reason_of;

    #[test]
    fn a_reason_has_no_path() {
        let cases = [
            ("EMFILE: too many open files, open '/a/b'", "EMFILE", "EMFILE: too many open files"),
            (
                "Cannot find module '/a/b'\nRequire stack:\n- c",
                "MODULE_NOT_FOUND",
                "Cannot find module (MODULE_NOT_FOUND)",
            ),
            ("Too many open files (os error 24)", "EMFILE", "Too many open files (os error 24) (EMFILE)"),
            ("EMFILE reading \"C:\\a\"", "", "EMFILE reading"),
            ("Unexpected token ','", "", "Unexpected token ','"),
            ("/a", "ENOENT", "ENOENT"),
            ("", "", ""),
        ];
        for (message, code, reason) in cases {
            assert_eq!(reason_of(message, code), reason);
        }
    }
}

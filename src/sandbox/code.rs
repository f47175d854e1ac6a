//! What an execution may run.

use crate::value::Text;

/// The body of a function or the text of a module, with its position.
#[derive(Clone, Debug, PartialEq)]
pub struct UserCode {
    pub text: Text,
    /// The position of the text as the user counts: its first line, and the column of its first character. The column is negative if
    /// characters precede the user's own.
    pub line: i32,
    pub column: i32,
}

/// What the user's code may be. It fits if it compiles and the guard agrees.
pub struct Form {
    pub code: UserCode,
    pub guard: Option<FormGuard>,
    /// The code returns a function, whose result is the result.
    pub is_function: bool,
}

/// Code that only has to compile, or must not.
pub struct FormGuard {
    pub text: Text,
    pub must_compile: bool,
}

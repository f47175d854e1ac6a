//! Specifiers of modules, as V8 passes them.

use crate::convert;

/// The maximum number of characters of a specifier.
pub const MAX_SPECIFIER: usize = 10_000;

/// The maximum number of characters of a specifier that messages show.
const MAX_SHOWN_SPECIFIER: usize = 200;

/// A specifier, truncated to just above the maximum length.
pub fn read(scope: &mut v8::PinScope<'_, '_>, specifier: v8::Local<'_, v8::String>) -> String {
    convert::beginning(scope, specifier, MAX_SPECIFIER + 1).to_string()
}

/// A specifier as messages show it.
pub fn shown(specifier: &str) -> String {
    let shown: String = specifier.chars().take(MAX_SHOWN_SPECIFIER).collect();
    let more = if shown.len() < specifier.len() { "..." } else { "" };
    format!("{shown}{more}")
}

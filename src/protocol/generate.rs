//! Used by build.rs: turns the constants that the surface's `protocol.js` files declare into Rust. They are declared nowhere else.
//!
//! A declaration is a line `const NAME = 1;` or `const NAME = 'text';`, or an object or an array over several lines, inside `freeze(…)`: a number
//! for each key, or a string on a line of its own, or strings without keys. A declaration that has another form is an error, so that none is
//! left out silently. Lines that are indented are the contents of these, or of functions.

use std::fmt::Write;

/// The Rust code for the declarations of `source`.
pub fn generate(source: &str) -> Result<String, String> {
    let mut rust = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let Some((name, value)) = line.strip_prefix("const ").and_then(|line| line.split_once(" = ")) else { continue };
        if name.starts_with('{') {
            continue;
        }
        let mut contents = || -> Result<Vec<&str>, String> {
            let mut entries = Vec::new();
            for line in lines.by_ref().map(str::trim).take_while(|line| !line.starts_with(['}', ']'])) {
                let is_comment = ["//", "/*", "*"].iter().any(|start| line.starts_with(start));
                if line.is_empty() || is_comment {
                    continue;
                }
                let code = line.split(" // ").next().unwrap_or(line).trim_end();
                let code = code.strip_suffix(',').ok_or_else(|| format!("no comma at the end of `{line}`"))?;
                // A text may have commas.
                if code.contains(": '") { entries.push(code) } else { entries.extend(code.split(", ")) }
            }
            Ok(entries)
        };
        let written = match value {
            "freeze({" => write_group(&mut rust, name, &contents()?),
            "freeze([" => write_list(&mut rust, name, &contents()?),
            value => write_one(&mut rust, name, value),
        };
        written.map_err(|problem| format!("{name}: {problem}"))?;
    }
    Ok(rust)
}

/// A module with a constant for each key, and `ALL`, which has the keys as they are written in JavaScript.
fn write_group(rust: &mut String, name: &str, entries: &[&str]) -> Result<(), String> {
    let mut constants = String::new();
    let mut all = String::new();
    let mut of_text = false;
    for entry in entries {
        if *entry == "__proto__: null" {
            continue;
        }
        let (key, value) = entry.split_once(": ").ok_or_else(|| format!("`{entry}` is not `key: value`"))?;
        let value = match text(value) {
            Some(text) => {
                of_text = true;
                format!("{text:?}")
            }
            None => {
                value.parse::<u32>().map_err(|_| format!("`{value}` is neither a number nor a string"))?.to_string()
            }
        };
        let kind = if of_text { "&str" } else { "u32" };
        constants += &format!("pub const {}: {kind} = {value};", constant(key));
        all += &format!("({key:?}, {value}),");
    }
    let (module, kind) = (name.to_lowercase(), if of_text { "&str" } else { "u32" });
    let all = format!("pub const ALL: &[(&str, {kind})] = &[{all}];");
    writeln!(rust, "pub mod {module} {{ {constants} {all} }}").map_err(|error| error.to_string())
}

fn write_one(rust: &mut String, name: &str, value: &str) -> Result<(), String> {
    let value = value.strip_suffix(';').ok_or("the declaration has no known form")?;
    let written = match (text(value), value.parse::<u32>()) {
        (Some(text), _) => writeln!(rust, "pub const {name}: &str = {text:?};"),
        (None, Ok(number)) => writeln!(rust, "pub const {name}: u32 = {number};"),
        (None, Err(_)) => return Err(format!("`{value}` is neither a number nor a string")),
    };
    written.map_err(|error| error.to_string())
}

fn write_list(rust: &mut String, name: &str, entries: &[&str]) -> Result<(), String> {
    let texts = entries.iter().map(|entry| text(entry).ok_or_else(|| format!("`{entry}` is not a string")));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    writeln!(rust, "pub const {name}: [&str; {}] = {texts:?};", texts.len()).map_err(|error| error.to_string())
}

fn text(literal: &str) -> Option<&str> {
    literal.strip_prefix('\'')?.strip_suffix('\'')
}

/// `memoryLimit` as `MEMORY_LIMIT`.
fn constant(key: &str) -> String {
    let mut name = String::new();
    let mut was_lower = false;
    for letter in key.chars() {
        if was_lower && letter.is_ascii_uppercase() {
            name.push('_');
        }
        was_lower = letter.is_ascii_lowercase();
        name.push(letter.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::generate;

    #[test]
    fn generates_every_form_of_a_declaration() {
        let source = "const { freeze } = Object;\n/** About it. */\nconst MODE = freeze({\n  __proto__: null,\n  /** Waits. */\n  SYNC: 0, // as it is\n  asLater: 1, LAST: 2,\n});\n\
                      const TEXTS = freeze([\n  'a', 'b',\n]);\nconst CODE = freeze({\n  ONE: 'E_ONE, one',\n});\nconst NO_WASM = 512;\nconst ROOT = 'x:';\nmodule.exports = freeze({ MODE });";
        let rust = generate(source).unwrap();
        for expected in [
            "pub mod mode {",
            "pub const SYNC: u32 = 0;",
            "pub const AS_LATER: u32 = 1;",
            r#"("asLater", 1),("LAST", 2),"#,
            r#"pub const TEXTS: [&str; 2] = ["a", "b"];"#,
            r#"pub const ONE: &str = "E_ONE, one";"#,
            "pub const NO_WASM: u32 = 512;",
            r#"pub const ROOT: &str = "x:";"#,
        ] {
            assert!(rust.contains(expected), "{expected} in {rust}");
        }
        assert!(!rust.contains("proto"));
    }

    #[test]
    fn unsupported_declarations_are_errors() {
        for wrong in [
            "const A = 1 << 3;",
            "const A = freeze({\n  ONE: 1 << 3,\n});",
            "const A = freeze({\n  ONE: 1\n});",
            "const A = freeze({\n  ...B,\n});",
            "const A = freeze([\n  one,\n]);",
            "const A = other({",
        ] {
            assert!(generate(wrong).is_err(), "{wrong}");
        }
    }
}

//! The startup snapshot: a context in which the bootstrap code has already run. Every realm has that code at no cost, before any guest code
//! runs.

use std::fmt::Write as _;

/// The sources of the snapshot: plain CommonJS modules by relative path. The engine knows nothing else about them.
pub struct Recipe {
    pub modules: &'static [(&'static str, &'static str)],
    /// The module whose exports a realm can read with [`crate::engine::BOOTSTRAP`].
    pub entry: &'static str,
}

impl Recipe {
    /// Realms start without bootstrap code, and no snapshot is made. Making one takes longer than everything else in V8's start.
    #[cfg_attr(windows, allow(dead_code, reason = "children start so, and there are none"))]
    pub const NONE: Self = Self { modules: &[], entry: "" };

    /// One script that evaluates to the exports of the entry module.
    pub fn script(&self) -> String {
        let mut script = String::from("(() => { 'use strict'; const factories = { __proto__: null,\n");
        for (name, source) in self.modules {
            // Writing to a String cannot fail.
            let _ = writeln!(script, "{name:?}: (module, exports, require) => {{ {}\n}},", without_comments(source));
        }
        let _ = write!(
            script,
            "}};\nconst loaded = {{ __proto__: null }};\n\
             const load = (path) => {{\n\
               if (path in loaded) return loaded[path].exports;\n\
               const module = loaded[path] = {{ exports: {{}} }};\n\
               factories[path](module, module.exports, load);\n\
               return module.exports;\n\
             }};\n\
             return load({:?}); }})()",
            self.entry
        );
        script
    }
}

/// A source without indentation and without comments that begin a line, because every isolate has a copy of it in its heap. Nothing but
/// comments spans lines in the sources; a test checks this.
fn without_comments(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut inside = false;
    for line in source.lines() {
        let mut rest = line.trim();
        loop {
            if inside {
                let Some((_, after)) = rest.split_once("*/") else { break };
                rest = after.trim_start();
            }
            inside = rest.starts_with("/*");
            if !inside {
                break;
            }
        }
        if !inside && !rest.is_empty() && !rest.starts_with("//") {
            plain.push_str(rest);
            plain.push('\n');
        }
    }
    plain
}

/// Index of the entry module's exports among the data of the snapshot's context.
pub const BOOTSTRAP: usize = 0;

/// Makes the snapshot of a recipe's script. Empty, so that V8's own snapshot is used, if the recipe is empty. It is also empty if making it
/// fails, which a test rules out.
pub fn build(recipe: &Recipe, script: &str) -> &'static [u8] {
    if recipe.modules.is_empty() {
        return &[];
    }
    let mut creator = v8::Isolate::snapshot_creator(None, None);
    let mut complete = false;
    {
        v8::scope!(let scope, &mut creator);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        let scope = &mut v8::ContextScope::new(scope, context);
        let exports = v8::String::new(scope, script)
            .and_then(|source| v8::Script::compile(scope, source, None))
            .and_then(|script| script.run(scope));
        if let Some(exports) = exports {
            complete = scope.add_context_data(context, exports) == BOOTSTRAP;
        }
        scope.set_default_context(context);
    }
    let blob = creator.create_blob(v8::FunctionCodeHandling::Keep);
    match blob {
        Some(blob) if complete => Box::leak(blob.to_vec().into_boxed_slice()),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::without_comments;
    use crate::guest::RECIPE;

    #[test]
    fn comments_go() {
        let source =
            "'use strict';\n// one\n\n/** two */\n  /**\n   * three\n   */\n  /** four */ f('//', /\\/*/); // five\n";
        assert_eq!(without_comments(source), "'use strict';\nf('//', /\\/*/); // five\n");
    }

    #[test]
    fn nothing_else_spans_lines() {
        let recipes = [RECIPE, crate::web::RECIPE, crate::sandbox::BUILTINS];
        for (name, source) in recipes.iter().flat_map(|recipe| recipe.modules) {
            for line in source.lines() {
                assert!(line.matches('`').count().is_multiple_of(2), "{name}: {line}");
                // A comment after code ends on its line.
                let begins = line.rfind("/*").filter(|at| !line[..*at].trim().is_empty());
                assert!(begins.is_none_or(|at| line[at..].contains("*/")), "{name}: {line}");
            }
        }
    }

    #[test]
    fn preludes_are_of_one_byte_characters() {
        for recipe in [crate::web::RECIPE, crate::sandbox::BUILTINS] {
            assert!(recipe.script().is_ascii(), "{}", recipe.entry);
        }
    }
}

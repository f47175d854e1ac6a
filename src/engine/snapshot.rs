//! The startup snapshot: a context in which the bootstrap code has run, so that every realm starts with it for free and
//! before any guest code.

use std::fmt::Write as _;

/// What the snapshot is made of: plain CommonJS sources by relative path. The engine knows nothing else of them.
pub struct Recipe {
    pub modules: &'static [(&'static str, &'static str)],
    /// The module whose exports a realm can take with [`crate::engine::BOOTSTRAP`].
    pub entry: &'static str,
}

impl Recipe {
    /// One script that evaluates to the exports of the entry module.
    pub(super) fn script(&self) -> String {
        let mut script = String::from("(() => { 'use strict'; const factories = { __proto__: null,\n");
        for (name, source) in self.modules {
            // Writing to a String cannot fail.
            let _ = writeln!(script, "{name:?}: (module, exports, require) => {{ {source}\n}},");
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

/// Index of the entry module's exports among the data of the snapshot's context.
pub const BOOTSTRAP: usize = 0;

/// Makes the snapshot of a recipe's script; empty (V8's own is used then) only if that fails, which a test excludes.
pub fn build(script: &str) -> &'static [u8] {
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

//! Built-ins that cannot be changed, and that what inherits from them can have properties beside all the same
//! (`surface/builtins/index.js`).

use crate::engine::{Prelude, Recipe};

/// What realms start with where they are to have such.
pub const RECIPE: Recipe =
    Recipe { modules: &[("./index.js", include_str!("../../surface/builtins/index.js"))], entry: "./index.js" };

/// The same for realms that have not.
static PRELUDE: Prelude = Prelude::new(RECIPE, None);

/// Spares [`prepare`] the compiler.
pub fn compile(scope: &mut v8::PinScope<'_, '_>) {
    // What fails now fails then.
    let _ = PRELUDE.compile(scope);
}

/// Makes the current realm ready for [`freeze`], where it has not started from a snapshot of the recipe.
pub fn prepare(scope: &mut v8::PinScope<'_, '_>) -> Option<()> {
    PRELUDE.run(scope, |_, _| Some(()))
}

/// Those whose prototypes are frozen.
const BUILTINS: [&str; 12] =
    ["Object", "Array", "String", "Number", "Boolean", "Function", "RegExp", "Date", "Error", "Map", "Set", "Promise"];

/// Freezes them.
pub fn freeze(scope: &mut v8::PinScope<'_, '_>, global: v8::Local<'_, v8::Object>) -> Option<()> {
    let key = v8::String::new(scope, "prototype")?.into();
    for name in BUILTINS {
        let name = v8::String::new(scope, name)?.into();
        let class = v8::Local::<v8::Object>::try_from(global.get(scope, name)?).ok()?;
        let prototype = v8::Local::<v8::Object>::try_from(class.get(scope, key)?).ok()?;
        prototype.set_integrity_level(scope, v8::IntegrityLevel::Frozen)?;
    }
    Some(())
}

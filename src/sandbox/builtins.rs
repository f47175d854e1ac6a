//! Freezes the built-ins of a realm, so that objects that inherit from them can still have properties with the same names
//! (`surface/builtins/index.js`).

use crate::engine::{BootstrapScript, SnapshotSource};

/// The startup snapshot of realms whose built-ins can be frozen.
pub const SNAPSHOT_SOURCE: SnapshotSource =
    SnapshotSource { modules: &[("index.js", include_str!("../../surface/builtins/index.js"))], entry: "index.js" };

/// The same, for realms that did not start from it.
static BOOTSTRAP_SCRIPT: BootstrapScript = BootstrapScript::new(SNAPSHOT_SOURCE, None);

/// Compiles in advance what [`prepare`] runs.
pub fn compile(scope: &mut v8::PinScope<'_, '_>) {
    // If this fails, `prepare` fails too.
    let _ = BOOTSTRAP_SCRIPT.compile(scope);
}

/// Makes the current realm ready for [`freeze`], if it has not started from a snapshot of the source.
pub fn prepare(scope: &mut v8::PinScope<'_, '_>) -> Option<()> {
    BOOTSTRAP_SCRIPT.run(scope, |_, _| Some(()))
}

/// The built-ins whose prototypes are frozen.
const BUILTINS: [&str; 12] =
    ["Object", "Array", "String", "Number", "Boolean", "Function", "RegExp", "Date", "Error", "Map", "Set", "Promise"];

/// Freezes the prototypes.
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

//! Checks WebAssembly modules before V8 compiles them. V8 has process-wide tables that it never or hardly ever shrinks. When one is full,
//! V8 ends the process, or stops a thread under a lock that all isolates need. Its compilers run on threads of their own, where no limit
//! applies. So on Linux the linker redirects the functions with which V8 starts to compile to this module (`build.rs`). A WebAssembly module
//! that asks for too much is rejected with an error like V8's own.
//!
//! V8 has already copied the bytes at that point, so it compiles exactly the bytes that are checked here.

mod blocks;
mod code;
#[cfg(target_os = "linux")]
pub mod code_table;
mod custom;
mod instructions;
mod ledger;
mod module;
mod reader;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod tier_up;
mod types;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrapped;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod wrappers;

use std::borrow::Cow;

use ledger::{MAX_MODULE_TYPES, Refusal};
use module::Module;
use types::Group;

use crate::native::{self, Share};

/// Allowed above the isolate's limit for memory outside its heap, because V8 needs it only briefly.
const MARGIN: usize = 64 << 20;

/// What V8 may use to optimize a function if the isolate has no limit of its own.
const MAX_CODE: usize = 512 << 20;

/// What V8 takes for a module without functions, and to compile it, in blocks that do not count by themselves: 3.3 KB were measured.
const MODULE: usize = 4 << 10;

/// Whether a guest has begun to compile a module asynchronously on this thread since the last call. True where that is not known.
pub fn began_compiling() -> bool {
    native::context::with(|context| context.engine.compiles_module.take())
        || cfg!(any(not(target_os = "linux"), test, fuzzing))
}

/// Whether V8 may compile a module; if not, the reason.
fn admit(bytes: &[u8]) -> Result<(), Cow<'static, str>> {
    let guest = native::current();
    if let Some(guest) = &guest {
        guest.compiles_module();
    }
    let most = guest.as_ref().map_or(MAX_CODE, |guest| guest.guest_limit().saturating_add(MARGIN));
    let module = Module::read(bytes, MAX_MODULE_TYPES, most);
    let (cost, function) = module.largest;
    if cost > most {
        let message = format!("Compiling function body {function} takes more memory than the isolate may have");
        return Err(message.into());
    }
    if module.entries > most {
        return Err("The module takes more memory than the isolate may have".into());
    }
    if module.custom.names > custom::MAX_NAMES {
        return Err("The module names more functions than it may have".into());
    }
    ledger::take_types(&module.types.groups, module.types.unknown, guest.as_ref().map(|guest| &**guest.types()))
        .map_err(type_message)?;
    // Not under the ledger's lock: this may stop the isolate.
    let held = guest.as_ref().map(|guest| Share::of(guest, MODULE.saturating_add(module.custom.bytes())).hold());
    ledger::take_functions(bytes.as_ptr(), module.functions, held)
        .map_err(|_| "There is no room for the functions of the module in this process".into())
}

fn type_message(refusal: Refusal) -> Cow<'static, str> {
    match refusal {
        Refusal::Isolate => "The isolate may not define so many new WebAssembly types",
        Refusal::Process => "There is no room for so many new WebAssembly types in this process",
    }
    .into()
}

/// The same check for a type that a guest has created without a module, described by `text`.
fn admit_type(text: &[u8], parts: usize) -> Result<(), Cow<'static, str>> {
    let group = Group::of_one(text, parts);
    ledger::take_types(&[group], 0, native::current().as_ref().map(|guest| &**guest.types())).map_err(type_message)
}

#[cfg(test)]
mod tests {
    #[test]
    fn refuses_modules_that_need_too_much_memory() {
        assert_eq!(super::admit(b"\0asm\x01\0\0\0"), Ok(()));
        assert_eq!(super::admit(b"nothing"), Ok(()));
        // 50,000 locals, and a branch with 65,000 targets.
        let mut body = vec![1, 0xd0, 0x86, 3, 0x7f, 0x0e, 0xe8, 0xfb, 3];
        body.resize(body.len() + 65_001, 0);
        let length = body.len();
        let size =
            |number: usize| [number as u8 & 0x7f | 0x80, (number >> 7) as u8 & 0x7f | 0x80, (number >> 14) as u8];
        let module = [b"\0asm\x01\0\0\0\x0a", &size(length + 4)[..], &[1], &size(length), &body].concat();
        let refused = super::admit(&module).unwrap_err();
        assert!(refused.starts_with("Compiling function body 0"), "{refused}");
    }
    #[test]
    fn refuses_many_tables_of_branches_in_deep_blocks() {
        let cost = |depth: usize, count: usize| {
            let body = [&[0][..], &[0x02, 0x40].repeat(depth), &[0x0e, 0, 0].repeat(count)].concat();
            super::code::cost(&body, &super::code::Parts::default(), 0)
        };
        assert_eq!(cost(1_000, 2_000) - cost(0, 2_000) - (cost(1_000, 0) - cost(0, 0)), 4 * 1_000 * 2_000);
        // If the code is not understood, as many as may follow.
        assert!(super::code::cost(&[0xff; 100_000], &super::code::Parts::default(), 0) > 100_000 * 100_000 / 24);
    }
}

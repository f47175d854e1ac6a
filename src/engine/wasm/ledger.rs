//! How much modules may use of V8's process-wide tables.

use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Mutex};

use super::types::{Group, TYPE_BYTES};
use crate::native::{ShareGuard, TypeBudget, blocks, lock};

/// Limit for the types of all modules together, which V8 never frees: 262,144 without parameters. V8 ends the process at two million, and
/// each isolate has an array with an entry for each type.
const MAX_TYPES: usize = 262_144 * TYPE_BYTES;

/// Limit for functions of modules that are alive: half of the capacity of V8's table of code pointers.
const MAX_FUNCTIONS: usize = 8 << 20;

/// Limit for keys of wrappers in V8's cache, of about 150 bytes each.
const MAX_WRAPPERS: usize = 1 << 17;

/// One module may use this fraction (one quarter) of what remains for all.
const SHARE: usize = 4;

/// Maximum for the types of one module.
pub const MAX_MODULE_TYPES: usize = MAX_TYPES / SHARE;

#[derive(Default)]
struct Ledger {
    /// Groups of types that V8 already has.
    known: HashSet<u128>,
    /// Bytes of types.
    types: usize,
    functions: usize,
    /// By the address of their bytes.
    modules: HashMap<usize, Live>,
    /// Keys in V8's cache of wrappers.
    wrappers: HashSet<Wrapper>,
}

/// A module whose bytes are not freed yet.
struct Live {
    functions: usize,
    /// What counts for its isolate.
    _held: Option<ShareGuard>,
}

/// A signature, the number of parameters that the imported function declares, and whether it suspends.
pub type Wrapper = (usize, i32, i32);

static LEDGER: LazyLock<Mutex<Ledger>> = LazyLock::new(Mutex::default);

/// Why V8 may not get something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Isolate,
    Process,
}

/// Counts types that V8 is about to add and keep. `unknown` is the size in bytes of types that cannot be identified.
pub fn take_types(groups: &[Group], unknown: usize, guest: Option<&TypeBudget>) -> Result<(), Refusal> {
    let mut ledger = lock(&LEDGER);
    let mut new = HashSet::new();
    let mut bytes = unknown;
    for group in groups {
        if !ledger.known.contains(&group.key) && new.insert(group.key) {
            bytes = bytes.saturating_add(group.bytes);
        }
    }
    if bytes == 0 {
        return Ok(());
    }
    if bytes > MAX_TYPES.saturating_sub(ledger.types) / SHARE {
        return Err(Refusal::Process);
    }
    if guest.is_some_and(|guest| !guest.take(bytes)) {
        return Err(Refusal::Isolate);
    }
    ledger.types += bytes;
    ledger.known.extend(new);
    Ok(())
}

/// Counts the functions of a module until its bytes are freed, and keeps `held` until then.
pub fn take_functions(bytes: *const u8, functions: usize, held: Option<ShareGuard>) -> Result<(), Refusal> {
    let mut ledger = lock(&LEDGER);
    if functions > (MAX_FUNCTIONS - ledger.functions) / SHARE {
        return Err(Refusal::Process);
    }
    ledger.functions += functions;
    let before = ledger.modules.insert(bytes as usize, Live { functions, _held: held });
    match &before {
        Some(before) => ledger.functions -= before.functions,
        None => blocks::watch(bytes as usize, forget),
    }
    // What a module holds is released without the lock.
    drop(ledger);
    drop(before);
    Ok(())
}

/// Whether V8's cache has this key already, or may add it.
#[cfg_attr(
    any(test, fuzzing, not(target_os = "linux")),
    allow(dead_code, reason = "only V8 in the addon on Linux asks")
)]
pub fn take_wrapper(wrapper: Wrapper) -> bool {
    let wrappers = &mut lock(&LEDGER).wrappers;
    wrappers.contains(&wrapper) || (wrappers.len() < MAX_WRAPPERS && wrappers.insert(wrapper))
}

/// The bytes of a module are about to be freed.
fn forget(address: usize) {
    let mut ledger = lock(&LEDGER);
    let module = ledger.modules.remove(&address);
    if let Some(Live { functions, .. }) = &module {
        ledger.functions -= functions;
        blocks::forget(address);
    }
    // As above.
    drop(ledger);
}

#[cfg(test)]
mod tests {
    use super::{
        Group, MAX_FUNCTIONS, MAX_TYPES, MAX_WRAPPERS, Refusal, SHARE, forget, take_functions, take_types, take_wrapper,
    };

    #[test]
    fn counts_types_once() {
        let group = |key, bytes| Group { key, bytes };
        assert_eq!(take_types(&[group(1, MAX_TYPES)], 0, None), Err(Refusal::Process));
        assert_eq!(take_types(&[group(1, MAX_TYPES / SHARE)], 0, None), Ok(()));
        assert_eq!(take_types(&[group(1, MAX_TYPES / SHARE)], 0, None), Ok(()));
        assert_eq!(take_types(&[group(2, MAX_TYPES / SHARE)], 0, None), Err(Refusal::Process));
        assert_eq!(take_types(&[group(2, 1), group(2, 1)], 1, None), Ok(()));
        assert_eq!(take_types(&[], MAX_TYPES, None), Err(Refusal::Process));
    }

    #[test]
    fn bounds_the_keys_of_wrappers() {
        let taken = (0..MAX_WRAPPERS * 2).filter(|number| take_wrapper((*number, 1, 0))).count();
        assert_eq!(taken, MAX_WRAPPERS);
        assert!(take_wrapper((0, 1, 0)));
        assert!(!take_wrapper((0, 2, 0)));
    }

    #[test]
    fn counts_functions_until_they_are_freed() {
        let max = MAX_FUNCTIONS / SHARE;
        let places = [1_u8, 2];
        let [one, other] = places.each_ref().map(std::ptr::from_ref);
        assert_eq!(take_functions(one, max + 1, None), Err(Refusal::Process));
        assert_eq!(take_functions(one, max, None), Ok(()));
        assert_eq!(take_functions(other, max, None), Err(Refusal::Process));
        forget(one as usize);
        forget(one as usize);
        assert_eq!(take_functions(other, max, None), Ok(()));
        forget(other as usize);
    }
}

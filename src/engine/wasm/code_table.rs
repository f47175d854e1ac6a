//! V8's table of the entry points of WebAssembly code, which all isolates share. The list of its free entries has no lock: a thread that
//! takes an entry puts a marker at the head of the list for a few instructions, and all other threads, also in collections, spin until it is
//! gone.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// `WasmCodePointerTable::freelist_head_`: the index of the first free entry in the lower half, the number of free entries in the upper one.
static HEAD: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// Where it lies in the table. A test notices when another V8 has it elsewhere.
const OFFSET_OF_HEAD: usize = 48;

/// `WasmCodePointerTable::kRetryMarker`.
const MARKER: u64 = 0xffff_ffff;

unsafe extern "C" {
    /// `v8::internal::wasm::GetProcessWideWasmCodePointerTable`.
    #[link_name = "_ZN2v88internal4wasm34GetProcessWideWasmCodePointerTableEv"]
    fn table() -> *mut c_void;
}

/// Learns where the table lies. Called once V8 has started.
pub fn learn() {
    // SAFETY: V8 has made the table, and never releases it. It is larger than the offset of this field, which is aligned.
    HEAD.store(unsafe { table().byte_add(OFFSET_OF_HEAD) }.cast(), Ordering::Release);
}

fn head() -> Option<u64> {
    // SAFETY: null, or what `learn` has found. V8 itself accesses the field as an atomic one.
    unsafe { HEAD.load(Ordering::Acquire).as_ref() }.map(|head| head.load(Ordering::Acquire))
}

/// Whether a thread is taking an entry, so that none may stop here that may be this one. Called by signal handlers.
pub fn is_being_changed() -> bool {
    head() == Some(MARKER)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{head, is_being_changed, learn};

    /// A module with this many functions, which do nothing.
    fn module(functions: u8) -> Vec<u8> {
        let mut bytes = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03".to_vec();
        bytes.extend([functions + 1, functions]);
        bytes.extend(vec![0; usize::from(functions)]);
        bytes.extend([10, 1 + 3 * functions, functions]);
        bytes.extend([2, 0, 0x0b].repeat(usize::from(functions)));
        bytes
    }

    #[test]
    fn finds_the_list_of_free_entries() {
        (crate::guest::settings().engine)().unwrap();
        learn();
        let free = || (head().unwrap() >> 32) as usize;
        let isolate = &mut v8::Isolate::new(v8::CreateParams::default());
        v8::scope!(let scope, isolate);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        let scope = &mut v8::ContextScope::new(scope, context);
        let taken = |functions| {
            let before = free();
            assert!(v8::WasmModuleObject::compile(scope, &module(functions)).is_some());
            before.wrapping_sub(free())
        };
        // The first one makes entries, if there are none.
        taken(1);
        // Other tests may take entries at the same time.
        assert!((0..100).any(|_| taken(20) == 20));
        // The marker is there for a few instructions only: another processor has to look for it.
        if thread::available_parallelism().is_ok_and(|processors| processors.get() == 1) {
            return;
        }
        let ends = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ends);
        let watch = thread::spawn(move || {
            let mut seen = [false; 2];
            while seen != [true; 2] && !end.load(Ordering::Relaxed) {
                seen[usize::from(is_being_changed())] = true;
            }
            seen
        });
        let until = Instant::now() + Duration::from_secs(20);
        while !watch.is_finished() && Instant::now() < until {
            taken(20);
        }
        ends.store(true, Ordering::Relaxed);
        assert_eq!(watch.join().unwrap(), [true; 2]);
    }
}

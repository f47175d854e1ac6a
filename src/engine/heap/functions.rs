//! V8's table of an isolate's functions (`JSDispatchTable`): the code of each function, in 16 bytes. It lies beside the heap, in address space
//! of its own. A guest can make it as large as a tenth of its heap.

use std::ffi::c_void;

use crate::native::give_back_pages;

/// `Internals::kIsolateJSDispatchTableOffset`: where the table lies in an isolate, without pointer compression. A test notices when another V8 has
/// it elsewhere.
const OFFSET: usize = 720;

/// `kJSDispatchTableReservationSize`.
const SIZE: usize = 256 << 20;

/// The start of `SegmentedTable`.
#[repr(C)]
struct Table {
    start: usize,
    space: *const Space,
}

/// `v8::VirtualAddressSpace`.
#[repr(C)]
struct Space {
    _functions: *const c_void,
    page: usize,
    _granularity: usize,
    start: usize,
    size: usize,
}

/// The table of one isolate.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    start: usize,
}

impl Functions {
    /// `None` if the table is not where this code expects it.
    pub fn of(isolate: &v8::Isolate) -> Option<Self> {
        // SAFETY: `UnsafeRawIsolatePtr` is a pointer in a newtype, to an isolate, which is larger than this. If the table lies there, its
        // second word points to the description of its space.
        unsafe {
            let isolate: *const c_void = std::mem::transmute(isolate.as_raw_isolate_ptr());
            let table = isolate.byte_add(OFFSET).cast::<Table>();
            let Table { start, space } = table.read();
            if !start.is_multiple_of(4 << 10) || !space.is_aligned() {
                return None;
            }
            let space = space.as_ref()?;
            (space.page.is_power_of_two() && space.start == start && space.size == SIZE).then_some(Self { start })
        }
    }

    /// Gives the memory of the table back to the system.
    ///
    /// # Safety
    /// Nothing calls the isolate's functions or collects them from now on, and the isolate is never disposed.
    pub unsafe fn give_back(self) {
        // SAFETY: the whole range is the table's. The caller guarantees the rest.
        unsafe { give_back_pages(self.start, SIZE) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Functions, SIZE};

    #[test]
    fn finds_the_table_of_an_isolate() {
        (crate::guest::settings().engine)().unwrap();
        let resident = |start: usize| {
            let mut pages = vec![0_u8; SIZE >> 12];
            // SAFETY: the range is mapped, and there is a byte for each of its pages.
            assert_eq!(unsafe { libc::mincore(start as *mut _, SIZE, pages.as_mut_ptr()) }, 0);
            pages.iter().filter(|page| **page & 1 == 1).count() << 12
        };
        let isolate = &mut v8::Isolate::new(v8::CreateParams::default());
        let functions = Functions::of(isolate).unwrap();
        let before = resident(functions.start);
        v8::scope!(let scope, isolate);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        let scope = &mut v8::ContextScope::new(scope, context);
        let code = format!("(() => [{}])()", "() => {},".repeat(20_000));
        let code = v8::String::new(scope, &code).unwrap();
        assert!(v8::Script::compile(scope, code, None).and_then(|script| script.run(scope)).is_some());
        assert!(resident(functions.start) >= before + 20_000 * 16 - (64 << 10));
    }
}

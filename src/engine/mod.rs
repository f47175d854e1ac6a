//! V8 for the process: started once, on first use, and never disposed. Knows nothing about isolates' internals, bindings or the host.

mod abort;
mod accessor;
mod address_space;
mod allocator;
pub mod background;
mod bootstrap_script;
#[cfg(target_os = "linux")]
mod checks;
pub mod code_cache;
mod code_ranges;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod collections;
mod cpp_heap;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod cpu_profiles;
#[cfg_attr(not(all(target_os = "linux", not(any(test, fuzzing)))), path = "fibers/absent.rs")]
mod fibers;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod generations;
mod guest_thread;
mod heap;
mod icu;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod inspector_frames;
pub mod library;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod maglev;
mod memory;
mod microtasks;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod optimizer;
mod page_allocator;
mod platform;
mod pool;
mod read_only_heap;
mod seal;
mod snapshot;
mod snapshot_objects;
mod snapshot_scripts;
mod snapshot_views;
mod start;
mod stub_cache;
#[cfg(not(target_os = "linux"))]
mod suspension_absent;
#[cfg_attr(
    any(fuzzing, not(target_os = "linux")),
    allow(dead_code, reason = "only the addon on Linux receives V8's tasks")
)]
mod task_queue;
mod threads;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod tiering;
mod user_snapshot;
#[cfg_attr(
    any(test, fuzzing, not(target_os = "linux")),
    allow(dead_code, reason = "only the linker of the addon on Linux calls it")
)]
mod wasm;
mod weak;
#[cfg(windows)]
mod windows;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod worker;

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::native;
use crate::value::{Budget, Code, ErrorClass, Fault};
pub use abort::contain_fatal_errors;
pub use accessor::is_plain;
#[cfg(unix)]
pub use address_space::is_new_process;
pub use address_space::{for_isolate as address_space, take_for_buffers as take_space_for_buffers};
pub use bootstrap_script::BootstrapScript;
#[cfg(target_os = "linux")]
pub use checks::contain as contain_failed_checks;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use collections::{leave_heap, stop_tasks};
pub use fibers::{Allowed, Entered, limit_stack, new_thread, works_on_cpp_heap, works_on_heap};
pub use guest_thread::{GuestThread, ThreadState, accept_suspension, is_main_thread, knows_code_of_v8};
pub use heap::Heap;
pub use icu::abandon as abandon_texts;
pub use memory::memory;
pub use microtasks::{TerminatedMicrotask, drop_microtasks_if, take_terminated_microtask};
pub use page_allocator::{with_budgets, with_prepaid_space};
pub use platform::{TaskSink, forget_isolate, make_isolate, make_snapshot_creator, register_isolate};
pub use pool::{run_on_pool, threads};
pub use seal::{Digest, open, seal};
pub use snapshot::{BOOTSTRAP, SnapshotSource};
pub use snapshot_objects::{Unusable, prepare as prepare_for_snapshot, verify as verify_snapshot};
pub use snapshot_scripts::{have_shrunk_buffers, run_for_snapshot};
pub use start::Unavailable;
pub use user_snapshot::{Size, Snapshot};
pub use wasm::began_compiling;
pub use weak::Weak;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
pub use worker::replace_current_thread;

/// Elsewhere it is not known which of V8's own threads wait.
#[cfg(not(all(target_os = "linux", not(any(test, fuzzing)))))]
pub fn stop_tasks(quota: &native::NativeQuota, _safepoint: usize) {
    quota.tasks().stop(0..0);
}

/// Whether the addon's file seems to hold a snapshot of the source for this V8. It may be damaged.
#[cfg_attr(windows, allow(dead_code, reason = "children ask it, and there are none"))]
pub fn is_embedded(source: &SnapshotSource, addon: &mut File) -> bool {
    snapshot::find(source.digest(), FLAGS, addon).is_some()
}

/// While a function is compiled on another thread, a loop that runs in it would not check for a termination for 2^30 bytes of bytecode, however
/// long they take. In the addon on Linux, `tiering` prevents that.
#[cfg(not(all(target_os = "linux", not(any(test, fuzzing)))))]
macro_rules! concurrency {
    () => {
        "--no-concurrent-recompilation "
    };
}
/// One compilation by each compiler at a time for each isolate. The compilers take time and memory by the square of a function's length, and Maglev cannot
/// be ended. With V8's own limit of 60 KB of bytecode, a function took gigabytes, also after its isolate had ended.
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
macro_rules! concurrency {
    () => {
        "--concurrent-turbofan-max-threads=1 --concurrent-maglev-max-threads=1 --max-optimized-bytecode-size=32768 "
    };
}

/// Flags set before V8 starts. A test proves that each one is needed.
const FLAGS: &str = concat!(
    // Out of memory ends in `abort()` and not in a trap instruction, so that it can be intercepted.
    "--no-hard-abort ",
    // On CPUs with protection keys, a thread older than V8's start would crash with SEGV_PKUERR.
    "--no-memory-protection-keys ",
    // Turboshaft's loop unrolling removes the wrong loop's stack check: `for(;;) new Array(1000).fill(1.5)` would never notice a
    // termination.
    "--no-turboshaft-loop-unrolling ",
    // The same phase for WebAssembly: after an `array.new` of a few elements the next loop may lose its check.
    "--no-wasm-loop-unrolling ",
    concurrency!(),
    // V8's read-only heap is shared by all isolates. A snapshot made while no other isolate exists would contain its own read-only heap,
    // and no isolate of another snapshot could exist alongside an isolate that starts from it.
    "--no-extensible-ro-snapshot ",
    // Isolates with equal modules would share their code. If one of them ended while it compiles, the others would wait forever.
    "--no-wasm-native-module-cache ",
    // An isolate that V8 gives a task is entered by a thread of ours, and not by the caller of a sync call. A minor collection needs no task: it
    // comes when the young generation is full, soon after the task would be due.
    "--no-minor-gc-task ",
);

/// V8's own version.
pub fn version() -> &'static str {
    v8::V8::get_version()
}

/// Whether the process has address space for another isolate in addition to those `alive`. Without address space, V8 ends the process.
pub fn has_room(alive: u64) -> bool {
    address_space::has_room(alive)
}

impl Unavailable {
    pub fn message(self) -> &'static str {
        match self {
            Self::Memory => "There is no memory for V8 in this process",
            Self::Unlimited => "V8 cannot be used in this process: its page allocator cannot be limited",
            Self::Threads => "The system starts no more threads for this process",
        }
    }

    pub fn code(self) -> Code {
        match self {
            Self::Memory => Code::Memory,
            Self::Unlimited => Code::Unsupported,
            Self::Threads => Code::Limit,
        }
    }
}

/// The error of a call that needs the engine.
impl From<Unavailable> for Fault {
    fn from(reason: Unavailable) -> Self {
        Fault::coded(ErrorClass::Error, reason.message(), reason.code())
    }
}

/// Whether guests have `gc()`. Only takes effect before the engine starts.
static EXPOSE_GC: AtomicBool = AtomicBool::new(false);

/// Gives guests a `gc` function, as V8's flag `--expose-gc` does. Has no effect once the engine has started.
pub fn expose_gc() {
    EXPOSE_GC.store(true, Ordering::Relaxed);
}

#[cfg_attr(windows, allow(dead_code, reason = "only child processes need it, and Windows has none"))]
pub fn exposes_gc() -> bool {
    EXPOSE_GC.load(Ordering::Relaxed)
}

/// Room above a guest's limit, for the young generation and for objects that a collection moves.
const HEADROOM: usize = 64 << 20;

/// Bounds of the young generation.
const MIN_YOUNG: usize = 1 << 20;
const MAX_YOUNG: usize = 32 << 20;

/// The running engine.
pub struct Engine {
    snapshot: &'static [u8],
    /// Digest of the startup snapshot's source.
    source: u64,
}

static ENGINE: start::Once<Engine> = start::Once::new();

impl Engine {
    /// The engine, started with `source` by the first caller. `addon` opens the file that may hold the source's snapshot. `park` receives the
    /// threads of guests that ran out of memory where V8 would end the process, and the threads whose fatal errors are contained.
    pub fn start(
        source: &SnapshotSource,
        addon: fn() -> Option<File>,
        park: abort::Park,
    ) -> Result<&'static Engine, Unavailable> {
        // Memory that V8 allocates here belongs to the process, such as the types that WebAssembly has from the start. It remains when the
        // isolate of this thread is lost.
        let for_process = || native::with_quota(None, || Self::launch(source, addon, park));
        ENGINE.get_or_start(Self::check, for_process)
    }

    /// Whether the process has what V8 needs to start. Without it, V8 ends the process.
    fn check() -> Result<(), Unavailable> {
        if !address_space::has_room_for_engine() {
            return Err(Unavailable::Memory);
        }
        if threads::can_start(threads::of_v8()) { Ok(()) } else { Err(Unavailable::Threads) }
    }

    fn launch(source: &SnapshotSource, addon: fn() -> Option<File>, park: abort::Park) -> Result<Engine, Unavailable> {
        v8::V8::set_flags_from_string(FLAGS);
        if EXPOSE_GC.load(Ordering::Relaxed) {
            v8::V8::set_flags_from_string("--expose-gc");
        }
        v8::V8::set_entropy_source(entropy);
        icu::count();
        // Without its data V8's ICU aborts at the first use of `Intl`. An error here means a second call.
        let _ = v8::icu::set_common_data_78(deno_core_icudata::ICU_DATA);
        v8::V8::initialize_platform(platform::new());
        v8::V8::initialize();
        #[cfg(target_os = "linux")]
        wasm::code_table::learn();
        if !page_allocator::watch() {
            return Err(Unavailable::Unlimited);
        }
        abort::intercept(park);
        let digest = source.digest();
        // Contexts have an extension then, which the snapshot lacks.
        let embedded = if exposes_gc() {
            None
        } else {
            addon().and_then(|mut addon| snapshot::embedded(digest, FLAGS, &mut addon))
        };
        Ok(Engine { snapshot: embedded.unwrap_or_else(|| snapshot::build(source)), source: digest })
    }

    /// The snapshot of a source, in the form in which the addon's file holds it.
    pub fn embeddable_snapshot(&self, source: &SnapshotSource) -> Vec<u8> {
        snapshot::embeddable(source, FLAGS)
    }

    /// Whether isolates start from a snapshot of the library, not from V8's own.
    pub fn has_startup_snapshot(&self) -> bool {
        !self.snapshot.is_empty()
    }

    /// Parameters that every isolate starts from: a snapshot, which the caller keeps as long as the isolate, its heap limits and its buffer
    /// budget. V8's own heap limit lies above `heap_limit`, which the isolate enforces, because V8 ends the process when the heap is full
    /// in the middle of a collection.
    pub fn create_params(
        &self,
        heap_limit: usize,
        budget: &Arc<Budget>,
        snapshot: Option<&Snapshot>,
    ) -> v8::CreateParams {
        let params = params(heap_limit, budget);
        match snapshot {
            Some(snapshot) => params.snapshot_blob(snapshot.data()),
            None if self.snapshot.is_empty() => params,
            None => params.snapshot_blob(v8::StartupData::from(self.snapshot)),
        }
    }

    /// An isolate was made.
    pub fn count_isolate(&'static self) {
        read_only_heap::count(|| self.create_params(0, &Budget::new(0), None));
    }

    /// Parameters of an isolate from which a snapshot is made, and the snapshot that this isolate itself starts from.
    pub fn snapshot_creator_params(
        &self,
        heap_limit: usize,
        budget: &Arc<Budget>,
    ) -> (v8::StartupData, v8::CreateParams) {
        (v8::StartupData::from(self.snapshot), params(heap_limit, budget))
    }

    /// Tags a snapshot that V8 has written, so that it can leave the addon.
    pub fn seal_snapshot(&self, contents: &[u8], size: Size) -> Arc<Vec<u8>> {
        Snapshot::seal(contents, self.source, size)
    }

    #[cfg(test)]
    pub fn seal_snapshot_of(&self, source: &SnapshotSource, contents: &[u8]) -> Vec<u8> {
        Snapshot::seal(contents, source.digest(), Size::default()).to_vec()
    }

    /// Opens a snapshot that was handed in again; `None` unless this build has made it.
    pub fn open_snapshot(&self, sealed: Arc<Vec<u8>>) -> Option<Snapshot> {
        Snapshot::open(sealed, self.source)
    }

    /// Opens a snapshot that this build has made in a process with another source.
    #[cfg_attr(windows, allow(dead_code, reason = "children get such, and there are none"))]
    pub fn open_snapshot_of(&self, source: &SnapshotSource, sealed: Arc<Vec<u8>>) -> Option<Snapshot> {
        Snapshot::open(sealed, source.digest())
    }
}

fn params(heap_limit: usize, budget: &Arc<Budget>) -> v8::CreateParams {
    v8::CreateParams::default()
        .heap_limits(0, heap_limit)
        .set_max_old_generation_size_in_bytes(heap_limit.saturating_add(HEADROOM))
        .set_max_young_generation_size_in_bytes((heap_limit / 8).clamp(MIN_YOUNG, MAX_YOUNG))
        .array_buffer_allocator(allocator::limited(budget))
        .allow_atomics_wait(true)
}

/// Random bytes for V8, which would otherwise open a device three times for each isolate.
fn entropy(buffer: &mut [u8]) -> bool {
    getrandom::fill(buffer).is_ok()
}

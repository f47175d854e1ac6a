//! V8 for the process: started once, on first use, never disposed. Knows nothing of isolates' inner life, of bindings or
//! of the host.

mod abort;
mod allocator;
pub mod background;
mod blob;
mod heap;
mod icu;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod maglev;
mod memory;
mod pages;
mod platform;
mod pool;
mod prelude;
mod seal;
mod seat;
mod snapshot;
mod space;
mod stub_cache;
#[cfg_attr(
    any(test, fuzzing, not(target_os = "linux")),
    allow(dead_code, reason = "only the linker of the addon on Linux sends anybody there")
)]
mod wasm;
mod weak;
#[cfg(windows)]
mod windows;
#[cfg(all(target_os = "linux", not(any(test, fuzzing))))]
mod worker;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::native;
use crate::value::Budget;
pub use abort::contain_fatal_errors;
pub use blob::{Size, Snapshot};
pub use heap::Heap;
pub use icu::abandon as abandon_texts;
pub use memory::memory;
pub use pages::draw_on;
pub use platform::{TaskSink, forget_isolate, make_author, make_isolate, register_isolate};
pub use pool::{run_on_pool, threads};
pub use prelude::Prelude;
pub use seal::{Digest, open, seal};
pub use seat::{Occupant, Seat};
pub use snapshot::{BOOTSTRAP, Recipe};
pub use space::for_isolate as address_space;
pub use wasm::began_compiling;
pub use weak::Weak;

/// Flags set before V8 starts. Each is here for a reason that a test proves.
const FLAGS: &str = concat!(
    // Out of memory ends in `abort()` and not in a trap instruction, so that it can be intercepted.
    "--no-hard-abort ",
    // On CPUs with protection keys a thread older than V8's start would die with SEGV_PKUERR.
    "--no-memory-protection-keys ",
    // Turboshaft's loop unrolling removes the wrong loop's stack check: `for(;;) new Array(1000).fill(1.5)` would
    // never see a termination.
    "--no-turboshaft-loop-unrolling ",
    // The same phase for WebAssembly: after an `array.new` of a few elements the next loop may lose its check.
    "--no-wasm-loop-unrolling ",
    // While a function is compiled on another thread, a loop that runs in it would not look for a termination for 2^30 bytes
    // of bytecode, however long they take.
    "--no-concurrent-recompilation ",
    // V8's read-only heap is one for all isolates. A snapshot made while there is no other isolate would bring one of its
    // own, and no isolate of another snapshot could live beside one that starts from it.
    "--no-extensible-ro-snapshot ",
    // Isolates with equal modules would share their code, and one that ended while it compiles would have the others wait for ever.
    "--no-wasm-native-module-cache ",
);

/// V8's own version.
pub fn version() -> &'static str {
    v8::V8::get_version()
}

/// Whether the process has address space for another isolate beside those `alive`, and for V8 if that has yet to start. V8 would
/// end the process.
pub fn has_room(alive: u64) -> bool {
    space::has_room(ENGINE.get().is_none(), alive)
}

/// Guests have `gc()`. Only counts before the engine starts.
static EXPOSE_GC: AtomicBool = AtomicBool::new(false);

/// Gives guests a `gc` function, as V8's flag `--expose-gc` does. Without effect once the engine has started.
pub fn expose_gc() {
    EXPOSE_GC.store(true, Ordering::Relaxed);
}

#[cfg_attr(windows, allow(dead_code, reason = "children are told, and there are none"))]
pub fn exposes_gc() -> bool {
    EXPOSE_GC.load(Ordering::Relaxed)
}

/// Room above a guest's limit: the young generation, and what a collection moves about.
const HEADROOM: usize = 64 << 20;

/// Bounds of the young generation.
const MIN_YOUNG: usize = 1 << 20;
const MAX_YOUNG: usize = 32 << 20;

/// The running engine.
pub struct Engine {
    snapshot: &'static [u8],
    /// Names the recipe.
    recipe: u64,
}

static ENGINE: OnceLock<Engine> = OnceLock::new();

impl Engine {
    /// The engine, started with `recipe` by the first caller; `park` gets threads of guests that ran out of
    /// memory where V8 would end the process, and those whose fatal errors are contained.
    pub fn start(recipe: &Recipe, park: abort::Park) -> &'static Engine {
        ENGINE.get_or_init(|| {
            // What V8 takes here is the process's, such as the types that WebAssembly has from the start: it stays when the isolate of
            // this thread is lost.
            let _portion = native::draw_on(None);
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
            pages::watch();
            abort::intercept(park);
            let script = recipe.script();
            Engine { snapshot: snapshot::build(recipe, &script), recipe: name_of(&script) }
        })
    }

    /// Whether isolates start with what the recipe makes.
    pub fn follows_recipe(&self) -> bool {
        !self.snapshot.is_empty()
    }

    /// Parameters every isolate starts from: a snapshot, which the caller keeps as long as the isolate, its heap, its buffer
    /// budget. V8's own heap limit lies above `heap_limit`, which the isolate enforces: V8 ends the process when the heap is
    /// full in mid-collection.
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

    /// Parameters of an isolate that a snapshot is to be made from, and what it starts from itself.
    pub fn author_params(&self, heap_limit: usize, budget: &Arc<Budget>) -> (v8::StartupData, v8::CreateParams) {
        (v8::StartupData::from(self.snapshot), params(heap_limit, budget))
    }

    /// A snapshot that V8 has written, ready to leave.
    pub fn seal_snapshot(&self, contents: &[u8], size: Size) -> Arc<Vec<u8>> {
        Snapshot::seal(contents, self.recipe, size)
    }

    #[cfg(test)]
    pub fn seal_snapshot_of(&self, recipe: &Recipe, contents: &[u8]) -> Vec<u8> {
        Snapshot::seal(contents, name_of(&recipe.script()), Size::default()).to_vec()
    }

    /// One that has come back; `None` unless this build has made it.
    pub fn open_snapshot(&self, sealed: Arc<Vec<u8>>) -> Option<Snapshot> {
        Snapshot::open(sealed, self.recipe)
    }

    /// One that this build has made in a process with another recipe.
    #[cfg_attr(windows, allow(dead_code, reason = "children get such, and there are none"))]
    pub fn open_snapshot_of(&self, recipe: &Recipe, sealed: Arc<Vec<u8>>) -> Option<Snapshot> {
        Snapshot::open(sealed, name_of(&recipe.script()))
    }
}

/// Tells the scripts of recipes apart, which are all ours.
fn name_of(script: &str) -> u64 {
    let [name, ..] = Digest::new(0).bytes(script.as_bytes()).finish();
    name
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

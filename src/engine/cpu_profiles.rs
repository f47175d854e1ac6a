//! Limits the memory of CPU profiles. V8 keeps a node for each stack frame that it has not seen below the same callers, outside all limits, and
//! writes the names of its function and script, which may have 1,024 characters each, for every one. Deep stacks of many functions make 200,000
//! of them in a second. On Linux the linker redirects the function that adds a sample to this module (`build.rs`).

use std::ffi::c_void;
use std::sync::Arc;

use crate::native::{NativeQuota, TypeBudget, Watch, with_quota_in_background};

/// The maximum number of bytes of the samples and nodes that a profile has: those of some 60,000 nodes. Later samples are dropped.
const MAX_BYTES: usize = 16 << 20;

type Object = *mut c_void;

/// `v8::internal::LineAndColumn`.
#[repr(C)]
struct Position {
    line: i32,
    column: i32,
}

/// `std::optional<uint64_t>`.
#[repr(C)]
struct Trace {
    id: u64,
    is_some: bool,
}

unsafe extern "C" {
    /// `v8::internal::CpuProfilesCollection::AddPathToCurrentProfiles`.
    #[link_name = "__real__ZN2v88internal21CpuProfilesCollection24AddPathToCurrentProfilesENS_4base9TimeTicksERKNSt4__Cr6vectorINS0_20CodeEntryAndPositionENS4_9allocatorIS6_EEEENS0_13LineAndColumnEbNS2_9TimeDeltaENS_8StateTagENS_16EmbedderStateTagEmmNS4_8optionalImEE"]
    fn add_sample(
        profiles: Object,
        time: i64,
        frames: Object,
        position: Position,
        updates: bool,
        interval: i64,
        state: u16,
        embedder_state: u8,
        context: usize,
        embedder_context: usize,
        trace: Trace,
    );
}

core::arch::global_asm!(
    ".hidden __wrap__ZN2v88internal21CpuProfilesCollection24AddPathToCurrentProfilesENS_4base9TimeTicksERKNSt4__Cr6vectorINS0_20CodeEntryAndPositionENS4_9allocatorIS6_EEEENS0_13LineAndColumnEbNS2_9TimeDeltaENS_8StateTagENS_16EmbedderStateTagEmmNS4_8optionalImEE"
);

/// The memory is only added up.
struct Nothing;

impl Watch for Nothing {
    fn soft_limit_reached(&self) {}

    fn exceeded(&self) {}
}

thread_local! {
    /// What the profiles of an isolate take. V8 adds all of their samples on a thread that lasts as long as they do.
    static TAKEN: Arc<NativeQuota> = NativeQuota::new(usize::MAX, TypeBudget::new(0), Arc::new(Nothing));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__ZN2v88internal21CpuProfilesCollection24AddPathToCurrentProfilesENS_4base9TimeTicksERKNSt4__Cr6vectorINS0_20CodeEntryAndPositionENS4_9allocatorIS6_EEEENS0_13LineAndColumnEbNS2_9TimeDeltaENS_8StateTagENS_16EmbedderStateTagEmmNS4_8optionalImEE(
    profiles: Object,
    time: i64,
    frames: Object,
    position: Position,
    updates: bool,
    interval: i64,
    state: u16,
    embedder_state: u8,
    context: usize,
    embedder_context: usize,
    trace: Trace,
) {
    let Ok(taken) = TAKEN.try_with(Arc::clone) else { return };
    if taken.used().saturating_add(taken.small()) > MAX_BYTES {
        return;
    }
    // SAFETY: forwards the call.
    let add = || unsafe {
        add_sample(
            profiles,
            time,
            frames,
            position,
            updates,
            interval,
            state,
            embedder_state,
            context,
            embedder_context,
            trace,
        );
    };
    with_quota_in_background(&taken, add);
}

//! Checks the vendored V8, keeps its helpers out of the addon's dynamic symbols, and generates the constants that are shared with
//! JavaScript. Which V8 is linked is decided by `.cargo/config.toml`.

use std::path::Path;
use std::{env, fs, process};

use sha2::{Digest, Sha256};

#[path = "src/protocol/generate.rs"]
mod protocol;

const VENDORED_TARGET: &str = "x86_64-unknown-linux-gnu";
const VENDOR: &str = "vendor/v8";

/// Where the linker puts V8's code.
const CODE: &str = "src/engine/code.ld";

fn main() {
    napi_build::setup();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={VENDOR}");
    println!("cargo::rerun-if-env-changed=RUSTY_V8_ARCHIVE");

    let target = env::var("TARGET").unwrap_or_default();
    let other_archive = env::var_os("RUSTY_V8_ARCHIVE").is_some() || env::var_os("V8_FROM_SOURCE").is_some();
    if target == VENDORED_TARGET
        && !other_archive
        && let Err(problem) = verify_vendored_v8()
    {
        println!("cargo::error={problem}");
        process::exit(1);
    }
    if target.contains("linux") {
        // Calls of these, anywhere in the addon, arrive in these files of `src/`:
        //
        // - the ends of the process: `engine/abort.rs`
        // - heaps and their pages: `engine/heap/`; the heap of C++ objects: `engine/cpp_heap.rs`; stub caches: `engine/stub_cache.rs`
        // - WebAssembly: `engine/wasm/`; scripts and views of snapshots: `engine/snapshot_scripts.rs`, `engine/snapshot_views.rs`; the young generation: `engine/generations.rs`
        // - compilers: `engine/maglev.rs`, `engine/optimizer.rs`, `engine/wasm/tier_up.rs`, and when they begin: `engine/tiering.rs`
        // - microtasks: `engine/microtasks.rs`
        // - the platform: `engine/worker.rs`; CPU profiles: `engine/cpu_profiles.rs`; stack traces of the inspector: `engine/inspector_frames.rs`
        // - the bounds of a stack, and the number of a thread: `engine/fibers/`
        // - texts for ICU, and ICU's caches: `engine/icu/`
        // - the allocator, zones, locks, collections, and C++ objects that the heap owns: `native/`
        // - the serializer: `convert/host_object.rs`
        let endings = ["abort", "_ZN2v84base21FatalNoSecurityImpactEPKcz", "_ZN2v84base8FatalOOMENS0_7OOMTypeEPKc"];
        let heap = [
            "_ZN2v88internal4Heap29NotifyDeserializationCompleteEv",
            "_ZN2v88internal10NormalPageC1EPNS0_4HeapEPNS0_9BaseSpaceEmmmNS0_13VirtualMemoryENS0_13ExecutabilityEPNS_4base5FlagsINS0_11MemoryChunk4FlagEmmEE",
            "_ZN2v88internal9LargePageC1EPNS0_4HeapEPNS0_9BaseSpaceEmmmNS0_13VirtualMemoryENS0_13ExecutabilityEPNS_4base5FlagsINS0_11MemoryChunk4FlagEmmEE",
            "_ZN2v88internal10MemoryPool3AddEPNS0_7IsolateEPNS0_11MutablePageE",
            "_ZN2v88internal10MemoryPool8AddLargeEPNS0_7IsolateERNSt4__Cr6vectorIPNS0_9LargePageENS4_9allocatorIS7_EEEE",
        ];
        let cpp_heap = [
            "_ZN5cppgc8internal8HeapBase9TerminateEv",
            "_ZN5cppgc8internal11PageBackend20FreeNormalPageMemoryEPh",
            "_ZN2v88internal7CppHeap29EnterProcessGlobalAtomicPauseEv",
            "_ZN2v88internal7CppHeap26ProcessCrossThreadWeaknessEv",
        ];
        let stub_cache = [
            "_ZN2v88internal9StubCacheC1EPNS0_7IsolateE",
            "_ZN2v88internal9StubCache10InitializeEv",
            "_ZN2v88internal9StubCache5ClearEv",
            "_ZN2v88internal9StubCache3SetENS0_6TaggedINS0_4NameEEENS2_INS0_3MapEEENS2_INS0_5UnionIJNS0_3SmiENS0_10HeapObjectENS0_4WeakIS9_EEEEEEE",
        ];
        let wasm = [
            "_ZN2v88internal4wasm10WasmEngine11SyncCompileEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsEPNS1_12ErrorThrowerENS_4base11OwnedVectorIKhEENS9_6VectorIKcEE",
            "_ZN2v88internal4wasm10WasmEngine12AsyncCompileEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsENSt4__Cr10shared_ptrINS1_25CompilationResultResolverEEENS_4base11OwnedVectorIKhEEPKc",
            "_ZN2v88internal4wasm10WasmEngine12SyncValidateEPNS0_7IsolateENS1_19WasmEnabledFeaturesENS1_18CompileTimeImportsENS_4base6VectorIKhEE",
            "_ZN2v88internal4wasm17TypeCanonicalizer17AddRecursiveGroupEPKNS0_9SignatureINS1_9ValueTypeEEE",
            "_ZN2v88internal4wasm22WasmImportWrapperCache3GetEPNS0_7IsolateERKNS1_21ImportWrapperCacheKeyE",
            "_ZN2v88internal8compiler10turboshaft32ExecuteTurboshaftWasmCompilationEPNS0_4wasm14CompilationEnvERNS1_19WasmCompilationDataEPNS3_20WasmDetectedFeaturesEPNS0_21DelayedCounterUpdatesE",
        ];
        let generations = [
            "_ZN2v88internal11interpreter18CreateClosureFlags6EncodeEbb",
            "_ZN2v88internal11FactoryBaseINS0_7FactoryEE15NewAccessorPairEv",
        ];
        let snapshot_scripts = [
            "_ZN2v88internal7Factory24NewJSDisposableStackBaseEv",
            "_ZN2v88internal22CanCompileWithBaselineEPNS0_7IsolateENS0_6TaggedINS0_18SharedFunctionInfoEEE",
            "_ZN2v88internal12BackingStore13ResizeInPlaceEPNS0_7IsolateEm",
            "_ZN2v88internal13JSArrayBuffer5SetupENS_4base11StrongAliasINS0_13SharedFlagTagEbEENS3_INS0_16ResizableFlagTagEbEENSt4__Cr10shared_ptrINS0_12BackingStoreEEEPNS0_7IsolateENS0_6TaggedINS0_5UnionIJNS0_3SmiENS0_10HeapObjectENS0_4WeakISH_EEEEEEE",
        ];
        let maglev =
            ["_ZN2v88internal6maglev14MaglevCompiler7CompileEPNS0_12LocalIsolateEPNS1_21MaglevCompilationInfoE"];
        let tiering = [
            "_ZN2v88internal14TieringManager18InterruptBudgetForEPNS0_7IsolateENS0_6TaggedINS0_10JSFunctionEEENSt4__Cr8optionalINS0_8CodeKindEEE",
        ];
        let optimizer = [
            "_ZN2v88internal27OptimizingCompileDispatcherC1EPNS0_7IsolateEPNS0_29OptimizingCompileTaskExecutorE",
            "_ZN2v88internal27OptimizingCompileDispatcherD1Ev",
            "_ZN2v88internal23OptimizedCompilationJob10ExecuteJobEPNS0_16RuntimeCallStatsEPNS0_12LocalIsolateE",
        ];
        let profiles = [
            "_ZN2v88internal21CpuProfilesCollection24AddPathToCurrentProfilesENS_4base9TimeTicksERKNSt4__Cr6vectorINS0_20CodeEntryAndPositionENS4_9allocatorIS6_EEEENS0_13LineAndColumnEbNS2_9TimeDeltaENS_8StateTagENS_16EmbedderStateTagEmmNS4_8optionalImEE",
        ];
        let inspector = [
            "_ZN12v8_inspector10StackFrameC1EONS_8String16EiS2_iib",
            "_ZN2v88internal14FrameInspector15GetFunctionNameEv",
            "_ZNK2v88internal13ScopeIterator20GetFunctionDebugNameEv",
        ];
        let platform = [
            "_ZN2v88platform15DefaultPlatform13CreateJobImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_7JobTaskENS3_14default_deleteIS5_EEEERKNS_14SourceLocationE",
            "_ZN2v88platform15DefaultPlatform26PostTaskOnWorkerThreadImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_4TaskENS3_14default_deleteIS5_EEEERKNS_14SourceLocationE",
            "_ZN2v88platform15DefaultPlatform33PostDelayedTaskOnWorkerThreadImplENS_12TaskPriorityENSt4__Cr10unique_ptrINS_4TaskENS3_14default_deleteIS5_EEEEdRKNS_14SourceLocationE",
        ];
        let allocator = [
            "malloc",
            "calloc",
            "realloc",
            "aligned_alloc",
            "posix_memalign",
            "free",
            "_ZN2v88internal19AccountingAllocator15AllocateSegmentEm",
            "_ZN2v88internal19AccountingAllocator13ReturnSegmentEPNS0_7SegmentE",
        ];
        let locks = [
            "_ZN4absl5Mutex4lockEv",
            "_ZN4absl5Mutex8try_lockEv",
            "_ZN4absl5Mutex6unlockEv",
            "_ZN4absl5Mutex11lock_sharedEv",
            "_ZN4absl5Mutex15try_lock_sharedEv",
            "_ZN4absl5Mutex13unlock_sharedEv",
            "_ZN4absl7CondVar10WaitCommonEPNS_5MutexENS_24synchronization_internal13KernelTimeoutE",
            "_ZN4absl7CondVar6SignalEv",
            "_ZN4absl7CondVar9SignalAllEv",
            "_ZNSt4__Cr5mutex4lockEv",
            "_ZNSt4__Cr5mutex8try_lockEv",
            "_ZNSt4__Cr5mutex6unlockEv",
            "_ZN6icu_7820umtx_initImplPreInitERNS_9UInitOnceE",
            "_ZN6icu_7821umtx_initImplPostInitERNS_9UInitOnceE",
            "_ZNK6icu_7812UnifiedCache4_getERKNS_12CacheKeyBaseERPKNS_12SharedObjectEPKvR10UErrorCode",
            "_ZN2v84base12CallOnceImplEPNSt4__Cr6atomicIhEENS1_8functionIFvvEEE",
            "__cxa_guard_acquire",
            "__cxa_guard_release",
            "_ZNSt4__Cr11__call_onceERVmPvPFvS2_E",
            "_ZNSt4__Cr8__sp_mut4lockEv",
            "_ZNSt4__Cr8__sp_mut6unlockEv",
            "_ZN2v88internal4wasm20WasmCodePointerTable13SweepSegmentsEm",
            "_ZN2v87sampler7Sampler5StartEv",
            "_ZN2v87sampler7Sampler4StopEv",
            "_ZN2v88internal12trap_handler21RegisterCoveredMemoryEmm",
            "_ZN2v88internal12trap_handler23UnregisterCoveredMemoryEmm",
            "_ZN2v88internal12trap_handler19RegisterHandlerDataEmmmPKNS1_23TrappingInstructionDataE",
            "_ZN2v88internal12trap_handler18ReleaseHandlerDataEi",
            "_ZN2v88internal14SafepointScopeC1EPNS0_7IsolateENS0_39GlobalSafepointForSharedSpaceIsolateTagE",
            "_ZN2v88internal21IsolateSafepointScopeD1Ev",
            "_ZN2v88internal14SafepointTable9FindEntryEm",
            "_ZN2v84base14RecursiveMutex4LockEv",
            "_ZN2v88internal16IsolateSafepoint15WaitInSafepointEv",
            "_ZN2v88internal16IsolateSafepoint12WaitInUnparkEv",
            "_ZN2v88internal17CollectionBarrier25AwaitCollectionBackgroundEPNS0_9LocalHeapENS0_15RequestedGCKindE",
        ];
        let microtasks = [
            "_ZN2v88internal9Execution16TryRunMicrotasksEPNS0_7IsolateEPNS0_14MicrotaskQueueE",
            "_ZN2v88internal7Isolate32OnTerminationDuringRunMicrotasksEv",
        ];
        let stack = [
            "_ZN2v84base5Stack13GetStackStartEv",
            "_ZN2v84base5Stack22GetStackStartUncheckedEv",
            "_ZN2v84base5Stack21GetReservedStackLimitEv",
        ];
        let managed = [
            "_ZN2v88internal7Isolate28RegisterManagedPtrDestructorEPNS0_20ManagedPtrDestructorE",
            "_ZN2v88internal7Isolate30UnregisterManagedPtrDestructorEPNS0_20ManagedPtrDestructorE",
        ];
        let serializer = ["v8__ValueSerializer__Delegate__IsHostObject"];
        let waiters = [
            "_ZN2v88internal14FutexEmulation8WaitJs32EPNS0_7IsolateENS1_8WaitModeENS0_12DirectHandleINS0_13JSArrayBufferEEEmid",
            "_ZN2v88internal14FutexEmulation8WaitJs64EPNS0_7IsolateENS1_8WaitModeENS0_12DirectHandleINS0_13JSArrayBufferEEEmld",
        ];
        let threads = ["_ZN2v88internal8ThreadId18GetCurrentThreadIdEv", "_ZN2v88internal8ThreadId13TryGetCurrentEv"];
        let texts = [
            "_ZN2v88internal24IcuBreakIteratorWithTextC1EPNS0_7IsolateENSt4__Cr10unique_ptrIN6icu_7813BreakIteratorENS4_14default_deleteIS7_EEEENS0_12DirectHandleINS0_6StringEEE",
            "_ZN2v88internal24IcuBreakIteratorWithText7SetTextEPNS0_7IsolateENS0_12DirectHandleINS0_6StringEEE",
            "_ZN2v88internal4Intl9NormalizeEPNS0_7IsolateENS0_12DirectHandleINS0_6StringEEENS4_INS0_6ObjectEEE",
            "_ZN2v88internal4Intl14CompareStringsEPNS0_7IsolateERKN6icu_788CollatorENS0_12DirectHandleINS0_6StringEEESA_NS1_21CompareStringsOptionsE",
            "_ZN2v88internal12JSListFormat10FormatListEPNS0_7IsolateENS0_12DirectHandleIS1_EENS4_INS0_10FixedArrayEEE",
            "_ZN2v88internal12JSListFormat17FormatListToPartsEPNS0_7IsolateENS0_12DirectHandleIS1_EENS4_INS0_10FixedArrayEEE",
        ];
        let caches = [
            "uhash_open_78",
            "uhash_put_78",
            "uhash_iputi_78",
            "ucln_common_registerCleanup_78",
            "ucln_i18n_registerCleanup_78",
            "_ZN6icu_7813CalendarCache3putEPPS0_iiR10UErrorCode",
            "_ZNK6icu_7824DateTimePatternGenerator5cloneEv",
        ];
        let of_v8 = endings
            .into_iter()
            .chain(heap)
            .chain(cpp_heap)
            .chain(stub_cache)
            .chain(wasm)
            .chain(generations)
            .chain(snapshot_scripts)
            .chain(maglev)
            .chain(tiering)
            .chain(optimizer)
            .chain(platform)
            .chain(profiles)
            .chain(inspector)
            .chain(texts)
            .chain(microtasks)
            .chain(stack)
            .chain(managed)
            .chain(serializer)
            .chain(waiters)
            .chain(threads);
        for function in of_v8.chain(caches).chain(allocator).chain(locks) {
            println!("cargo::rustc-link-arg-cdylib=-Wl,--wrap={function}");
        }
        if target == VENDORED_TARGET {
            println!("cargo::rerun-if-changed={CODE}");
            println!("cargo::rustc-link-arg-cdylib=-Wl,-T,{CODE}");
        }
    }
    if let Err(problem) = write_protocol().and_then(|()| write_hidden_symbols()) {
        println!("cargo::error={problem}");
        process::exit(1);
    }
}

/// Declarations that JavaScript and Rust share.
const PROTOCOLS: [&str; 3] = ["surface/core/protocol.js", "surface/host/protocol.js", "surface/web/protocol.js"];

/// Writes `protocol.rs`, which `src/protocol` includes.
fn write_protocol() -> Result<(), String> {
    let mut rust = String::new();
    for file in PROTOCOLS {
        println!("cargo::rerun-if-changed={file}");
        let source = fs::read_to_string(file).map_err(|error| format!("{file} cannot be read: {error}"))?;
        rust += &protocol::generate(&source).map_err(|problem| format!("{file}: {problem}"))?;
    }
    let out = env::var("OUT_DIR").map_err(|error| error.to_string())?;
    fs::write(Path::new(&out).join("protocol.rs"), rust)
        .map_err(|error| format!("protocol.rs cannot be written: {error}"))
}

/// Writes `hidden.s`, which the crate assembles: one weak, hidden reference for each name in `symbols.txt`.
///
/// rustc exports every `#[no_mangle]` function of every crate below a cdylib, and the version script that it hands to
/// the linker can be neither replaced nor combined with another. But of all declarations of one symbol the linker takes
/// the narrowest visibility, so a hidden reference hides the definition, with any linker; weak, it asks for none.
fn write_hidden_symbols() -> Result<(), String> {
    let list = format!("{VENDOR}/symbols.txt");
    let names = fs::read_to_string(&list).map_err(|error| format!("{list} cannot be read: {error}"))?;
    let assembly: String = names
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|name| format!(".weak {name}\n.hidden {name}\n"))
        .collect();
    let out = env::var("OUT_DIR").map_err(|error| error.to_string())?;
    fs::write(Path::new(&out).join("hidden.s"), assembly)
        .map_err(|error| format!("hidden.s cannot be written: {error}"))
}

/// Compares the files of `vendor/v8` with the SHA-256 sums pinned beside them.
fn verify_vendored_v8() -> Result<(), String> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(|error| error.to_string())?;
    let vendor = Path::new(&root).join(VENDOR);
    let sums = fs::read_to_string(vendor.join("SHA256SUMS"))
        .map_err(|error| format!("{VENDOR}/SHA256SUMS cannot be read: {error}"))?;
    for line in sums.lines().filter(|line| !line.trim().is_empty()) {
        let Some((pinned, name)) = line.split_once("  ") else {
            return Err(format!("{VENDOR}/SHA256SUMS: not a line of sha256sum: {line}"));
        };
        let bytes = fs::read(vendor.join(name)).map_err(|error| format!("{VENDOR}/{name} cannot be read: {error}"))?;
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if found != pinned {
            return Err(format!(
                "{VENDOR}/{name} is not the file that was pinned: SHA-256 is {found}, expected {pinned}. \
                 Restore it from the repository, or see {VENDOR}/README.md to use another archive."
            ));
        }
    }
    Ok(())
}

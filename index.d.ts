/**
 * Secure JavaScript sandboxes on their own V8: a drop-in for isolated-vm.
 *
 * *Transferable* values cross between isolates without any option: primitives except symbols, every object of this module, and functions.
 * A function arrives as a function that calls the original; its arguments and results are copied, and a promise cannot be. Every other
 * value needs a transfer option: `copy`, `externalCopy` or `reference`.
 *
 * A method has up to three forms. Without a suffix it returns a promise. `…Sync` blocks the calling thread until the guest is done.
 * `…Ignored` starts the work and does not report its outcome. A `…Sync` method throws what the promise form rejects with.
 *
 * Wrong positional arguments throw in every form, also an options argument that is not an object. Wrong options reject in the form that
 * returns a promise and throw in the others; only `Module.evaluate` throws for them. An option that is `null` or `undefined` has its
 * default. Unknown options of the classes of isolated-vm are ignored.
 *
 * Errors that this library raises have a stable `code`, one of `ErrorCode`. Errors that a guest throws have none, with one exception:
 * `ERR_ISOLATE_TRANSFER`, if the guest calls a function of the host with a value that cannot cross and does not catch that error. An error
 * crosses with its class, name, message and stack, its `cause`, and its own properties that are primitive values.
 *
 * Each member documents the errors that are specific to it. Every operation that needs an isolate can also fail with:
 *
 * - `ERR_ISOLATE_DISPOSED`: the isolate has ended, or ends during the call
 * - `ERR_ISOLATE_MEMORY`: the isolate exceeds its memory limit, or the process has no address space for it
 * - `ERR_ISOLATE_UNRESPONSIVE`: the isolate was abandoned
 * - `ERR_ISOLATE_ENVIRONMENT`: the thread that owns a required value has ended
 * - `ERR_ISOLATE_RELEASED`: a required object was released
 * - `ERR_ISOLATE_LIMIT`: a value is too large, too many calls wait for an answer, others hold too many references to values of the
 *   isolate, or lost isolates take more than `lostMemoryLimit`
 * - `ERR_ISOLATE_TIMEOUT`, `ERR_ISOLATE_DEADLINE`: a limit of the call has passed, or a default that `configureEngine` has set
 * - `ERR_ISOLATE_UNSUPPORTED`: code inside an isolate calls a `…Sync` method of another isolate while it runs for an asynchronous call
 * - `ERR_INVALID_ARG`: an argument or option is wrong
 *
 * The classes are those of isolated-vm 7, with its names, defaults and messages. In addition there are ready-made sandboxes:
 * `createSandbox`, `AgentSandbox`, `PluginSandbox` and `SubprocessSandbox`. If the native part of the package cannot be loaded, every
 * class and function throws `ERR_ISOLATE_UNSUPPORTED` when it is used; the message says why.
 *
 * @see [Limits and errors](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md)
 * @see [Move from isolated-vm](https://github.com/isolated-v8/isolated-v8/blob/main/docs/migrating-from-isolated-vm.md)
 * @see [The sandboxes](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md)
 */
declare namespace ivm {
  /** Values that cross without any option. */
  type Transferable =
    | null
    | undefined
    | string
    | number
    | bigint
    | boolean
    | Isolate
    | Context
    | Script
    | Module
    | Callback<any>
    | ExternalCopy<any>
    | Copy<any>
    | Reference<any>
    | Dereference<any>
    | ((...args: any[]) => any)
    | typeof ivm;

  /**
   * The stable `code` of the errors that this library raises. In sandboxes, it is in `failure.code`.
   *
   * - `ERR_INVALID_ARG`: an argument or option is wrong. The message names it
   * - `ERR_ISOLATE_TIMEOUT`: the guest ran longer than `timeout`, or a plugin longer than it may
   * - `ERR_ISOLATE_DEADLINE`: the call took longer than `deadline`, or an execution longer than the sandbox's `timeout`
   * - `ERR_ISOLATE_ABORTED`: a `signal` ended the execution, or a limit stopped a module that the call needs. This and the two codes before
   *   also come from a limit of another call, if that call was running code of this one
   * - `ERR_ISOLATE_MEMORY`: the isolate exceeded `memoryLimit`, or could not get memory. It has ended
   * - `ERR_ISOLATE_DISPOSED`: the isolate, session, sandbox or process has ended
   * - `ERR_ISOLATE_UNRESPONSIVE`: the guest did not stop when its limit had passed, and its isolate was abandoned
   * - `ERR_ISOLATE_RELEASED`: an object was used after `release()`, or a second time
   * - `ERR_ISOLATE_TRANSFER`: a value cannot cross in the requested way
   * - `ERR_ISOLATE_ENVIRONMENT`: the thread that owns a value has ended
   * - `ERR_ISOLATE_LIMIT`: another limit was exceeded. The message says which
   * - `ERR_ISOLATE_NOT_FOUND`: a `NotFoundError`
   * - `ERR_ISOLATE_PERMISSION`: a plugin used a domain or an event that is not permitted
   * - `ERR_ISOLATE_PLUGIN`: a `PluginError`
   * - `ERR_ISOLATE_CRASH`, `ERR_ISOLATE_SYSTEM_CALL`, `ERR_ISOLATE_PROTOCOL`: the process of a `SubprocessSandbox` ended, made a
   *   forbidden system call, or sent an invalid message
   * - `ERR_ISOLATE_UNSUPPORTED`: not available on this platform, host or side. The message says what
   *
   * @see [Codes](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#codes)
   */
  type ErrorCode =
    | 'ERR_INVALID_ARG'
    | 'ERR_ISOLATE_TIMEOUT'
    | 'ERR_ISOLATE_DEADLINE'
    | 'ERR_ISOLATE_ABORTED'
    | 'ERR_ISOLATE_MEMORY'
    | 'ERR_ISOLATE_DISPOSED'
    | 'ERR_ISOLATE_UNRESPONSIVE'
    | 'ERR_ISOLATE_RELEASED'
    | 'ERR_ISOLATE_TRANSFER'
    | 'ERR_ISOLATE_ENVIRONMENT'
    | 'ERR_ISOLATE_LIMIT'
    | 'ERR_ISOLATE_NOT_FOUND'
    | 'ERR_ISOLATE_PERMISSION'
    | 'ERR_ISOLATE_PLUGIN'
    | 'ERR_ISOLATE_CRASH'
    | 'ERR_ISOLATE_SYSTEM_CALL'
    | 'ERR_ISOLATE_PROTOCOL'
    | 'ERR_ISOLATE_UNSUPPORTED';

  /**
   * A separate heap with its own limits. It lives while anything refers to it or to a value in it. `dispose()` ends it at once.
   * @example
   * ```ts
   * import { Isolate } from 'isolated-v8';
   *
   * const isolate = new Isolate({ memoryLimit: 32 });
   * const context = await isolate.createContext();
   * await context.global.set('log', (text: string) => console.log(text));
   * await context.eval('log(`1 + 1 is ${1 + 1}`)', { timeout: 100 }); // prints 1 + 1 is 2
   * isolate.dispose();
   * ```
   */
  class Isolate {
    /**
     * Creates an isolate. It becomes usable in the background: calls wait for it, and fail if it could not be created.
     * @throws {TypeError} `ERR_INVALID_ARG` for options of wrong types, and for a `snapshot` that is damaged or that this version did not
     *   make
     * @throws {Error} `ERR_INVALID_ARG` if `memoryLimit` is less than 8 or not finite, or `warm` is negative
     * @throws {Error} `ERR_ISOLATE_MEMORY` if `snapshot` needs more than `memoryLimit`
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` inside isolates for `snapshot` and `inspector`
     * @throws {RangeError} `ERR_ISOLATE_LIMIT` inside isolates: each isolate made by a host allows at most 16 of them, with at most four
     *   times its memory in total, and each with at most the memory of its creator. They end with the isolate that created them
     */
    constructor(options?: IsolateOptions);

    /**
     * Nanoseconds for which code in this isolate has run, without waiting. As in isolated-vm, this is elapsed time, which can exceed the
     * thread's processor time. What V8's own threads do, such as optimizing functions on Linux, is not included.
     * @throws {Error} `ERR_ISOLATE_DISPOSED`
     */
    readonly cpuTime: bigint;
    /**
     * Nanoseconds that this isolate has been in use, including waiting.
     * @throws {Error} `ERR_ISOLATE_DISPOSED`
     */
    readonly wallTime: bigint;
    /** Whether the isolate has ended: it was disposed, ran out of memory, or was abandoned. */
    readonly isDisposed: boolean;
    /**
     * Number of live handles on values in this isolate.
     * @throws {Error} `ERR_ISOLATE_DISPOSED`
     */
    readonly referenceCount: number;

    /**
     * Runs scripts and saves the resulting heap. Every context of an isolate made with this `snapshot` starts with their globals and
     * compiled functions. Blocks the host's thread. For hosts only.
     *
     * A snapshot can hold functions, classes, plain data, pending promises, generators and buffers. While the scripts run,
     * `FinalizationRegistry`, `SharedArrayBuffer`, `Temporal`, `WebAssembly` and the newest built-ins (such as `DisposableStack` and
     * `Promise.try`) are absent. Contexts have all of them, in place of anything a script defined under these names.
     * `Error.stackTraceLimit` is reset to 10. Functions that may call `eval` directly are compiled again.
     *
     * You can store the snapshot and use it in another process with the same version of isolated-v8 on the same kind of machine. Do not
     * use a snapshot from an untrusted source.
     * @param scripts run one after the other. The microtasks of each run before the next one
     * @param warmup_script runs in a context of its own after the scripts, so that the snapshot contains compiled code for the functions
     *   it calls. Its changes are not kept
     * @param options limits of the scripts. An addition to isolated-vm
     * @throws the error that a script throws
     * @throws {TypeError} `ERR_INVALID_ARG` for arguments and options of wrong types; `Error` with this code for a `memoryLimit` out of
     *   range
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` if the scripts leave something that V8 cannot serialize, such as an object of `Intl`,
     *   freeze built-ins, or replace `Math`, `Atomics` or `Uint8Array`; for `timers` and `console`, which a snapshot cannot hold: pass
     *   them to `createContext` of an isolate with the snapshot; also inside isolates
     * @throws {Error} `ERR_ISOLATE_DEADLINE` or `ERR_ISOLATE_MEMORY` if a limit is exceeded; `ERR_ISOLATE_TIMEOUT` if `configureEngine`
     *   has set a `timeout`
     * @see
     *   [Prepared isolates and heaps](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md#prepared-isolates-and-heaps)
     * @example
     * ```ts
     * import { Isolate } from 'isolated-v8';
     *
     * const snapshot = Isolate.createSnapshot([{ code: 'function twice(n) { return 2 * n; }', filename: 'library.js' }]);
     * const isolate = new Isolate({ snapshot });
     * const context = await isolate.createContext();
     * console.log(await context.eval('twice(21)')); // prints 42
     * ```
     */
    static createSnapshot(
      scripts: SnapshotScriptInfo[],
      warmup_script?: string | null,
      options?: SnapshotOptions | null,
    ): ExternalCopy<ArrayBuffer>;

    /**
     * Compiles a script that can run in any context of this isolate. Resolves with the script, which does not run yet.
     * @throws {SyntaxError} with a message that ends in ` [file:line:column]`
     * @throws {TypeError} `ERR_INVALID_ARG` for options of wrong types, and for `cachedData` that is no copy of an ArrayBuffer
     */
    compileScript(code: string, options?: ScriptInfo & SignalOptions): Promise<Script>;
    /** Like `compileScript`, but blocks the calling thread. */
    compileScriptSync(code: string, options?: ScriptInfo): Script;

    /**
     * Compiles an ES module. Resolves with the module. Then call its `instantiate` and `evaluate`.
     * @throws {SyntaxError} with a message that ends in ` [file:line:column]`
     * @throws {TypeError} `ERR_INVALID_ARG` for options of wrong types; `Error` with this code for a `meta` function of another isolate
     * @throws {RangeError} `ERR_ISOLATE_LIMIT` if it imports more than 100,000 other modules directly
     * @example
     * ```ts
     * import { Isolate } from 'isolated-v8';
     *
     * const isolate = new Isolate();
     * const context = await isolate.createContext();
     * const sources: Record<string, string> = { './math.js': 'export const twice = (n) => 2 * n;' };
     * const main = await isolate.compileModule('import { twice } from "./math.js"; export default twice(21);');
     * await main.instantiate(context, (specifier) => isolate.compileModule(sources[specifier], { filename: specifier }));
     * await main.evaluate();
     * console.log(await main.namespace.get('default')); // prints 42
     * ```
     */
    compileModule(code: string, options?: CompileModuleOptions & SignalOptions): Promise<Module>;
    /** Like `compileModule`, but blocks the calling thread. */
    compileModuleSync(code: string, options?: CompileModuleOptions): Module;

    /**
     * Creates a context: a global object with its own built-ins. Resolves with the context. If the isolate is disposed before that, the
     * promise still resolves, with a context that cannot be used.
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` for `inspector: true` if the isolate was not made with that option
     * @throws {Error} `ERR_ISOLATE_MEMORY` if another context of the isolate's `snapshot` needs more memory than `memoryLimit` allows.
     *   The isolate continues
     */
    createContext(options?: ContextOptions & SignalOptions): Promise<Context>;
    /** Like `createContext`, but blocks the calling thread. Throws `ERR_ISOLATE_DISPOSED` if the isolate is disposed meanwhile. */
    createContextSync(options?: ContextOptions): Context;

    /**
     * Opens a session with V8's inspector. To connect DevTools, use `serve` of `isolated-v8/inspector`.
     * @throws {Error} `Inspector is not enabled for this isolate` (`ERR_ISOLATE_UNSUPPORTED`) unless it was made with `inspector: true`;
     *   `ERR_ISOLATE_UNSUPPORTED` also inside isolates
     * @throws {Error} `ERR_ISOLATE_DISPOSED`
     * @throws {RangeError} `ERR_ISOLATE_LIMIT` beyond 100 sessions
     * @see [Debugging](https://github.com/isolated-v8/isolated-v8/blob/main/docs/debugging.md)
     */
    createInspectorSession(): InspectorSession;

    /**
     * Ends the isolate and frees its memory. Terminates code that runs in it: calls that run or wait fail with `ERR_ISOLATE_DISPOSED`.
     * Everything that refers to a value in it becomes unusable.
     * @throws {Error} `Isolate is already disposed` (`ERR_ISOLATE_DISPOSED`) if it has already ended, for whatever reason
     */
    dispose(): void;
    /** Like `dispose()`, for `using`. Does nothing if the isolate has already ended. */
    [Symbol.dispose](): void;
    /** Like `[Symbol.dispose]()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;

    /**
     * Resolves with statistics of the isolate's heap, in bytes. Waits until running code and earlier calls are done.
     * @throws {Error} `ERR_ISOLATE_DISPOSED`
     */
    getHeapStatistics(options?: SignalOptions): Promise<HeapStatistics & HeapDetails>;
    /** Like `getHeapStatistics`, but blocks the calling thread. */
    getHeapStatisticsSync(): HeapStatistics & HeapDetails;

    /**
     * Starts CPU profiling. Each run in this isolate (a call from outside, with its microtasks) produces a CPU profile, until all titles
     * have been stopped. Nothing is profiled while the host profiles itself. Profiles may take 256 MB; later ones are not kept. On Linux,
     * a profile has samples until it takes 16 MB, and later ones are missing; elsewhere, the profile of one long run of hostile code can
     * take more: give such runs a `timeout`. A profile is written when its run is over, outside of the limits of the run, and before the
     * next run begins.
     * @param title identifies the request. Starting the same title twice has no effect
     * @throws {Error} `ERR_ISOLATE_DISPOSED`; inside isolates, `ERR_ISOLATE_UNSUPPORTED`
     * @see [Debugging: limits](https://github.com/isolated-v8/isolated-v8/blob/main/docs/debugging.md#limits)
     * @example
     * ```ts
     * import { Isolate } from 'isolated-v8';
     *
     * const isolate = new Isolate();
     * const context = await isolate.createContext();
     * isolate.startCpuProfiler('work');
     * await context.eval('for (let i = 0; i < 1e6; i++) Math.sqrt(i)', { timeout: 1_000 });
     * const [{ profile }] = await isolate.stopCpuProfiler('work');
     * console.log(profile.nodes[0].callFrame.functionName); // prints (root)
     * ```
     */
    startCpuProfiler(title: string): void;
    /**
     * Resolves with the profiles of all runs since `startCpuProfiler(title)`, once earlier requests to the isolate are done. The array is
     * empty for a title that was not started. Runs of one isolate may be on different threads.
     * @throws {Error} `ERR_ISOLATE_DISPOSED`, at once instead of as a rejection if the isolate has already ended; inside isolates,
     *   `ERR_ISOLATE_UNSUPPORTED`
     */
    stopCpuProfiler(title: string, options?: SignalOptions): Promise<ThreadCpuProfile[]>;
  }

  /** Options of `new Isolate`. A wrong type is a `TypeError` with the code `ERR_INVALID_ARG`. Unknown options are ignored. */
  type IsolateOptions = {
    /**
     * Memory limit in MB (2^20 bytes), at least 8; anything less, and `Infinity`, is an `Error` with the code `ERR_INVALID_ARG`.
     * Fractions are cut off. Default 128.
     *
     * - It applies to V8's heap. Beyond it, the isolate is disposed and running calls fail with `ERR_ISOLATE_MEMORY`.
     * - Buffers, including resizable ones and those of `WebAssembly.Memory`, have a separate budget of the same size. Beyond it, the
     *   guest gets a `RangeError`.
     * - Memory that V8 uses elsewhere, such as for `Intl` or JSON, has a budget of 32 MB more than this limit. Beyond it, the isolate is
     *   also disposed.
     *
     * A guest may use more for a moment while it is being stopped. Inside an isolate, the limit must not exceed that isolate's own
     * (`ERR_ISOLATE_LIMIT`), and the default does not exceed it either.
     * @see [Limits](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#limits)
     */
    memoryLimit?: number;
    /**
     * Allows inspector sessions. For debugging: up to 1,000 messages that guests print are kept for later sessions, outside the memory
     * limit. Default false. Hosts only (`ERR_ISOLATE_UNSUPPORTED`).
     * @see [Debugging](https://github.com/isolated-v8/isolated-v8/blob/main/docs/debugging.md)
     */
    inspector?: boolean;
    /**
     * The heap that contexts start from, made by `createSnapshot`. Isolates share its bytes. You may release the copy. Default: an empty
     * heap. Hosts only (`ERR_ISOLATE_UNSUPPORTED`).
     */
    snapshot?: ExternalCopy<ArrayBuffer>;
    /**
     * Called if the isolate had to be abandoned: it did not stop within the grace period (one second by default, up to four times as long
     * if its thread got no processor; see `EngineOptions.terminationGrace`), or V8 ran out of memory in the middle of an operation. Its
     * memory is lost until the process ends; {@link engineStats} counts it.
     * @see [Metrics](https://github.com/isolated-v8/isolated-v8/blob/main/docs/guides/production.md#metrics)
     */
    onCatastrophicError?: (message: string) => void;
    /**
     * Handles `import()` in scripts, and in modules that were instantiated without imports. Without it, such an import rejects with
     * `Not supported`. Other modules use the resolver that they were instantiated with.
     * @param specifier what is imported
     * @param filename the `filename` of the importing code, of at most 10,000 characters; `undefined` for the imports of a module that this
     *   function has returned without instantiating it
     * @param attributes see `ModuleResolver`
     * @returns a module of the isolate, or a promise for it. It is instantiated with this function, if it is not yet, and evaluated. What the
     *   function throws rejects the import
     */
    importModuleDynamically?: (
      specifier: string, filename: string | undefined, attributes: { readonly type?: string },
    ) => Module | Promise<Module>;
    /**
     * Shows guests where the host's code is: the stacks of errors that host functions throw or return keep files and lines. Such
     * stacks also keep them when they return to the host through a guest. Without this option, a stack has one line for the host's
     * frames: the name of the innermost function, and `<host>`; and the error for a function that cannot be copied has its name, but not its
     * source. Isolates made by guests have it only if their creator has it. Default false. Not part of isolated-vm, whose guests always see
     * files.
     */
    hostStacks?: boolean;
    /**
     * Number of isolates like this one that are kept ready, each with a context, for later calls of the constructor. They are made in the
     * background after one has ended. Each becomes one isolate, whose first `createContext` uses the prepared context. Isolates with
     * `snapshot`, `inspector`, `hostStacks` or `importModuleDynamically`, and those made by guests, are never prepared. A prepared isolate
     * that is not used within a minute ends. {@link engineStats} counts them as `warm`. At most 64 wait in a host thread. Default 1; 0 disables it; a negative
     * number is an `Error` with the code `ERR_INVALID_ARG`. Not part of isolated-vm.
     * @see [Performance](https://github.com/isolated-v8/isolated-v8/blob/main/docs/performance.md)
     */
    warm?: number;
  };

  /** Options of `Isolate.createContext`. */
  type ContextOptions = {
    /**
     * Makes the context visible to inspector sessions. Its isolate must have been made with the option too (`ERR_ISOLATE_UNSUPPORTED`).
     * Default false.
     */
    inspector?: boolean;
    /**
     * Web APIs that the context has: all of them but `Buffer` with `true`, or those that an array names. Default false. A wrong name throws a `TypeError`
     * (`ERR_INVALID_ARG`) that lists the names. Not part of isolated-vm, like the options below. Inside isolates, all three throw
     * `ERR_ISOLATE_UNSUPPORTED`.
     */
    web?: boolean | readonly WebName[];
    /**
     * Whether the context has `setTimeout`, `setInterval`, `setImmediate`, their `clear…` functions and `queueMicrotask`. At most 1,000 timers
     * can be pending in an isolate, after which setting one throws a `RangeError`. A callback runs under the `deadline` of the call that has
     * set the timer. Timers keep the process alive only while a call waits for a promise of the guest. A function is called with each
     * error that a callback has thrown: name, message and code, without a stack. With `true`, such errors are published
     * (`isolated-v8:unhandled-host-error`, origin `timer`). The first context of an isolate with timers decides for all of them. Default
     * false.
     */
    timers?: boolean | ((error: Error) => void);
    /**
     * Where the context's `console` writes: to that of the host with `true`; to the methods `log`, `info`, `warn`, `error` and `debug` of an
     * object, each with one string; or to a function. A message has at most 10,000 characters. Strings are unchanged, errors are their stacks,
     * other values are JSON, joined by a space. `dir`, `table`, `trace`, `assert`, `count`, `time`, `group` and their companions print entries of the
     * levels `log` and `error`. Entries arrive in order, after the guest's call has returned. By default, V8's `console` does
     * nothing.
     */
    console?: boolean | ContextConsole | ((entry: SandboxLogEntry) => void);
  };

  /** Receives the calls of a context's `console`; the console of Node, Bun or Deno for example. Methods that are absent drop their calls. */
  type ContextConsole = {
    [Level in SandboxLogEntry['level']]?: (message: string) => void;
  };

  /** Statistics of an isolate's heap, under V8's names. In bytes, unless the name says otherwise. */
  type HeapStatistics = {
    /** Size of the heap that V8 has allocated from the system. */
    total_heap_size: number;
    /** Part of it for machine code. */
    total_heap_size_executable: number;
    /** Part of it that is backed by physical memory. */
    total_physical_size: number;
    /** Memory that V8 can still allocate, at most `heap_size_limit`. */
    total_available_size: number;
    /** Size of all objects, including unreachable ones that no collection has freed yet. */
    used_heap_size: number;
    /** Maximum size of the heap: `memoryLimit`, or less. */
    heap_size_limit: number;
    /** Memory that V8 currently uses outside the heap, such as for compiling. */
    malloced_memory: number;
    /** Highest value of `malloced_memory` so far. */
    peak_malloced_memory: number;
    /** 0 or 1: whether V8 overwrites freed memory. */
    does_zap_garbage: number;
    /** Memory outside V8's heap that counts against the isolate's limit, mainly buffers. */
    externally_allocated_size: number;
  };

  /** Statistics that isolated-vm does not provide. */
  type HeapDetails = {
    /** Bytes that V8 has allocated for handles on objects of the heap. */
    total_global_handles_size: number;
    /** Part of those bytes that live handles use. */
    used_global_handles_size: number;
    /** Number of contexts. */
    number_of_native_contexts: number;
    /** Number of contexts that are detached but not yet collected. */
    number_of_detached_contexts: number;
  };

  /** A global object of an isolate, with the code that runs there. Made by `Isolate.createContext`. */
  class Context {
    private constructor();

    /** A Reference to the global object. Always the same one; `undefined` once the context is released. */
    readonly global: Reference<Record<number | string | symbol, any>>;
    /** Former name of `global`. */
    globalReference(): Reference<Record<number | string | symbol, any>>;

    /**
     * Runs code as a script. Resolves with its completion value if that is transferable, or as the transfer options specify; otherwise
     * with `undefined`. It does not wait for promises of the code, unless `promise` is set and the value is a promise.
     * @throws the error that the code throws; `SyntaxError` with a message that ends in ` [file:line:column]`
     * @throws {TypeError} `ERR_ISOLATE_TRANSFER` if the value cannot cross as the options specify
     * @throws {Error} `ERR_ISOLATE_TIMEOUT` (`Script execution timed out.`) or `ERR_ISOLATE_DEADLINE` if a limit has passed. The isolate
     *   continues
     * @see [Time limits](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#time-limits)
     * @example
     * ```ts
     * import { Isolate } from 'isolated-v8';
     *
     * const context = await new Isolate().createContext();
     * console.log(await context.eval('[1, 2, 3].map((n) => 2 * n)', { copy: true, timeout: 100 })); // prints [ 2, 4, 6 ]
     * console.log(await context.eval('(async () => 42)()', { promise: true, deadline: 1_000 })); // prints 42
     * ```
     */
    eval<Options extends ContextEvalOptions = {}>(code: string, options?: Options): Promise<Awaited<ResultTypeSync<Options>>>;
    /** Like `eval`, but discards the result and any error that the code throws. Throws for wrong arguments and options, and for `signal`. */
    evalIgnored(code: string, options?: ContextEvalOptions): void;
    /**
     * Like `eval`, but blocks the calling thread. With `promise: true` the result is still a promise. Like every synchronous call, it runs
     * before asynchronous calls that wait for the isolate (`docs/performance.md`).
     */
    evalSync<Options extends ContextEvalOptions = {}>(code: string, options?: Options): ResultTypeSync<Options>;

    /**
     * Runs code as the body of a function, so that `return` gives the result. The arguments are `$0`, `$1` and so on. The result must be
     * transferable, or a transfer option must say how it crosses. It does not wait for promises, unless `result: { promise: true }` is
     * set.
     * @throws the error that the code throws; `SyntaxError` with a message that ends in ` [file:line:column]`
     * @throws {TypeError} `ERR_ISOLATE_TRANSFER` for an argument or a result that cannot cross; `ERR_INVALID_ARG`, at once, if `args` is
     *   not an array
     * @throws {RangeError} `ERR_ISOLATE_LIMIT` for more than 65,534 arguments
     * @throws {Error} `ERR_ISOLATE_TIMEOUT` or `ERR_ISOLATE_DEADLINE` if a limit has passed. The isolate continues
     * @example
     * ```ts
     * import { Isolate } from 'isolated-v8';
     *
     * const context = await new Isolate().createContext();
     * const sum = await context.evalClosure('return $0.reduce((all, n) => all + n)', [[1, 2, 3]], {
     *   arguments: { copy: true },
     *   timeout: 100,
     * });
     * console.log(sum); // prints 6
     * ```
     */
    evalClosure<Options extends ContextEvalClosureOptions = {}>(
      code: string, args?: ArgumentsTypeBidirectional<Options> | null, options?: Options,
    ): Promise<Awaited<ResultTypeBidirectionalSync<Options>>>;
    /**
     * Like `evalClosure`, but discards the result and any error that the code throws. Throws for wrong arguments and options, and for `signal`.
     */
    evalClosureIgnored<Options extends ContextEvalClosureOptions = {}>(
      code: string, args?: ArgumentsTypeBidirectional<Options> | null, options?: Options,
    ): void;
    /** Like `evalClosure`, but blocks the calling thread. */
    evalClosureSync<Options extends ContextEvalClosureOptions = {}>(
      code: string, args?: ArgumentsTypeBidirectional<Options> | null, options?: Options,
    ): ResultTypeBidirectionalSync<Options>;

    /**
     * Releases this context, and the Reference that `global` returned. Other references to the context keep it alive.
     * Calling it again does nothing.
     */
    release(): void;
    /** Like `release()`, for `using`. Calling it again does nothing. */
    [Symbol.dispose](): void;
    /** Like `[Symbol.dispose]()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /**
   * Options of `Context.eval`. `cachedData` and `produceCachedData`, which isolated-vm declares, have no effect: use
   * `Isolate.compileScript`.
   */
  type ContextEvalOptions = RunOptions & ScriptOrigin & CachedDataOptions & TransferOptions;
  /** Options of `Context.evalClosure`. `cachedData` and `produceCachedData`, which isolated-vm declares, have no effect. */
  type ContextEvalClosureOptions = RunOptions & ScriptOrigin & CachedDataOptions & TransferOptionsBidirectional;

  /** Compiled code that can run in any context of its isolate. Made by `Isolate.compileScript`. Instances are not frozen. */
  class Script {
    private constructor();

    /** With `produceCachedData`: the compilation cache of this script. */
    cachedData?: ExternalCopy<ArrayBuffer>;
    /** With `cachedData`: whether the cache was rejected. */
    cachedDataRejected?: boolean;

    /** Releases the compiled code. Calling it again does nothing. */
    release(): void;
    /** Like `release()`, for `using`. Calling it again does nothing. */
    [Symbol.dispose](): void;
    /** Like `[Symbol.dispose]()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;

    /**
     * Runs the script in a context. Resolves with its completion value if that is transferable, or as the transfer options specify;
     * otherwise with `undefined`.
     * @throws the error that the script throws
     * @throws {Error} `Invalid context` (`ERR_INVALID_ARG`) for a context of another isolate
     * @throws {Error} `ERR_ISOLATE_RELEASED` if the script or the context was released
     * @throws {TypeError} `ERR_ISOLATE_TRANSFER` if the value cannot cross as the options specify
     * @throws {Error} `ERR_ISOLATE_TIMEOUT` or `ERR_ISOLATE_DEADLINE` if a limit has passed. The isolate continues
     */
    run<Options extends ScriptRunOptions = {}>(context: Context, options?: Options): ResultTypeAsync<Options>;
    /** Like `run`, but discards the result and any error that the script throws. Throws for wrong arguments and options, and for `signal`. */
    runIgnored(context: Context, options?: ScriptRunOptions): void;
    /** Like `run`, but blocks the calling thread. */
    runSync<Options extends ScriptRunOptions = {}>(context: Context, options?: Options): ResultTypeSync<Options>;
  }

  /** Options of `Script.run`. */
  type ScriptRunOptions = RunOptions & ReleaseOptions & TransferOptions;

  /**
   * Resolves an import of a module. Called once for each import of each module that is being instantiated, and each time module code
   * calls `import()`. What it throws or rejects with is the outcome of `instantiate` or of `import()`.
   * @param specifier as written in the importing module
   * @param referrer the importing module. For `import()`: that object if it still exists, otherwise `undefined`
   * @param attributes the import attributes after `with`, frozen and without a prototype. Only `type` is supported; an import with any
   *   other attribute is refused before the resolver is called: `instantiate` fails with `ERR_ISOLATE_UNSUPPORTED`, and `import()`
   *   rejects with a `TypeError`
   * @returns a module of the same isolate; for `instantiate` and `import()`, also a promise of one
   */
  type ModuleResolver<Result = Module | Promise<Module>> =
    (specifier: string, referrer: Module, attributes: { readonly type?: string }) => Result;

  /** An ES module, made by `Isolate.compileModule`. A type only: this class does not exist at run time. Instances are not frozen. */
  interface Module {
    /** With `produceCachedData`: the compilation cache of this module. */
    cachedData?: ExternalCopy<ArrayBuffer>;
    /** With `cachedData`: whether the cache was rejected. */
    cachedDataRejected?: boolean;

    /**
     * Specifiers of the module's imports, in order, without duplicates. A new array each time.
     * @throws {Error} `ERR_ISOLATE_RELEASED`
     */
    readonly dependencySpecifiers: string[];

    /**
     * A Reference to the module's exports, a new one each time. `get` runs no getters on it: the exports are bindings.
     * @throws {Error} `Module has not been instantiated.` (`ERR_INVALID_ARG`) before it was evaluated
     * @throws {Error} `ERR_ISOLATE_RELEASED`
     */
    readonly namespace: Reference<any>;

    /**
     * Links the module and everything it imports, in a context. Does nothing if the module is already instantiated. If it fails, you can
     * try again. It settles once the resolver has answered for all imports, and rejects if the isolate ends before that. While imports
     * are being resolved, no other call can instantiate the same modules.
     *
     * A module that calls `import()` keeps the resolver alive while anything refers to the module or to a value in its context, or waits
     * for its code. If the resolver itself refers to such values, they stay alive until the isolate is disposed. In all other code,
     * `import()` rejects with `Not supported` (`ERR_ISOLATE_UNSUPPORTED`).
     * @throws what the resolver throws or rejects with; `SyntaxError` if an imported name does not exist
     * @throws {TypeError} ``Resolved dependency was not `Module` `` (`ERR_INVALID_ARG`); with the same code for a module of another
     *   isolate
     * @throws {Error} `Invalid context` (`ERR_INVALID_ARG`) for a context of another isolate; with the same code while another call
     *   instantiates the same modules
     * @throws {SyntaxError} `ERR_ISOLATE_UNSUPPORTED` for an import attribute other than `type`
     * @throws {Error} `ERR_ISOLATE_RELEASED`: `Context is released` at once, otherwise as a rejection
     */
    instantiate(context: Context, resolveCallback: ModuleResolver, options?: SignalOptions): Promise<void>;
    /** Like `instantiate`, but blocks the calling thread. The resolver must return modules, not promises. */
    instantiateSync(context: Context, resolveCallback: ModuleResolver<Module>): void;

    /**
     * Runs the module and what it imports, once. Resolves with `undefined`. If the module throws, this and every later call fail with
     * that error. The call does not wait for top-level `await` that outlasts its own microtasks; with `promise` it does. Other transfer
     * options have no effect. Wrong options throw at once, as in isolated-vm.
     * @throws the error that the module throws
     * @throws {Error} `Module is uninstantiated`, `Module is being evaluated` (`ERR_INVALID_ARG`)
     * @throws {Error} `Module was stopped while it was evaluated` (`ERR_ISOLATE_ABORTED`) if a limit has stopped an earlier evaluation:
     *   compile the module again
     * @throws {Error} `ERR_ISOLATE_TIMEOUT` or `ERR_ISOLATE_DEADLINE` if a limit has passed; `ERR_ISOLATE_RELEASED`
     */
    evaluate(options?: ScriptRunOptions): Promise<Transferable>;
    /** Like `evaluate`, but blocks the calling thread. With `promise` it returns a promise for the end of top-level `await`. */
    evaluateSync(options?: ScriptRunOptions): Transferable;

    /** Releases the module. Modules that import it keep it alive. Calling it again does nothing. */
    release(): void;
    /** Like `release()`, for `using`. Calling it again does nothing. */
    [Symbol.dispose](): void;
    /** Like `[Symbol.dispose]()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /** Options of `Isolate.compileModule`. */
  type CompileModuleOptions = ScriptInfo & {
    /**
     * Initializes `import.meta`, an object without a prototype, when it is first read. Works only for code inside an isolate that
     * compiles a module of the same isolate; otherwise compiling fails with `ERR_INVALID_ARG`.
     */
    meta?: ((meta: any) => void);
  };

  /**
   * A session with the inspector of an isolate, in the Chrome DevTools protocol. It keeps its isolate alive and on one thread. It ends
   * with `dispose()`, with its isolate, or when it is no longer referenced.
   *
   * Messages are handled as soon as they arrive: between runs, during running code, while the guest waits for its host, and while it is
   * paused. During a pause, timeouts stop and deadlines continue. The pause ends when the isolate or the session ends. `…Sync` calls to a
   * paused isolate run at once.
   *
   * Listeners run as tasks of the host's event loop. If the host runs the guest with a `…Sync` method, also through other guests, they do
   * not run until it returns, so the host could not resume the guest. Such a guest does not stay paused: breakpoints, `debugger`
   * statements, exceptions and `Debugger.pause` cause notifications, and the guest continues. Use the asynchronous methods for code that
   * you debug. When 10,000 messages or 64 MB wait for a listener, the guest also waits; in a `…Sync` call it continues, and further
   * notifications are lost.
   * @see [Debugging](https://github.com/isolated-v8/isolated-v8/blob/main/docs/debugging.md)
   */
  type InspectorSession = {
    /**
     * Sends a message. Errors in the message are reported as errors of the protocol.
     * @throws {Error} `Session is dead` (`ERR_ISOLATE_DISPOSED`) after `dispose()` or the end of the isolate
     * @throws {RangeError} `ERR_ISOLATE_LIMIT` when 10,000 messages or 64 MB wait for the isolate
     */
    dispatchProtocolMessage(message: string): void;
    /**
     * Ends the session. This also ends a pause.
     * @throws {Error} `Session is dead` (`ERR_ISOLATE_DISPOSED`) the second time
     */
    dispose(): void;
    /** Like `dispose()`, for `using`. Calling it again does nothing. */
    [Symbol.dispose](): void;
    /** Like `[Symbol.dispose]()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
    /**
     * Called for each notification of the inspector; `undefined` until you set it. Errors of this function are reported as for a
     * `Callback` with `ignored`.
     * @throws {TypeError} `ERR_INVALID_ARG` when it is set to anything but a function; `ERR_ISOLATE_DISPOSED` after `dispose()`
     */
    onNotification: (message: string) => void;
    /**
     * Called with the answer to the message with the `id`; `undefined` until you set it. Errors of this function are reported as for a
     * `Callback` with `ignored`.
     * @throws {TypeError} `ERR_INVALID_ARG` when it is set to anything but a function; `ERR_ISOLATE_DISPOSED` after `dispose()`
     */
    onResponse: (callId: number, message: string) => void;
  };

  /** The profile of one run. */
  type ThreadCpuProfile = {
    /** The operating system's id of the thread. */
    threadId: number;
    /** The profile of the code that ran there. */
    profile: CpuProfile;
  };

  /** What V8's sampling profiler has recorded of one run. Times are in microseconds, from an arbitrary starting point. */
  type CpuProfile = {
    /** Start of the run. */
    startTime: number;
    /** End of the run. */
    endTime: number;
    /** Node ids. */
    samples: number[];
    /** Time of each sample since `startTime`, as in isolated-vm. In `.cpuprofile` files: since the previous sample. */
    timeDeltas: number[];
    /** The call tree: one node for each function and each call path to it. The first is the root. */
    nodes: {
      /** The id that `samples` and `children` use. */
      id: number;
      /** Number of samples with this node on top of the stack. */
      hitCount: number;
      /** Why V8 does not optimize the function. */
      bailoutReason?: string;
      /** Node ids. */
      children: number[];
      /** The function. */
      callFrame: {
        /** Empty for an anonymous function; in parentheses for anything else, such as `(garbage collector)`. */
        functionName: string;
        /** The name of its script. */
        url: string;
        /** Id of its script in the isolate; 0 if there is none. */
        scriptId: number;
        /** 1-based; 0 if there is no script. */
        lineNumber: number;
        /** 1-based; 0 if there is no script. */
        columnNumber: number;
        /** Declared by isolated-vm. Set on the node instead. */
        bailoutReason?: string;
      };
    }[];
  };

  /**
   * A reference to a value in the realm that owns it. Pass it to another isolate, or get one by `reference: true`, to work with a value
   * that is not copied.
   * @example
   * ```ts
   * import { Isolate, Reference } from 'isolated-v8';
   *
   * const context = await new Isolate().createContext();
   * const add = await context.eval('(a, b) => a + b', { reference: true });
   * console.log(await add.apply(undefined, [1, 2], { timeout: 100 })); // prints 3
   *
   * await context.global.set('twice', new Reference(async (n: number) => 2 * n));
   * console.log(await context.eval('twice.applySyncPromise(undefined, [21])')); // prints 42
   * ```
   */
  class Reference<T = any> {
    /**
     * Creates a Reference to a value of this realm. If the value is a `Callback`, `apply` calls its function.
     * @param options `unsafeInherit`: `get` also reads inherited properties, here and in References that it returns. Default false
     * @throws {TypeError} `ERR_INVALID_ARG` without a value, and for options of wrong types
     */
    constructor(value: T, options?: { unsafeInherit?: boolean });

    /**
     * The result of `typeof`, except that null is `"null"` and symbols and BigInts are `"object"`.
     * @throws {Error} `ERR_ISOLATE_RELEASED`
     */
    readonly typeof: 'undefined' | 'null' | 'boolean' | 'number' | 'string' | 'object' | 'function' | (string & {});

    /**
     * Resolves with a structured clone of the value.
     * @throws {TypeError} `ERR_ISOLATE_TRANSFER` (`… could not be cloned.`)
     * @throws what accessors and proxies in the value throw
     */
    copy(options?: RunOptions): Promise<T>;
    /** Like `copy`, but blocks the calling thread. */
    copySync(options?: RunOptions): T;

    /**
     * Returns the value itself. Works only in the realm that owns it.
     * @throws {TypeError} `Cannot dereference this from current isolate` (`ERR_INVALID_ARG`) elsewhere
     * @throws {Error} `ERR_ISOLATE_RELEASED`
     */
    deref(options?: ReleaseOptions): T;

    /**
     * Returns an object that arrives as the value itself when you pass it to the isolate that owns the value. Passing it a second time
     * throws `ERR_ISOLATE_RELEASED`, and passing it elsewhere `ERR_ISOLATE_TRANSFER`.
     * @throws {Error} `ERR_ISOLATE_RELEASED`
     */
    derefInto(options?: ReleaseOptions): Dereference<T>;

    /**
     * Releases the value. Other References to it are not affected.
     * @throws {Error} `Reference has been released` (`ERR_ISOLATE_RELEASED`) the second time
     */
    release(): void;
    /** Former name of `release`. */
    dispose(): void;
    /** Like `release()`, for `using`. Calling it again does nothing. */
    [Symbol.dispose](): void;
    /** Like `[Symbol.dispose]()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;

    /**
     * Deletes a property. Resolves when it is deleted, or did not exist.
     * @param property a string, or an integer from 0 to 4,294,967,295
     * @throws {TypeError} `Delete failed`, `Object is or has proxy`, `Reference is not an object` (also for a function),
     *   ``Invalid `key` `` (`ERR_INVALID_ARG`)
     */
    delete(property: keyof T, options?: RunOptions): Promise<void>;
    /** Like `delete`, but does not report whether it succeeded. Wrong arguments and options still throw. */
    deleteIgnored(property: keyof T, options?: RunOptions): void;
    /** Like `delete`, but blocks the calling thread. */
    deleteSync(property: keyof T, options?: RunOptions): void;

    /**
     * Reads an own property. Resolves with its value, which arrives as a Reference if it is not transferable, or with `undefined` if
     * there is no such property.
     * @param property a string, or an integer from 0 to 4,294,967,295
     * @throws {TypeError} `Property is getter` without `accessors`, `Object is or has proxy`, `Reference is not an object` (also for a
     *   function), ``Invalid `key` `` (`ERR_INVALID_ARG`)
     * @throws {TypeError} `ERR_ISOLATE_TRANSFER` if the value cannot be copied as the options request
     * @throws what a getter throws
     */
    get<Options extends ReferenceGetOptions = {}, Key extends keyof T = keyof T>(
      property: Key, options?: Options,
    ): ResultTypeAsync<Options & FallbackReference, T[Key]>;
    /** Like `get`, but blocks the calling thread. */
    getSync<Options extends ReferenceGetOptions = {}, Key extends keyof T = keyof T>(
      property: Key, options?: Options,
    ): ResultTypeSync<Options & FallbackReference, T[Key]>;

    /**
     * Defines a property. Deletes an existing one first, so no setter runs. Resolves when it is defined.
     * @param property a string, or an integer from 0 to 4,294,967,295
     * @throws {TypeError} `Set failed`, `Object is or has proxy`, `Reference is not an object` (also for a function), ``Invalid `key` ``
     *   (`ERR_INVALID_ARG`)
     * @throws {TypeError} `ERR_ISOLATE_TRANSFER` for a value that cannot cross
     */
    set<Options extends ReferenceSetOptions = {}, Key extends keyof T = keyof T>(
      property: Key, value: ArgumentType<Options, T[Key]>, options?: Options,
    ): Promise<void>;
    /** Like `set`, but does not report whether it succeeded. Wrong arguments and options still throw. */
    setIgnored<Options extends ReferenceSetOptions = {}, Key extends keyof T = keyof T>(
      property: Key, value: ArgumentType<Options, T[Key]>, options?: Options,
    ): void;
    /** Like `set`, but blocks the calling thread. */
    setSync<Options extends ReferenceSetOptions = {}, Key extends keyof T = keyof T>(
      property: Key, value: ArgumentType<Options, T[Key]>, options?: Options,
    ): void;

    /**
     * Calls the value. Resolves with its result, which arrives as a Reference if it is not transferable. Without
     * `result: { promise: true }`, a promise also arrives as a Reference, and its rejection is reported as for `applyIgnored`. The
     * receiver must be transferable; transfer options do not apply to it.
     * @throws the error that the function throws
     * @throws {TypeError} `Reference is not a function` (`ERR_INVALID_ARG`); `ERR_INVALID_ARG`, at once, if `args` is not an array
     * @throws {TypeError} `ERR_ISOLATE_TRANSFER` for a receiver, an argument or a result that cannot cross
     * @throws {Error} `ERR_ISOLATE_TIMEOUT` or `ERR_ISOLATE_DEADLINE` if a limit has passed. The isolate continues
     */
    apply<Options extends ReferenceApplyOptions = {}>(
      receiver?: ApplyReceiver<T>, args?: ArgumentsTypeBidirectional<Options, ApplyArguments<T>> | null, options?: Options,
    ): Promise<Awaited<ResultTypeBidirectionalSync<Options & FallbackReference, ApplyResult<T>>>>;
    /**
     * Like `apply`, but discards the result. What a function of a host throws, or its promise rejects with, is published to the channel
     * `isolated-v8:unhandled-host-error` of `node:diagnostics_channel`, as `{ error, origin }`. If the channel has no subscribers, the
     * first error of each origin is a process warning with the code `ISOLATED_V8_UNHANDLED_HOST_ERROR`. Throws for wrong arguments and
     * options, and for `signal`.
     * @see
     *   [Errors without a receiver](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#errors-without-a-receiver)
     */
    applyIgnored<Options extends ReferenceApplyOptions = {}>(
      receiver?: ApplyReceiver<T>, args?: ArgumentsTypeBidirectional<Options, ApplyArguments<T>> | null, options?: Options,
    ): void;
    /** Like `apply`, but blocks the calling thread. */
    applySync<Options extends ReferenceApplyOptions = {}>(
      receiver?: ApplyReceiver<T>, args?: ArgumentsTypeBidirectional<Options, ApplyArguments<T>> | null, options?: Options,
    ): ResultTypeBidirectionalSync<Options & FallbackReference, ApplyResult<T>>;

    /**
     * For guests: calls a function of the host and blocks until the promise that it returns has settled. Returns what it resolves to.
     * Works only while the host has called the guest asynchronously: otherwise the host's event loop could not settle the promise.
     * @throws {Error} `This function may not be called from the default thread` (`ERR_ISOLATE_UNSUPPORTED`) on a host, for a value of the
     *   caller's own realm, and while a `…Sync` call of the host waits
     * @throws {TypeError} `ERR_INVALID_ARG` for `result` options
     * @throws what the function throws, or its promise rejects with
     */
    applySyncPromise<Options extends ReferenceApplyOptions = {}>(
      receiver?: ApplyReceiver<T>, args?: ArgumentsTypeBidirectional<Options, ApplyArguments<T>> | null, options?: Options,
    ): Awaited<ApplyResult<T>>;
  }

  /** The result of `Reference.derefInto()`. It can be used once. */
  class Dereference<T> {
    private constructor();
    private readonly dereferenced: T;
  }

  /** Options of `Reference.set`. */
  type ReferenceSetOptions = RunOptions & TransferOptions;
  /** Options of `Reference.get`. */
  type ReferenceGetOptions = RunOptions & TransferOptions & {
    /** Allows getters to run. Default false. */
    accessors?: boolean;
  };
  /** Options of `Reference.apply`. */
  type ReferenceApplyOptions = RunOptions & TransferOptionsBidirectional;

  /**
   * A copy of a value, stored outside any heap. It can be copied into any isolate any number of times.
   * @example
   * ```ts
   * import { ExternalCopy, Isolate } from 'isolated-v8';
   *
   * const settings = new ExternalCopy({ rates: [1, 1.5] });
   * const context = await new Isolate().createContext();
   * await context.global.set('settings', settings.copyInto());
   * console.log(await context.eval('settings.rates[1]')); // prints 1.5
   * ```
   */
  class ExternalCopy<T = any> {
    /**
     * Copies the value with the structured clone algorithm. Objects of this module may appear anywhere in it. A `SharedArrayBuffer` is
     * shared, not copied; one that can grow or belongs to a `WebAssembly.Memory` is refused. One made by a guest arrives at a host on
     * Node 22, 24, 26 and Bun; elsewhere `copy()` throws `ERR_ISOLATE_UNSUPPORTED`. For a `Buffer`, and for any view of a buffer of 8 KB
     * or more, only the view's own bytes are copied: the rest may belong to other code. Other views are copied with their whole buffer.
     * @throws {TypeError} `ERR_ISOLATE_TRANSFER`: `… could not be cloned.`, `A growable SharedArrayBuffer could not be shared.`,
     *   `Unsupported type` (a symbol), and for buffers that cannot be moved
     * @throws {TypeError} `ERR_INVALID_ARG` without a value, for options of wrong types, and for members of `transferList` that are no
     *   ArrayBuffers
     * @throws {RangeError} `ERR_ISOLATE_LIMIT` for copies that are nested more than 64 levels deep, and inside isolates, if the guest's
     *   copies take more than its memory limit
     */
    constructor(value: T, options?: ExternalCopyOptions);

    /** Total bytes of the strings in all copies of this process. As in isolated-vm, only strings count. */
    static readonly totalExternalSize: number;

    /**
     * Creates the value in this realm, and returns it.
     * @throws {Error} `Copy has been released`, or `Array buffer is invalid` after `transferIn` (`ERR_ISOLATE_RELEASED`)
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` for a guest's `SharedArrayBuffer` on hosts that cannot receive it
     */
    copy(options?: ExternalCopyCopyOptions): T;

    /**
     * Returns an object that arrives as the value when you pass it to another isolate. Passing it a second time throws
     * `ERR_ISOLATE_RELEASED`.
     * @throws {Error} `Copy has been released` (`ERR_ISOLATE_RELEASED`)
     */
    copyInto(options?: ExternalCopyCopyOptions): Copy<T>;

    /**
     * Releases the copy. Copies that were passed on are not affected.
     * @throws {Error} `Copy has been released` (`ERR_ISOLATE_RELEASED`) the second time
     */
    release(): void;
    /** Former name of `release`. */
    dispose(): void;
    /** Like `release()`, for `using`. Calling it again does nothing. */
    [Symbol.dispose](): void;
    /** Like `[Symbol.dispose]()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /** The result of `ExternalCopy.copyInto()`. It can be used once. */
  class Copy<T> {
    private constructor();
    private readonly copied: T;
  }

  /** Options of `new ExternalCopy`. A wrong type is a `TypeError` with the code `ERR_INVALID_ARG`. */
  type ExternalCopyOptions = {
    /**
     * ArrayBuffers to move into the copy; they are detached afterwards. On Node on Linux, the memory of buffers of 128 KiB or more is
     * handed over without copying; elsewhere it is copied once. A buffer that is detached, or that the host keeps, is refused
     * (`ERR_ISOLATE_TRANSFER`), such as Node's pool for small Buffers or the memory of WebAssembly. On Node 20 and Deno, the other
     * buffers in the list may be detached in that case. Default: none.
     */
    transferList?: any[];
    /** Moves the value itself, an ArrayBuffer or the buffer of a view, into the copy, like `transferList`. Default false. */
    transferOut?: boolean;
  };

  /** Options of `ExternalCopy.copy`. */
  type ExternalCopyCopyOptions = ReleaseOptions & {
    /** Moves buffers out of the copy instead of copying them. The copy is unusable afterwards. A host still gets copies. Default false. */
    transferIn?: boolean;
  };

  /**
   * A function to pass to other isolates, where it arrives as a plain function. Arguments and results are copied. A function that you
   * pass directly becomes a synchronous callback.
   *
   * If the function throws, the call in the guest throws an error with the same class, name, message and stack; with `async`, its promise
   * rejects. If the result cannot be copied, that error is a `TypeError` with the code `ERR_ISOLATE_TRANSFER`. A promise cannot be copied,
   * not even with `async`: for a function that returns promises, pass a `Reference`, and let the guest call `applySyncPromise`, or `apply`
   * with `result: { promise: true }`.
   * @see
   *   [Errors without a receiver](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#errors-without-a-receiver)
   * @example
   * ```ts
   * import { Callback, Isolate, Reference } from 'isolated-v8';
   *
   * const context = await new Isolate().createContext();
   * await context.global.set('next', new Callback((n: number) => n + 1, { async: true }));
   * console.log(await context.eval('next(1).then((n) => 10 * n)', { promise: true })); // prints 20
   *
   * await context.global.set('load', new Reference(async (id: number) => ({ id })));
   * const code = 'load.apply(undefined, [7], { result: { promise: true, copy: true } }).then(({ id }) => id)';
   * console.log(await context.eval(code, { promise: true })); // prints 7
   * ```
   */
  class Callback<T extends (...args: any[]) => any = any> {
    /**
     * Wraps a function of this realm.
     * @throws {TypeError} `ERR_INVALID_ARG` if `value` is not a function, or an option is of a wrong type
     */
    constructor(value: T, options?: CallbackOptions);
    private readonly called: T;
  }

  /** How the guest calls the function. Set at most one of these options. If both `async` and `ignored` are set, `async` applies. */
  type CallbackOptions = {
    /**
     * The guest gets a promise and continues. It resolves with a copy of what the function returns, which must not be a promise. Default
     * false.
     */
    async?: boolean;
    /**
     * The guest gets `undefined` and continues; the result is discarded. What the function throws or rejects with is reported as for
     * `applyIgnored`. Default false.
     * @see
     *   [Errors without a receiver](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#errors-without-a-receiver)
     */
    ignored?: boolean;
    /** The guest waits for the result. This is the default; the option is not read. */
    sync?: boolean;
  } & (
    | { async?: true; ignored?: never; sync?: never }
    | { async?: never; ignored?: true; sync?: never }
    | { async?: never; ignored?: never; sync?: true }
  );

  /**
   * Not supported. Native modules are compiled against the V8 of their host and cannot work here: the constructor always throws
   * `ERR_ISOLATE_UNSUPPORTED`. Give the isolate a `Callback`, or a `Reference` to a function, that does the work.
   */
  class NativeModule {
    /** @throws {Error} `ERR_ISOLATE_UNSUPPORTED`, always */
    constructor(filename: string);
    /** Declared for programs that refer to it; no instance exists. */
    create(context: Context): Promise<Reference<any>>;
    /** Like `create`. */
    createSync(context: Context): Reference<any>;
  }

  /** Helpers that isolated-vm has for its own tests. */
  interface Lib {
    /**
     * Seconds and nanoseconds of a monotonic clock, or the time since an earlier result.
     * @throws {TypeError} `ERR_INVALID_ARG` if `since` is not an array of two numbers
     */
    hrtime(since?: [seconds: number, nanoseconds: number] | null): [seconds: number, nanoseconds: number];
    /** Returns a new symbol. */
    privateSymbol(name?: string | null): symbol;
    /** Keeps its thread busy for a minute. */
    testHang(): void;
    /**
     * Fills the memory of the isolate that calls it, which ends.
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` on a host
     */
    testOOM(): never;
  }
  const lib: Lib;

  /**
   * Options of `createSandbox`. A value of a wrong type or out of range, and an unknown option, is a `TypeError` with the code
   * `ERR_INVALID_ARG`.
   * @see [createSandbox](https://github.com/isolated-v8/isolated-v8/blob/main/docs/create-sandbox.md)
   * @see [What the sandboxes share](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md)
   */
  interface SandboxOptions {
    /**
     * Time limit of an execution in milliseconds, at least 1. All time counts, including waiting for host functions. Default 30,000. An
     * execution that takes longer fails with `ERR_ISOLATE_DEADLINE`.
     */
    timeout?: number;
    /**
     * Maximum size of the result, in bytes of UTF-8 when written as JSON, at least 0. `Infinity` disables the limit. Default 1,048,576.
     * An execution with a larger result fails with a `RangeError` `ERR_ISOLATE_LIMIT` that names both sizes.
     *
     * A value that appears several times in the result counts each time, as in JSON. Values that JSON leaves out also count: entries of
     * maps and sets, fields of errors, buffers, and named keys of arrays. Keys whose value is `undefined` do not count, up to 16 times
     * the limit. A typed array counts with about ten bytes for each element, as JSON writes it (`{"0":1,"1":2}`): return binary data as
     * an `ArrayBuffer`, or as base64, or raise the limit.
     */
    maxOutputSize?: number;
    /**
     * Maximum number of calls of host functions in one execution, at least 0. A further call throws an `Error` in the guest. Default: 50
     * calls of `api.request`, any number of others.
     */
    maxApiCalls?: number;
    /**
     * Memory limit in MB, at least 8; see `IsolateOptions.memoryLimit`. Default: the environment variable `SANDBOX_MEMORY_MB` if it is at
     * least 8, otherwise 32. An execution that exceeds it fails with `ERR_ISOLATE_MEMORY`.
     */
    memoryLimit?: number;
    /** Maximum number of console calls kept in `logs`, at least 0. Further ones are only counted, in `lostLogs`. Default 100. */
    maxLogEntries?: number;
    /** Maximum length of each log entry in characters, at least 1; longer ones are cut and end in `...`. Default 1,000. */
    maxLogLength?: number;
    /**
     * Called for each console call that is kept, as it happens. What it throws or rejects with is reported
     * (`isolated-v8:unhandled-host-error`). A guest that logs faster than this function handles has to wait. Default: none.
     */
    onLog?: (entry: SandboxLogEntry) => void;
    /**
     * Provides `setTimeout`, `setInterval`, `setImmediate`, their `clear…` functions, and `queueMicrotask`. At most 1,000 may be pending:
     * one more is a `RangeError` in the guest. Delays are at least 1 ms. An error thrown by a callback ends the execution. Default false.
     */
    timers?: boolean;
    /**
     * Provides the named APIs, or all of the web's with `true`. `DOMException` is included with APIs that throw it. `crypto` has
     * `getRandomValues` and `randomUUID`. `performance` has `now`, in whole milliseconds since the execution was requested. A URL is at
     * most 2 MB. A `TextDecoder` in the middle of a stream counts as 1 KB of memory. Long strings made by these APIs count like buffers.
     * Default false.
     * @see [The web inside sandboxes](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md#the-web-inside-sandboxes)
     */
    web?: boolean | readonly WebName[];
    /**
     * Whether the code has `WebAssembly`. With `false` the global does not exist, and nothing in the isolate can compile modules,
     * whatever a snapshot contains. Default true.
     */
    wasm?: boolean;
    /**
     * Allows TypeScript types in the code; they are replaced by blanks. Syntax that is more than types (`enum`, `namespace`, parameter
     * properties, `<T>x`) fails with a `SyntaxError`. Each execution then takes longer. Code in a Markdown fence `ts`, `typescript`,
     * `mts`, `cts` or `tsx` may use types without this option. Default false.
     */
    typescript?: boolean;
    /**
     * ES modules that the code can import: sources by name, read once. Names are URLs, or paths from a common root, of at most 1,000
     * characters: `lib/a.js` and `./lib/a.js` are the same, and only one of them may be set. The names `sandbox.js` and `sandbox.js#…`
     * belong to the code itself. A specifier that starts with `./`, `../` or `/` is resolved against the importing module; any other
     * specifier is a name. An unknown module is an error that names it. The modules run under the same limits as the code, and are
     * evaluated again for each execution. `import()` works everywhere.
     *
     * Code that is a module instead of a function body (it has `import … from` or `export` at its top) runs as one. The result is its
     * default export, or what that returns if it is a function.
     *
     * With `typescript`, modules may also have types, except those whose names end in `.js` or `.mjs`.
     *
     * Modules whose names end in `.json` are JSON. Imports of these modules, and of no others, use `with { type: 'json' }` and get the
     * parsed value as the default export. Other import attributes are a `SyntaxError` with the code `ERR_ISOLATE_UNSUPPORTED`; with
     * `import()`, a `TypeError` in the guest.
     *
     * Default: no modules, and `import()` rejects.
     * @see [Modules inside sandboxes](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md#modules-inside-sandboxes)
     * @example
     * ```ts
     * import { createSandbox } from 'isolated-v8';
     *
     * const sandbox = createSandbox({}, { modules: { 'lib/math.js': 'export const twice = (n) => 2 * n;' } });
     * const { result } = await sandbox.execute('import { twice } from "lib/math.js"; export default twice(21);');
     * console.log(result); // prints 42
     * ```
     */
    modules?: Readonly<Record<string, string>>;
    /**
     * Number of prepared isolates that wait for the next execution, at most 64 (larger numbers count as 64); 0 disables this. Each serves
     * one execution and ends with it. They are made when an execution is over or waits for something, the first time 50 ms later. Sandboxes with
     * the same settings on one thread share them. They end after waiting for a minute, and do not keep the program running. Each takes
     * memory ([how much](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md#prepared-isolates-and-heaps)), and the contents of a
     * `snapshot` in addition. Default 1.
     * @see
     *   [Prepared isolates and heaps](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md#prepared-isolates-and-heaps)
     */
    poolSize?: number;
    /** Another name of `poolSize`. Setting both is refused (`ERR_INVALID_ARG`). */
    warm?: number;
    /**
     * A heap that executions start from, made by `Isolate.createSnapshot`. Each execution gets a new copy of what the scripts left on the
     * global object. The snapshot is read when the sandbox is created, and you may release the copy afterwards. Creating the sandbox
     * throws a `TypeError` `ERR_INVALID_ARG` if this version did not make the snapshot, and an `Error` `ERR_ISOLATE_MEMORY` if it needs
     * more than `memoryLimit`. Default: an empty heap.
     *
     * The sandbox's own globals (`console`, and those of the options and tools) replace what a script assigned or declared with `var`
     * under the same name. If a script declared such a name with `const`, `let` or `class`, it cannot be replaced: executions then fail
     * with a `TypeError` `ERR_INVALID_ARG` that names it.
     * @see
     *   [Prepared isolates and heaps](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md#prepared-isolates-and-heaps)
     */
    snapshot?: ExternalCopy<ArrayBuffer>;
    /**
     * Lets a debugger attach to the isolate of each execution before its code runs. Such executions do not use prepared isolates, and
     * `timeout` does not count the time for which the debugger pauses the code. Default false.
     *
     * - A function: called for each execution; see {@link InspectorHook}.
     * - `true`: serves the isolate to DevTools on port 9229 (or any free one, if that is taken), prints the address on stderr, and waits
     *   for a debugger, at most for as long as `timeout`. Then the code runs.
     * @see [Debugging](https://github.com/isolated-v8/isolated-v8/blob/main/docs/debugging.md#executions-of-sandboxes)
     */
    inspector?: boolean | InspectorHook;
  }

  /**
   * Called before the code of an execution runs, with its isolate: pass it to `serve` of `isolated-v8/inspector`, or call its
   * `createInspectorSession()`. The code runs when what the function returns has resolved. `dispose()`, `close()` and the execution's
   * `signal` end this wait; `timeout` does not. If it throws or rejects, the execution fails with that error. If it resolves with an object that has a
   * `close` method, such as an `InspectorServer`, that is called at the end of the execution, which waits for it.
   * @example
   * ```ts
   * import { AgentSandbox } from 'isolated-v8';
   * import { serve } from 'isolated-v8/inspector';
   *
   * const sandbox = new AgentSandbox({
   *   inspector: async (isolate) => {
   *     const server = await serve(isolate);
   *     console.log(server.devtoolsUrl);
   *     await server.attached;
   *     return server;
   *   },
   * });
   * ```
   */
  type InspectorHook = (isolate: Isolate) => unknown;

  /**
   * Web APIs that sandboxes and contexts can provide in addition to ECMAScript's built-ins. `Buffer` is Node's, as the npm package
   * [buffer](https://www.npmjs.com/package/buffer) 6 implements it, without the encoding `base64url`. `web: true` does not include it.
   */
  type WebName =
    | 'TextEncoder' | 'TextDecoder' | 'URL' | 'URLSearchParams' | 'atob' | 'btoa' | 'structuredClone' | 'crypto' | 'performance' | 'Buffer';

  /** A console call of a guest, as passed to `onLog`. */
  interface SandboxLogEntry {
    /** The method of `console` that was called. */
    level: 'log' | 'info' | 'warn' | 'error' | 'debug';
    /** Its arguments as text, as in `logs`, cut to `maxLogLength` characters. */
    message: string;
  }

  /**
   * Resources that an execution used.
   * @see [Observability](https://github.com/isolated-v8/isolated-v8/blob/main/docs/observability.md)
   */
  interface SandboxUsage {
    /** Time for which the guest ran, in milliseconds. */
    cpuMs: number;
    /** Milliseconds from the start of the guest's isolate to the outcome. Removing types happens before. */
    wallMs: number;
    /** Highest heap use in bytes, as measured before each garbage collection and at the end. */
    heapPeak: number;
    /** Number of calls of host functions, including those that were refused. */
    hostCalls: number;
  }

  /** Why an execution failed. */
  interface SandboxFailure {
    /** The error's `name`; `Error` if something else was thrown. */
    name: string;
    /** Same as `error`; for a plugin, the message of the error itself. */
    message: string;
    /**
     * Absent for errors of the code itself. Set if a limit or this library is the reason:
     *
     * - `ERR_ISOLATE_DEADLINE`: the execution took longer than `timeout`
     * - `ERR_ISOLATE_MEMORY`: it exceeded `memoryLimit`
     * - `ERR_ISOLATE_LIMIT`: the result is too large, or another limit was exceeded
     * - `ERR_ISOLATE_TRANSFER`: the result, or a value passed to or from a host function, cannot be copied
     * - `ERR_ISOLATE_ABORTED`: `signal` was aborted
     * - `ERR_ISOLATE_DISPOSED`: the sandbox was disposed of or closed
     * - `ERR_ISOLATE_UNSUPPORTED`: for example an import attribute other than `type`
     * - `ERR_INVALID_ARG`: a name of `snapshot` cannot be replaced, or a wrong argument (`createSandbox`)
     */
    code?: ErrorCode;
    /** Name, message and the guest's frames, with lines and columns of the code as it was passed. Paths of the host are hidden. */
    stack: string;
    /** Name of the module where the error arose; absent if that is the code itself, or unknown. */
    module?: string;
    /** 1-based line where the error arose, in the code as it was passed or in that module; absent if unknown. */
    line?: number;
    /** 1-based column; present if `line` is. */
    column?: number;
    /** The surrounding lines with the place marked, for people to read. */
    frame?: string;
    /** Own enumerable properties of the error whose values are primitive, such as its own `code`; absent if there are none. At most 32. */
    properties?: Record<string, FailureValue>;
    /** The error's `cause`, if it is an error or a primitive value; otherwise absent. */
    cause?: SandboxFailureCause | FailureValue;
  }

  /** A primitive value that crosses with an error; strings have at most 8,192 characters. */
  type FailureValue = string | number | boolean | bigint | null | undefined;

  /** An error that is the cause of another one. */
  interface SandboxFailureCause {
    name: string;
    /** At most 8,192 characters. */
    message: string;
    /** Name, message and the guest's frames, of which at most 8,192 characters are kept. */
    stack: string;
    properties?: Record<string, FailureValue>;
    /** At most 8 causes cross with an error. */
    cause?: SandboxFailureCause | FailureValue;
  }

  /** What the outcomes of all executions have. */
  interface SandboxOutcome {
    /** Number of console calls that were not kept; absent if all were kept. */
    lostLogs?: number;
    /** Absent if the execution could not start. */
    usage?: SandboxUsage;
    /** Milliseconds from the call to the outcome, rounded. */
    durationMs: number;
  }

  /** The outcome of an execution that succeeded. */
  interface SandboxSuccessResult<T = unknown> {
    /** A structured clone of the code's result. The type `T` is not checked. */
    result: T;
    /** Absent: the execution succeeded. */
    error?: undefined;
    /** Absent: the execution succeeded. */
    failure?: undefined;
  }

  /** The outcome of an execution that failed. */
  interface SandboxErrorResult<F extends SandboxFailure = SandboxFailure> {
    /** Null: the execution failed. */
    result: null;
    /** Why it failed. */
    error: string;
    /** Details of `error`. */
    failure: F;
  }

  /** What the outcome of `Sandbox.execute` has in any case. */
  interface SandboxResultDetails extends SandboxOutcome {
    /**
     * Output of `console.log`, `info`, `warn`, `error` and `debug`. Strings are unchanged, other values are JSON, joined by a space. See
     * `maxLogEntries` and `maxLogLength`. At most 8 MB in all; a last entry says when that is reached.
     */
    logs: string[];
    /** Number of calls that `maxApiCalls` limits, without refused ones; absent if it limits none of the globals' functions. */
    apiCallCount?: number;
  }

  /**
   * The outcome of `Sandbox.execute`. `error` tells whether it is a failure: it is a string then, and otherwise absent.
   * @see [Results in TypeScript](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md#results-in-typescript)
   */
  type SandboxResult<T = unknown> = (SandboxSuccessResult<T> | SandboxErrorResult) & SandboxResultDetails;

  /** A sandbox made by `createSandbox`. */
  interface Sandbox {
    /**
     * Runs code in a new isolate, which is disposed afterwards.
     *
     * If the whole code is one function expression, that function is called. If it is one expression, its value is the result. Otherwise
     * it runs as the body of an async function. Only the code in a Markdown fence runs, if there is one. If the result is a promise, it
     * is awaited. Executions may overlap.
     *
     * The promise never rejects. Failures are in `error` and `failure`, also wrong arguments (`ERR_INVALID_ARG`) and an abort by `signal`
     * (`ERR_ISOLATE_ABORTED`).
     */
    execute<T = unknown>(code: string, options?: SignalOptions): Promise<SandboxResult<T>>;

    /**
     * Ends running executions, which resolve with the error `Sandbox has been disposed` (`ERR_ISOLATE_DISPOSED`). Later executions are
     * not affected.
     */
    dispose(): void;
    /**
     * Ends running executions. They, and later ones, resolve with the error `Sandbox has been disposed` (`ERR_ISOLATE_DISPOSED`).
     * @returns a promise that resolves when the running executions have resolved
     */
    close(): Promise<void>;
    /** Like `close()`, for `using`. */
    [Symbol.dispose](): void;
    /** Like `close()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /**
   * Creates a sandbox for code that a model wrote.
   *
   * Globals are copied in. Functions in them, at any depth of plain objects and arrays, become functions that look synchronous to the
   * guest. The guest waits until the result of the host's function has settled, and gets a structured clone of it, or an `Error` with the
   * message. The host's event loop is free meanwhile. The code has ECMAScript's built-ins, `console`, `WebAssembly` and the given
   * globals. `globalThis` is shadowed (undefined in the code itself), and there is no `require`, `process` or `fetch`.
   * @param globals what the code can use. Read again for each execution
   * @throws {TypeError} `ERR_INVALID_ARG` if `globals` is not an object, or an option is unknown, of a wrong type or out of range
   * @throws {Error} `ERR_ISOLATE_MEMORY` if `snapshot` needs more than `memoryLimit`
   * @see [createSandbox](https://github.com/isolated-v8/isolated-v8/blob/main/docs/create-sandbox.md)
   * @see [Run code that a model wrote](https://github.com/isolated-v8/isolated-v8/blob/main/docs/guides/model-code.md)
   * @example
   * ```ts
   * import { createSandbox } from 'isolated-v8';
   *
   * const sandbox = createSandbox({ price: async (item: string) => item.length }, { timeout: 1_000 });
   * const outcome = await sandbox.execute<number>('price("fig") * 2');
   * if (outcome.error === undefined) console.log(outcome.result); // prints 6
   * else console.log(outcome.failure.code, outcome.error);
   * ```
   */
  function createSandbox(globals: Record<string, unknown>, options?: SandboxOptions): Sandbox;

  /**
   * Converts code that a model wrote to the text of an async arrow function. Only the code of a Markdown fence is used, if there is one.
   * V8 parses it, in an isolate, but nothing runs: an async arrow function stays as it is, another function becomes
   * `async () => (CODE)()`, an expression `async () => { return CODE }`, and statements become `async () => { CODE }`. `execute` of
   * `createSandbox`, and of `AgentSandbox` with `form: 'any'`, does the same and also removes types.
   *
   * Code that V8 cannot parse, because it has types or is wrong, is an expression if it is one line without `;`. Otherwise it is
   * statements, or a function if it starts with `async (` or `function`.
   *
   * To parse a megabyte of code that is designed to be slow may take ten seconds. Without `async`, your thread waits for that.
   * @throws {TypeError} `ERR_INVALID_ARG` if `code` is not a string
   * @throws {Error} `ERR_ISOLATE_MEMORY` or `ERR_ISOLATE_LIMIT` if no isolate can be created
   */
  function normalizeCode(code: string, options?: { async?: false | null } | null): string;
  /**
   * The same without blocking the event loop.
   * @param options.signal ends the parsing. The promise then rejects with its reason
   */
  function normalizeCode(code: string, options: { async: true; signal?: AbortSignalLike | null }): Promise<string>;

  /**
   * A tool that code may call.
   * @see [Tools](https://github.com/isolated-v8/isolated-v8/blob/main/docs/agents.md#tools)
   */
  interface SandboxTool {
    /**
     * Not empty. `a:b` or `a.b` is called as `a.b(params)`; further parts are joined by `_`. A name of one part is called as
     * `name(params)`, or only as `name.call(params)` if the sandbox has a global of that name. Characters outside `[A-Za-z0-9_$]` become `_`.
     * Two different names that are called in the same way are refused (`ERR_INVALID_ARG`). Of two equal names, the last counts.
     */
    name: string;
    /** For the model; see `describeTools`. */
    description: string;
    /**
     * The schema of the params. Before each call, the params are validated. If they are invalid, the call in the guest rejects with a
     * `TypeError` that names the first 10 problems, and the tool is not called.
     *
     * - A Standard Schema (zod, valibot, ArkType): its `validate` is called, synchronous or not, and the tool gets its output, with
     *   defaults and conversions. It runs on the host's thread, without a limit of time.
     * - A JSON Schema: 2020-12, or an older one whose keywords have the same meaning. The tool gets the params unchanged. `format` and
     *   unknown keywords are ignored. `$ref` may refer to parts of the same schema (`#/$defs/name`). `unevaluatedItems`,
     *   `unevaluatedProperties`, `$dynamicRef` and other references are not supported: `execute` rejects with `ERR_INVALID_ARG`. A match
     *   with a `pattern` that may take long is made in an isolate, and ends with the execution. The schema is read once: later changes to the
     *   object have no effect.
     * - A promise for one of these: calls wait for it, until the execution ends, and fail if it rejects or its schema is not supported.
     *
     * Default: the params are not validated.
     */
    inputSchema?: StandardSchema | Readonly<Record<string, unknown>> | PromiseLike<StandardSchema | Readonly<Record<string, unknown>>>;
    /** The schema of the result, for `describeTools`. Results are not validated. */
    outputSchema?: StandardSchema | Readonly<Record<string, unknown>>;
  }

  /** A schema of a library that implements [Standard Schema](https://standardschema.dev), such as zod, valibot or ArkType. */
  interface StandardSchema {
    readonly '~standard': {
      readonly version: 1;
      readonly vendor: string;
      /** Returns `{ value }`, or `{ issues }` for an invalid value, or a promise for one of them. */
      readonly validate: (value: unknown) => unknown;
    };
  }

  /** Another name of `SandboxTool`. */
  type IsolatedVMTool = SandboxTool;

  /** The `AbortSignal` of the host's types, if the program is compiled with them. */
  type HostAbortSignal = typeof globalThis extends { AbortSignal: { prototype: infer Signal } } ? Signal : AbortSignalLike;

  /** What a tool gets besides its name and params. */
  interface ToolContext {
    /**
     * Aborts if the execution ends before the call has settled: at its timeout, when it is aborted or disposed of, or because its code
     * has ended without waiting for the call. The `reason` is that of the execution's own `signal` if that has aborted, and otherwise an
     * `Error` whose `name` is `AbortError`, with a `code`: that of the execution's failure, or `ERR_ISOLATE_ABORTED`. What a listener
     * throws or rejects with is reported (`isolated-v8:unhandled-host-error`). The signal of a call that has settled does not abort.
     */
    readonly signal: HostAbortSignal;
  }

  /** Runs the tools that code calls. See `execute` of the sandboxes. */
  type ToolExecutor = (toolName: string, params: any, context: ToolContext) => Promise<unknown>;

  /** A call of a tool that needs approval. */
  interface ToolCall extends ToolContext {
    /** The tool's name. */
    readonly name: string;
    /** The params as the tool will get them: after validation. */
    readonly params: any;
  }

  /** Options for the calls of tools. */
  interface ToolOptions {
    /**
     * Called before each call of a tool, with valid params. The tool is called only if the function returns `true`, or a promise for it.
     * For any other value, the call in the guest rejects with an `Error` that says so; if the function throws or rejects, with an `Error`
     * that has the same message. Waiting counts towards the execution's `timeout`. Default: every call is approved.
     */
    approve?: (call: ToolCall) => boolean | Promise<boolean>;
    /**
     * How results of tools arrive in the code. `'clone'`: as structured clones, with dates, maps and `undefined`. `'json'`: as what
     * `JSON.parse` returns for their JSON; a result that has no JSON, such as a BigInt, is a `TypeError` in the guest. Default `'clone'`.
     */
    results?: 'clone' | 'json';
  }

  /**
   * Returns TypeScript declarations of tools, as code calls them in an `AgentSandbox` or `SubprocessSandbox`, for a model's prompt. The
   * types are those of the schemas: of JSON Schemas, and of Standard Schemas that can be converted to one (`~standard.jsonSchema`, as in
   * zod 4.2 and ArkType). Others are `unknown`.
   * @throws {TypeError} `ERR_INVALID_ARG` if `tools` is not an array of objects with a `name`
   * @see [Tools](https://github.com/isolated-v8/isolated-v8/blob/main/docs/agents.md#tools)
   * @example
   * ```ts
   * import { describeTools } from 'isolated-v8';
   *
   * const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
   * // Declares `weather.today(params: { city: string })`, which returns a `Promise<unknown>`.
   * console.log(describeTools([{ name: 'weather:today', description: 'The weather', inputSchema }]));
   * ```
   */
  function describeTools(tools: readonly SandboxTool[]): string;

  /** What the outcome of `AgentSandbox.execute` has in any case. */
  interface AgentResultDetails extends SandboxOutcome {
    /**
     * Output of `console`. Strings are unchanged, other values are JSON, joined by a space. Errors start with `[ERROR] `, warnings with
     * `[WARN] `. If the code threw an error, the last entry is `[ERROR] Execution error: ` and its message. See `maxLogEntries` and
     * `maxLogLength`. At most 8 MB in all; an entry says when that is reached.
     */
    logs: string[];
    /** Same as `durationMs`. */
    duration: number;
  }

  /** The outcome of `AgentSandbox.execute`. `error` tells whether it is a failure: it is a string then, and otherwise absent. */
  type AgentResult<T = unknown> = (SandboxSuccessResult<T> | SandboxErrorResult) & AgentResultDetails;
  /** Another name of `AgentResult`. */
  type IsolatedVMExecutionResult<T = unknown> = AgentResult<T>;

  /**
   * Options of `new AgentSandbox`; all are optional. A value of a wrong type or out of range, and an unknown option, is a `TypeError`
   * with the code `ERR_INVALID_ARG`.
   * @see [AgentSandbox](https://github.com/isolated-v8/isolated-v8/blob/main/docs/agents.md)
   * @see [What the sandboxes share](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md)
   */
  interface AgentSandboxConfig extends ToolOptions {
    /**
     * Time limit of an execution in milliseconds, at least 1. All time counts, including pending tools. Default 30,000. An execution that
     * takes longer fails with `ERR_ISOLATE_DEADLINE`.
     */
    timeout: number;
    /**
     * Memory limit of an execution in MB, at least 8; see `IsolateOptions.memoryLimit`. Default 128. An execution that exceeds it fails
     * with `ERR_ISOLATE_MEMORY`.
     */
    memoryLimit: number;
    /**
     * Maximum size of the result in bytes of JSON; see `SandboxOptions.maxOutputSize`. Default: as many bytes as `memoryLimit`, and at
     * least 67,108,864. An execution with a larger result fails with `ERR_ISOLATE_LIMIT`.
     */
    maxOutputSize?: number;
    /**
     * Maximum number of tool calls in one execution, at least 0. A further call rejects in the guest with an `Error`. Default: no limit.
     */
    maxApiCalls?: number;
    /** Maximum number of console calls kept in `logs`, at least 0. Further ones are only counted, in `lostLogs`. Default 10,000. */
    maxLogEntries?: number;
    /** Maximum length of each log entry in characters, at least 1; longer ones are cut and end in `...`. Default 10,000. */
    maxLogLength?: number;
    /**
     * Called for each console call that is kept, as it happens, without the prefix. What it throws or rejects with is reported
     * (`isolated-v8:unhandled-host-error`). Default: none.
     */
    onLog?: (entry: SandboxLogEntry) => void;
    /** Provides the named APIs, or all of the web's with `true`; see `SandboxOptions.web`. Default false. */
    web?: boolean | readonly WebName[];
    /** Whether the code has `WebAssembly`; see `SandboxOptions.wasm`. Default true. */
    wasm?: boolean;
    /** Allows TypeScript types in the code; see `SandboxOptions.typescript`. Default false. */
    typescript?: boolean;
    /**
     * What the code may be. `'body'`: the body of an async function, or an ES module if there are `modules`. `'any'`: also one function,
     * which is called, or one expression, whose value is the result, and each of them in a Markdown fence, as for `createSandbox`.
     * Default `'body'`.
     */
    form?: 'body' | 'any';
    /** ES modules that the code can import; see `SandboxOptions.modules`. Default: none. */
    modules?: Readonly<Record<string, string>>;
    /** Number of prepared isolates that wait for the next execution; see `SandboxOptions.poolSize`. Default 1. */
    poolSize?: number;
    /** Another name of `poolSize`. Setting both is refused (`ERR_INVALID_ARG`). */
    warm?: number;
    /** A heap that executions start from; see `SandboxOptions.snapshot`. Default: an empty heap. */
    snapshot?: ExternalCopy<ArrayBuffer>;
    /** Lets a debugger attach to the isolate of each execution; see `SandboxOptions.inspector`. Default false. */
    inspector?: boolean | InspectorHook;
  }

  /** Another name of `AgentSandboxConfig`. */
  type IsolatedVMSandboxConfig = AgentSandboxConfig;

  /**
   * A sandbox for code of an agent that calls tools. The code has timers, as with `SandboxOptions.timers`.
   * @see [AgentSandbox](https://github.com/isolated-v8/isolated-v8/blob/main/docs/agents.md)
   * @see [Give an agent tools](https://github.com/isolated-v8/isolated-v8/blob/main/docs/guides/agent-tools.md)
   * @example
   * ```ts
   * import { AgentSandbox } from 'isolated-v8';
   *
   * const sandbox = new AgentSandbox({ timeout: 5_000, maxApiCalls: 100 });
   * const tools = [{ name: 'weather:today', description: 'The weather in a city' }];
   * const { result, error } = await sandbox.execute<number>(
   *   'const { degrees } = await weather.today({ city: "Oslo" }); return 2 * degrees;',
   *   tools,
   *   async (name, { city }, { signal }) => ({ city, degrees: city.length }),
   * );
   * console.log(error ?? result); // prints 8
   * ```
   */
  class AgentSandbox {
    /**
     * Creates a sandbox. Isolates are made from its first execution on.
     * @throws {TypeError} `ERR_INVALID_ARG` if an option is unknown, of a wrong type or out of range
     * @throws {Error} `ERR_ISOLATE_MEMORY` if `snapshot` needs more than `memoryLimit`
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` if the native part of the package cannot be loaded
     */
    constructor(config?: Partial<AgentSandboxConfig> | null);

    /**
     * Whether this class can be used. False if the native part of the package cannot be loaded: then the constructor throws
     * `ERR_ISOLATE_UNSUPPORTED`, whose message says why. Also false if the environment variable `NCP_DISABLE_ISOLATED_VM` is `true`; the
     * constructor works then.
     * @see [When it does not load](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#when-it-does-not-load)
     */
    static isAvailable(): boolean;

    /**
     * Runs code as the body of an async function, in a new isolate that is disposed afterwards. Resolves when the code has ended, or one
     * of its limits. Failures of the code, of its tools and of its limits do not reject: they are in `error` and `failure`. Executions
     * may overlap.
     * @param tools validated before each call if they have an `inputSchema`
     * @param toolExecutor called with the tool's `name`, its params, which are copied as JSON (`{}` if there are none), and an
     *   `AbortSignal`. The call in the guest resolves with a structured clone of the result (or the result as JSON if it cannot be
     *   cloned; see also `results`), or rejects with an `Error` that has the same message. It also rejects if the JSON would have more than a
     *   million elements of typed arrays, holes of arrays and parts of objects that occurred before.
     * @throws {TypeError} `ERR_INVALID_ARG`, as a rejection, for arguments of wrong types, and for an `inputSchema` that is not supported
     */
    execute<T = unknown>(
      code: string, tools: readonly SandboxTool[], toolExecutor: ToolExecutor, options?: SignalOptions,
    ): Promise<AgentResult<T>>;
    /** Without tools. */
    execute<T = unknown>(code: string, tools?: readonly [], toolExecutor?: ToolExecutor, options?: SignalOptions): Promise<AgentResult<T>>;

    /**
     * Ends running executions, which resolve with the error `Sandbox has been disposed` (`ERR_ISOLATE_DISPOSED`). Later executions are
     * not affected.
     */
    dispose(): void;
    /**
     * Ends running executions. They, and later ones, resolve with the error `Sandbox has been disposed` (`ERR_ISOLATE_DISPOSED`).
     * @returns a promise that resolves when the running executions have resolved
     */
    close(): Promise<void>;
    /** Like `close()`, for `using`. */
    [Symbol.dispose](): void;
    /** Like `close()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;

    /**
     * Returns heap statistics of the execution that started last, from its last garbage collection; null if nothing runs, or before the
     * first measurement.
     */
    getHeapStatistics(): (HeapStatistics & HeapDetails) | null;
  }

  /** Another name of `AgentSandbox`: the same class. */
  const IsolatedVMSandbox: typeof AgentSandbox;
  type IsolatedVMSandbox = AgentSandbox;

  /** Same as `new AgentSandbox(config)`. */
  function createIsolatedVMSandbox(config?: Partial<AgentSandboxConfig> | null): AgentSandbox;

  /**
   * Layers that confine the processes of a `SubprocessSandbox`.
   * @see [What confines the processes](https://github.com/isolated-v8/isolated-v8/blob/main/docs/confinement.md)
   */
  type ConfinementLayerName =
    | 'cgroup'
    | 'oomScore'
    | 'ownUser'
    | 'userNamespace'
    | 'networkNamespace'
    | 'ipcNamespace'
    | 'utsNamespace'
    | 'mountNamespace'
    | 'rlimits'
    | 'pidNamespace'
    | 'parentDeath'
    | 'capabilities'
    | 'notDumpable'
    | 'noNewPrivileges'
    | 'landlock'
    | 'descriptors'
    | 'seccomp'
    | 'noTracing'
    | 'seatbelt'
    | 'footprint';

  /** One layer that confines the processes of a `SubprocessSandbox`. */
  interface ConfinementLayer {
    /** Name of the layer. */
    name: ConfinementLayerName;
    /** Whether the layer is in effect. This depends on the system, and on the privileges of this process. */
    active: boolean;
    /** What the layer does, or why it is not in effect. */
    detail: string;
  }

  /**
   * The option `confinement` of a `SubprocessSandbox`. A layer set to `false` is left out, for debugging: do not run untrusted code that
   * way. Default: every layer that the system supports and permits. Unknown names are a `TypeError` with the code `ERR_INVALID_ARG`.
   * @see [Switching layers off](https://github.com/isolated-v8/isolated-v8/blob/main/docs/confinement.md#switching-layers-off)
   */
  interface SubprocessConfinement extends Partial<Record<ConfinementLayerName, boolean>> {
    /**
     * Required layers. If one is not in effect, no code is sent to the process: `execute` fails with `ERR_ISOLATE_UNSUPPORTED`, and the
     * error names the layer and the reason. `namespaces` means all six namespace layers. Default: none; a layer that the system does not
     * support is left out.
     * @throws {TypeError} `ERR_INVALID_ARG`, from the constructor, for unknown names and for a layer that is also `false`
     */
    require?: readonly (ConfinementLayerName | 'namespaces')[];
  }

  /**
   * Options of `new SubprocessSandbox`; all are optional. A value of a wrong type or out of range, and an unknown option, is a
   * `TypeError` with the code `ERR_INVALID_ARG`.
   * @see [SubprocessSandbox](https://github.com/isolated-v8/isolated-v8/blob/main/docs/subprocess.md)
   * @see [What the sandboxes share](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md)
   */
  interface SubprocessSandboxConfig extends ToolOptions {
    /**
     * Time until the process of an execution is killed, in milliseconds, at least 1. All time counts, including starting the process and
     * pending tools. Default 30,000. The execution then fails with `ERR_ISOLATE_DEADLINE`.
     */
    timeout: number;
    /**
     * Memory limit of an execution in MB, at least 8; see `IsolateOptions.memoryLimit`. Default 128. An execution that exceeds it fails
     * with `ERR_ISOLATE_MEMORY`.
     */
    memoryLimit: number;
    /**
     * Maximum size of the result in bytes of JSON; see `SandboxOptions.maxOutputSize`. Default: as many bytes as `memoryLimit`, and at
     * least 67,108,864. An execution with a larger result fails with `ERR_ISOLATE_LIMIT`.
     */
    maxOutputSize?: number;
    /**
     * Maximum number of tool calls in one execution, at least 0. A further call rejects in the guest with an `Error`. Default: no limit.
     */
    maxApiCalls?: number;
    /**
     * Whether the environment of the process contains only `PATH`, `NODE_ENV=sandbox` and, if it is set here, `TZ`. With `false` it
     * contains `process.env`, without variables that make loaders and the C library load files (`LD_*`, `DYLD_*`, `GLIBC_TUNABLES`, …).
     * The code cannot read either. Default true.
     */
    minimalEnv: boolean;
    /**
     * Number of processes that wait for the next execution, at most 64 (larger numbers count as 64); 0 disables this. They are started
     * after the first execution or call of `confinement()`. Sandboxes with the same settings share them, whatever their timeouts up to a
     * minute. A process ends after waiting for a minute. All sandboxes together have at most 64 waiting processes. Beyond that, settings
     * with more waiting processes make room for others, oldest process first. Default 1.
     * @see [Waiting processes](https://github.com/isolated-v8/isolated-v8/blob/main/docs/subprocess.md#waiting-processes)
     */
    poolSize?: number;
    /** Which layers a process requires or leaves out. Default: it requires none and leaves out none. */
    confinement?: SubprocessConfinement;
    /**
     * Maximum number of console calls and lines of process output kept in `logs`, at least 0. Further ones are only counted, in
     * `lostLogs`. Default 10,000.
     */
    maxLogEntries?: number;
    /** Maximum length of each log entry in characters, at least 1; longer ones are cut and end in `...`. Default 10,000. */
    maxLogLength?: number;
    /**
     * Called for each console call that is kept, as it happens, without the prefix. What it throws or rejects with is reported
     * (`isolated-v8:unhandled-host-error`). Default: none.
     */
    onLog?: (entry: SandboxLogEntry) => void;
    /** Provides the named APIs, or all of the web's with `true`; see `SandboxOptions.web`. Default false. */
    web?: boolean | readonly WebName[];
    /** Whether the code has `WebAssembly`; see `SandboxOptions.wasm`. Default true. */
    wasm?: boolean;
    /** Allows TypeScript types in the code; see `SandboxOptions.typescript`. This process removes them. Default false. */
    typescript?: boolean;
    /** ES modules that the code can import; see `SandboxOptions.modules`. They are sent with each execution. Default: none. */
    modules?: Readonly<Record<string, string>>;
    /**
     * A heap that executions start from; see `SandboxOptions.snapshot`. It is sent to each process once, when the process starts, and the
     * process validates it again. Waiting processes serve only sandboxes with the same ExternalCopy. Default: an empty heap.
     */
    snapshot?: ExternalCopy<ArrayBuffer>;
  }

  /** Why an execution in a process failed. */
  interface SubprocessFailure extends SandboxFailure {
    /**
     * Set for failures of a limit or of the process; absent for errors of the code. One of:
     *
     * - `ERR_ISOLATE_DEADLINE` if the execution took longer than `timeout`, or the system did not start a process within 5 s
     * - `ERR_ISOLATE_MEMORY` if the process took more memory than it may
     * - `ERR_ISOLATE_ABORTED` after an abort by `signal`, `ERR_ISOLATE_DISPOSED` after `dispose()` or `close()`
     * - `ERR_ISOLATE_SYSTEM_CALL` if the process made a forbidden system call
     * - `ERR_ISOLATE_PROTOCOL` if it sent a message that no valid process sends
     * - `ERR_ISOLATE_CRASH` if it ended by itself
     * - `ERR_ISOLATE_TRANSFER` for a result that cannot leave the process, or that this host cannot receive
     * - `ERR_ISOLATE_LIMIT` if the system provided no process, or the result is too large
     * - `ERR_ISOLATE_UNSUPPORTED` if the executable or a required layer of confinement is missing, and for unsupported imports
     * - `ERR_INVALID_ARG` if a name of `snapshot` cannot be replaced
     *
     * @see [How an execution ends](https://github.com/isolated-v8/isolated-v8/blob/main/docs/subprocess.md#how-an-execution-ends)
     */
    code?: ErrorCode;
    /** The signal that ended the process, such as `SIGSEGV`, unless the sandbox killed it. */
    signal?: string;
  }

  /** What the outcome of `SubprocessSandbox.execute` has in any case. */
  interface SubprocessResultDetails extends SandboxOutcome {
    /**
     * Each console call is `[log] `, `[warn] `, `[error] ` or `[debug] ` and JSON, of the only argument or of a list of all; `info`
     * counts as `log`. Each line that the process itself writes starts with `[stdout] ` or `[stderr] `. See `maxLogEntries` and
     * `maxLogLength`. At most 8 MB in all. Logs are also present if the process was killed.
     */
    logs: string[];
    /** Number of console calls and lines that were not kept; absent if all were kept. */
    lostLogs?: number;
    /**
     * Absent if the execution could not start. `cpuMs` is for the whole process from when it was sent the code, measured by this
     * process. `heapPeak` is what the process reports, at most two times `memoryLimit`; 0 if it could not report it.
     */
    usage?: SandboxUsage;
    /** The layers that confined the process; absent if the execution could not start. */
    confinement?: ConfinementLayerName[];
    /** Same as `durationMs`. */
    duration: number;
  }

  /**
   * The outcome of `SubprocessSandbox.execute`. `error` tells whether it is a failure: it is a string then, and otherwise absent. It is
   * `Execution terminated (timeout or resource limit)` if the process was killed or ran out of memory, and `Process exited with code …` if it
   * ended by itself; the code is 128 plus the signal's number if a signal ended it.
   */
  type SubprocessExecutionResult<T = unknown> = (SandboxSuccessResult<T> | SandboxErrorResult<SubprocessFailure>) & SubprocessResultDetails;
  /** Another name of `SubprocessExecutionResult`. */
  type SandboxExecutionResult<T = unknown> = SubprocessExecutionResult<T>;

  /**
   * A message between a process and its host, in programs that have such a protocol of their own. The sandboxes of this package do not use
   * it: it is declared for code that imports the type.
   */
  interface SandboxMessage {
    type: 'execute' | 'tool_call' | 'tool_result' | 'log' | 'result' | 'error' | 'ready';
    id?: string;
    toolName?: string;
    params?: unknown;
    result?: unknown;
    error?: string;
    data?: unknown;
    code?: string;
    tools?: SandboxTool[];
    level?: 'log' | 'warn' | 'error' | 'debug';
  }

  /**
   * A sandbox for code of an agent, with a process for each execution. Available on Linux. It compiles on macOS but is not tested there.
   * @see [SubprocessSandbox](https://github.com/isolated-v8/isolated-v8/blob/main/docs/subprocess.md)
   * @example
   * ```ts
   * import { SubprocessSandbox } from 'isolated-v8';
   *
   * const sandbox = new SubprocessSandbox({ timeout: 5_000, memoryLimit: 64 });
   * const { result, failure } = await sandbox.execute<string>('return "x".repeat(3)', [], async () => undefined);
   * console.log(failure?.code ?? result); // prints xxx
   * await sandbox.close();
   * ```
   */
  class SubprocessSandbox {
    /**
     * Creates a sandbox. Processes are started from its first execution, or call of `confinement()`, on.
     * @throws {TypeError} `ERR_INVALID_ARG` if an option is unknown, of a wrong type or out of range
     * @throws {Error} `ERR_ISOLATE_MEMORY` if `snapshot` needs more than `memoryLimit`
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` on systems other than Linux and macOS, for `inspector`, and if the native part of the package cannot be
     *   loaded
     */
    constructor(config?: Partial<SubprocessSandboxConfig> | null);

    /**
     * Whether this class can be used. False on systems other than Linux and macOS, and if the native part of the package cannot be
     * loaded. Then the constructor throws `ERR_ISOLATE_UNSUPPORTED`.
     */
    static isAvailable(): boolean;

    /**
     * Runs code as the body of an async function, in strict mode, in a process that serves only this execution and is killed afterwards.
     * Resolves when the code, its process or one of its limits has ended. Failures of the code or its process do not reject: they are in
     * `error` and `failure`. Executions may overlap.
     *
     * The code has timers. The prototypes of `Object`, `Array`, `String`, `Number`, `Boolean`, `Function`, `RegExp`, `Date`, `Error`,
     * `Map`, `Set` and `Promise` are frozen. Assignment still creates own properties on objects that inherit from them, except
     * `constructor` from `Array`, `Promise` and `RegExp`, `then`, `exec`, and methods of `String`, `Number` and `Boolean` other than
     * `toString` and `valueOf`.
     * @param tools as for `AgentSandbox`; a tool whose name has no `:` can also be called as `tools.NAME(params)`, unless
     *   that would be the place of another tool as well
     * @param toolExecutor called with the tool's `name`, its params, which are copied as JSON (`{}` if there are none), and an
     *   `AbortSignal`. Params take at most 8 MB and at most a sixteenth of `memoryLimit` (`RangeError` in the guest), and wait until
     *   other calls have been answered. The call in the guest resolves with a structured clone of the result (or the result as JSON if it
     *   cannot be cloned; see also `results`), or rejects with an `Error` that has the same message.
     * @throws {TypeError} `ERR_INVALID_ARG`, as a rejection, for arguments of wrong types, and for an `inputSchema` that is not supported
     */
    execute<T = unknown>(
      code: string, tools: readonly SandboxTool[], toolExecutor: ToolExecutor, options?: SignalOptions,
    ): Promise<SubprocessExecutionResult<T>>;
    /** Without tools. */
    execute<T = unknown>(code: string, tools?: readonly [], toolExecutor?: ToolExecutor, options?: SignalOptions): Promise<SubprocessExecutionResult<T>>;

    /**
     * Kills the processes of running executions, which resolve with the error `Execution terminated (timeout or resource limit)`
     * (`ERR_ISOLATE_DISPOSED`). Later executions are not affected.
     */
    dispose(): void;
    /** Another name of `dispose`. */
    terminate(): void;
    /**
     * Kills the processes of running executions. They, and later ones, resolve with the error `Sandbox has been disposed`
     * (`ERR_ISOLATE_DISPOSED`).
     * @returns a promise that resolves when the running executions have resolved
     */
    close(): Promise<void>;

    /** Whether any execution has not ended yet. */
    isRunning(): boolean;

    /**
     * Resolves with the layers that confine the processes of this sandbox, as a process reports them before it runs any code. Starts a
     * process if none waits.
     * @throws {Error} as a rejection, with the codes of `SubprocessFailure`, if no process is available; `ERR_ISOLATE_DEADLINE` if the
     *   process does not report within 5 s
     */
    confinement(): Promise<ConfinementLayer[]>;

    /** Like `close()`, for `using`. */
    [Symbol.dispose](): void;
    /** Like `close()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /** Same as `new SubprocessSandbox(config)`. */
  function createSubprocessSandbox(config?: Partial<SubprocessSandboxConfig> | null): SubprocessSandbox;

  /**
   * A plugin manifest, written by the plugin's author. The sandbox reads `id`, `permissions` and `limits`, once. Wrong types there are a
   * `TypeError` with the code `ERR_INVALID_ARG` from `createIsolate`.
   * @see [PluginSandbox](https://github.com/isolated-v8/isolated-v8/blob/main/docs/plugins.md)
   */
  interface IPluginManifest {
    /** Identifies the plugin to the sandbox: the prefix of its cache keys. Not empty. Isolates with the same `id` share their storage. */
    id: string;
    /** For people to read, like the following members up to `dependencies`. Not read by the sandbox. */
    name: string;
    version: string;
    description: string;
    author: string;
    license: string;
    entrypoint: string;
    dependencies?: string[];
    /** What the plugin may do. Anything not listed is denied. */
    permissions: {
      /**
       * Domains, without scheme, port or wildcard, that URLs in the arguments of host methods may lead to, including their subdomains.
       * Another domain is a `SandboxViolationError` of kind `NETWORK`. Default: none.
       * @see [URLs](https://github.com/isolated-v8/isolated-v8/blob/main/docs/plugins.md#urls)
       */
      network?: { allowedDomains: string[] };
      /**
       * Bytes that the plugin may keep in the cache, at least 0: keys, including their prefix, and values. More is a
       * `SandboxViolationError` of kind `STORAGE`, and so is any call of the cache without this permission. The size of a value that is
       * not a string is measured as for `SandboxOptions.maxOutputSize`, including keys whose value is `undefined`. Each entry beyond
       * 1,000 counts as 256 bytes more, for its bookkeeping.
       */
      storage?: { maxSize: number };
      /**
       * Names of events that the plugin may listen to and emit. Another name is a `SandboxViolationError` of kind `HOOK`. Default: none.
       */
      hooks?: string[];
    };
    /** Limits of the plugin. An addition to the manifest. Unlike other members, unknown limits are refused (`ERR_INVALID_ARG`). */
    limits?: {
      /**
       * Memory limit in MB, at least 8; see `IsolateOptions.memoryLimit`. Default 128. A plugin that exceeds it loses its isolate, with a
       * `SandboxViolationError` of kind `MEMORY`. An execution is refused with the same error if the plugin already uses that much in all
       * (`getMemoryUsage`) and a garbage collection does not change that.
       */
      memoryMB?: number;
      /**
       * Time that an execution or an event handler may run, in milliseconds, from 1 to 2,147,483,647. Default 5,000. An execution that
       * runs longer fails with a `SandboxViolationError` of kind `CPU`.
       */
      cpuMs?: number;
    };
  }

  /** A logger. The sandbox calls the methods that exist. Their errors are reported (`isolated-v8:unhandled-host-error`). */
  interface ILogger {
    /** Details. The sandbox logs here that code was executed. Its own entries are a message and an object of fields. */
    debug(message: string, ...rest: any[]): void;
    /** The sandbox logs here that an isolate was created or disposed. */
    info(message: string, ...rest: any[]): void;
    /** The sandbox logs here that a plugin was denied something, uses much memory, or causes too many entries. */
    warn(message: string, ...rest: any[]): void;
    /** The sandbox logs here that a handler, a timer or an isolate of a plugin failed. The error precedes the fields. */
    error(message: string, ...rest: any[]): void;
    /** Returns a logger that adds these fields to its entries. */
    child?(fields: Record<string, unknown>): ILogger;
  }

  /**
   * A cache, synchronous or not. Plugins can call only the methods listed here, and your cache gets only the arguments listed here. A key
   * must be a string of at most 65,536 characters, without control characters and lone surrogates, and a time to live a finite number.
   * Other arguments are a `TypeError` in the plugin.
   */
  interface ICacheProvider {
    /** Returns the value for the key. */
    get(key: string): any;
    /**
     * Stores a value, within the manifest's `maxSize`.
     * @param ttl time to live in seconds, or an object of numbers; other members of the object do not reach the cache. For `maxSize`, an
     *   entry whose `ttl` is an object never expires. Bytes of an expired entry become available when they are needed and the cache
     *   confirms (`exists`, `has` or `get`) that the entry is gone
     */
    set(key: string, value: any, ttl?: number | { ttl?: number; EX?: number; PX?: number; EXAT?: number; PXAT?: number; maxAge?: number }): any;
    /** Whether there is a value for the key. */
    has?(key: string): any;
    /** Same as `has`, under the name that other caches use. May return a number. */
    exists?(key: string): any;
    /** Deletes the value for the key. Its bytes become available to the plugin again. */
    delete?(key: string): any;
    /** Same as `delete`, under the name that other caches use. */
    del?(key: string): any;
    /**
     * Sets the time to live of a value, from now on.
     * @param seconds see `set`
     */
    expire?(key: string, seconds: number): any;
    /** Returns the remaining time to live, in the cache's own unit. */
    ttl?(key: string): any;
  }

  /** An event bus such as an `EventEmitter`. Plugins can call only the methods listed here. */
  interface IPluginEventBus {
    /** Calls the handler for each event of this name. */
    on(event: string, handler: (...args: any[]) => any): any;
    /** Calls the handler for the next event only. Plugins have this method even if the bus does not. */
    once?(event: string, handler: (...args: any[]) => any): any;
    /** Removes a handler. A plugin can remove only its own. If it is missing, `removeListener` is called when an isolate ends. */
    off?(event: string, handler: (...args: any[]) => any): any;
    /**
     * Calls the handlers of an event. Handlers of a plugin get a copy of the arguments that is made once for each `emit`. At most 1,000
     * deliveries, with 64 MB of arguments, wait for a plugin. Others are dropped with the warning `Plugin event dropped`.
     */
    emit?(event: string, ...args: any[]): any;
    /** Like `emit`, but resolves when the handlers have. */
    emitAsync?(event: string, ...args: any[]): Promise<any>;
    /** Number of handlers of an event, including those of the host and of other plugins. */
    listenerCount?(event: string): number;
    /** Events that have handlers. Plugins see only those that their manifest names. */
    eventNames?(): Iterable<string | symbol>;
    /** Removes all handlers. For a plugin, removes its own, one by one. */
    removeAllListeners?(event?: string): any;
  }

  /**
   * The host functions that a plugin can call. Inside the isolate, `context` is a frozen object of functions that call the host. The host
   * checks the manifest before it calls a method. A denied call throws in the plugin (an `Error` whose `name` is `SandboxViolationError`)
   * and is logged. Methods that return promises also do so inside; the others look synchronous. Arguments and results are structured
   * clones. A function that a method returns, such as one that stops a timer, can be called.
   *
   * You can add other members: functions, and objects of functions, including methods of their classes. Every URL or host in their
   * arguments must be permitted, and your function gets it in normalized form, such as `https://example.org/` for `HTTPS://Example.org`.
   *
   * Each execution has its own global `context`, also in code that continues by promises and timers while other executions run. In an
   * event handler it is that of the execution that registered the handler. A `context` that a plugin keeps in a variable works while it
   * is used or has listeners, and for 256 further executions. Names that start with `_`, and `constructor`, `prototype` and `then`, are
   * left out.
   * @see [URLs](https://github.com/isolated-v8/isolated-v8/blob/main/docs/plugins.md#urls)
   */
  interface SandboxContext {
    /** Provides its methods `trace`, `debug`, `info`, `warn`, `error` and `fatal`. */
    logger: ILogger;
    /** Requires `storage`. Keys are strings, and get the plugin's id (with `%` and `:` percent-encoded) and a colon as a prefix. */
    cache: ICacheProvider;
    /** Provides all of its methods. */
    metrics: object;
    /** Copied, without functions. */
    config: Record<string, unknown>;
    /** The host's value is not read. Inside, this is the manifest's list, which decides. */
    allowedDomains: string[];
    /**
     * Requires the event's name in `hooks`. Handlers of the plugin run after the host's `emit`, with clones of the arguments and under the
     * plugin's limits. Errors that they throw are logged. `emitAsync` of a bus that waits for its listeners waits for them. They are removed
     * when their isolate ends. A plugin has at most 1,000 handlers, and at most 1,000 events wait for it. Without a name,
     * `removeAllListeners` removes the plugin's own handlers.
     */
    eventBus?: IPluginEventBus;
  }

  /**
   * Options of `createPluginFetch`. A value of a wrong type or out of range, and an unknown option, is a `TypeError` with the code
   * `ERR_INVALID_ARG`.
   */
  interface PluginFetchOptions {
    /**
     * Domains that requests and redirects may lead to, including their subdomains, as in a manifest. Others reject with
     * `ERR_ISOLATE_PERMISSION`.
     */
    allowedDomains: string[];
    /**
     * Domains, including their subdomains, whose names may resolve to addresses that are not public: of this machine, private networks,
     * or link-local. Other names that do so reject with `ERR_ISOLATE_PERMISSION`. `localhost`, and literal addresses, need only be in
     * `allowedDomains`. Default: none.
     */
    privateDomains?: string[];
    /** Maximum number of redirects that a request follows, from 0 to 20. One more rejects with `ERR_ISOLATE_PERMISSION`. Default 5. */
    maxRedirects?: number;
    /**
     * Maximum size of a request's body, and of a response's, in bytes, at least 0. A larger request rejects with `ERR_INVALID_ARG`, a
     * larger response with `ERR_ISOLATE_LIMIT`. Default 10,485,760.
     */
    maxBodySize?: number;
    /**
     * Time limit of a request in milliseconds, from 1 to 2,147,483,647, including redirects and time in the queue. A longer request
     * rejects with `ERR_ISOLATE_DEADLINE`. Each function makes 64 requests at a time, and up to 10,000 wait. Default 30,000.
     */
    timeout?: number;
    /**
     * Certificates of authorities to trust instead of the host's own, in the format of `tls.createSecureContext`. Default: those of the
     * host.
     */
    ca?: string | Uint8Array | (string | Uint8Array)[];
  }

  /** Options of a plugin's request. A wrong or unknown one rejects with a `TypeError` `ERR_INVALID_ARG`. */
  interface PluginFetchInit {
    /** Default `'GET'`. */
    method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
    /**
     * At most 100, with 16,384 characters in all, names included. Headers of the connection, such as `host`, and `accept-encoding` are
     * refused (`ERR_INVALID_ARG`). Default: none.
     */
    headers?: Record<string, string>;
    /** Not for `GET` and `HEAD`. A string is sent as UTF-8. Default: none. */
    body?: string | Uint8Array;
    /** `'manual'` returns a redirect as the response, `'error'` rejects for it with `ERR_ISOLATE_PERMISSION`. Default `'follow'`. */
    redirect?: 'follow' | 'manual' | 'error';
    /** Type of the response's `body`. Default `'text'`, decoded from UTF-8. */
    responseType?: 'text' | 'bytes';
  }

  /** A response, as plain data. */
  interface PluginFetchResponse {
    /** The URL that answered, after redirects. */
    url: string;
    /** The HTTP status, such as 200. */
    status: number;
    /** The text that the server sent with the status. */
    statusText: string;
    /** Whether the status is 200 to 299. */
    ok: boolean;
    /** Whether a redirect was followed. */
    redirected: boolean;
    /** Names are in lower case. Several values of a name are joined by `, `. */
    headers: Record<string, string>;
    /** Of the type that `responseType` asks for. */
    body: string | Uint8Array;
  }

  /**
   * Creates a function for a plugin's context, such as `{ fetch: createPluginFetch(manifest.permissions.network) }`. It follows redirects
   * only to permitted hosts, never to a URL with a user name and never from `https:` to `http:`. It removes `authorization` and `cookie`
   * when the origin changes. It refuses names that have an address that is not public, except in `privateDomains`. It connects to the
   * addresses that it checked, so a name that changes its address after the check leads nowhere else. Each request has its own
   * connection, without a proxy.
   *
   * The function resolves when the whole response has arrived, whatever its status. It rejects with:
   *
   * - `ERR_INVALID_ARG` for wrong arguments
   * - `ERR_ISOLATE_PERMISSION` for a destination that is not permitted, and for redirects that it may not follow
   * - `ERR_ISOLATE_LIMIT` for a response that is too large, or if too many requests wait
   * - `ERR_ISOLATE_DEADLINE` if it takes longer than `timeout`
   * - the host's error, such as `ECONNREFUSED`, if the connection fails
   *
   * In a plugin, these errors have the same class and message, but no `code`.
   *
   * @throws {TypeError} `ERR_INVALID_ARG` for wrong options
   * @see [Requests and redirects](https://github.com/isolated-v8/isolated-v8/blob/main/docs/plugins.md#requests-and-redirects)
   * @example
   * ```ts
   * import { createPluginFetch, PluginSandbox } from 'isolated-v8';
   *
   * const network = { allowedDomains: ['example.org'] };
   * const sandbox = new PluginSandbox();
   * const isolate = await sandbox.createIsolate({ id: 'org.example.reader', permissions: { network } });
   * const context = { fetch: createPluginFetch(network) };
   * const outcome = sandbox.executeInSandbox(isolate, "context.fetch('https://example.com/')", context);
   * await outcome.catch(({ kind }) => console.log(kind)); // prints NETWORK
   * sandbox.dispose(isolate);
   * ```
   */
  function createPluginFetch(options: PluginFetchOptions): (url: string, init?: PluginFetchInit | null) => Promise<PluginFetchResponse>;

  /** An isolate of a plugin, made by `PluginSandbox.createIsolate`. It ends with its scope with `using` and `await using`. */
  interface SandboxIsolate {
    /** Unique in its sandbox. */
    readonly id: string;
    /** The manifest's `id`. */
    readonly pluginId: string;
    /** Memory limit in MB: `limits.memoryMB` of the manifest. */
    readonly memoryLimit: number;
    /** Time that an execution may run, in milliseconds: `limits.cpuMs` of the manifest. */
    readonly cpuLimit: number;
    /** Like `dispose(isolate)` of its sandbox. */
    [Symbol.dispose](): void;
    /** Like `[Symbol.dispose]()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /**
   * Options of `PluginSandbox.executeInSandbox`. A value of a wrong type or out of range, and an unknown option, rejects with a
   * `TypeError` `ERR_INVALID_ARG`.
   */
  interface PluginExecutionOptions extends SignalOptions {
    /** Runs the code in a new isolate, which is disposed afterwards. Default false. */
    fresh?: boolean;
    /**
     * Time limit of the execution in milliseconds, from 1 to 2,147,483,647, including all waiting. Default 30,000, or `cpuLimit` if that
     * is more. An execution that takes longer rejects with a `SandboxViolationError` of kind `CPU`.
     */
    deadline?: number;
    /**
     * Called once before the execution settles, also if it failed, with the resources that it used. Not called if the execution was
     * refused. `cpuMs` and `heapPeak` are those of the isolate during the execution, including other code that ran there. `hostCalls`
     * counts the execution's own calls of host methods, without those beyond `maxApiCalls`. What this function throws or rejects with is
     * reported (`isolated-v8:unhandled-host-error`).
     */
    onUsage?: (usage: SandboxUsage) => void;
  }

  /** A console call of a plugin, as passed to `onLog`. */
  interface PluginLogEntry extends SandboxLogEntry {
    /** The manifest's `id`. */
    pluginId: string;
    /** The `id` of the isolate. */
    isolateId: string;
  }

  /**
   * Options of `new PluginSandbox`, its second argument. A value of a wrong type or out of range, and an unknown option, is a `TypeError`
   * with the code `ERR_INVALID_ARG`.
   * @see [PluginSandbox](https://github.com/isolated-v8/isolated-v8/blob/main/docs/plugins.md)
   * @see [What the sandboxes share](https://github.com/isolated-v8/isolated-v8/blob/main/docs/sandboxes.md)
   */
  interface PluginSandboxOptions {
    /**
     * Provides `setTimeout`, `setInterval`, `setImmediate`, their `clear…` functions, and `queueMicrotask`. At most 1,000 may be pending
     * in an isolate: one more is a `RangeError` in the plugin. Delays are at least 1 ms. Timers continue after the execution or event
     * handler that set them has ended, until its deadline has passed, and count towards its running time. Errors thrown by callbacks go
     * to the logger. Default false.
     */
    timers?: boolean;
    /**
     * Maximum size of the result of an execution in bytes of JSON; see `SandboxOptions.maxOutputSize`. Default: as many bytes as the
     * plugin's memory limit, at least 67,108,864. An execution with a larger result rejects with a `PluginError` whose `failure.code` is
     * `ERR_ISOLATE_LIMIT`.
     */
    maxOutputSize?: number;
    /**
     * Maximum number of calls of host methods in one execution, at least 0, including calls from its promises and timers, and through the
     * `context` of another execution; a further call throws in the plugin. The delivery of an event to a handler counts separately,
     * unless it happens during the plugin's own `emit`. With this limit, code that still runs after 1,000 further executions and events
     * can no longer call. Default: no limit.
     */
    maxApiCalls?: number;
    /**
     * Provides web APIs to plugins; see `SandboxOptions.web`. `performance.now()` counts from the creation of the isolate. Default false.
     */
    web?: boolean | readonly WebName[];
    /** Whether plugins have `WebAssembly`; see `SandboxOptions.wasm`. Default true. */
    wasm?: boolean;
    /**
     * ES modules that plugins can import; see `SandboxOptions.modules`. They keep their state as long as the isolate lives, except
     * modules that a limit stopped. Code that is a module instead of a script runs as one. The result is its default export, or what that
     * returns if it is a function. Default: none.
     */
    modules?: Readonly<Record<string, string>>;
    /**
     * Allows TypeScript types in plugins; see `SandboxOptions.typescript`. Types in `modules` are removed once, when the first isolate is
     * created. Default false.
     */
    typescript?: boolean;
    /**
     * Maximum number of console calls that are passed on for each execution or event, at least 0. The logger gets one warning about
     * further ones. Default 10,000, which is also the most that the logger gets. All of them, with what is logged by `context.logger`, take at
     * most 8 MB.
     */
    maxLogEntries?: number;
    /**
     * Maximum length of a string in characters, at least 1; longer ones are cut and end in `...`. Any other value that takes more bytes is
     * replaced by its size. Default 10,000.
     */
    maxLogLength?: number;
    /**
     * Called for each console call that is passed on, as it happens, with the call as one string. The logger also gets it, with the values.
     * What this function throws or rejects with is reported (`isolated-v8:unhandled-host-error`). A plugin that logs faster than this
     * function handles has to wait.
     */
    onLog?: (entry: PluginLogEntry) => void;
    /** Number of prepared isolates that wait for the next plugin, or execution with `fresh`; see `SandboxOptions.poolSize`. Default 1. */
    poolSize?: number;
    /** Another name of `poolSize`. Setting both is refused (`ERR_INVALID_ARG`). */
    warm?: number;
    /**
     * A heap that isolates of plugins start from; see `SandboxOptions.snapshot`. `createIsolate` rejects with `ERR_ISOLATE_MEMORY` if it
     * needs more than the plugin's memory limit. Default: an empty heap.
     */
    snapshot?: ExternalCopy<ArrayBuffer>;
  }

  /** Another name of `SandboxContext`, for the context as plugins see it. */
  type IPluginContext = SandboxContext;

  /** What a plugin system needs of a sandbox. `PluginSandbox` implements it, and so can a replacement for tests. */
  interface IPluginSandbox {
    /** See `PluginSandbox.createIsolate`. */
    createIsolate(manifest: IPluginManifest): Promise<SandboxIsolate>;
    /** See `PluginSandbox.executeInSandbox`. */
    executeInSandbox<T>(isolate: SandboxIsolate, code: string, context: SandboxContext): Promise<T>;
    /** See `PluginSandbox.dispose`. */
    dispose(isolate: SandboxIsolate): void;
    /** See `PluginSandbox.disposeAll`. */
    disposeAll(): void;
    /** See `PluginSandbox.getMemoryUsage`. */
    getMemoryUsage(isolate: SandboxIsolate): number;
  }

  /**
   * A sandbox for plugins, each in an isolate that keeps its state.
   * @see [PluginSandbox](https://github.com/isolated-v8/isolated-v8/blob/main/docs/plugins.md)
   * @see [Plugins in a SaaS](https://github.com/isolated-v8/isolated-v8/blob/main/docs/guides/saas-plugins.md)
   * @example
   * ```ts
   * import { PluginSandbox } from 'isolated-v8';
   *
   * const sandbox = new PluginSandbox();
   * const isolate = await sandbox.createIsolate({ id: 'org.example.counter', limits: { memoryMB: 32, cpuMs: 1_000 } });
   * const context = { store: { rate: async () => 1.5 } };
   * await sandbox.executeInSandbox(isolate, 'var seen = 0; function add(n) { seen += n; }', context);
   * await sandbox.executeInSandbox(isolate, 'add(2)', context);
   * const price = await sandbox.executeInSandbox<number>(isolate, 'context.store.rate().then((rate) => rate * seen)', context);
   * console.log(price); // prints 3
   * sandbox.dispose(isolate);
   * ```
   */
  class PluginSandbox implements IPluginSandbox {
    /**
     * Creates a sandbox without isolates.
     * @param logger if it has a `child` method, the sandbox uses `logger.child({ component: 'IsolatedVmSandbox' })`. Default: nothing is
     *   logged
     * @throws {TypeError} `ERR_INVALID_ARG` if an option is unknown, of a wrong type or out of range, or `logger` is not an object
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` if the native part of the package cannot be loaded
     */
    constructor(logger?: Partial<ILogger> | null, options?: PluginSandboxOptions | null);

    /**
     * Creates an isolate for a plugin. Resolves when it is ready. All isolates of a plugin share its storage quota, including those that
     * have ended.
     * @throws {TypeError} as a rejection, like all of these: `ERR_INVALID_ARG` for an invalid manifest or an unknown limit
     * @throws {Error} `ERR_ISOLATE_DISPOSED` after `close()`; `ERR_ISOLATE_MEMORY` if `snapshot` needs more than the plugin's memory
     *   limit
     * @throws {PluginError} `ERR_ISOLATE_PLUGIN` if the isolate cannot start, for example because of TypeScript syntax in `modules` that
     *   is more than types
     */
    createIsolate(manifest: Pick<IPluginManifest, 'id'> & Partial<IPluginManifest>): Promise<SandboxIsolate>;

    /**
     * Runs a script. It has `context`, `pluginId`, `console`, which writes to the logger and to `onLog`, and what earlier executions in
     * this isolate left. Resolves with a structured clone of its completion value, which is awaited if it is a promise. The isolate
     * survives a failure, unless the plugin exceeded its memory limit, could not be stopped, or kept running by promises indefinitely.
     * @throws {TypeError} as a rejection, like all of these: `ERR_INVALID_ARG` for arguments of wrong types and wrong options
     * @throws {NotFoundError} `ERR_ISOLATE_NOT_FOUND`: the isolate has ended, or is not of this sandbox
     * @throws {SandboxViolationError} `CPU` (`ERR_ISOLATE_TIMEOUT`) if the plugin ran longer than `cpuLimit`, including code that
     *   continues by promises, or passed its `deadline`; `MEMORY` (`ERR_ISOLATE_MEMORY`); another kind if the plugin did not catch a
     *   denied call
     * @throws {PluginError} `EXECUTE` (`ERR_ISOLATE_PLUGIN`) for all other failures of the plugin, including disposal during the
     *   execution. This and `SandboxViolationError` have `failure`: what failed, and where
     * @throws the `reason` of `signal`, if that was aborted
     */
    executeInSandbox<T = unknown>(
      isolate: SandboxIsolate, code: string, context: Partial<SandboxContext> | (Partial<SandboxContext> & Record<string, unknown>),
      options?: PluginExecutionOptions | null,
    ): Promise<T>;

    /** Ends an isolate and the code that runs there: its executions reject with a `PluginError`. Does nothing if it has already ended. */
    dispose(isolate: SandboxIsolate): void;
    /** Ends all isolates. Later ones are not affected. */
    disposeAll(): void;
    /**
     * Ends all isolates: running executions reject with a `PluginError`. Later calls of `createIsolate` reject with `ERR_ISOLATE_DISPOSED`.
     * @returns a promise that resolves when the running executions have rejected
     */
    close(): Promise<void>;
    /** Like `close()`, for `using`. */
    [Symbol.dispose](): void;
    /** Like `close()`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;

    /**
     * Returns the bytes of memory in use now: the heap, buffers, and V8's memory outside them, or the value set by a later
     * `updateMemoryUsage`; 0 for an isolate that has ended. It does not wait for the plugin. While the plugin runs, the heap counts as of
     * its last garbage collection, or as of when the plugin last waited. Includes objects that no collection has freed yet.
     */
    getMemoryUsage(isolate: SandboxIsolate): number;
    /**
     * Sets the memory use of an isolate, in MB, until its next execution has ended. At or above the isolate's limit, executions are
     * refused. Above 90 % of it, the logger gets a warning, as it does for the measured memory. A refused execution does not end this:
     * call it again with a smaller value. An unknown `isolateId` is ignored.
     * @throws {TypeError} `ERR_INVALID_ARG` if `memoryMB` is not a number of at least 0
     */
    updateMemoryUsage(isolateId: string, memoryMB: number): void;

    /** Number of isolates that have been created and have not ended. */
    getActiveIsolateCount(): number;
    /** Isolates that have been created and have not ended, as a new array. */
    getActiveIsolates(): readonly SandboxIsolate[];
  }

  /** Another name of `PluginSandbox`: the same class. */
  const IsolatedVmSandbox: typeof PluginSandbox;
  type IsolatedVmSandbox = PluginSandbox;

  /**
   * An isolate has ended or never existed. `code` is `ERR_ISOLATE_NOT_FOUND`. Call `createIsolate` again.
   * @see [Codes](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#codes)
   */
  class NotFoundError extends Error {
    constructor(resourceType: string, resourceId: string);
    readonly code: ErrorCode;
    /** Type of the missing resource; `Isolate` if a sandbox raised the error. */
    readonly resourceType: string;
    /** Id of the missing resource. */
    readonly resourceId: string;
  }

  /**
   * A plugin failed, for a reason other than its limits and permissions. `code` is `ERR_ISOLATE_PLUGIN`, and `cause` the error itself.
   * @see [Codes](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#codes)
   */
  class PluginError extends Error {
    constructor(pluginId: string, operation: string, message: string, cause?: unknown);
    readonly code: ErrorCode;
    /** The manifest's `id`. */
    readonly pluginId: string;
    /** `EXECUTE` if a sandbox raised the error. */
    readonly operation: string;
    /**
     * Set if a sandbox raised the error: why and where the plugin's code failed, with the lines around. It has name, message and stack of
     * the error as the plugin saw it, and `code` if a limit or this library is the reason. In stacks, the code of an isolate's first
     * execution is called `sandbox.js`, that of the next one `sandbox.js#2`, and so on.
     */
    readonly failure?: SandboxFailure;
  }

  /**
   * A plugin exceeded a limit or a permission. `code` is `ERR_ISOLATE_TIMEOUT` for `CPU`, `ERR_ISOLATE_MEMORY` for `MEMORY`,
   * `ERR_ISOLATE_LIMIT` for `STORAGE` and `ERR_ISOLATE_PERMISSION` for `NETWORK` and `HOOK`.
   * @see [Codes](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#codes)
   */
  class SandboxViolationError extends Error {
    constructor(pluginId: string, violationType: SandboxViolationType, message: string, cause?: unknown);
    readonly code: ErrorCode;
    /** The manifest's `id`. */
    readonly pluginId: string;
    /** The limit or permission. */
    readonly violationType: SandboxViolationType;
    /** Same as `violationType`. */
    readonly kind: SandboxViolationType;
    /** As in `PluginError`, if an execution failed; its `message` is that of the violation. Absent if the execution was refused. */
    readonly failure?: SandboxFailure;
  }

  /** What a plugin exceeded: time or memory, or what its manifest permits of events, network and storage. */
  type SandboxViolationType = 'CPU' | 'HOOK' | 'MEMORY' | 'NETWORK' | 'STORAGE';

  /**
   * Counts for the whole process, including worker threads, since it started. Snapshots in the making count as isolates.
   * @see [Counting isolates](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#counting-isolates)
   */
  interface EngineStats {
    /** Isolates created. */
    made: number;
    /** Isolates created that have not ended. Unreferenced isolates count until their memory is freed. */
    alive: number;
    /** Live isolates that currently have no thread because nothing runs in them. */
    idle: number;
    /**
     * Prepared isolates (option `warm`) that wait for an execution in a sandbox, or for `new Isolate`. They count as made, and in the other
     * figures, once they are used. Isolates that remove TypeScript types, of which one waits for a minute, and those that match
     * a `pattern` of a JSON Schema count only here.
     */
    warm: number;
    /** Isolates that have ended: their memory is freed, or lost. The sum of `endings`. */
    ended: number;
    /** The reasons why isolates ended. */
    endings: {
      /** Ended by `dispose()`, because their sandbox was done with them, or with the isolate that made them. */
      disposed: number;
      /** No longer referenced, and found by the host's garbage collector. */
      collected: number;
      /** Exceeded their `memoryLimit`, or could not be created for lack of memory. */
      outOfMemory: number;
      /** The worker thread that created them has ended. */
      environmentGone: number;
      /** Abandoned, because they did not stop on request (`ERR_ISOLATE_UNRESPONSIVE`). */
      abandoned: number;
    };
    /** Threads that run guests, or can run them, including lost ones. V8's own threads and the clock are not counted. */
    threads: number;
    /**
     * Threads that are held by a guest that does not stop, or on which V8 ran out of memory. They stay until the process ends, or until
     * the guest stops after all.
     */
    lostThreads: number;
    /**
     * Lost threads that still use processor time, at a low priority. On Linux, a lost thread is suspended as soon as it holds no lock. On
     * processors other than x64, some loops never reach such a point.
     */
    lostRunning: number;
    /**
     * Bytes currently used by the isolates of lost threads: heaps, buffers, and V8's memory outside them. Except on Linux, heaps
     * count with their size at the last garbage collection, and V8's memory outside them does not count.
     */
    lostBytes: number;
    /** Bytes of compiled code that is cached (`codeCache` of `configureEngine`), at most 64 MB. */
    codeCacheBytes: number;
    /** How often an isolate has used cached code. */
    codeCacheHits: number;
  }

  /**
   * Returns statistics about all isolates and their threads and memory. Cheap, and never waits for a guest. An addition to isolated-vm,
   * for hosts only.
   */
  function engineStats(): EngineStats;

  /**
   * Options of `configureEngine`. A value of a wrong type or out of range, and an unknown option, is a `TypeError` with the code
   * `ERR_INVALID_ARG`.
   */
  interface EngineOptions {
    /**
     * Grace period in milliseconds, 10 to 600,000: the time a guest has to stop after its limit has passed or its isolate is disposed.
     * Then its isolate is abandoned (`ERR_ISOLATE_UNRESPONSIVE`). If the machine gives the guest's thread less than a quarter of a
     * processor, the period is up to four times as long. Default 1,000.
     */
    terminationGrace?: number | null;
    /**
     * Default `timeout` of calls, in milliseconds, 0 to 2,147,483,647; 0 for none. It also applies to calls that only compile, link,
     * create a context or read statistics. Default 0.
     */
    timeout?: number | null;
    /**
     * Default `deadline` of calls, in milliseconds, 0 to 2,147,483,647; 0 for none. It also applies to calls that only compile, link,
     * create a context or read statistics. Default 0.
     */
    deadline?: number | null;
    /**
     * Megabytes that lost isolates may use in total (`lostBytes` of `engineStats`), 16 to 1,073,741,824. While they use more, this process
     * makes no further isolates: calls that need one fail with `ERR_ISOLATE_LIMIT`. Default: half of the machine's memory, or of the
     * limit of the container or process if that is less.
     */
    lostMemoryLimit?: number | null;
    /**
     * Where guests of `…Sync` calls run. With `'thread'`, on threads of the library. With `'caller'`, on the thread that makes the call, on a
     * stack of their own, which takes less time. `'caller'` requires x64 Linux (`ERR_ISOLATE_UNSUPPORTED`), and differs in what
     * `docs/performance.md` lists. Isolates that are busy, that can be inspected, that start from a snapshot of yours, or whose profile is
     * taken, and calls without a limit in worker threads, use a thread of the library nevertheless. Default `'caller'` on x64 Linux,
     * `'thread'` elsewhere.
     */
    syncCalls?: 'thread' | 'caller' | null;
    /**
     * Caches the compiled code of texts of 20,000 characters or more that isolates run, for the process, in up to 64 MB. See
     * `docs/performance.md` for what a tenant can learn from it. `false` also drops what is cached. Default true.
     */
    codeCache?: boolean | null;
  }

  /**
   * Sets defaults and limits for all isolates of the process, including those in worker threads. Options of a call take precedence.
   * Omitted settings do not change. Calls that have started keep their limits. The sandboxes have their own limits. An addition to
   * isolated-vm, for hosts only.
   * @returns the settings now in effect: milliseconds (0 for none) and megabytes
   * @throws {TypeError} `ERR_INVALID_ARG` for a value out of range, and for an unknown setting
   * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` for `syncCalls: 'caller'` on another platform than x64 Linux
   * @see [Time limits](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#time-limits)
   * @see [Limits to set](https://github.com/isolated-v8/isolated-v8/blob/main/docs/guides/production.md#limits-to-set)
   * @example
   * ```ts
   * import { configureEngine } from 'isolated-v8';
   *
   * const { terminationGrace } = configureEngine({ timeout: 1_000, deadline: 30_000 });
   * console.log(terminationGrace); // prints 1000
   * ```
   */
  function configureEngine(options?: EngineOptions | null): { terminationGrace: number; timeout: number; deadline: number; lostMemoryLimit: number; syncCalls: 'thread' | 'caller'; codeCache: boolean };

  /** Message about an isolate of this thread. */
  interface IsolateMessage {
    /** Number of the isolate, unique in its thread. Isolates that were created without subscribers have none. */
    isolate: number;
    /** `threadId` of `node:worker_threads`. */
    threadId: number;
    /** Who uses it: the program itself, an execution of `createSandbox` or `AgentSandbox`, or a plugin of `PluginSandbox`. */
    owner: 'program' | 'execution' | 'plugin';
    /** Megabytes. */
    memoryLimit: number;
  }

  /** Message about an isolate that has ended. */
  interface IsolateEndMessage extends IsolateMessage {
    /** Why: it was disposed, it exceeded its memory limit, or it was abandoned. */
    reason: 'disposed' | 'memory' | 'abandoned';
    /** Milliseconds between its two messages. */
    lifetimeMs: number;
  }

  /** Message about an isolate that was abandoned, because it did not stop on request. */
  interface IsolateAbandonMessage extends IsolateMessage {
    /** Why, as a call that failed because of it or `IsolateOptions.onCatastrophicError` reports. */
    message: string;
  }

  /** Message about an execution of a sandbox. */
  interface ExecutionMessage {
    /** Number of the execution, unique in its thread. */
    execution: number;
    /** `threadId` of `node:worker_threads`. */
    threadId: number;
    /** The function or class of its sandbox. */
    sandbox: 'createSandbox' | 'AgentSandbox' | 'PluginSandbox' | 'SubprocessSandbox';
    /** `id` of the plugin's manifest; for `PluginSandbox` only. */
    pluginId?: string;
    /** Milliseconds that it may take in all. */
    timeout: number;
    /** Megabytes. */
    memoryLimit: number;
    /** Length of the code in UTF-16 code units. */
    codeLength: number;
  }

  /** Message about an execution that has ended. Members of `SandboxUsage` are absent if it could not start. */
  interface ExecutionEndMessage extends ExecutionMessage, Partial<SandboxUsage> {
    /** Whether it succeeded. */
    ok: boolean;
    /** Name of the error of a failure, cut to 1,000 characters. The code chooses it. */
    errorName?: string;
    /** Message of the error of a failure, cut to 1,000 characters. The code chooses it. */
    errorMessage?: string;
    /** Code of the error of a failure; see `SandboxFailure.code`. */
    errorCode?: string;
    /** Milliseconds from its start to its outcome. */
    durationMs: number;
    /** Number of entries in its `logs`, and of those that were not kept; absent for `PluginSandbox`. */
    logs?: number;
  }

  /**
   * Messages that this library publishes to channels of `node:diagnostics_channel`, by the names of the channels. All but the last are
   * frozen, and their members are primitives. Nothing is published to channels without subscribers, and nothing else is done for them.
   * @see [Observability](https://github.com/isolated-v8/isolated-v8/blob/main/docs/observability.md)
   * @example
   * ```ts
   * import { subscribe } from 'node:diagnostics_channel';
   * import { createSandbox, type DiagnosticsMessages } from 'isolated-v8';
   *
   * subscribe('isolated-v8:execution:end', (message) => {
   *   const { ok, hostCalls } = message as DiagnosticsMessages['isolated-v8:execution:end'];
   *   console.log(ok, hostCalls); // prints true 0
   * });
   * await createSandbox({}).execute('1 + 1');
   * ```
   */
  interface DiagnosticsMessages {
    /** An isolate was created. */
    'isolated-v8:isolate:create': IsolateMessage;
    /**
     * An isolate has ended: by `dispose()`, with its execution, or as a call that failed because of it reports. There is no message once
     * the host's garbage collector has found the `Isolate` object, and none when a worker thread ends; `engineStats()` counts them all.
     */
    'isolated-v8:isolate:end': IsolateEndMessage;
    /** An isolate was abandoned. `isolated-v8:isolate:end` follows. */
    'isolated-v8:isolate:abandon': IsolateAbandonMessage;
    /** An execution of a sandbox starts. Published during the call of `execute`, in its asynchronous context. */
    'isolated-v8:execution:start': ExecutionMessage;
    /** An execution has ended, before its promise settles. */
    'isolated-v8:execution:end': ExecutionEndMessage;
    /**
     * A host function failed, and nothing receives the error: what the function threw. Without subscribers, the first error of each
     * `origin` is a process warning.
     * @see
     *   [Errors without a receiver](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#errors-without-a-receiver)
     */
    'isolated-v8:unhandled-host-error': { error: unknown; origin: string };
  }

  /** For calls that compile: a compilation cache to use or to create. */
  type CachedDataOptions = {
    /**
     * A compilation cache from an earlier `produceCachedData` for the same code, compared by SHA-256; filename and offsets may differ.
     * Any other cache is rejected (`cachedDataRejected`), and so is one passed by code inside an isolate. An ExternalCopy of anything but
     * an ArrayBuffer is a `TypeError` `ERR_INVALID_ARG`. V8 runs its contents: do not accept a cache from a source whose code you would
     * not run in the host. Default: none.
     */
    cachedData?: ExternalCopy<ArrayBuffer>;
    /** Creates a compilation cache as `cachedData` of the script, unless a given one was accepted. Default false. */
    produceCachedData?: boolean;
  };

  /** For calls after which their object is no longer needed. */
  type ReleaseOptions = {
    /** Also calls `release()`. Default false. */
    release?: boolean;
  };

  /**
   * Limits of calls that run code. A value of a wrong type is a `TypeError` with the code `ERR_INVALID_ARG`.
   * @see [Time limits](https://github.com/isolated-v8/isolated-v8/blob/main/docs/limits-and-errors.md#time-limits)
   */
  type RunOptions = SignalOptions & {
    /**
     * Milliseconds that the code may run, a 32-bit integer; 0 or less for no limit. Waiting for the host does not count. When it has
     * passed, the call fails with `ERR_ISOLATE_TIMEOUT`, and the isolate continues. In a synchronous call, reading the result may take
     * the same time again, or 250 ms if that is longer. Default: that of `configureEngine`, which is none unless set. In isolated-vm,
     * calls that only run accessors or proxies (`get`, `set`, `delete` and `copy` of a Reference) have no timeout.
     */
    timeout?: number;
    /**
     * Milliseconds until the call ends, including all waiting and reading the result; a 32-bit integer of at least 0; 0 for no limit.
     * When it has passed, the call fails with `ERR_ISOLATE_DEADLINE`, and the isolate continues. That of a synchronous call also applies
     * to synchronous calls that host functions make meanwhile. Default: that of `configureEngine`, which is none unless set. Not part of
     * isolated-vm.
     */
    deadline?: number;
  };

  /** How to abort a call. Not part of isolated-vm. */
  type SignalOptions = {
    /**
     * Aborts an asynchronous call. The call rejects at once with the signal's `reason`, or with `ERR_ISOLATE_ABORTED` if it has none;
     * executions that never reject have the failure `ERR_ISOLATE_ABORTED` instead. Code that runs for it is stopped, and code that has
     * not started does not start. The isolate continues. What the call has already started also continues, such as code after an `await`:
     * `dispose()` ends that. A call with a signal does not keep the process alive longer than one without. Default: none.
     *
     * Hosts only (`ERR_ISOLATE_UNSUPPORTED`). Synchronous and `…Ignored` calls refuse this option, and everything that is not a signal is
     * refused (`ERR_INVALID_ARG`).
     * @example
     * ```ts
     * import { Isolate } from 'isolated-v8';
     *
     * const context = await new Isolate().createContext();
     * const call = context.eval('for (;;);', { signal: AbortSignal.timeout(50) });
     * await call.catch((error) => console.log(error.name)); // prints TimeoutError
     * ```
     */
    signal?: AbortSignalLike | null;
  };

  /** An `AbortSignal` of any realm or package. A signal that throws when it is read or listened to counts as aborted. */
  interface AbortSignalLike {
    /** Whether the signal has been aborted. */
    readonly aborted: boolean;
    /** What the call rejects with. */
    readonly reason?: unknown;
    addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
    removeEventListener(type: 'abort', listener: () => void): void;
  }

  /** Origin of code, for stacks and debuggers. A value of a wrong type is a `TypeError` with the code `ERR_INVALID_ARG`. */
  type ScriptOrigin = {
    /** Name of the code in stacks, preferably a URL. Default `<isolated-vm>`. */
    filename?: string;
    /** Added to column numbers of the first line; a 32-bit integer. Default 0. */
    columnOffset?: number;
    /** Added to line numbers; a 32-bit integer. Default 0. */
    lineOffset?: number;
  };

  /** What a call with `CachedDataOptions` provides. */
  type CachedDataResult = {
    /** The cache, if one was requested and created. */
    cachedData?: ExternalCopy<ArrayBuffer>;
    /** Declared by isolated-vm; scripts do not have it. */
    producedCacheData?: boolean;
  };

  /** Options of `Isolate.compileScript`. */
  type ScriptInfo = CachedDataOptions & ScriptOrigin;
  /** A script of a snapshot. */
  type SnapshotScriptInfo = ScriptOrigin & {
    /** Source code. */
    code: string;
  };

  /** Limits of the scripts that `Isolate.createSnapshot` runs. */
  interface SnapshotOptions {
    /**
     * Limit in MB for the heap, and the same again for buffers; 8 to 512, fractions are cut off. Default 128. Scripts whose heap exceeds
     * it fail with `ERR_ISOLATE_MEMORY`; beyond the limit for buffers, they get a `RangeError`.
     */
    memoryLimit?: number | null;
    /**
     * Milliseconds until creating the snapshot fails (`ERR_ISOLATE_DEADLINE`); a 32-bit integer of at least 0. Default 30,000, also for
     * 0. A time limit of `node:vm` and the end of the worker thread end the scripts, too.
     */
    deadline?: number | null;
    /**
     * Web APIs that the scripts can use: all of them but `Buffer` with `true`, or those that an array names. Default false. A wrong name
     * throws a `TypeError` (`ERR_INVALID_ARG`). Contexts and sandboxes with the snapshot need the option too: without it, these APIs throw a
     * `TypeError` there. While the scripts run, so do `crypto`'s functions and streams of a `TextDecoder`. Not part of isolated-vm.
     */
    web?: boolean | readonly WebName[] | null;
  }

  /**
   * How a value crosses. Set at most one of `copy`, `externalCopy` and `reference`: more are a `TypeError` with the code
   * `ERR_INVALID_ARG`. A value that cannot cross in this way is a `TypeError` with the code `ERR_ISOLATE_TRANSFER`.
   */
  type TransferOptions = {
    /**
     * Transfers the value as a promise. For a promise, it settles with the outcome of that promise. For any other value, it is already
     * settled: with the value of that moment, or rejected with the reason why the value cannot be transferred. Can be combined with the
     * other options. Default false.
     */
    promise?: boolean;
    /** Transfers a structured clone. Functions and symbols cannot be cloned. Default false. */
    copy?: boolean;
    /** Transfers an `ExternalCopy`. Default false. */
    externalCopy?: boolean;
    /** Transfers a `Reference`. Default false. */
    reference?: boolean;
  } & (
    | { copy?: true; externalCopy?: never; reference?: never }
    | { copy?: never; externalCopy?: true; reference?: never }
    | { copy?: never; externalCopy?: never; reference?: true }
  );

  /** How arguments and the result cross. */
  type TransferOptionsBidirectional = {
    /** For arguments. Default: each must be transferable as it is. */
    arguments?: TransferOptions;
    /** For the result. Default: it must be transferable as it is. */
    result?: TransferOptions;
  };

  // Helper types for the arguments and results above. Programs can use them to type their own wrappers.
  type WithPromise = { promise: true };
  type AsCopy = { copy: true };
  type AsExternal = { externalCopy: true };
  type AsReference = { reference: true };
  type WithTransfer = AsCopy | AsExternal | AsReference;
  type ApplyAsReference = { result: AsReference };
  type FallbackReference = { _reference: true };
  type CheckPromise<Options, Result> = Options extends WithPromise ? Promise<Result> : Result;
  type ResultTypeBase<Options, Result> =
    Options extends AsCopy ? Result
    : Options extends AsExternal ? ExternalCopy<Result>
    : Options extends AsReference ? Reference<Result>
    : unknown extends Result ? any
    : Result extends Transferable ? Result
    : Result extends void ? void
    : Options extends FallbackReference ? Reference<Result>
    : Transferable;
  type ResultTypeAsync<Options, Result = any> = Promise<ResultTypeBase<Options, Result>>;
  type ResultTypeSync<Options, Result = any> = CheckPromise<Options, ResultTypeBase<Options, Result>>;
  type ResultOptions<Options> =
    (Options extends { result: infer Of extends object } ? Of : {})
    & (Options extends FallbackReference ? FallbackReference : {});
  type ResultTypeBidirectionalBase<Options, Result> = ResultTypeBase<ResultOptions<Options>, Result>;
  type ResultTypeBidirectionalAsync<Options, Result = any> = Promise<ResultTypeBidirectionalBase<Options, Result>>;
  type ResultTypeBidirectionalSync<Options, Result = any> = ResultTypeSync<ResultOptions<Options>, Result>;
  type ArgumentType<Options, Type> =
    | (Options extends WithTransfer ? Type : Type extends Transferable ? Type : Transferable)
    | (Options extends WithPromise ? Promise<Type> : never)
    | Copy<Type>
    | Dereference<Type>;
  type ArgumentsTypeBidirectional<Options, Args extends any[] = any[]> = {
    [Key in keyof Args]: ArgumentType<Options extends { arguments: infer Of extends object } ? Of : {}, Args[Key]>;
  };
  type ApplyArguments<Value> = Value extends (...args: infer Args) => unknown ? Args : any[];
  type ApplyArgumentThis<Value> = Value extends (this: infer This, ...args: any) => unknown ? This : undefined | null;
  type ApplyReceiver<Value> = Value extends (this: infer This, ...args: any) => unknown
    ? (unknown extends This ? Transferable : This | Dereference<This>)
    : Transferable;
  type ApplyResult<Value> = Value extends (...args: any) => infer Result ? Result : any;
}

/** As declared by TypeScript's `esnext.disposable`, for programs that are compiled without it. */
declare global { interface SymbolConstructor { readonly dispose: unique symbol; readonly asyncDispose: unique symbol } }

export = ivm;

/**
 * Secure JavaScript sandboxes on their own V8: a drop-in for isolated-vm.
 *
 * Values cross between isolates by rule. *Transferable* ones do so without any option: primitives except symbols, functions
 * (they arrive as functions that call back, arguments and results copied) and every object of this module. Everything else
 * needs a transfer option: `copy`, `externalCopy` or `reference`.
 *
 * Methods come in up to three forms. Without a suffix they return a promise; `…Sync` waits for the guest on the calling
 * thread; `…Ignored` starts the work and never tells of its outcome. Wrong positional arguments throw in every form, wrong
 * options reject where there is a promise.
 *
 * Errors of this library have a stable `code`: `ERR_INVALID_ARG` or one that starts with `ERR_ISOLATE_`. What a guest throws
 * has none, but for `ERR_ISOLATE_TRANSFER` where it has called a function of the host with what cannot cross, and not caught that; of an error
 * only class, message, stack and name survive.
 *
 * Members name what can go wrong with them in particular. Whatever needs an isolate can fail with `ERR_ISOLATE_DISPOSED` where that
 * has ended or ends meanwhile, with `ERR_ISOLATE_MEMORY` where it runs out of memory, with `ERR_ISOLATE_UNRESPONSIVE` where it was
 * given up, and with `ERR_ISOLATE_ENVIRONMENT` where the thread that owns something has ended; what was released fails with
 * `ERR_ISOLATE_RELEASED`, and wrong arguments and options with `ERR_INVALID_ARG`. A `…Sync` method throws what its promise would
 * reject with.
 *
 * The classes are those of isolated-vm 7, with its names, defaults and messages. Beside them are ready-made sandboxes:
 * `createSandbox`, `IsolatedVMSandbox`, `IsolatedVmSandbox` and `SubprocessSandbox`.
 */
declare namespace ivm {
  /** What crosses without any option. */
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

  /** The stable `code` of the errors that this library raises itself. */
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
   * A heap of its own, with its own limits. It lives as long as anything names it or something in it; `dispose()` ends it at
   * once.
   */
  class Isolate {
    /**
     * @throws {TypeError} `ERR_INVALID_ARG` for options of wrong types
     * @throws {TypeError} `ERR_INVALID_ARG` for a `snapshot` that this version has not made, or that is damaged
     * @throws {Error} `ERR_INVALID_ARG` when `memoryLimit` is less than 8; `ERR_ISOLATE_MEMORY` when `snapshot` takes more than
     *   that; inside isolates `ERR_ISOLATE_UNSUPPORTED` for `snapshot` and `inspector`
     * @throws {RangeError} `ERR_ISOLATE_LIMIT` inside isolates: there are 16 at most for each isolate that a host has made, with
     *   at most four times its memory together. They end with the isolate they were made in
     */
    constructor(options?: IsolateOptions);

    /** Nanoseconds of processor time that code in this isolate has taken. Throws once the isolate is disposed. */
    readonly cpuTime: bigint;
    /** Nanoseconds that this isolate has been in use, waiting included. Throws once the isolate is disposed. */
    readonly wallTime: bigint;
    /** Whether the isolate has ended: disposed, out of memory, or given up. */
    readonly isDisposed: boolean;
    /** Handles on things in this isolate that are alive. Throws once the isolate is disposed. */
    readonly referenceCount: number;

    /**
     * Runs scripts and writes down the heap that they leave behind: every context of an isolate that is made with this
     * `snapshot` starts with their globals and compiled functions. The host's thread waits.
     *
     * What functions, classes and plain data are made of can be kept, also pending promises, generators and buffers. While
     * the scripts run, `FinalizationRegistry`, `SharedArrayBuffer`, `Temporal`, `WebAssembly` and the newest built-ins (such
     * as `DisposableStack` and `Promise.try`) are absent; contexts have them all, in place of what a script defined there, and
     * `Error.stackTraceLimit` is 10 again. Functions that may call `eval` directly are compiled again.
     *
     * The snapshot can be stored and used by another process with the same version of isolated-v8 on the same kind of machine.
     * Do not take one from somebody you do not trust.
     * @param scripts run one after the other, each with the promises it has resolved
     * @param warmup_script run in a context of its own after the scripts, so that functions it calls are compiled in the
     *   snapshot; what it changes is not kept
     * @param options limits of the scripts. An addition to isolated-vm
     * @throws what a script throws
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` when something is left behind that V8 cannot write, such as an object of `Intl`,
     *   or when built-ins were frozen, or `Math`, `Atomics` or `Uint8Array` replaced; `ERR_ISOLATE_DEADLINE`; `ERR_ISOLATE_MEMORY`
     */
    static createSnapshot(
      scripts: SnapshotScriptInfo[],
      warmup_script?: string | null,
      options?: SnapshotOptions | null,
    ): ExternalCopy<ArrayBuffer>;

    /**
     * Compiles a script that can run in any context of this isolate.
     * @throws {SyntaxError} whose message ends in ` [file:line:column]`
     */
    compileScript(code: string, options?: ScriptInfo & SignalOptions): Promise<Script>;
    /** As `compileScript`; the calling thread waits. */
    compileScriptSync(code: string, options?: ScriptInfo): Script;

    /**
     * Compiles an ES module.
     * @throws {SyntaxError} whose message ends in ` [file:line:column]`
     */
    compileModule(code: string, options?: CompileModuleOptions & SignalOptions): Promise<Module>;
    /** As `compileModule`; the calling thread waits. */
    compileModuleSync(code: string, options?: CompileModuleOptions): Module;

    /** Makes a context: a global object with its own built-ins. */
    createContext(options?: ContextOptions & SignalOptions): Promise<Context>;
    /** As `createContext`; the calling thread waits. */
    createContextSync(options?: ContextOptions): Context;

    /**
     * Opens a session with V8's inspector. `isolated-v8/inspector` serves an isolate to DevTools in one line.
     * @throws {Error} `Inspector is not enabled for this isolate` (`ERR_ISOLATE_UNSUPPORTED`) unless it was made with
     *   `inspector: true`
     * @throws {RangeError} `ERR_ISOLATE_LIMIT` beyond 100 sessions
     */
    createInspectorSession(): InspectorSession;

    /**
     * Ends the isolate and frees its memory. Code that runs in it is terminated; everything that names something in it
     * becomes useless.
     * @throws {Error} `Isolate is already disposed` the second time
     */
    dispose(): void;
    /** As `dispose()`, for `using`. Repeating it does nothing. */
    [Symbol.dispose](): void;
    /** The same, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;

    /** Figures of the isolate's heap, in bytes. */
    getHeapStatistics(options?: SignalOptions): Promise<HeapStatistics & HeapDetails>;
    /** As `getHeapStatistics`; the calling thread waits. */
    getHeapStatisticsSync(): HeapStatistics & HeapDetails;

    /**
     * From now on each run in this isolate (a call from outside, with its microtasks) gives a profile of its processor time,
     * until all titles were stopped; not while the host profiles itself. Profiles may hold 256 MB; what comes later is not
     * kept. A profile of one long run of hostile code can take more while it is taken: give such runs a `timeout`.
     * @throws {Error} `ERR_ISOLATE_DISPOSED`; inside isolates `ERR_ISOLATE_UNSUPPORTED`
     */
    startCpuProfiler(title: string): void;
    /**
     * The profiles of runs since `startCpuProfiler(title)`, after what was asked of the isolate before; none for a title that
     * was not started. Runs of one isolate may be on different threads.
     */
    stopCpuProfiler(title: string, options?: SignalOptions): Promise<ThreadCpuProfile[]>;
  }

  /** What `new Isolate` takes. */
  type IsolateOptions = {
    /**
     * What the isolate may use, in MB (2^20 bytes); at least 8, fractions are cut off. Default 128. It bounds V8's heap: beyond
     * it the isolate is disposed and what runs fails with `ERR_ISOLATE_MEMORY`. Buffers, those that can grow and those of
     * `WebAssembly.Memory` included, have a budget of the same size beside it: beyond that the guest gets a `RangeError`. What
     * V8 takes elsewhere, such as for `Intl` or JSON, has one of 32 MB more; beyond it the isolate is disposed as well. While it
     * is being stopped a guest may use more for a moment.
     *
     * Inside an isolate it must not be more than that isolate's own (`ERR_ISOLATE_LIMIT`), and is no more by default.
     */
    memoryLimit?: number;
    /**
     * Lets inspector sessions be opened. For debugging: what guests print is kept for sessions to come, up to 1,000 messages,
     * outside the memory limit. Default false. Hosts only.
     */
    inspector?: boolean;
    /** What contexts of the isolate start from, made by `createSnapshot`. Isolates share its bytes; it may be released. Hosts only. */
    snapshot?: ExternalCopy<ArrayBuffer>;
    /**
     * Called when the isolate had to be given up: it did not stop within a second of being told to (up to four where its thread
     * got no processor), or V8 ran out of memory in the middle of an operation. Its memory is lost until the process ends.
     */
    onCatastrophicError?: (message: string) => void;
    /**
     * Guests see where the host's code lies: what host functions throw, or return as errors, keeps files and lines in its stack. So
     * does then what comes back to the host through a guest. Without it, guests see the functions' names and `<host>`. Isolates
     * that guests make have it only where their maker has it. Default false. Not part of isolated-vm, whose guests always see
     * files.
     */
    hostStacks?: boolean;
    /**
     * How many isolates like this one are kept ready, with a context, for the next calls of the constructor: they are made in the
     * background after one has ended, and each becomes one isolate, whose first `createContext` gets that context. Those with a
     * `snapshot`, `inspector` or `hostStacks` are always made anew, as are those that guests make. What nobody asks for in a
     * minute goes; {@link engineStats} counts it as `spare`. At most 64 wait in a host thread. Default 1; 0 for none. Not part of isolated-vm.
     */
    warm?: number;
  };

  /** What `Isolate.createContext` takes. */
  type ContextOptions = {
    /** Shows the context to inspector sessions; its isolate must have been made with the option too. Default false. */
    inspector?: boolean;
  };

  /** Bytes, unless the name says otherwise. */
  type HeapStatistics = {
    /** Heap that V8 has from the system. */
    total_heap_size: number;
    /** Of that, for machine code. */
    total_heap_size_executable: number;
    /** Of that, what the system has given memory for. */
    total_physical_size: number;
    /** What V8 could still take, at most `heap_size_limit`. */
    total_available_size: number;
    /** What objects take, those included that nothing refers to and no collection has found yet. */
    used_heap_size: number;
    /** The most that the heap may take: `memoryLimit`, or less. */
    heap_size_limit: number;
    /** What V8 has beside the heap at the moment, such as for compiling. */
    malloced_memory: number;
    /** The most of that so far. */
    peak_malloced_memory: number;
    /** 0 or 1. */
    does_zap_garbage: number;
    /** Memory outside V8's heap that counts against the isolate's limit: buffers above all. */
    externally_allocated_size: number;
  };

  /** Figures that isolated-vm does not give. */
  type HeapDetails = {
    /** Bytes that V8 has for handles on objects of the heap. */
    total_global_handles_size: number;
    /** Of those bytes, what handles take that exist. */
    used_global_handles_size: number;
    /** A number of contexts. */
    number_of_native_contexts: number;
    /** A number of contexts. */
    number_of_detached_contexts: number;
  };

  /** A global object of an isolate, and code that runs there. */
  class Context {
    private constructor();

    /** A Reference to the global object, always the same one; `undefined` once the context is released. */
    readonly global: Reference<Record<number | string | symbol, any>>;
    /** The name `global` had in older versions. */
    globalReference(): Reference<Record<number | string | symbol, any>>;

    /**
     * Runs code as a script. The result is its last value if that is transferable, or as the transfer options say;
     * otherwise `undefined`.
     * @throws what the code throws; `ERR_ISOLATE_TIMEOUT` (`Script execution timed out.`) and `ERR_ISOLATE_DEADLINE`
     */
    eval<Options extends ContextEvalOptions = {}>(code: string, options?: Options): Promise<Awaited<ResultTypeSync<Options>>>;
    /** As `eval`; nobody hears of the result, nor of what the code throws. */
    evalIgnored(code: string, options?: ContextEvalOptions): void;
    /** As `eval`; the calling thread waits. With `promise: true` the result is a promise all the same. */
    evalSync<Options extends ContextEvalOptions = {}>(code: string, options?: Options): ResultTypeSync<Options>;

    /**
     * Runs code as the body of a function, so that `return` gives the result. Arguments are `$0`, `$1` and so on. What is
     * returned must be transferable, or a transfer option say how it becomes so.
     * @throws what the code throws; `TypeError` with `ERR_ISOLATE_TRANSFER` for an argument or a result that cannot cross
     */
    evalClosure<Options extends ContextEvalClosureOptions = {}>(
      code: string, args?: ArgumentsTypeBidirectional<Options> | null, options?: Options,
    ): Promise<Awaited<ResultTypeBidirectionalSync<Options>>>;
    /** As `evalClosure`; nobody hears of the result, nor of what the code throws. */
    evalClosureIgnored<Options extends ContextEvalClosureOptions = {}>(
      code: string, args?: ArgumentsTypeBidirectional<Options> | null, options?: Options,
    ): void;
    /** As `evalClosure`; the calling thread waits. */
    evalClosureSync<Options extends ContextEvalClosureOptions = {}>(
      code: string, args?: ArgumentsTypeBidirectional<Options> | null, options?: Options,
    ): ResultTypeBidirectionalSync<Options>;

    /**
     * Lets go of this context, and of the Reference that `global` gave. What else refers to the context keeps it alive.
     * Repeating it does nothing.
     */
    release(): void;
    /** As `release()`, for `using`. Repeating it does nothing. */
    [Symbol.dispose](): void;
    /** The same, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /** What `Context.eval` takes. */
  type ContextEvalOptions = RunOptions & ScriptOrigin & CachedDataOptions & TransferOptions;
  /** What `Context.evalClosure` takes. */
  type ContextEvalClosureOptions = RunOptions & ScriptOrigin & CachedDataOptions & TransferOptionsBidirectional;

  /** Compiled code that can run in any context of its isolate. Instances are not frozen. */
  class Script {
    private constructor();

    /** With `produceCachedData`: the compilation cache of this script. */
    cachedData?: ExternalCopy<ArrayBuffer>;
    /** With `cachedData`: whether the cache was refused. */
    cachedDataRejected?: boolean;

    /** Lets go of the compiled code. Repeating it does nothing. */
    release(): void;
    /** As `release()`, for `using`. Repeating it does nothing. */
    [Symbol.dispose](): void;
    /** The same, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;

    /**
     * Runs the script in a context. The result is its last value if that is transferable, or as the transfer options say;
     * otherwise `undefined`.
     * @throws {Error} `Invalid context` for a context of another isolate
     */
    run<Options extends ScriptRunOptions = {}>(context: Context, options?: Options): ResultTypeAsync<Options>;
    /** As `run`; nobody hears of the result, nor of what the script throws. */
    runIgnored(context: Context, options?: ScriptRunOptions): void;
    /** As `run`; the calling thread waits. */
    runSync<Options extends ScriptRunOptions = {}>(context: Context, options?: Options): ResultTypeSync<Options>;
  }

  /** What `Script.run` takes. */
  type ScriptRunOptions = RunOptions & ReleaseOptions & TransferOptions;

  /**
   * Finds what a module imports. Called once for each import of each module that is being instantiated, and each time their
   * code calls `import()`.
   * @param specifier as the importing module has it
   * @param referrer the module that imports. For `import()`: that object if it still exists, else `undefined`
   * @param attributes what stands behind `with`, frozen and without a prototype. `type` is the only one; an import with any
   *   other is refused (`ERR_ISOLATE_UNSUPPORTED`)
   * @returns a module of the same isolate; for `instantiate` and `import()` also a promise of one
   */
  type ModuleResolver<Result = Module | Promise<Module>> =
    (specifier: string, referrer: Module, attributes: { readonly type?: string }) => Result;

  /**
   * An ES module, as `Isolate.compileModule` makes it. A type only: there is no such class at run time. Instances are not
   * frozen.
   */
  interface Module {
    /** With `produceCachedData`: the compilation cache of this module. */
    cachedData?: ExternalCopy<ArrayBuffer>;
    /** With `cachedData`: whether the cache was refused. */
    cachedDataRejected?: boolean;

    /** What the module imports, in order, each once. A fresh array each time. */
    readonly dependencySpecifiers: string[];

    /**
     * A Reference to the exports, a fresh one each time. `get` runs no getter of theirs: they are bindings.
     * @throws {Error} `Module has not been instantiated.` before it was evaluated
     */
    readonly namespace: Reference<any>;

    /**
     * Links the module with all that it imports, in a context. Does nothing for one that is instantiated already. Where it
     * fails, it can be tried again. While it asks for imports, nobody else can instantiate the same modules. It rejects when
     * the isolate ends before the resolver has answered.
     *
     * Modules whose code calls `import()` keep the resolver while anything refers to them or to something in their context, or
     * waits for it; a resolver that itself refers to such things keeps them until the isolate is disposed. Other code's
     * `import()` is rejected: `Not supported`.
     */
    instantiate(context: Context, resolveCallback: ModuleResolver, options?: SignalOptions): Promise<void>;
    /** As `instantiate`; the calling thread waits, and the resolver returns modules, not promises. */
    instantiateSync(context: Context, resolveCallback: ModuleResolver<Module>): void;

    /**
     * Runs the module and what it imports, once. There is no value: the result is `undefined`, or what was thrown is thrown,
     * each time. It does not wait for top-level `await` that outlasts the microtasks of this call; with `promise` it gives a
     * promise that does. Other transfer options have no effect.
     * @throws {Error} `Module is uninstantiated`
     */
    evaluate(options?: ScriptRunOptions): Promise<Transferable>;
    /** As `evaluate`; the calling thread waits. With `promise` it returns a promise of the end of top-level `await`. */
    evaluateSync(options?: ScriptRunOptions): Transferable;

    /** Lets go of the module. What imports it keeps it. Repeating it does nothing. */
    release(): void;
    /** As `release()`, for `using`. Repeating it does nothing. */
    [Symbol.dispose](): void;
    /** The same, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /** What `Isolate.compileModule` takes. */
  type CompileModuleOptions = ScriptInfo & {
    /**
     * Fills `import.meta`, an object without a prototype, when it is first read. Only for code inside an isolate that compiles
     * a module of the same isolate; elsewhere it throws.
     */
    meta?: ((meta: any) => void);
  };

  /**
   * A session with the inspector of an isolate, in the Chrome DevTools protocol. It keeps its isolate alive and on one thread,
   * and ends with `dispose()`, with its isolate, or when nobody has it any more.
   *
   * Messages are handled as soon as they come: between runs, amidst running code, while the guest waits for its host, and
   * while it is paused. During a pause timeouts stand still and deadlines go on; the end of the isolate or of the session ends
   * it. Sync calls to a paused isolate run at once, and do not pause themselves.
   *
   * What the inspector says comes to the listeners as tasks of the host's event loop. A host that runs the guest by a `…Sync`
   * method hears nothing until that returns, so that it cannot resume a guest which pauses meanwhile: give such calls a
   * `deadline`, or use the asynchronous methods. When 10,000 messages or 64 MB wait for a listener, the guest waits, too; in a
   * sync call it goes on and further notifications are lost.
   */
  type InspectorSession = {
    /**
     * Sends a message. What is wrong with it comes back as an error of the protocol.
     * @throws {Error} `Session is dead` (`ERR_ISOLATE_DISPOSED`)
     * @throws {RangeError} `ERR_ISOLATE_LIMIT` when 10,000 messages or 64 MB wait for the isolate
     */
    dispatchProtocolMessage(message: string): void;
    /** Ends the session, and a pause with it. */
    dispose(): void;
    /** As `dispose()`, for `using`. Repeating it does nothing. */
    [Symbol.dispose](): void;
    /** The same, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
    /** Gets what the inspector says of itself. Its errors are reported, as those of an `ignored` `Callback`. */
    onNotification: (message: string) => void;
    /** Gets the answer to the message with the `id`. Its errors are reported, as those of an `ignored` `Callback`. */
    onResponse: (callId: number, message: string) => void;
  };

  /** The profile of one run. */
  type ThreadCpuProfile = {
    /** The number that the system gives the thread. */
    threadId: number;
    /** What ran there. */
    profile: CpuProfile;
  };

  /** Times are in microseconds, of a clock that starts anywhere. */
  type CpuProfile = {
    /** When the run began. */
    startTime: number;
    /** When it ended. */
    endTime: number;
    /** Ids of nodes. */
    samples: number[];
    /** When each sample was taken, from `startTime` on, as isolated-vm has it. In `.cpuprofile` files: since the one before. */
    timeDeltas: number[];
    /** A node for each function and each way in which it came to be called, as a tree; the root is the first. */
    nodes: {
      /** What `samples` and `children` name it by. */
      id: number;
      /** Samples in which it was on top of the stack. */
      hitCount: number;
      /** Why V8 does not optimize the function. */
      bailoutReason?: string;
      /** Ids of nodes. */
      children: number[];
      /** The function. */
      callFrame: {
        /** Empty where it has none; in parentheses for what is no function, such as `(garbage collector)`. */
        functionName: string;
        /** The name of its script. */
        url: string;
        /** The number of its script in the isolate; 0 for what is in none. */
        scriptId: number;
        /** From 1; 0 for what is in no script. */
        lineNumber: number;
        /** From 1; 0 for what is in no script. */
        columnNumber: number;
        /** Declared by isolated-vm; the node has it. */
        bailoutReason?: string;
      };
    }[];
  };

  /** Names a value where it lives. */
  class Reference<T = any> {
    /**
     * A Reference to a value of this realm. One made of a `Callback` applies the callback's function.
     * @param options `unsafeInherit`: `get` sees inherited properties too, here and in References that it gives. Default false
     */
    constructor(value: T, options?: { unsafeInherit?: boolean });

    /** As `typeof` says, except that null is `"null"` and symbols and BigInts are `"object"`. */
    readonly typeof: 'undefined' | 'null' | 'boolean' | 'number' | 'string' | 'object' | 'function' | (string & {});

    /** A structured clone of the value. */
    copy(options?: RunOptions): Promise<T>;
    /** As `copy`; the calling thread waits. */
    copySync(options?: RunOptions): T;

    /**
     * The value itself, in the realm that owns it.
     * @throws {TypeError} `Cannot dereference this from current isolate` elsewhere
     */
    deref(options?: ReleaseOptions): T;

    /** An object to pass to the isolate that owns the value, where it arrives as the value itself. Good for one use. */
    derefInto(options?: ReleaseOptions): Dereference<T>;

    /**
     * Lets go of the value. Other References to it are not affected.
     * @throws {Error} `Reference has been released` the second time
     */
    release(): void;
    /** The name `release` had in older versions. */
    dispose(): void;
    /** As `release()`, for `using`. Repeating it does nothing. */
    [Symbol.dispose](): void;
    /** The same, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;

    /**
     * Deletes a property.
     * @throws {TypeError} `Delete failed`, `Object is or has proxy`, `Reference is not an object`
     */
    delete(property: keyof T, options?: RunOptions): Promise<void>;
    /** As `delete`; nobody hears whether it worked. */
    deleteIgnored(property: keyof T, options?: RunOptions): void;
    /** As `delete`; the calling thread waits. */
    deleteSync(property: keyof T, options?: RunOptions): void;

    /**
     * Reads an own property. What is not transferable arrives as a Reference.
     * @throws {TypeError} `Property is getter`, `Object is or has proxy`, `Reference is not an object`
     */
    get<Options extends ReferenceGetOptions = {}, Key extends keyof T = keyof T>(
      property: Key, options?: Options,
    ): ResultTypeAsync<Options & FallbackReference, T[Key]>;
    /** As `get`; the calling thread waits. */
    getSync<Options extends ReferenceGetOptions = {}, Key extends keyof T = keyof T>(
      property: Key, options?: Options,
    ): ResultTypeSync<Options & FallbackReference, T[Key]>;

    /**
     * Defines a property, after deleting the one that is there: no setter runs.
     * @throws {TypeError} `Set failed`, `Object is or has proxy`, `Reference is not an object`, and `ERR_ISOLATE_TRANSFER`
     */
    set<Options extends ReferenceSetOptions = {}, Key extends keyof T = keyof T>(
      property: Key, value: ArgumentType<Options, T[Key]>, options?: Options,
    ): Promise<void>;
    /** As `set`; nobody hears whether it worked. */
    setIgnored<Options extends ReferenceSetOptions = {}, Key extends keyof T = keyof T>(
      property: Key, value: ArgumentType<Options, T[Key]>, options?: Options,
    ): void;
    /** As `set`; the calling thread waits. */
    setSync<Options extends ReferenceSetOptions = {}, Key extends keyof T = keyof T>(
      property: Key, value: ArgumentType<Options, T[Key]>, options?: Options,
    ): void;

    /**
     * Calls the value. A result that is not transferable arrives as a Reference. So does a promise without `result: { promise: true }`; what
     * it rejects with is reported then, as by `applyIgnored`. The receiver must be transferable; transfer
     * options do not apply to it.
     * @throws {TypeError} `Reference is not a function`
     */
    apply<Options extends ReferenceApplyOptions = {}>(
      receiver?: ApplyReceiver<T>, args?: ArgumentsTypeBidirectional<Options, ApplyArguments<T>> | null, options?: Options,
    ): Promise<Awaited<ResultTypeBidirectionalSync<Options & FallbackReference, ApplyResult<T>>>>;
    /**
     * As `apply`; nobody receives the result. What a function of a host throws, or its promise rejects with, is reported: published to the channel
     * `isolated-v8:unhandled-host-error` of `node:diagnostics_channel`, as `{ error, origin }`. Without subscribers the first error of each origin
     * is a process warning with the code `ISOLATED_V8_UNHANDLED_HOST_ERROR`.
     */
    applyIgnored<Options extends ReferenceApplyOptions = {}>(
      receiver?: ApplyReceiver<T>, args?: ArgumentsTypeBidirectional<Options, ApplyArguments<T>> | null, options?: Options,
    ): void;
    /** As `apply`; the calling thread waits. */
    applySync<Options extends ReferenceApplyOptions = {}>(
      receiver?: ApplyReceiver<T>, args?: ArgumentsTypeBidirectional<Options, ApplyArguments<T>> | null, options?: Options,
    ): ResultTypeBidirectionalSync<Options & FallbackReference, ApplyResult<T>>;

    /**
     * For guests: calls a function of the host and waits until the promise that it returns has settled.
     * @throws {Error} `This function may not be called from the default thread` on a host
     */
    applySyncPromise<Options extends ReferenceApplyOptions = {}>(
      receiver?: ApplyReceiver<T>, args?: ArgumentsTypeBidirectional<Options, ApplyArguments<T>> | null, options?: Options,
    ): Awaited<ApplyResult<T>>;
  }

  /** What `Reference.derefInto()` returns. */
  class Dereference<T> {
    private constructor();
    private readonly dereferenced: T;
  }

  /** What `Reference.set` takes. */
  type ReferenceSetOptions = RunOptions & TransferOptions;
  /** What `Reference.get` takes. */
  type ReferenceGetOptions = RunOptions & TransferOptions & {
    /** Lets getters run. Default false. */
    accessors?: boolean;
  };
  /** What `Reference.apply` takes. */
  type ReferenceApplyOptions = RunOptions & TransferOptionsBidirectional;

  /** A copy of a value outside any heap, to be copied into any isolate any number of times. */
  class ExternalCopy<T = any> {
    /**
     * Copies the value by the rules of structured clone; objects of this module may be anywhere inside. SharedArrayBuffers
     * are shared, not copied; those that can grow or belong to a `WebAssembly.Memory` are refused. One that a guest has made
     * arrives on Node 22, 24, 26 and Bun; elsewhere `copy()` throws `ERR_ISOLATE_UNSUPPORTED`. A `Buffer`, and any view of a
     * buffer of 8 KB or more, takes only its own bytes along: the rest may belong to others. Other views bring their whole
     * buffer.
     * @throws {TypeError} `ERR_ISOLATE_TRANSFER`: `… could not be cloned.`, `A growable SharedArrayBuffer could not be shared.`,
     *   `Unsupported type`
     */
    constructor(value: T, options?: ExternalCopyOptions);

    /** Bytes of the strings that all copies of this process hold. */
    static readonly totalExternalSize: number;

    /** Makes the value in this realm. */
    copy(options?: ExternalCopyCopyOptions): T;

    /** An object to pass to another isolate, where it arrives as the value. Good for one use. */
    copyInto(options?: ExternalCopyCopyOptions): Copy<T>;

    /**
     * Lets go of the copy. Others that were passed on are not affected.
     * @throws {Error} `Copy has been released` the second time
     */
    release(): void;
    /** The name `release` had in older versions. */
    dispose(): void;
    /** As `release()`, for `using`. Repeating it does nothing. */
    [Symbol.dispose](): void;
    /** The same, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /** What `ExternalCopy.copyInto()` returns. */
  class Copy<T> {
    private constructor();
    private readonly copied: T;
  }

  /** What `new ExternalCopy` takes. */
  type ExternalCopyOptions = {
    /**
     * ArrayBuffers to move into the copy: they are empty afterwards. On Node on Linux the memory of large ones, from 128 KiB on, stays
     * where it is and is handed on; elsewhere it is copied once. One that the host keeps, as Node does with the pool behind small
     * Buffers and WebAssembly with its memory, is refused (`ERR_ISOLATE_TRANSFER`); on Node 20 and Deno the others in the list may
     * be empty then.
     */
    transferList?: any[];
    /** Moves the value itself, an ArrayBuffer or the buffer of a view, into the copy, as `transferList` does. Default false. */
    transferOut?: boolean;
  };

  /** What `ExternalCopy.copy` takes. */
  type ExternalCopyCopyOptions = ReleaseOptions & {
    /**
     * Moves buffers out of the copy instead of copying them: it is of no use afterwards. A host gets copies all the same. Default
     * false.
     */
    transferIn?: boolean;
  };

  /**
   * A function on its way to other isolates, where it arrives as a plain function: arguments and results are copied. Functions
   * passed as they are become synchronous callbacks.
   */
  class Callback<T extends (...args: any[]) => any = any> {
    /** @throws {TypeError} `ERR_INVALID_ARG` where `value` is no function, or an option is of a wrong type */
    constructor(value: T, options?: CallbackOptions);
    private readonly called: T;
  }

  /** At most one of them. */
  type CallbackOptions = {
    /** The guest gets a promise and goes on. */
    async?: boolean;
    /** The guest gets `undefined` and goes on; nobody receives the result. What the function throws or rejects with is reported, as by `applyIgnored`. */
    ignored?: boolean;
    /** The guest waits for the result. The default. */
    sync?: boolean;
  } & (
    | { async?: true; ignored?: never; sync?: never }
    | { async?: never; ignored?: true; sync?: never }
    | { async?: never; ignored?: never; sync?: true }
  );

  /**
   * Native modules are compiled against the V8 of their host and cannot work here: the constructor always throws
   * `ERR_ISOLATE_UNSUPPORTED`. Give the isolate a `Callback`, or a `Reference` to a function, that does the work.
   */
  class NativeModule {
    /** @throws {Error} `ERR_ISOLATE_UNSUPPORTED`, always */
    constructor(filename: string);
    /** Declared for programs that name it; there is never an instance. */
    create(context: Context): Promise<Reference<any>>;
    /** As `create`. */
    createSync(context: Context): Reference<any>;
  }

  /** What isolated-vm has for its own tests. */
  interface Lib {
    /** Seconds and nanoseconds of a monotonic clock, or what has passed since an earlier result. */
    hrtime(since?: [seconds: number, nanoseconds: number] | null): [seconds: number, nanoseconds: number];
    /** A fresh symbol. */
    privateSymbol(name?: string | null): symbol;
    /** Occupies its thread for a minute. */
    testHang(): void;
    /** Fills the memory of the isolate that calls it; throws on a host. */
    testOOM(): never;
  }
  const lib: Lib;

  /** Options of `createSandbox`. */
  interface SandboxOptions {
    /** Milliseconds until an execution ends, at least 1. Everything counts, waiting for host functions too. Default 30,000. */
    timeout?: number;
    /**
     * Bytes of UTF-8 that the result may take as JSON. A larger one is a `RangeError` of code `ERR_ISOLATE_LIMIT` that names both sizes.
     * A value that is in several places of the result counts in each of them, as in JSON. What JSON leaves out counts, too: entries of maps
     * and sets, fields of errors, buffers, and named keys of arrays; keys whose value is `undefined` do not, up to 16 times the limit.
     * `Infinity` is no limit. Default 1,048,576.
     */
    maxOutputSize?: number;
    /** How often one execution may call `api.request`; a further call throws in the guest. Default 50. */
    maxApiCalls?: number;
    /**
     * MB that the guest may use, at least 8; see `IsolateOptions.memoryLimit`. Default: the environment variable
     * `SANDBOX_MEMORY_MB` where it is at least 8, else 32.
     */
    memoryLimit?: number;
    /** Console calls that are kept in `logs`; further ones are counted. Default 100. */
    maxLogEntries?: number;
    /** Characters that are kept of each, then `...`. Default 1,000. */
    maxLogLength?: number;
    /** Called for each console call that is kept, as it happens. What it throws or rejects with is reported (`isolated-v8:unhandled-host-error`). A guest that writes faster has to wait. */
    onLog?: (entry: SandboxLogEntry) => void;
    /**
     * Gives the code `setTimeout`, `setInterval`, `setImmediate`, what clears them, and `queueMicrotask`. At most 1,000 may be
     * pending (`RangeError`), delays are of at least 1 ms, and what a callback throws ends the execution. Default false.
     */
    timers?: boolean;
    /**
     * Gives the code what is named of the web, or with `true` all of it. `DOMException` comes with what throws it; `crypto` has
     * `getRandomValues` and `randomUUID`, and `performance` has `now`, in whole milliseconds from when the execution was asked for.
     * URLs are of at most 2 MB, a `TextDecoder` in the middle of a stream counts for 1 KB of memory, and long texts that these make
     * count like buffers. Default false.
     */
    web?: boolean | readonly WebName[];
    /**
     * Whether the code has `WebAssembly`. With `false` there is no such global, and nothing in the isolate compiles modules, whatever a
     * snapshot has kept. Default true.
     */
    wasm?: boolean;
    /**
     * Code may have TypeScript's types, which are replaced by blanks. What is more than types (`enum`, `namespace`, parameter properties,
     * `<T>x`) is a `SyntaxError`. Some 40 ms more for each execution. Code in a Markdown fence `ts` or `typescript` may without it.
     * Default false.
     */
    typescript?: boolean;
    /**
     * ES modules that the code can import: sources by name, read once. Names are URLs, or paths from a common root: `lib/a.js` and
     * `./lib/a.js` are one. A specifier that starts with `./`, `../` or `/` is resolved against the module that imports, any other one
     * is a name. Unknown ones are an error that names them. The modules run under the same limits as the code, anew for each execution,
     * and `import()` works everywhere.
     *
     * Code that is no body of a function, but a module (it has `import … from` or `export` at its top), is run as one. The result is its
     * default export, or what that gives where it is a function.
     *
     * With `typescript` the modules may have types, too, except those whose names end in `.js` or `.mjs`.
     *
     * Modules whose names end in `.json` are JSON: imports of such, and of no other, say `with { type: 'json' }`, and get what it stands for
     * as the default export. Other import attributes are an error of code `ERR_ISOLATE_UNSUPPORTED`. Default: none, and `import()` rejects.
     */
    modules?: Readonly<Record<string, string>>;
    /**
     * Isolates that wait for the next execution, ready to run its code, at most 64; 0 for none. Each serves one execution and ends with it.
     * They are made once there has been an execution, when it is over or waits for something, are shared by sandboxes of the same
     * settings on one thread, and end after a minute of waiting. They do not keep the program running. Each takes some 1.1 MB, and
     * what a `snapshot` holds. Default 1.
     */
    warm?: number;
    /**
     * A heap that executions start from, made by `Isolate.createSnapshot`: what its scripts have left on the global object is there
     * for the code, in each execution anew. What the sandbox itself has (`console`, and what the options and tools name) takes the place of
     * what a script has put or declared with `var` under the same name. What a script has declared with `const`, `let` or `class` cannot
     * be replaced: then executions fail with a `TypeError` `ERR_INVALID_ARG` that names it. The snapshot is read when the sandbox is
     * made, and the copy may be released then: `TypeError` `ERR_INVALID_ARG` where it is none that this version has made, and
     * `ERR_ISOLATE_MEMORY` where it takes more than `memoryLimit`.
     */
    snapshot?: ExternalCopy<ArrayBuffer>;
  }

  /** What guests of sandboxes can have of the web, beside ECMAScript's built-ins. */
  type WebName = 'TextEncoder' | 'TextDecoder' | 'URL' | 'URLSearchParams' | 'atob' | 'btoa' | 'structuredClone' | 'crypto' | 'performance';

  /** A console call of a guest, as `onLog` hears of it. */
  interface SandboxLogEntry {
    /** The method of `console` that was called. */
    level: 'log' | 'info' | 'warn' | 'error' | 'debug';
    /** Its arguments as `logs` has them, cut to `maxLogLength` characters. */
    message: string;
  }

  /** What an execution has taken. */
  interface SandboxUsage {
    /** Milliseconds for which the guest ran. */
    cpuMs: number;
    /** Milliseconds from the beginning of the guest's isolate to the outcome; taking types off comes before. */
    wallMs: number;
    /** The most bytes of heap that were in use, as seen before each garbage collection and at the end. */
    heapPeak: number;
    /** Calls of host functions, also those that were refused there. */
    hostCalls: number;
  }

  /** Why an execution failed. */
  interface SandboxFailure {
    /** The error's `name`; `Error` where something else was thrown. */
    name: string;
    /** The same as `error`; of a plugin what the error itself says. */
    message: string;
    /** Where a limit or this library is the reason: `ERR_ISOLATE_DEADLINE`, `_MEMORY`, `_LIMIT`, `_ABORTED`, `_DISPOSED`, … */
    code?: string;
    /** Name, message and the guest's frames, in lines and columns of the code as it was passed. Paths of the host are hidden. */
    stack: string;
    /** The name of the module where it arose; absent where that is the code itself, or not known. */
    module?: string;
    /** Where it arose in the code as it was passed, or in that module, from 1; absent where that is not known. */
    line?: number;
    /** The column of it, from 1; present where `line` is. */
    column?: number;
    /** The lines around, the place marked, for people. */
    frame?: string;
  }

  /** What `Sandbox.execute` resolves with. */
  interface SandboxResult {
    /** A structured clone of what the code gave; null where it failed. */
    result: unknown;
    /** Why it failed; absent where it did not. */
    error?: string;
    /** The same with more of it; present where `error` is. */
    failure?: SandboxFailure;
    /**
     * What the code wrote with `console.log`, `info`, `warn`, `error` and `debug`: strings as they are, others as JSON, joined
     * by a space. See `maxLogEntries` and `maxLogLength`; at most 8 MB in all.
     */
    logs: string[];
    /** Console calls that were not kept; absent where all were. */
    lostLogs?: number;
    /** Absent where nothing could begin. */
    usage?: SandboxUsage;
    /** Milliseconds, rounded. */
    durationMs: number;
    /** Calls of `api.request`; absent where the globals have no such function. */
    apiCallCount?: number;
  }

  /** What `createSandbox` makes. */
  interface Sandbox {
    /**
     * Runs code in an isolate that nobody has used before and that is disposed after it.
     *
     * Code that as a whole is one function expression is called. Everything else runs as `normalizeCode` wraps it. A result
     * that is a promise is awaited. Failures do not reject: they are in `error`, also when `signal` has ended it.
     */
    execute(code: string, options?: SignalOptions): Promise<SandboxResult>;

    /** Ends what runs. Its executions resolve with the error `Sandbox has been disposed`, and so do later ones. */
    [Symbol.dispose](): void;
    /** The same, and waits until they have. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /**
   * A sandbox for code that a model wrote.
   *
   * Globals are copied in. Functions in them, at any depth of plain objects and arrays, become functions that look synchronous
   * to the guest: it waits until what the host's function returns has settled, and gets a structured clone of the result or an
   * `Error` with the message. The host's event loop is free meanwhile. The code sees ECMAScript's built-ins, `console`,
   * `WebAssembly` and the globals given; `globalThis` is shadowed (undefined in the code itself), and there is no `require`, `process` or `fetch`.
   * @throws {TypeError} `ERR_INVALID_ARG` where `globals` is no object, an option is of a wrong type or too small, or there is no such option
   */
  function createSandbox(globals: Record<string, unknown>, options?: SandboxOptions): Sandbox;

  /**
   * Makes an async arrow function of what a model wrote. Blanks and a Markdown fence are taken off. Code that starts with
   * `async (` stays as it is. Code that starts with `const`, `let`, `var`, `for`, `while`, `if`, `try`, `switch`, `return`,
   * `throw`, `class` or `function` becomes `async () => { CODE }`, anything else `async () => { return CODE }`.
   */
  function normalizeCode(code: string): string;

  /** A tool that code may call. A host reads `name` only. */
  interface IsolatedVMTool {
    /**
     * `a:b`, or `a.b`, is called as `a.b(params)`; more parts are joined by `_`. A name of one part is called as
     * `name.call(params)`. Characters that are not of `[A-Za-z0-9_$]` become `_`.
     */
    name: string;
    /** For the model. Not read here. */
    description: string;
    /** JSON Schema of the params, for the model. Not read here: what the code passes is not checked against it. */
    inputSchema?: Record<string, unknown>;
  }

  /** What `IsolatedVMSandbox.execute` resolves with. */
  interface IsolatedVMExecutionResult {
    /** A structured clone of what the code returned; null where it failed. */
    result: unknown;
    /**
     * What the code wrote with `console`: strings as they are, others as JSON, joined by a space; `[ERROR] ` and `[WARN] ` come
     * before errors and warnings. See `maxLogEntries` and `maxLogLength`; at most 8 MB in all.
     */
    logs: string[];
    /** Console calls that were not kept; absent where all were. */
    lostLogs?: number;
    /** Why it failed; absent where it did not. */
    error?: string;
    /** The same with more of it; present where `error` is. */
    failure?: SandboxFailure;
    /** Absent where nothing could begin. */
    usage?: SandboxUsage;
    /** Milliseconds, rounded. */
    duration: number;
  }

  /** What `new IsolatedVMSandbox` takes. */
  interface IsolatedVMSandboxConfig {
    /** Milliseconds until an execution ends, at least 1. Everything counts, pending tools too. Default 30,000. */
    timeout: number;
    /** MB that an execution may use, at least 8; see `IsolateOptions.memoryLimit`. Default 128. */
    memoryLimit: number;
    /** As `SandboxOptions.maxOutputSize`. Default: as many bytes as `memoryLimit`, and at least 67,108,864. */
    maxOutputSize?: number;
    /** How often one execution may call tools; a further call rejects in the guest. Default: no limit. */
    maxApiCalls?: number;
    /** Console calls that are kept in `logs`; further ones are counted. Default 10,000. */
    maxLogEntries?: number;
    /** Characters that are kept of each, then `...`. Default 10,000. */
    maxLogLength?: number;
    /** Called for each console call that is kept, as it happens, without its mark. What it throws or rejects with is reported (`isolated-v8:unhandled-host-error`). */
    onLog?: (entry: SandboxLogEntry) => void;
    /** Gives the code what is named of the web, as `SandboxOptions.web` does. Default false. */
    web?: boolean | readonly WebName[];
    /** Whether there is `WebAssembly`, as `SandboxOptions.wasm`. Default true. */
    wasm?: boolean;
    /** Code may have TypeScript's types; see `SandboxOptions.typescript`. Default false. */
    typescript?: boolean;
    /** ES modules that the code can import; see `SandboxOptions.modules`. */
    modules?: Readonly<Record<string, string>>;
    /** Isolates that wait for the next execution; see `SandboxOptions.warm`. Default 1. */
    warm?: number;
    /** A heap that executions start from; see `SandboxOptions.snapshot`. */
    snapshot?: ExternalCopy<ArrayBuffer>;
    /** Not available yet: `true` throws `ERR_ISOLATE_UNSUPPORTED`. Default false. */
    inspector: boolean;
  }

  /** A sandbox for an agent's code, which calls tools. The code has timers, as with `SandboxOptions.timers`. */
  class IsolatedVMSandbox {
    /**
     * @throws {TypeError} `ERR_INVALID_ARG` where there is no such option, or one is of a wrong type or too small
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` for `inspector`
     */
    constructor(config?: Partial<IsolatedVMSandboxConfig> | null);

    /** False when the environment variable `NCP_DISABLE_ISOLATED_VM` is `true`. Constructing works all the same. */
    static isAvailable(): boolean;

    /**
     * Runs code as the body of an async function, in an isolate that nobody has used before and that is disposed after it. Failures of the
     * code, of its tools and of its limits do not reject: they are in `error`. Executions may overlap.
     * @param toolExecutor called with the tool's `name` and with params that went through JSON, `{}` where there are none. The
     *   call in the guest resolves with a structured clone of its result (or what JSON makes of it where it cannot be cloned)
     *   or rejects with an `Error` of its message.
     * @throws {TypeError} `ERR_INVALID_ARG`, as a rejection, for arguments of wrong types
     */
    execute(
      code: string, tools: IsolatedVMTool[], toolExecutor: (toolName: string, params: any) => Promise<unknown>,
      options?: SignalOptions,
    ): Promise<IsolatedVMExecutionResult>;

    /** Ends what runs. Its executions resolve with the error `Sandbox has been disposed`, and so do later ones. */
    dispose(): void;
    /** The same as `dispose()`, for `using`. */
    [Symbol.dispose](): void;
    /** As `dispose()`, and waits until the executions have resolved. */
    [Symbol.asyncDispose](): Promise<void>;

    /** Figures of the heap of the execution that started last, as of its last garbage collection; null when nothing runs. */
    getHeapStatistics(): (HeapStatistics & HeapDetails) | null;
  }

  /** The same as `new IsolatedVMSandbox(config)`. */
  function createIsolatedVMSandbox(config?: Partial<IsolatedVMSandboxConfig> | null): IsolatedVMSandbox;

  /**
   * Layers of what confines the processes of a `SubprocessSandbox`;
   * [confinement](https://github.com/isolated-v8/isolated-v8/blob/main/docs/confinement.md) says what each refuses.
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

  /** What confines the processes of a `SubprocessSandbox`, one layer of it. */
  interface ConfinementLayer {
    /** Which one. */
    name: ConfinementLayerName;
    /** Whether it holds. What holds depends on the system, and on the rights that this process has there. */
    active: boolean;
    /** What it does, or why it does not hold. */
    detail: string;
  }

  /** The option `confinement` of a `SubprocessSandbox`. Each layer that is `false` is left out, for debugging; do not run code of others that way. */
  interface SubprocessConfinement extends Partial<Record<ConfinementLayerName, boolean>> {
    /**
     * Layers without which no code is sent to a process: `execute` then fails with `ERR_ISOLATE_UNSUPPORTED`, and its error names the layer and why
     * it does not hold. `namespaces` stands for the six of them. Default: none; a layer that the system does not have is left out.
     * @throws {TypeError} `ERR_INVALID_ARG`, from the constructor, for unknown names and for a layer that is `false` as well
     */
    require?: readonly (ConfinementLayerName | 'namespaces')[];
  }

  /** What `new SubprocessSandbox` takes. */
  interface SubprocessSandboxConfig {
    /**
     * Milliseconds until an execution's process is killed, at least 1. Everything counts: starting the process, pending tools.
     * Default 30,000.
     */
    timeout: number;
    /** MB that an execution may use, at least 8; see `IsolateOptions.memoryLimit`. Default 128. */
    memoryLimit: number;
    /** As `SandboxOptions.maxOutputSize`. Default: as many bytes as `memoryLimit`, and at least 67,108,864. */
    maxOutputSize?: number;
    /** How often one execution may call tools; a further call rejects in the guest. Default: no limit. */
    maxApiCalls?: number;
    /**
     * The process finds `PATH`, `NODE_ENV=sandbox` and, where it is set here, `TZ` in its environment and nothing else. Otherwise it finds what is in
     * `process.env`, without the variables that tell loaders and the C library what to load (`LD_*`, `DYLD_*`, `GLIBC_TUNABLES`,
     * …). Code sees nothing of either. Default true.
     */
    minimalEnv: boolean;
    /**
     * Processes that wait for the next execution, at most 64. They are started once an execution or `confinement()` has asked for one,
     * are shared by sandboxes of the same settings, whatever their timeouts up to a minute, and end after a minute of waiting. 64 wait at
     * the most for all sandboxes together: then those that have more of them make room, the oldest first. Default 1.
     */
    poolSize?: number;
    /** Which layers a process needs, and which it does without. */
    confinement?: SubprocessConfinement;
    /** Console calls, and lines that the process writes to its output, that are kept in `logs`; further ones are counted. Default 10,000. */
    maxLogEntries?: number;
    /** Characters that are kept of each, then `...`. Default 10,000. */
    maxLogLength?: number;
    /** Called for each console call that is kept, as it happens, without its mark. What it throws or rejects with is reported (`isolated-v8:unhandled-host-error`). */
    onLog?: (entry: SandboxLogEntry) => void;
    /** Gives the code what is named of the web, as `SandboxOptions.web` does. Default false. */
    web?: boolean | readonly WebName[];
    /** Whether there is `WebAssembly`, as `SandboxOptions.wasm`. Default true. */
    wasm?: boolean;
    /** Code may have TypeScript's types; see `SandboxOptions.typescript`. They are taken off in this process. Default false. */
    typescript?: boolean;
    /** ES modules that the code can import; see `SandboxOptions.modules`. They are sent with each execution. */
    modules?: Readonly<Record<string, string>>;
    /**
     * A heap that executions start from; see `SandboxOptions.snapshot`. Each process is sent it once, when it starts, and checks it again;
     * those that wait serve sandboxes of the same ExternalCopy only.
     */
    snapshot?: ExternalCopy<ArrayBuffer>;
  }

  /** Why an execution in a process failed. */
  interface SubprocessFailure extends SandboxFailure {
    /**
     * Of a limit or of the process itself: `ERR_ISOLATE_DEADLINE`; `ERR_ISOLATE_MEMORY`; `ERR_ISOLATE_DISPOSED` after
     * `terminate()`; `ERR_ISOLATE_ABORTED`; `ERR_ISOLATE_SYSTEM_CALL` where the process asked its kernel for what it may not have;
     * `ERR_ISOLATE_PROTOCOL` where it sent what it never sends; `ERR_ISOLATE_CRASH` where it ended by itself; `ERR_ISOLATE_TRANSFER` for a
     * result that cannot leave it, or that this host cannot have; `ERR_ISOLATE_LIMIT` where the system gave no process or the result is too large for this one,
     * `ERR_ISOLATE_UNSUPPORTED` where the executable or a required layer of confinement is missing. Absent for errors of the code.
     */
    code?: string;
    /** The signal that has ended the process, where it was not killed from here: `SIGSEGV`, … */
    signal?: string;
  }

  /** What `SubprocessSandbox.execute` resolves with. */
  interface SubprocessExecutionResult {
    /** A structured clone of what the code returned; null where it failed. */
    result: unknown;
    /**
     * `[log] `, `[warn] `, `[error] ` or `[debug] ` and JSON, of the one argument or of a list of all; `info` counts as `log`. What the process
     * itself writes has `[stdout] ` or `[stderr] ` before each line. See `maxLogEntries` and `maxLogLength`; at most 8 MB in all. They
     * are there also where the process was killed.
     */
    logs: string[];
    /** Console calls and lines that were not kept; absent where all were. */
    lostLogs?: number;
    /**
     * Why it failed; absent where it did not. `Execution terminated (timeout or resource limit)` where the process was killed, or
     * its memory was used up; `Process exited with code …` where it ended by itself, with 128 and the signal's number where a
     * signal did that.
     */
    error?: string;
    /** The same with more of it; present where `error` is. */
    failure?: SubprocessFailure;
    /**
     * Absent where nothing could begin. `cpuMs` is that of the whole process from when it was sent the code, as this process measures it. `heapPeak` is what
     * the process says, at most two times `memoryLimit`, and 0 where it could not tell.
     */
    usage?: SandboxUsage;
    /** The layers that confined the process; absent where nothing could begin. */
    confinement?: ConfinementLayerName[];
    /** Milliseconds, rounded. */
    duration: number;
  }

  /**
   * A sandbox for an agent's code whose executions are processes. On Linux; on macOS compiled, but not run by this project.
   */
  class SubprocessSandbox {
    /**
     * @throws {TypeError} `ERR_INVALID_ARG` where there is no such option, or one is of a wrong type or too small
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` on Windows
     */
    constructor(config?: Partial<SubprocessSandboxConfig> | null);

    /**
     * Runs code as the body of an async function, in strict mode, in a process that serves nothing else and is killed afterwards. Timers are
     * there. The prototypes of `Object`, `Array`, `String`, `Number`, `Boolean`, `Function`, `RegExp`, `Date`, `Error`, `Map`, `Set` and
     * `Promise` are frozen; what inherits from them can have properties of its own by assignment all the same, except `constructor` from
     * `Array`, `Promise` and `RegExp`, `then`, `exec`, and methods of `String`, `Number` and `Boolean`. Nothing that the code or its process does rejects: it is in `error`. Executions may overlap.
     * @param tools as of `IsolatedVMSandbox`; a tool `a` without a namespace is `tools.a(params)` as well
     * @param toolExecutor called with the tool's `name` and with params that went through JSON, `{}` where there are none; that takes
     *   8 MB at most, and a sixteenth of `memoryLimit` (`RangeError` in the guest), and waits until others have been answered. The
     *   call in the guest resolves with a structured clone of its result (or what JSON makes of it where it cannot be cloned)
     *   or rejects with an `Error` of its message.
     * @throws {TypeError} `ERR_INVALID_ARG`, as a rejection, for arguments of wrong types
     */
    execute(
      code: string, tools: IsolatedVMTool[], toolExecutor: (toolName: string, params: any) => Promise<unknown>,
      options?: SignalOptions,
    ): Promise<SubprocessExecutionResult>;

    /** Kills the processes of what runs. Its executions resolve with an error. Later ones are not affected. */
    terminate(): void;

    /** Whether an execution has not ended yet. */
    isRunning(): boolean;

    /**
     * What confines the processes of this sandbox, as one of them tells before it runs any code; one is started where none waits.
     * @throws {Error} as a rejection, with the codes of `SubprocessFailure`, where there can be none; `ERR_ISOLATE_DEADLINE` where the process has not told within 5 s
     */
    confinement(): Promise<ConfinementLayer[]>;

    /** The same as `terminate()`. */
    [Symbol.dispose](): void;

    /** `terminate()`; resolves when the executions have ended. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /** The same as `new SubprocessSandbox(config)`. */
  function createSubprocessSandbox(config?: Partial<SubprocessSandboxConfig> | null): SubprocessSandbox;

  /** A plugin, as its author describes it. The sandbox reads `id`, `permissions` and `limits`, once. */
  interface IPluginManifest {
    /** Its name towards the sandbox: the prefix of its keys in the cache, and what its isolates share their storage by. */
    id: string;
    /** For people, like all that follows up to `dependencies`. Not read here. */
    name: string;
    version: string;
    description: string;
    author: string;
    license: string;
    entrypoint: string;
    dependencies?: string[];
    /** What the plugin may do; what is absent it may not. */
    permissions: {
      /**
       * Domains, without scheme, port or wildcard, that URLs in the arguments of host methods may lead to. Their subdomains are
       * included.
       */
      network?: { allowedDomains: string[] };
      /**
       * Bytes that the plugin may keep in the cache: keys, with the prefix that they get, and values. A value that is not a string counts
       * as for `SandboxOptions.maxOutputSize`, with keys whose value is `undefined`. Each entry beyond 1,000 counts 256 bytes more, which
       * the account of it takes.
       */
      storage?: { maxSize: number };
      /** Names of events that the plugin may listen to and emit. */
      hooks?: string[];
    };
    /** An addition. Unlike other members of a manifest, limits that are not known are refused. */
    limits?: {
      /** MB of heap, at least 8; see `IsolateOptions.memoryLimit`. Default 128. */
      memoryMB?: number;
      /** Milliseconds that an execution or the handler of an event may run. Default 5,000. */
      cpuMs?: number;
    };
  }

  /** A logger. The sandbox calls what is there of it. What it throws or rejects with is reported (`isolated-v8:unhandled-host-error`). */
  interface ILogger {
    /** Details. The sandbox itself says here that code was executed; what it says is a message and an object of fields. */
    debug(message: string, ...rest: any[]): void;
    /** The sandbox: an isolate was made or disposed. */
    info(message: string, ...rest: any[]): void;
    /** The sandbox: a plugin was refused something, uses much memory, or brings about too many entries. */
    warn(message: string, ...rest: any[]): void;
    /** The sandbox: a handler, a timer or an isolate of a plugin has failed; the error comes before the fields. */
    error(message: string, ...rest: any[]): void;
    /** A logger that adds these fields to what it is told. */
    child?(fields: Record<string, unknown>): ILogger;
  }

  /**
   * A cache, synchronous or not. Plugins see those of its methods that are named here, and your cache gets the arguments that are named
   * here and no others. A key must be a string of at most 65,536 characters, without control characters and lone surrogates. Other
   * arguments of a plugin throw `ERR_INVALID_ARG`.
   */
  interface ICacheProvider {
    /** What is kept under the key. */
    get(key: string): any;
    /**
     * Keeps a value, as far as the manifest's `maxSize` allows.
     * @param ttl seconds, or an object of numbers, which counts as no limit; other members of the object do not reach the cache.
     *   Bytes of what has expired are given back where there is need of them and the cache says (`exists`, `has` or `get`) that it is gone
     */
    set(key: string, value: any, ttl?: number | { ttl?: number; EX?: number; PX?: number; EXAT?: number; PXAT?: number; maxAge?: number }): any;
    /** Whether there is something under the key. */
    has?(key: string): any;
    /** The same, as other caches call it; numbers count as well. */
    exists?(key: string): any;
    /** Forgets what is kept under the key, whose bytes the plugin has back. */
    delete?(key: string): any;
    /** The same, as other caches call it. */
    del?(key: string): any;
    /**
     * Gives what is kept a time to live from now on.
     * @param seconds see `set`
     */
    expire?(key: string, seconds: number): any;
    /** How long it has left to live, as the cache counts that. */
    ttl?(key: string): any;
  }

  /** An event bus such as an `EventEmitter`. Plugins see those of its methods that are named here. */
  interface IPluginEventBus {
    /** Has the handler called for each such event. */
    on(event: string, handler: (...args: any[]) => any): any;
    /** The same for the next one only. Plugins have it also where the bus has not. */
    once?(event: string, handler: (...args: any[]) => any): any;
    /** Takes a handler back, of a plugin its own. Where it is missing, `removeListener` is called when an isolate ends. */
    off?(event: string, handler: (...args: any[]) => any): any;
    /**
     * Calls the handlers of an event. Those of plugins get one copy of the arguments each, made once for an `emit`. At most 1,000 deliveries
     * wait for a plugin, with 64 MB of arguments; others are dropped with the warning `Plugin event dropped`.
     */
    emit?(event: string, ...args: any[]): any;
    /** The same; resolves when the handlers have. */
    emitAsync?(event: string, ...args: any[]): Promise<any>;
    /** How many handlers an event has, those of the host and of other plugins included. */
    listenerCount?(event: string): number;
    /** Events that have handlers; plugins see those that their manifest names. */
    eventNames?(): Iterable<string | symbol>;
    /** Takes all handlers back, of a plugin its own, one by one. */
    removeAllListeners?(event?: string): any;
  }

  /**
   * What the host lends to a plugin. Inside, `context` is a frozen object of functions that call out. The host's side checks the
   * manifest before a method is called; what is refused throws in the plugin (an `Error` whose `name` is
   * `SandboxViolationError`) and is logged. Methods that return promises do so inside, the others look synchronous. Arguments
   * and results are structured clones; a function that a method returns, such as the end of a timer, can be called. Members
   * beside those named here may be functions and objects of functions, those of their classes included: whatever a URL or a host in
   * their arguments leads to must be permitted, and your function gets it in normalized form, such as `https://example.org/` for
   * `HTTPS://Example.org`. The global `context` is each execution's own, also in what it goes on with by promises and
   * timers while others run; in handlers of events it is that of the execution which has registered them. One that a plugin keeps in a
   * variable works as long as it is used or has listeners, and for 256 further executions. Names that start with `_`, `constructor`, `prototype` and `then` are left out.
   */
  interface SandboxContext {
    /** `trace`, `debug`, `info`, `warn`, `error` and `fatal` of it. */
    logger: ILogger;
    /** Needs `storage`. Keys are strings and get the plugin's id and a colon as a prefix. */
    cache: ICacheProvider;
    /** All of its methods. */
    metrics: object;
    /** Copied, without functions. */
    config: Record<string, unknown>;
    /** Inside, this is the manifest's list: that decides. */
    allowedDomains: string[];
    /**
     * Needs the event's name in `hooks`. Handlers of the plugin are called after the host has emitted, with clones and under the
     * plugin's limits; what they throw is logged; `emitAsync` of a bus that waits for its listeners waits for them. They are
     * gone with their isolate. A plugin has 1,000 at most, and 1,000 events wait for it at most. Without a name,
     * `removeAllListeners` removes the plugin's own.
     */
    eventBus?: IPluginEventBus;
  }

  /** What `createPluginFetch` permits. */
  interface PluginFetchOptions {
    /** Domains that requests and redirects may lead to, with their subdomains, as in a manifest. */
    allowedDomains: string[];
    /**
     * Domains, with their subdomains, whose names may have addresses that are not public: of this machine, of private networks, of links.
     * `localhost`, and addresses themselves, need only be in `allowedDomains`. Default none.
     */
    privateDomains?: string[];
    /** Redirects that a request follows, from 0 to 20. Default 5. */
    maxRedirects?: number;
    /** Bytes of a request's body and of a response's. Default 10 MB. */
    maxBodySize?: number;
    /** Milliseconds that a request may take with its redirects, and with waiting: a function makes 64 requests at a time. Default 30,000. */
    timeout?: number;
    /** Certificates of authorities to trust instead of the host's own, as `tls.createSecureContext` takes them. */
    ca?: string | Uint8Array | (string | Uint8Array)[];
  }

  /** What a plugin may ask of a request. */
  interface PluginFetchInit {
    /** Default `'GET'`. */
    method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
    /** At most 100, of 16,384 characters in all, without those of the connection, such as `host`, and `accept-encoding`. */
    headers?: Record<string, string>;
    body?: string | Uint8Array;
    /** `'manual'` gives a redirect as the response, `'error'` fails for it. Default `'follow'`. */
    redirect?: 'follow' | 'manual' | 'error';
    /** What `body` of the response is. Default `'text'`, which is decoded from UTF-8. */
    responseType?: 'text' | 'bytes';
  }

  /** A response, as data. */
  interface PluginFetchResponse {
    /** The URL that has answered, after redirects. */
    url: string;
    status: number;
    statusText: string;
    /** The status is 200 to 299. */
    ok: boolean;
    redirected: boolean;
    /** By names in lower case. */
    headers: Record<string, string>;
    body: string | Uint8Array;
  }

  /**
   * Makes a function that can be put into a plugin's context, such as `{ fetch: createPluginFetch(manifest.permissions.network) }`. It follows redirects to
   * permitted hosts only, never to a URL with a user name and not from `https:` to `http:`, and leaves `authorization` and `cookie` out where
   * the origin changes. A name with an address that is not public is refused, and the connection is made to the addresses that were checked, so that a name that changes its
   * address meanwhile leads nowhere else. Each request has a connection of its own, without a proxy.
   * @throws {TypeError} `ERR_INVALID_ARG` for wrong options. What the function is called with fails with that, too; what it may not reach with
   *   `ERR_ISOLATE_PERMISSION`; a response that is too large with `ERR_ISOLATE_LIMIT`, and one that is late with `ERR_ISOLATE_DEADLINE`
   */
  function createPluginFetch(options: PluginFetchOptions): (url: string, init?: PluginFetchInit | null) => Promise<PluginFetchResponse>;

  /** An isolate of a plugin. It ends with its scope by `using` and `await using`. */
  interface SandboxIsolate {
    /** Unique in its sandbox. */
    readonly id: string;
    /** The manifest's `id`. */
    readonly pluginId: string;
    /** MB. */
    readonly memoryLimit: number;
    /** Milliseconds. */
    readonly cpuLimit: number;
    /** As `dispose(isolate)`. */
    [Symbol.dispose](): void;
    /** The same, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
  }

  /** What `IsolatedVmSandbox.executeInSandbox` takes beside code and context. */
  interface PluginExecutionOptions extends SignalOptions {
    /** Runs the code in an isolate of its own, which is disposed afterwards. Default false. */
    fresh?: boolean;
    /** Milliseconds until the execution ends, whatever it waits for. Default 30,000, or `cpuLimit` if that is more. */
    deadline?: number;
    /**
     * Hears, before the execution settles and once, what it has taken, also where it failed. `cpuMs` and `heapPeak` are the isolate's while it lasted, with
     * what else ran there; `hostCalls` are the execution's own calls of methods of the host. What it throws or rejects with is
     * reported (`isolated-v8:unhandled-host-error`).
     */
    onUsage?: (usage: SandboxUsage) => void;
  }

  /** A console call of a plugin, as `onLog` hears of it. */
  interface PluginLogEntry extends SandboxLogEntry {
    /** The manifest's `id`. */
    pluginId: string;
    /** The `id` of the isolate. */
    isolateId: string;
  }

  /** What `new IsolatedVmSandbox` takes beside its logger. */
  interface PluginSandboxOptions {
    /**
     * Gives plugins `setTimeout`, `setInterval`, `setImmediate`, what clears them, and `queueMicrotask`. At most 1,000 may be
     * pending in an isolate (`RangeError`), and delays are of at least 1 ms. Timers go on when the execution, or the handler of an
     * event, that has set them has ended, until its deadline has passed, and count for its processor time. What a callback throws
     * goes to the logger. Default false.
     */
    timers?: boolean;
    /** As `SandboxOptions.maxOutputSize`, of each execution. Default: as many bytes as the plugin's memory limit, and at least 67,108,864. */
    maxOutputSize?: number;
    /**
     * How often an execution may call methods of its host, with what it goes on with by promises and timers, through whosever `context`; a
     * further call throws in the plugin. The delivery of an event to a handler counts apart, unless the plugin itself has emitted it while
     * the host's `emit` ran. Where calls are limited, what goes on after 1,000 further executions and events cannot call any more.
     * Default: no limit.
     */
    maxApiCalls?: number;
    /** Gives plugins what is named of the web, as `SandboxOptions.web` does; `performance.now()` counts from when the isolate was made. */
    web?: boolean | readonly WebName[];
    /** Whether there is `WebAssembly`, as `SandboxOptions.wasm`. Default true. */
    wasm?: boolean;
    /**
     * ES modules that plugins can import, as with `SandboxOptions.modules`. They keep their state as long as the isolate does, except those
     * that a limit has stopped. Code that is no script, but a module, is run as one, and what comes out is its default export, or what
     * that gives where it is a function.
     */
    modules?: Readonly<Record<string, string>>;
    /**
     * Plugins may have TypeScript's types; see `SandboxOptions.typescript`. Those of `modules` are taken off once, when the first isolate is
     * made. Default false.
     */
    typescript?: boolean;
    /**
     * Console calls that are passed on for each execution or event; of further ones the logger is told once, as a warning. Default 10,000,
     * which the logger gets at most.
     */
    maxLogEntries?: number;
    /** Characters of a text that are passed on, then `...`, and bytes of any other value, instead of which its size is told. Default 10,000. */
    maxLogLength?: number;
    /**
     * Called for each console call that is passed on, as it happens, as one text, beside the logger, which gets the values. What it throws or
     * rejects with is reported (`isolated-v8:unhandled-host-error`). A plugin that writes faster has to wait.
     */
    onLog?: (entry: PluginLogEntry) => void;
    /** Isolates that wait for the next plugin, or execution with `fresh`; see `SandboxOptions.warm`. Default 1. */
    warm?: number;
    /** A heap that isolates of plugins start from; see `SandboxOptions.snapshot`. */
    snapshot?: ExternalCopy<ArrayBuffer>;
  }

  /** A sandbox for plugins. */
  class IsolatedVmSandbox {
    /**
     * @param logger its `child({ component: 'IsolatedVmSandbox' })` is used where there is that method
     * @throws {TypeError} `ERR_INVALID_ARG` where there is no such option, or one is of a wrong type
     */
    constructor(logger?: Partial<ILogger> | null, options?: PluginSandboxOptions | null);

    /**
     * Makes an isolate for a plugin. All isolates of one plugin share its storage quota, also with those that have ended.
     * @throws {TypeError} `ERR_INVALID_ARG`, as a rejection, for a manifest that is none, or has a limit that there is not
     */
    createIsolate(manifest: Pick<IPluginManifest, 'id'> & Partial<IPluginManifest>): Promise<SandboxIsolate>;

    /**
     * Runs a script. It sees `context`, `pluginId`, `console`, which goes to the logger and to `onLog`, and what
     * earlier executions in this isolate have left. Its last value, or what that promises, comes out as a structured clone.
     * The isolate goes on after a failure, except where its memory was full.
     * @throws {NotFoundError} as all of these as a rejection: the isolate has ended, or never was
     * @throws {SandboxViolationError} `CPU` where the plugin ran for longer than `cpuLimit`, what it goes on with by promises
     *   included, or has passed `deadline`; `MEMORY`; any other where it did not catch what it was refused
     * @throws {PluginError} `EXECUTE` for all other failures of the plugin, also when it is disposed meanwhile. Both have `failure`: what
     *   it failed of, and where
     */
    executeInSandbox<T = unknown>(
      isolate: SandboxIsolate, code: string, context: Partial<SandboxContext> | (Partial<SandboxContext> & Record<string, unknown>),
      options?: PluginExecutionOptions | null,
    ): Promise<T>;

    /** Ends an isolate, and with it what runs there. Nothing happens for one that has ended. */
    dispose(isolate: SandboxIsolate): void;
    /** Ends all isolates. */
    disposeAll(): void;
    /** As `disposeAll()`. */
    [Symbol.dispose](): void;
    /** The same, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;

    /**
     * Bytes of heap in use, as of the end of the last execution or of a garbage collection since, or what `updateMemoryUsage`
     * said after that; 0 for an isolate that has ended.
     */
    getMemoryUsage(isolate: SandboxIsolate): number;
    /**
     * Says what an isolate takes, from now until its next execution has ended. At its limit or above, executions are refused;
     * above 90 % the logger is told, as it is of the heap itself.
     */
    updateMemoryUsage(isolateId: string, memoryMB: number): void;

    /** How many isolates have been made and not ended. */
    getActiveIsolateCount(): number;
    /** Those, as a fresh array. */
    getActiveIsolates(): readonly SandboxIsolate[];
  }

  /** `code` is `ERR_ISOLATE_NOT_FOUND`. */
  class NotFoundError extends Error {
    constructor(resourceType: string, resourceId: string);
    readonly code: ErrorCode;
    /** What there is none of; `Isolate` where a sandbox raises it. */
    readonly resourceType: string;
    /** Which one was asked for. */
    readonly resourceId: string;
  }

  /** `code` is `ERR_ISOLATE_PLUGIN`. */
  class PluginError extends Error {
    constructor(pluginId: string, operation: string, message: string, cause?: unknown);
    readonly code: ErrorCode;
    /** The manifest's `id`. */
    readonly pluginId: string;
    /** `EXECUTE` where a sandbox raises it. */
    readonly operation: string;
    /**
     * What the plugin's code failed of, and where, with the lines around, where a sandbox raises it: name, message and stack of the error as
     * the plugin saw it, and `code` where a limit or this library is the reason. The code of an isolate's first execution
     * is called `sandbox.js` in stacks, that of the next one `sandbox.js#2`, and so on.
     */
    readonly failure?: SandboxFailure;
  }

  /**
   * `code` is `ERR_ISOLATE_TIMEOUT` for `CPU`, `ERR_ISOLATE_MEMORY` for `MEMORY`, `ERR_ISOLATE_LIMIT` for `STORAGE` and
   * `ERR_ISOLATE_PERMISSION` for `NETWORK` and `HOOK`.
   */
  class SandboxViolationError extends Error {
    constructor(pluginId: string, violationType: SandboxViolationType, message: string, cause?: unknown);
    readonly code: ErrorCode;
    /** The manifest's `id`. */
    readonly pluginId: string;
    /** Which limit or permission. */
    readonly violationType: SandboxViolationType;
    /** The same as `violationType`. */
    readonly kind: SandboxViolationType;
    /** As that of `PluginError`, where an execution has failed; its `message` is the violation's. */
    readonly failure?: SandboxFailure;
  }

  /** What a plugin has gone beyond: time or memory, or what its manifest permits of events, network and storage. */
  type SandboxViolationType = 'CPU' | 'HOOK' | 'MEMORY' | 'NETWORK' | 'STORAGE';

  /** Counts over the whole process, worker threads included, since it began. Snapshots being made count as isolates as well. */
  interface EngineStats {
    /** Isolates that were made. */
    made: number;
    /** Isolates that were made and have not ended: those that nothing refers to any more until their memory is free again. */
    alive: number;
    /** Of those alive, isolates that have no thread at the moment because nothing runs in them. */
    idle: number;
    /**
     * Isolates that wait for executions in sandboxes, or to be made (`warm` of their options): they count as made, and as anything else, when
     * one gets them. Those that take types off TypeScript, of which one waits for a minute, are counted here and nowhere else.
     */
    spare: number;
    /** Isolates that have ended: their memory is free again, or lost. The sum of `endings`. */
    ended: number;
    /** How they have ended. */
    endings: {
      /** By `dispose()`, because the sandbox that they were made for was done, or with the isolate that they were made in. */
      disposed: number;
      /** Nothing referred to them any more, and the host's garbage collector has noticed. */
      collected: number;
      /** By their `memoryLimit`. */
      outOfMemory: number;
      /** The worker thread that had made them has ended. */
      environmentGone: number;
      /** They did not stop when they were told to (`ERR_ISOLATE_UNRESPONSIVE`). */
      givenUp: number;
    };
    /** Threads that run guests, or could; lost ones included. V8's own helpers and the clock are not counted. */
    threads: number;
    /**
     * Threads that guests hold which do not stop, or that V8 has run out of memory on. They stay until the process ends, or until
     * the guest stops after all.
     */
    lostThreads: number;
    /**
     * Of those, threads that still take processor time, at the lowest priority. On Linux a lost thread is suspended as soon as it is
     * where it holds no lock: in code compiled from JavaScript or in one of V8's built-in functions. Some loops never are.
     */
    lostRunning: number;
    /**
     * Bytes that the isolates of lost threads take at this moment: heaps, buffers, and what V8 has beside them. Elsewhere than on
     * Linux heaps count as they were at their last garbage collection, and what V8 has beside them does not count.
     */
    lostBytes: number;
  }

  /**
   * What has become of all isolates, and what they cost. Cheap, and never waits for a guest. An addition to isolated-vm, for
   * hosts only.
   */
  function engineStats(): EngineStats;

  /** What `configureEngine` takes. */
  interface EngineOptions {
    /**
     * Milliseconds that a guest may take to stop when its limit has passed or its isolate is disposed, 10 to 600,000. Then its
     * isolate is given up (`ERR_ISOLATE_UNRESPONSIVE`). Where the machine leaves the guest's thread less than a quarter of a
     * processor, up to four times as long. Default 1,000.
     */
    terminationGrace?: number | null;
    /** Milliseconds: `timeout` of every call that is not given one; 0 for none. Default 0. */
    timeout?: number | null;
    /** Milliseconds: `deadline` of every call that is not given one; 0 for none. Default 0. */
    deadline?: number | null;
    /**
     * Megabytes that lost isolates may take together (`lostBytes` of `engineStats`), 16 to 1,073,741,824. While they take more, no
     * further isolates are made in this process: calls that need one fail with `ERR_ISOLATE_LIMIT`. Default half of the machine's memory, or of the
     * limit of the container or process if that is less.
     */
    lostMemoryLimit?: number | null;
  }

  /**
   * Sets what holds for all isolates of the process, in worker threads too, where calls say nothing else; what is left out stays as
   * it is. Calls that have begun keep their limits. The sandboxes have limits of their own. An addition to isolated-vm, for
   * hosts only.
   * @returns what holds now: milliseconds, 0 for none, and megabytes
   * @throws TypeError `ERR_INVALID_ARG` for a value out of range, and for a setting that there is not
   */
  function configureEngine(options?: EngineOptions | null): { terminationGrace: number; timeout: number; deadline: number; lostMemoryLimit: number };

  /** For calls that compile: a compilation cache to use, or to make. */
  type CachedDataOptions = {
    /**
     * A compilation cache from an earlier `produceCachedData`, of the same code, which a SHA-256 tells; the filename and the offsets may
     * differ. Any other is rejected, and so is one from code inside an isolate. V8 runs what is in it: take no bytes from those whose
     * code you would not run in the host.
     */
    cachedData?: ExternalCopy<ArrayBuffer>;
    /** Writes a compilation cache onto the script, as `cachedData`, unless a given one was accepted. Default false. */
    produceCachedData?: boolean;
  };

  /** For calls after which what they were made on is not needed any more. */
  type ReleaseOptions = {
    /** Calls `release()` as well. Default false. */
    release?: boolean;
  };

  /** For calls that run code: how long it may take. */
  type RunOptions = SignalOptions & {
    /**
     * Milliseconds that the code may run, a 32-bit integer; 0 for any time. Waiting for the host does not count. In a synchronous call
     * reading the result may take as long again, or 250 ms if that is longer. Default: that of
     * `configureEngine`, which has none unless it is told. Afterwards the call fails with `ERR_ISOLATE_TIMEOUT`. With isolated-vm,
     * calls that run accessors or proxies only (`get`, `set`, `delete` and `copy` of a Reference) have none.
     */
    timeout?: number;
    /**
     * Milliseconds until the call ends, whatever it is waiting for, a 32-bit integer; 0 for any time. Reading the result counts. Default: that of
     * `configureEngine`, which has none unless it is told. Afterwards the call fails with `ERR_ISOLATE_DEADLINE`. Not part of
     * isolated-vm.
     */
    deadline?: number;
  };

  /** Not part of isolated-vm. */
  type SignalOptions = {
    /**
     * Aborts an asynchronous call: it rejects with the signal's `reason` at once, code that runs for it is stopped, and code that
     * has not begun does not begin. The isolate goes on. What the call has brought about already goes on, too, such as code
     * after an `await`: `dispose()` ends that. A call with a signal does not keep the process alive for longer than one without.
     * Hosts only; synchronous and `…Ignored` calls refuse it.
     */
    signal?: AbortSignalLike | null;
  };

  /** An `AbortSignal` of any realm or package. One that throws when it is read or listened to counts as aborted. */
  interface AbortSignalLike {
    /** Whether it has happened already. */
    readonly aborted: boolean;
    /** What the call rejects with. */
    readonly reason?: unknown;
    addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
    removeEventListener(type: 'abort', listener: () => void): void;
  }

  /** Where code comes from, for stacks and debuggers. */
  type ScriptOrigin = {
    /** What stacks call the code; best a URL. Default `<isolated-vm>`. */
    filename?: string;
    /** Added to columns of the first line. Default 0. */
    columnOffset?: number;
    /** Added to line numbers. Default 0. */
    lineOffset?: number;
  };

  /** What produced or consumed a compilation cache. */
  type CachedDataResult = {
    /** The cache, where one was asked for and made. */
    cachedData?: ExternalCopy<ArrayBuffer>;
    /** Declared by isolated-vm; scripts do not have it. */
    producedCacheData?: boolean;
  };

  /** What `Isolate.compileScript` takes. */
  type ScriptInfo = CachedDataOptions & ScriptOrigin;
  /** A script of a snapshot. */
  type SnapshotScriptInfo = ScriptOrigin & {
    /** Its source. */
    code: string;
  };

  /** Limits of the scripts that `Isolate.createSnapshot` runs. */
  interface SnapshotOptions {
    /** What the scripts may use, in MB: of heap, and again as much of buffers; 8 to 512, fractions are cut off. Default 128. */
    memoryLimit?: number | null;
    /** Milliseconds until making the snapshot is given up. Default (also for 0) 30,000. */
    deadline?: number | null;
  }

  /** How a value crosses. At most one of `copy`, `externalCopy` and `reference`. */
  type TransferOptions = {
    /**
     * As a promise: of what the value, if it is a promise, resolves to. What is none makes a promise that has settled already, with
     * the value of that moment, or rejected with why it cannot be transferred. Goes with the others. Default false.
     */
    promise?: boolean;
    /** As a structured clone. Default false. */
    copy?: boolean;
    /** As an `ExternalCopy`. Default false. */
    externalCopy?: boolean;
    /** As a `Reference`. Default false. */
    reference?: boolean;
  } & (
    | { copy?: true; externalCopy?: never; reference?: never }
    | { copy?: never; externalCopy?: true; reference?: never }
    | { copy?: never; externalCopy?: never; reference?: true }
  );

  /** How arguments and a result cross. */
  type TransferOptionsBidirectional = {
    /** For values that go in. */
    arguments?: TransferOptions;
    /** For the value that comes out. */
    result?: TransferOptions;
  };

  // What follows makes results and arguments of the above; programs may name it to type what they wrap around.
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

/** As TypeScript's `esnext.disposable` has it, for programs that are compiled without. */
declare global { interface SymbolConstructor { readonly dispose: unique symbol; readonly asyncDispose: unique symbol } }

export = ivm;

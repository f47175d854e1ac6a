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
 * has none; of an error only class, message, stack and name survive.
 *
 * The classes are those of isolated-vm 7, with its names, defaults and messages. Beside them are ready-made sandboxes:
 * `createSandbox` and `IsolatedVMSandbox`.
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
     *   that
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
    compileScript(code: string, options?: ScriptInfo): Promise<Script>;
    /** As `compileScript`; the calling thread waits. */
    compileScriptSync(code: string, options?: ScriptInfo): Script;

    /**
     * Compiles an ES module.
     * @throws {SyntaxError} whose message ends in ` [file:line:column]`
     */
    compileModule(code: string, options?: CompileModuleOptions): Promise<Module>;
    /** As `compileModule`; the calling thread waits. */
    compileModuleSync(code: string, options?: CompileModuleOptions): Module;

    /** Makes a context: a global object with its own built-ins. */
    createContext(options?: ContextOptions): Promise<Context>;
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

    /** Figures of the isolate's heap, in bytes. */
    getHeapStatistics(): Promise<HeapStatistics & HeapDetails>;
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
    stopCpuProfiler(title: string): Promise<ThreadCpuProfile[]>;
  }

  type IsolateOptions = {
    /**
     * What the isolate may use, in MB (2^20 bytes); at least 8, fractions are cut off. Default 128. It bounds V8's heap: beyond
     * it the isolate is disposed and what runs fails with `ERR_ISOLATE_MEMORY`. `ArrayBuffer`s have a budget of the same
     * size beside it: beyond that the guest gets a `RangeError`. While it is being stopped a guest may use more for a moment.
     */
    memoryLimit?: number;
    /**
     * Lets inspector sessions be opened. For debugging: what guests print is kept for sessions to come, up to 1,000 messages,
     * outside the memory limit. Default false.
     */
    inspector?: boolean;
    /** What contexts of the isolate start from, made by `createSnapshot`. Isolates share its bytes; it may be released. */
    snapshot?: ExternalCopy<ArrayBuffer>;
    /**
     * Called when the isolate had to be given up: it did not stop within a second of being told to, or V8 ran out of memory in
     * the middle of an operation. Its thread is lost until the process ends, and its memory with it.
     */
    onCatastrophicError?: (message: string) => void;
  };

  type ContextOptions = {
    /** Shows the context to inspector sessions; its isolate must have been made with the option too. Default false. */
    inspector?: boolean;
  };

  /** Bytes, unless the name says otherwise. */
  type HeapStatistics = {
    total_heap_size: number;
    total_heap_size_executable: number;
    total_physical_size: number;
    total_available_size: number;
    used_heap_size: number;
    heap_size_limit: number;
    malloced_memory: number;
    peak_malloced_memory: number;
    /** 0 or 1. */
    does_zap_garbage: number;
    /** Memory outside V8's heap that counts against the isolate's limit: buffers above all. */
    externally_allocated_size: number;
  };

  /** Figures that isolated-vm does not give. */
  type HeapDetails = {
    total_global_handles_size: number;
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
  }

  type ContextEvalOptions = RunOptions & ScriptOrigin & CachedDataOptions & TransferOptions;
  type ContextEvalClosureOptions = RunOptions & ScriptOrigin & CachedDataOptions & TransferOptionsBidirectional;

  /** Compiled code that can run in any context of its isolate. Instances are not frozen. */
  class Script {
    private constructor();

    /** With `produceCachedData`: the compilation cache of this script. */
    cachedData?: ExternalCopy<ArrayBuffer>;
    /** With `cachedData`: whether V8 refused the cache. */
    cachedDataRejected?: boolean;

    /** Lets go of the compiled code. Repeating it does nothing. */
    release(): void;

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
    /** With `cachedData`: whether V8 refused the cache. */
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
    instantiate(context: Context, resolveCallback: ModuleResolver): Promise<void>;
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
  }

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
    /** Gets what the inspector says of itself. What it throws is ignored. */
    onNotification: (message: string) => void;
    /** Gets the answer to the message with the `id`. What it throws is ignored. */
    onResponse: (callId: number, message: string) => void;
  };

  /** The profile of one run. */
  type ThreadCpuProfile = {
    /** The number that the system gives the thread. */
    threadId: number;
    profile: CpuProfile;
  };

  /** Times are in microseconds, of a clock that starts anywhere. */
  type CpuProfile = {
    startTime: number;
    endTime: number;
    /** Ids of nodes. */
    samples: number[];
    /** When each sample was taken, from `startTime` on, as isolated-vm has it. In `.cpuprofile` files: since the one before. */
    timeDeltas: number[];
    nodes: {
      id: number;
      hitCount: number;
      /** Why V8 does not optimize the function. */
      bailoutReason?: string;
      /** Ids of nodes. */
      children: number[];
      callFrame: {
        functionName: string;
        url: string;
        scriptId: number;
        /** From 1; 0 for what is in no script. */
        lineNumber: number;
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
    copy(): Promise<T>;
    /** As `copy`; the calling thread waits. */
    copySync(): T;

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

    /**
     * Deletes a property.
     * @throws {TypeError} `Delete failed`, `Object is or has proxy`, `Reference is not an object`
     */
    delete(property: keyof T): Promise<void>;
    /** As `delete`; nobody hears whether it worked. */
    deleteIgnored(property: keyof T): void;
    /** As `delete`; the calling thread waits. */
    deleteSync(property: keyof T): void;

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
    set<Options extends TransferOptions = {}, Key extends keyof T = keyof T>(
      property: Key, value: ArgumentType<Options, T[Key]>, options?: Options,
    ): Promise<void>;
    /** As `set`; nobody hears whether it worked. */
    setIgnored<Options extends TransferOptions = {}, Key extends keyof T = keyof T>(
      property: Key, value: ArgumentType<Options, T[Key]>, options?: Options,
    ): void;
    /** As `set`; the calling thread waits. */
    setSync<Options extends TransferOptions = {}, Key extends keyof T = keyof T>(
      property: Key, value: ArgumentType<Options, T[Key]>, options?: Options,
    ): void;

    /**
     * Calls the value. A result that is not transferable arrives as a Reference. The receiver must be transferable; transfer
     * options do not apply to it.
     * @throws {TypeError} `Reference is not a function`
     */
    apply<Options extends ReferenceApplyOptions = {}>(
      receiver?: ApplyReceiver<T>, args?: ArgumentsTypeBidirectional<Options, ApplyArguments<T>> | null, options?: Options,
    ): Promise<Awaited<ResultTypeBidirectionalSync<Options & FallbackReference, ApplyResult<T>>>>;
    /** As `apply`; nobody hears of the result, nor of what the function throws. */
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

  type ReferenceGetOptions = TransferOptions & {
    /** Lets getters run. Default false. */
    accessors?: boolean;
  };
  type ReferenceApplyOptions = RunOptions & TransferOptionsBidirectional;

  /** A copy of a value outside any heap, to be copied into any isolate any number of times. */
  class ExternalCopy<T = any> {
    /**
     * Copies the value by the rules of structured clone; objects of this module may be anywhere inside. SharedArrayBuffers
     * are shared, not copied, unless they can grow. A `Buffer`, and any view of a buffer of 8 KB or more, takes only its own bytes along: the rest may
     * belong to others. Other views bring their whole buffer.
     * @throws {TypeError} `ERR_ISOLATE_TRANSFER`: `… could not be cloned.`, `Unsupported type`
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
  }

  /** What `ExternalCopy.copyInto()` returns. */
  class Copy<T> {
    private constructor();
    private readonly copied: T;
  }

  type ExternalCopyOptions = {
    /** ArrayBuffers to move into the copy: they are empty afterwards. */
    transferList?: any[];
    /** Moves the value itself, an ArrayBuffer or a view, into the copy. Default false. */
    transferOut?: boolean;
  };

  type ExternalCopyCopyOptions = ReleaseOptions & {
    /** Moves buffers out of the copy instead of copying them: it is of no use afterwards. Default false. */
    transferIn?: boolean;
  };

  /**
   * A function on its way to other isolates, where it arrives as a plain function: arguments and results are copied. Functions
   * passed as they are become synchronous callbacks.
   */
  class Callback<T extends (...args: any[]) => any = any> {
    constructor(value: T, options?: CallbackOptions);
    private readonly called: T;
  }

  /** At most one of them. */
  type CallbackOptions = {
    /** The guest gets a promise and goes on. */
    async?: boolean;
    /** The guest gets `undefined` and goes on; nobody hears of the result. */
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
    constructor(filename: string);
    create(context: Context): Promise<Reference<any>>;
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
    /** Bytes of UTF-8 that the result may take as JSON. A larger one is an error that names both sizes. Default 1,048,576. */
    maxOutputSize?: number;
    /** How often one execution may call `api.request`; a further call throws in the guest. Default 50. */
    maxApiCalls?: number;
    /**
     * MB that the guest may use, at least 8; see `IsolateOptions.memoryLimit`. Default: the environment variable
     * `SANDBOX_MEMORY_MB` where it is at least 8, else 32.
     */
    memoryLimit?: number;
    /** Gives the code `setTimeout`, `setInterval`, `setImmediate`, what clears them, and `queueMicrotask`. Default false. */
    timers?: boolean;
  }

  /** What `Sandbox.execute` resolves with. */
  interface SandboxResult {
    /** A structured clone of what the code gave; null where it failed. */
    result: unknown;
    /** Why it failed; absent where it did not. */
    error?: string;
    /**
     * What the code wrote with `console.log`, `info`, `warn`, `error` and `debug`: strings as they are, others as JSON, joined
     * by a space. At most 100 entries; of each 1,000 characters, then `...`.
     */
    logs: string[];
    /** Milliseconds, rounded. */
    durationMs: number;
    /** Calls of `api.request`; absent where the globals have no such function. */
    apiCallCount?: number;
  }

  interface Sandbox {
    /**
     * Runs code in an isolate of its own, made for it and disposed after it.
     *
     * Code that as a whole is one function expression is called. Everything else runs as `normalizeCode` wraps it. A result
     * that is a promise is awaited. Failures do not reject: they are in `error`.
     */
    execute(code: string): Promise<SandboxResult>;
  }

  /**
   * A sandbox for code that a model wrote.
   *
   * Globals are copied in. Functions in them, at any depth of plain objects and arrays, become functions that look synchronous
   * to the guest: it waits until what the host's function returns has settled, and gets a structured clone of the result or an
   * `Error` with the message. The host's event loop is free meanwhile. The code sees ECMAScript's built-ins, `console`,
   * `WebAssembly` and the globals given; `globalThis` is shadowed (undefined in the code itself), and there is no `require`, `process` or `fetch`.
   * @throws {TypeError} `ERR_INVALID_ARG` where `globals` is no object, or an option is of a wrong type or too small
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
    description: string;
    inputSchema?: Record<string, unknown>;
  }

  /** What `IsolatedVMSandbox.execute` resolves with. */
  interface IsolatedVMExecutionResult {
    /** A structured clone of what the code returned; null where it failed. */
    result: unknown;
    /**
     * What the code wrote with `console`: strings as they are, others as JSON, joined by a space; `[ERROR] ` and `[WARN] ` come
     * before errors and warnings. At most 10,000 entries; of each 10,000 characters, then `...`.
     */
    logs: string[];
    /** Why it failed; absent where it did not. */
    error?: string;
    /** Milliseconds, rounded. */
    duration: number;
  }

  interface IsolatedVMSandboxConfig {
    /** Milliseconds until an execution ends, at least 1. Everything counts, pending tools too. Default 30,000. */
    timeout: number;
    /** MB that an execution may use, at least 8; see `IsolateOptions.memoryLimit`. Default 128. */
    memoryLimit: number;
    /** Not available yet: `true` throws `ERR_ISOLATE_UNSUPPORTED`. Default false. */
    inspector: boolean;
  }

  /** A sandbox for an agent's code, which calls tools. */
  class IsolatedVMSandbox {
    /**
     * @throws {TypeError} `ERR_INVALID_ARG` where an option is of a wrong type or too small
     * @throws {Error} `ERR_ISOLATE_UNSUPPORTED` for `inspector`
     */
    constructor(config?: Partial<IsolatedVMSandboxConfig> | null);

    /** False when the environment variable `NCP_DISABLE_ISOLATED_VM` is `true`. Constructing works all the same. */
    static isAvailable(): boolean;

    /**
     * Runs code as the body of an async function, in an isolate of its own, made for it and disposed after it. Failures of the
     * code, of its tools and of its limits do not reject: they are in `error`. Executions may overlap.
     * @param toolExecutor called with the tool's `name` and with params that went through JSON, `{}` where there are none. The
     *   call in the guest resolves with a structured clone of its result (or what JSON makes of it where it cannot be cloned)
     *   or rejects with an `Error` of its message.
     * @throws {TypeError} `ERR_INVALID_ARG`, as a rejection, for arguments of wrong types
     */
    execute(
      code: string, tools: IsolatedVMTool[], toolExecutor: (toolName: string, params: any) => Promise<unknown>,
    ): Promise<IsolatedVMExecutionResult>;

    /** Ends what runs. Its executions resolve with the error `Sandbox has been disposed`, and so do later ones. */
    dispose(): void;

    /** Figures of the heap of the execution that started last, as of its last garbage collection; null when nothing runs. */
    getHeapStatistics(): (HeapStatistics & HeapDetails) | null;
  }

  /** The same as `new IsolatedVMSandbox(config)`. */
  function createIsolatedVMSandbox(config?: Partial<IsolatedVMSandboxConfig> | null): IsolatedVMSandbox;

  type CachedDataOptions = {
    /** A compilation cache from an earlier `produceCachedData`. */
    cachedData?: ExternalCopy<ArrayBuffer>;
    /** Writes a compilation cache onto the script, as `cachedData`, unless a given one was accepted. Default false. */
    produceCachedData?: boolean;
  };

  type ReleaseOptions = {
    /** Calls `release()` as well. Default false. */
    release?: boolean;
  };

  type RunOptions = {
    /** Milliseconds that the code may run, a 32-bit integer. Waiting for the host does not count. Default 0: none. */
    timeout?: number;
    /**
     * Milliseconds until the call ends, whatever it is waiting for, a 32-bit integer. Default 0: none.
     * Not part of isolated-vm.
     */
    deadline?: number;
  };

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
    cachedData?: ExternalCopy<ArrayBuffer>;
    producedCacheData?: boolean;
  };

  type ScriptInfo = CachedDataOptions & ScriptOrigin;
  type SnapshotScriptInfo = ScriptOrigin & { code: string };

  interface SnapshotOptions {
    /** What the scripts may use, in MB: of heap, and again as much of buffers; 8 to 512, fractions are cut off. Default 128. */
    memoryLimit?: number | null;
    /** Milliseconds until making the snapshot is given up. Default (also for 0) 30,000. */
    deadline?: number | null;
  }

  /** How a value crosses. At most one of `copy`, `externalCopy` and `reference`. */
  type TransferOptions = {
    /** As a promise: of what the value, if it is a promise, resolves to. Goes with the others. Default false. */
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

export = ivm;

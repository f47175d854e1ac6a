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
     * @throws {Error} `ERR_INVALID_ARG` when `memoryLimit` is less than 8; `ERR_ISOLATE_UNSUPPORTED` for `snapshot` and
     *   `inspector`
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

    /** Not available yet: throws `ERR_ISOLATE_UNSUPPORTED`. */
    static createSnapshot(scripts: SnapshotScriptInfo[], warmup_script?: string): ExternalCopy<ArrayBuffer>;

    /**
     * Compiles a script that can run in any context of this isolate.
     * @throws {SyntaxError} whose message ends in ` [file:line:column]`
     */
    compileScript(code: string, options?: ScriptInfo): Promise<Script>;
    compileScriptSync(code: string, options?: ScriptInfo): Script;

    /** Not available yet: throws `ERR_ISOLATE_UNSUPPORTED`. */
    compileModule(code: string, options?: ScriptInfo): Promise<never>;
    /** Not available yet: throws `ERR_ISOLATE_UNSUPPORTED`. */
    compileModuleSync(code: string, options?: ScriptInfo): never;

    /** Makes a context: a global object with its own built-ins. */
    createContext(options?: ContextOptions): Promise<Context>;
    createContextSync(options?: ContextOptions): Context;

    /** Not available yet: throws `ERR_ISOLATE_UNSUPPORTED`. */
    createInspectorSession(): never;

    /**
     * Ends the isolate and frees its memory. Code that runs in it is terminated; everything that names something in it
     * becomes useless.
     * @throws {Error} `Isolate is already disposed` the second time
     */
    dispose(): void;

    /** Figures of the isolate's heap, in bytes. */
    getHeapStatistics(): Promise<HeapStatistics>;
    getHeapStatisticsSync(): HeapStatistics;

    /** Not available yet: throws `ERR_ISOLATE_UNSUPPORTED`. */
    startCpuProfiler(title: string): void;
    /** Not available yet: throws `ERR_ISOLATE_UNSUPPORTED`. */
    stopCpuProfiler(title: string): Promise<never>;
  }

  interface IsolateOptions {
    /** What the isolate may use, in MB; at least 8, fractions are cut off. Beyond it the isolate is disposed. Default 128. */
    memoryLimit?: number | null;
    /** Not available yet: `true` throws `ERR_ISOLATE_UNSUPPORTED`. Default false. */
    inspector?: boolean | null;
    /** Not available yet: throws `ERR_ISOLATE_UNSUPPORTED`. */
    snapshot?: ExternalCopy<ArrayBuffer> | null;
    /** Called when the isolate had to be given up: it did not stop when it was told to. The process is not at risk. */
    onCatastrophicError?: ((message: string) => void) | null;
  }

  interface ContextOptions {
    /** Not available yet: `true` throws. Default false. */
    inspector?: boolean | null;
  }

  /** Bytes, unless the name says otherwise. */
  interface HeapStatistics {
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
    total_global_handles_size: number;
    used_global_handles_size: number;
    /** A number of contexts. */
    number_of_native_contexts: number;
    /** A number of contexts. */
    number_of_detached_contexts: number;
  }

  /** A global object of an isolate, and code that runs there. */
  class Context {
    private constructor();

    /** A Reference to the global object, always the same one; `undefined` once the context is released. */
    readonly global: Reference<Record<number | string, any>>;
    /** The name `global` had in older versions. */
    globalReference(): Reference<Record<number | string, any>>;

    /**
     * Runs code as a script. The result is its last value if that is transferable, or as the transfer options say;
     * otherwise `undefined`.
     * @throws what the code throws; `ERR_ISOLATE_TIMEOUT` (`Script execution timed out.`) and `ERR_ISOLATE_DEADLINE`
     */
    eval<Options extends ContextEvalOptions = {}>(code: string, options?: Options): Promise<Awaited<ResultTypeSync<Options>>>;
    evalIgnored(code: string, options?: ContextEvalOptions): void;
    evalSync<Options extends ContextEvalOptions = {}>(code: string, options?: Options): ResultTypeSync<Options>;

    /**
     * Runs code as the body of a function, so that `return` gives the result. Arguments are `$0`, `$1` and so on. What is
     * returned must be transferable, or a transfer option say how it becomes so.
     * @throws what the code throws; `TypeError` with `ERR_ISOLATE_TRANSFER` for an argument or a result that cannot cross
     */
    evalClosure<Options extends ContextEvalClosureOptions = {}>(
      code: string, args?: ArgumentsTypeBidirectional<Options> | null, options?: Options,
    ): Promise<Awaited<ResultTypeBidirectionalSync<Options>>>;
    evalClosureIgnored<Options extends ContextEvalClosureOptions = {}>(
      code: string, args?: ArgumentsTypeBidirectional<Options> | null, options?: Options,
    ): void;
    evalClosureSync<Options extends ContextEvalClosureOptions = {}>(
      code: string, args?: ArgumentsTypeBidirectional<Options> | null, options?: Options,
    ): ResultTypeBidirectionalSync<Options>;

    /**
     * Lets go of this context, and of the Reference that `global` gave. What else refers to the context keeps it alive.
     * @returns false when it was released before
     */
    release(): boolean;
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
    runIgnored(context: Context, options?: ScriptRunOptions): void;
    runSync<Options extends ScriptRunOptions = {}>(context: Context, options?: Options): ResultTypeSync<Options>;
  }

  type ScriptRunOptions = RunOptions & ReleaseOptions & TransferOptions;

  /** Names a value where it lives. */
  class Reference<T = any> {
    /**
     * A Reference to a value of this realm. One made of a `Callback` applies the callback's function.
     * @param options `unsafeInherit`: `get` sees inherited properties too, here and in References that it gives. Default false
     */
    constructor(value: T, options?: { unsafeInherit?: boolean | null });

    /** As `typeof` says, except that null is `"null"` and symbols and BigInts are `"object"`. */
    readonly typeof: 'undefined' | 'null' | 'boolean' | 'number' | 'string' | 'object' | 'function';

    /** A structured clone of the value. */
    copy(): Promise<T>;
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
    delete(property: PropertyOf<T>): Promise<void>;
    deleteIgnored(property: PropertyOf<T>): void;
    deleteSync(property: PropertyOf<T>): void;

    /**
     * Reads an own property. What is not transferable arrives as a Reference.
     * @throws {TypeError} `Property is getter`, `Object is or has proxy`, `Reference is not an object`
     */
    get<Options extends ReferenceGetOptions = {}, Key extends keyof T = keyof T>(
      property: Key, options?: Options,
    ): ResultTypeAsync<Options & FallbackReference, T[Key]>;
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
    setIgnored<Options extends TransferOptions = {}, Key extends keyof T = keyof T>(
      property: Key, value: ArgumentType<Options, T[Key]>, options?: Options,
    ): void;
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
    applyIgnored<Options extends ReferenceApplyOptions = {}>(
      receiver?: ApplyReceiver<T>, args?: ArgumentsTypeBidirectional<Options, ApplyArguments<T>> | null, options?: Options,
    ): void;
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
    accessors?: boolean | null;
  };
  type ReferenceApplyOptions = RunOptions & TransferOptionsBidirectional;

  /** A copy of a value outside any heap, to be copied into any isolate any number of times. */
  class ExternalCopy<T = any> {
    /**
     * Copies the value by the rules of structured clone; objects of this module may be anywhere inside. SharedArrayBuffers
     * are shared, not copied. A view that covers less than its buffer takes only its own bytes along.
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

  interface ExternalCopyOptions {
    /** ArrayBuffers to move into the copy: they are empty afterwards. */
    transferList?: ArrayBuffer[] | null;
    /** Moves the value itself, an ArrayBuffer or a view, into the copy. Default false. */
    transferOut?: boolean | null;
  }

  type ExternalCopyCopyOptions = ReleaseOptions & {
    /** Moves buffers out of the copy instead of copying them: it is of no use afterwards. Default false. */
    transferIn?: boolean | null;
  };

  /**
   * A function on its way to other isolates, where it arrives as a plain function: arguments and results are copied. Functions
   * passed as they are become synchronous callbacks.
   */
  class Callback<T extends (...args: any[]) => any = any> {
    constructor(value: T, options?: CallbackOptions);
    private readonly called: T;
  }

  /** At most one of them; `async` wins over `ignored`. */
  interface CallbackOptions {
    /** The guest gets a promise and goes on. */
    async?: boolean | null;
    /** The guest gets `undefined` and goes on; nobody hears of the result. */
    ignored?: boolean | null;
    /** The guest waits for the result. The default. */
    sync?: boolean | null;
  }

  /**
   * Native modules are compiled against the V8 of their host and cannot work here: the constructor always throws
   * `ERR_ISOLATE_UNSUPPORTED`. Give the isolate a `Callback`, or a `Reference` to a function, that does the work.
   */
  class NativeModule {
    constructor(filename: string);
    create(context: Context): Promise<never>;
    createSync(context: Context): never;
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

  interface CachedDataOptions {
    /** A compilation cache from an earlier `produceCachedData`. */
    cachedData?: ExternalCopy<ArrayBuffer> | null;
    /** Writes a compilation cache onto the script, as `cachedData`, unless a given one was accepted. Default false. */
    produceCachedData?: boolean | null;
  }

  interface ReleaseOptions {
    /** Calls `release()` as well. Default false. */
    release?: boolean | null;
  }

  interface RunOptions {
    /** Milliseconds that the code may run, a 32-bit integer. Time spent waiting for the host does not count. Default 0: none. */
    timeout?: number | null;
    /**
     * Milliseconds until the call ends, whatever it is waiting for, a 32-bit integer. Default 0: none.
     * Not part of isolated-vm.
     */
    deadline?: number | null;
  }

  interface ScriptOrigin {
    /** What stacks call the code; best a URL. Default `<isolated-vm>`. */
    filename?: string | null;
    /** Added to columns of the first line. Default 0. */
    columnOffset?: number | null;
    /** Added to line numbers. Default 0. */
    lineOffset?: number | null;
  }

  type ScriptInfo = CachedDataOptions & ScriptOrigin;
  type SnapshotScriptInfo = ScriptOrigin & { code: string };

  /** How a value crosses. At most one of `copy`, `externalCopy` and `reference`. */
  interface TransferOptions {
    /** As a promise: of what the value, if it is a promise, resolves to. Goes with the others. Default false. */
    promise?: boolean | null;
    /** As a structured clone. Default false. */
    copy?: boolean | null;
    /** As an `ExternalCopy`. Default false. */
    externalCopy?: boolean | null;
    /** As a `Reference`. Default false. */
    reference?: boolean | null;
  }

  interface TransferOptionsBidirectional {
    /** For values that go in. */
    arguments?: TransferOptions | null;
    /** For the value that comes out. */
    result?: TransferOptions | null;
  }

  type PropertyOf<T> = keyof T & (string | number);
  type FallbackReference = { _reference: true };
  type CheckPromise<Options, Result> = Options extends { promise: true } ? Promise<Result> : Result;
  type ResultOf<Options, Result> =
    Options extends { copy: true } ? Result
    : Options extends { externalCopy: true } ? ExternalCopy<Result>
    : Options extends { reference: true } ? Reference<Result>
    : unknown extends Result ? any
    : Result extends Transferable ? Result
    : Result extends void ? void
    : Options extends FallbackReference ? Reference<Result>
    : Transferable;
  type ResultTypeAsync<Options, Result = any> = Promise<ResultOf<Options, Result>>;
  type ResultTypeSync<Options, Result = any> = CheckPromise<Options, ResultOf<Options, Result>>;
  type ResultOptions<Options> =
    (Options extends { result: infer Of extends object } ? Of : {})
    & (Options extends FallbackReference ? FallbackReference : {});
  type ResultTypeBidirectionalSync<Options, Result = any> = ResultTypeSync<ResultOptions<Options>, Result>;
  type ArgumentType<Options, Type> =
    | (Options extends { copy: true } | { externalCopy: true } | { reference: true } ? Type
      : Type extends Transferable ? Type
      : Transferable)
    | (Options extends { promise: true } ? Promise<Type> : never)
    | Copy<Type>
    | Dereference<Type>;
  type ArgumentsTypeBidirectional<Options, Args extends any[] = any[]> = {
    [Key in keyof Args]: ArgumentType<Options extends { arguments: infer Of extends object } ? Of : {}, Args[Key]>;
  };
  type ApplyArguments<Value> = Value extends (...args: infer Args) => unknown ? Args : any[];
  type ApplyReceiver<Value> = Value extends (this: infer This, ...args: any) => unknown
    ? (unknown extends This ? Transferable : This | Dereference<This>)
    : Transferable;
  type ApplyResult<Value> = Value extends (...args: any) => infer Result ? Result : any;
}

export = ivm;

'use strict';
// The numbers and names that the surface and the native side exchange. They are declared only here: build.rs generates the native side's
// constants (`src/protocol`). Frozen, so that code which runs later cannot turn one operation into another.

const { freeze } = Object;

/** How a call waits. */
const MODE = freeze({
  /** Blocks the caller's thread; the result is returned. */
  SYNC: 0,
  /** The result settles a promise later. */
  ASYNC: 1,
  /** The result is discarded. */
  IGNORED: 2,
});

/** A bit in the number of an asynchronous call: the call may be aborted. Lower bits are the count of the call. */
const ABORTABLE = 1073741824;

/** The kind of a handle. DEREFERENCE and COPY_INTO exist only in the surface and never cross as a
 * handle's kind; LINKER has no object. */
const KIND = freeze({
  ISOLATE: 0,
  CONTEXT: 1,
  SCRIPT: 2,
  MODULE: 3,
  REFERENCE: 4,
  EXTERNAL_COPY: 5,
  CALLBACK: 6,
  IVM: 7,
  LIB: 8,
  DEREFERENCE: 9,
  COPY_INTO: 10,
  LINKER: 11,
  /** Crosses once, to the realm that opened it. */
  SESSION: 12,
});

/** How a value crosses, as bits. */
const TRANSFER = freeze({
  // The two lowest bits: what the caller requested.
  DEFAULT: 0,
  COPY: 1,
  EXTERNAL_COPY: 2,
  REFERENCE: 3,
  TYPE_MASK: 3,
  /** The value, or the outcome of a promise, arrives as a promise. */
  PROMISE: 4,
  /** Everything that a caller can request. */
  ASKED_MASK: 7,
  // How to treat a value that is not transferable if the caller requested nothing.
  OR_THROW: 0,
  OR_UNDEFINED: 8,
  OR_REFERENCE: 16,
  OR_COPY: 24,
  FALLBACK_MASK: 24,
  // Flags of References, and of `get`.
  ACCESSORS: 32,
  UNSAFE_INHERIT: 64,
});

/** First element of every carrier that is not a primitive. */
const TAG = freeze({
  HANDLE: 1,
  WIRE: 2,
  FUNCTION: 3,
  REFERENCE: 4,
  COPY: 5,
  PROMISE: 6,
  FAULT: 7,
  THROWN: 8,
  DEREF: 9,
  COPY_INTO: 10,
  BUFFER: 11,
  MOVE: 12,
  SHARED: 13,
  /** Several carriers, for use in the surface only. */
  LIST: 14,
  /** An unencoded value of this realm. Inside an isolate the native side reads and writes it directly; hosts create it from a WIRE. */
  VALUE: 15,
  /** Instead of the answer to a call on the host's own thread: it must be a request. */
  AGAIN: 16,
  /** A string of which the host's surface knows that its characters are below U+0100. Used only from a host. */
  ONE_BYTE: 17,
  /** Used only to a host: the outcome of a synchronous call is a small value in the buffer for such values, and must be read at once. */
  OUTCOME: 18,
});

/** Elements of the carrier of a handle that arrives at a surface, after the tag. In a guest there are only the first two. */
const HANDLE = freeze({
  KIND: 1,
  ID: 2,
  OWN: 3, // the slot of a Reference's target, if it is the host's own; -1 for others
  TYPE_OF: 4, // only of References
  FLAGS: 5, // of TRANSFER; only of References
});

/** Instead of the slot of a Reference's target, to a guest: a value of another realm of its isolate. */
const OTHER_REALM = 4294967295;

/** The element that HANDLE, DEREF and COPY_INTO have if a surface sends them: the id of the handle. */
const SENT_ID = 1;

/** Another element of DEREF if a surface sends it: in a host the entry of the handle, in a guest the value, if that has no handle yet. */
const DEREF_SOURCE = 2;

/** The other elements of COPY_INTO if a surface sends it. */
const COPY_INTO = freeze({
  TRANSFER_IN: 2,
  CHECKED: 3, // only from a host, as is the entry of the handle
  ENTRY: 4,
});

/** Elements of the carrier of a value of a host that guests get a Reference to, after the tag. */
const REFERENCE = freeze({
  TARGET: 1, // the value itself
  TYPE_OF: 2,
  FLAGS: 3, // of TRANSFER
});

/** Elements of the carrier of shared memory that a host sends, after the tag. */
const SHARED = freeze({
  VIEW: 1,
  KEY: 2,
  BUFFER: 3,
});

/** Elements of the carrier of shared memory that arrives at a host, after the tag. */
const ARRIVED_SHARED = freeze({
  KEY: 1, // of the host's own buffer; 0 for others
  BUFFER: 2, // over the memory of a guest; undefined where the host supports none
  LENGTH: 3,
});

/** Elements of the carrier of a function, after the tag. */
const FUNCTION = freeze({
  TARGET: 1, // the function itself; to a host, the number of the handle
  NAME: 2,
  LENGTH: 3,
  MODE: 4, // of CALLBACK
  OWN: 5, // only to a host: the slot of its own function; -1 for others
});

/** Elements of the carrier of a fault, after the tag. */
const FAULT = freeze({
  CLASS: 1,
  NAME: 2, // undefined if it is the class's
  MESSAGE: 3,
  STACK: 4,
  CODE: 5,
  DETAILS: 6, // elements of DETAIL; undefined if there are none
});

/** The number of parameters of the native `invoke` before the arguments of an operation: operation, mode, request and number of the target. */
const INVOKE_HEAD = 4;

/** The number of arguments of REF_APPLY before those of the function: bits, timeout, deadline and receiver. */
const APPLY_HEAD = 4;

/** How a function of another realm is called. */
const CALLBACK = freeze({
  SYNC: 0,
  ASYNC: 1,
  IGNORED: 2,
  /** The caller waits until the function's promise has settled. */
  AWAITED: 3,
});

/** Operations. The comments name target and arguments; omitted arguments at the end are `undefined`. */
const OP = freeze({
  CREATE_ISOLATE: 1, // - memoryLimit, snapshot, inspector, onCatastrophicError, hostStacks, warm, load
  CREATE_CONTEXT: 2, // isolate: inspector
  COMPILE_SCRIPT: 3, // isolate: code, filename, lineOffset, columnOffset, cachedData, produceCachedData
  COMPILE_MODULE: 4, // isolate: as COMPILE_SCRIPT, meta
  DISPOSE: 5, // isolate
  HEAP_STATISTICS: 6, // isolate: whether to collect garbage first
  CPU_TIME: 7, // isolate
  WALL_TIME: 8, // isolate
  IS_DISPOSED: 9, // isolate
  REFERENCE_COUNT: 10, // isolate
  HEAP_FIGURES: 11, // isolate: as HEAP_STATISTICS, at the last garbage collection; never waits
  SCRIPT_CACHED_DATA: 12, // script or module
  EVAL: 13, // context: code, filename, lineOffset, columnOffset, bits, timeout, deadline
  EVAL_CLOSURE: 14, // context: code, filename, lineOffset, columnOffset, bits, timeout, deadline, ...arguments
  GLOBAL: 15, // context
  RUN: 17, // script: context, bits, timeout, deadline
  CREATE_SNAPSHOT: 19, // - memoryLimit, timeout, deadline, warmup script, web, ...code, filename, lineOffset, columnOffset of each script
  REF_COPY: 20, // reference: -, -, timeout, deadline
  REF_GET: 22, // reference: key, bits, timeout, deadline
  REF_SET: 23, // reference: key, value, timeout, deadline
  REF_DELETE: 24, // reference: key, -, timeout, deadline
  REF_APPLY: 25, // reference: bits, timeout, deadline, receiver, ...arguments
  REF_APPLY_SYNC_PROMISE: 26, // as REF_APPLY
  REF_RELEASE: 27, // served only: the last reference to a slot is gone
  COPY_NEW: 30, // - value
  COPY_COPY: 31, // copy: transferIn
  COPY_TOTAL_SIZE: 33, // -
  CALL: 35, // function: ...arguments
  CALL_AWAITED: 36, // served only: as CALL, and the promise it returns is awaited
  MODULE_REQUESTS: 40, // module
  MODULE_EVALUATE: 41, // module: bits, timeout, deadline
  MODULE_NAMESPACE: 42, // module
  LINK_BEGIN: 43, // module: whether the call is synchronous
  LINK_WATCH: 44, // linker
  LINK: 45, // linker: index of the referrer or -1, index of its request, module
  INSTANTIATE: 46, // linker: context, load
  LINK_REQUESTS: 47, // linker: index of a module, index of its first request
  OPEN_SESSION: 50, // isolate: deliver
  SESSION_SEND: 51, // session: message
  SESSION_RUN: 52, // session: handles the messages sent so far
  START_PROFILER: 53, // isolate: title
  STOP_PROFILER: 54, // isolate: title
  /** A bit added to a guest's request to a host: the guest may see the locations of the host's code. */
  SHOWS_STACKS: 256,
  /** A bit added to what a guest asks of a host on the host's own thread: it applies a Reference. */
  REFERENCE: 1024,
  /** A bit added to an operation that a host serves: its result or error is discarded. */
  DISCARDED: 512,
});

/** The `code` of an error of this library. */
const CODE = freeze({
  ABORTED: 'ERR_ISOLATE_ABORTED',
  CRASH: 'ERR_ISOLATE_CRASH',
  DEADLINE: 'ERR_ISOLATE_DEADLINE',
  DISPOSED: 'ERR_ISOLATE_DISPOSED',
  ENVIRONMENT: 'ERR_ISOLATE_ENVIRONMENT',
  INVALID_ARG: 'ERR_INVALID_ARG',
  LIMIT: 'ERR_ISOLATE_LIMIT',
  MEMORY: 'ERR_ISOLATE_MEMORY',
  NOT_FOUND: 'ERR_ISOLATE_NOT_FOUND',
  PERMISSION: 'ERR_ISOLATE_PERMISSION',
  PLUGIN: 'ERR_ISOLATE_PLUGIN',
  PROTOCOL: 'ERR_ISOLATE_PROTOCOL',
  RELEASED: 'ERR_ISOLATE_RELEASED',
  SYSTEM_CALL: 'ERR_ISOLATE_SYSTEM_CALL',
  TIMEOUT: 'ERR_ISOLATE_TIMEOUT',
  TRANSFER: 'ERR_ISOLATE_TRANSFER',
  UNRESPONSIVE: 'ERR_ISOLATE_UNRESPONSIVE',
  UNSUPPORTED: 'ERR_ISOLATE_UNSUPPORTED',
});

/** How the codes of this library begin, except `INVALID_ARG`. */
const CODE_PREFIX = 'ERR_ISOLATE_';

/** Messages of errors that both sides throw. */
const MESSAGE = freeze({
  IS_DISPOSED: 'Isolate is disposed',
  TIMED_OUT: 'Script execution timed out.',
  TOO_MANY_CALLS: 'Too many calls are waiting for an answer',
  NO_PROCESSES: '`SubprocessSandbox` is available on Linux and macOS only',
  NOT_AN_OBJECT: 'Reference is not an object',
  NOT_A_FUNCTION: 'Reference is not a function',
  FROM_DEFAULT_THREAD: 'This function may not be called from the default thread',
  SESSION_ENDED: 'Session is dead',
  NOT_A_SNAPSHOT: '`snapshot` must be an ExternalCopy to ArrayBuffer',
  DISPOSED: 'Isolate was disposed during execution',
  ABORTED: 'The call was aborted',
  NOT_TRANSFERABLE: 'A non-transferable value was passed',
  WRONG_ISOLATE: 'Cannot dereference this into target isolate',
  DETACHED: 'An ArrayBuffer is detached and could not be cloned.',
  GROWABLE: 'A growable SharedArrayBuffer could not be shared.',
  PROXY: 'Object is or has proxy',
  GETTER: 'Property is getter',
  INVALID_KEY: 'Invalid `key`',
  NOT_SET: 'Set failed',
  NOT_DELETED: 'Delete failed',
  UNSUPPORTED_TYPE: 'Unsupported type',
  TERMINATED: 'Execution terminated (timeout or resource limit)',
  NOT_AN_ERROR: 'An object was thrown from supplied code within isolated-vm, but that object was not an instance of `Error`.',
});

/** Most own properties of an error that cross with it. */
const MAX_PROPERTIES = 32;
/** Most own properties of an error that are looked at to find those. */
const MAX_KEYS = 1000;
/** Most characters of the name and of the value of such a property, and of the message and stack of a cause. */
const MAX_DETAIL = 8192;
/** Most characters of all these, of one error and its causes. */
const MAX_DETAILS = 131072;
/** Most causes in a chain that cross with an error. */
const MAX_CAUSES = 8;

/** Own properties of errors that never cross. */
const RESERVED_PROPERTIES = freeze([
  'name', 'message', 'stack', 'cause', 'constructor', 'toString', 'toLocaleString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf',
  'propertyIsEnumerable', '__proto__', '__defineGetter__', '__defineSetter__', '__lookupGetter__', '__lookupSetter__',
]);

/** Elements of the details of an error. */
const DETAIL = freeze({
  CAUSE: 0, // a primitive value or a fault; undefined if there is none
  /** The name of the first property; its value and the others follow. */
  PROPERTIES: 1,
});

/** The index of each figure of heap statistics, by its name in isolated-vm. */
const HEAP_STATISTIC = freeze({
  total_heap_size: 0,
  total_heap_size_executable: 1,
  total_physical_size: 2,
  total_available_size: 3,
  used_heap_size: 4,
  heap_size_limit: 5,
  malloced_memory: 6,
  peak_malloced_memory: 7,
  does_zap_garbage: 8,
  externally_allocated_size: 9,
  total_global_handles_size: 10,
  used_global_handles_size: 11,
  number_of_native_contexts: 12,
  number_of_detached_contexts: 13,
});

/** The file name of code if its caller gives none. */
const FILENAME = '<isolated-vm>';

/** The line of a stack between the frames of two realms. */
const BOUNDARY_FRAME = '    at (<isolated-vm boundary>)';

/** The minimum memory limit of an isolate, in megabytes. */
const MIN_MEMORY = 8;

module.exports = freeze({
  ABORTABLE, APPLY_HEAD, OTHER_REALM, ARRIVED_SHARED, BOUNDARY_FRAME, COPY_INTO, DEREF_SOURCE, FAULT, FILENAME, FUNCTION, HANDLE, REFERENCE, SENT_ID, SHARED, INVOKE_HEAD, MIN_MEMORY, MODE, KIND, TRANSFER, TAG, CALLBACK, OP, CODE, CODE_PREFIX, MAX_PROPERTIES, MAX_KEYS, MAX_DETAIL, MAX_DETAILS, MAX_CAUSES,
  RESERVED_PROPERTIES, DETAIL, HEAP_STATISTIC, MESSAGE,
});

'use strict';
// What only hosts exchange with the native side. build.rs generates the native side's constants from this file.

const { freeze } = Object;

/** Flags of an execution in a sandbox, as bits. */
const FLAG = freeze({
  SHADOW_GLOBAL: 1,
  TIMERS: 2,
  MARKED_LOGS: 4,
});

/** Flags of a way to run code, as bits. */
const FORM = freeze({
  /** It fits if its guard compiles. Otherwise it fits if its guard does not. */
  NEEDS_GUARD: 1,
  /** The code returns a function, which is called. */
  FUNCTION: 2,
});

/** A way to run code: elements of the list `forms`, one after the other for each of them. */
const FORM_PART = freeze({
  text: 0,
  line: 1,
  column: 2,
  guard: 3,
  flags: 4,
});

/** The levels of a sandbox's console. */
const LEVELS = freeze([
  'log', 'info', 'warn', 'error', 'debug',
]);

/** The methods of a guest's console, and the level of what each prints. */
const CONSOLE_METHOD = freeze({
  log: 'log',
  info: 'info',
  warn: 'warn',
  error: 'error',
  debug: 'debug',
  dir: 'log',
  dirxml: 'log',
  table: 'log',
  trace: 'error',
  assert: 'error',
  count: 'log',
  countReset: 'log',
  time: 'log',
  timeLog: 'log',
  timeEnd: 'log',
  group: 'log',
  groupCollapsed: 'log',
  groupEnd: 'log',
});

/** The record of an execution in a sandbox. */
const EXECUTION = freeze({
  code: 0,
  line: 1,
  column: 2,
  /** A list with the elements of FORM_PART. */
  forms: 3,
  // What it can import, and the code as a module.
  moduleIndex: 4,
  moduleSources: 5,
  moduleCode: 6,
  moduleLine: 7,
  moduleColumn: 8,
  timeout: 9, // milliseconds
  spent: 10, // milliseconds of the timeout that have passed
  maxOutput: 11, // bytes of JSON
  maxLogs: 12,
  maxLogLength: 13, // characters
  onLog: 14,
  // Of an isolate's alone.
  flags: 15,
  web: 16,
  memoryLimit: 17, // megabytes
  snapshot: 18,
  globals: 19,
  warm: 20, // isolates to keep ready for later executions
  /** A list: namespace, method and function of each; for a process, namespaces and methods with NULs between them, and function. */
  tools: 21,
});

/** The record of what processes have in common if they can replace each other. */
const PROCESS = freeze({
  launcher: 0, // path of the executable, if it is not the usual one
  environment: 1, // separated by NULs
  off: 2, // names of layers, separated by commas
  required: 3, // as `off`
  timeout: 4, // milliseconds
  memoryLimit: 5, // megabytes
  pool: 6, // processes to keep ready
  web: 7,
  snapshot: 8,
});

/** What a context gets that a sandbox has. */
const CONTEXT_GLOBALS = freeze({
  /** Bits of WEB. */
  web: 0,
  /** Called with the errors of timers; without it, there are none. */
  timers: 1,
  // What can be imported.
  moduleIndex: 2,
  moduleSources: 3,
  /** Characters of the text of a console's arguments; without it, there is no function that makes such text. */
  maxLogLength: 4,
  isPlugin: 5, // 1, or 0
});

/** The outcome of an execution. */
const RESULT = freeze({
  OK: 0,
  VALUE: 1, // or the message of a failure
  CODE: 2,
  NAME: 3,
  STACK: 4,
  CPU: 5, // nanoseconds
  WALL: 6, // nanoseconds
  HEAP_PEAK: 7, // bytes
  HOST_CALLS: 8,
  LOST: 9,
  SIGNAL: 10, // that ended the process
  LAYERS: 11, // active ones, separated by commas
  DETAILS: 12, // of an error: a list whose elements are at the indices of DETAIL, with a cause as a list of name, message, stack and details
  /** The first line of the log; the others follow. */
  LOGS: 13,
});

/** The name of a sandbox's code in stacks. */
const MAIN_FILE = 'sandbox.js';

/** Names of modules are resolved like URLs relative to this one. */
const MODULE_ROOT = 'module:///';

/** Elements of `statistics()`. */
const STATISTIC = freeze({
  MADE: 0,
  IDLE: 1,
  WARM: 2,
  THREADS: 3,
  LOST_THREADS: 4,
  LOST_RUNNING: 5,
  LOST_BYTES: 6,
  // Isolates by how they ended.
  DISPOSED: 7,
  COLLECTED: 8,
  OUT_OF_MEMORY: 9,
  ENVIRONMENT_GONE: 10,
  ABANDONED: 11,
  CODE_CACHE_BYTES: 12,
  CODE_CACHE_HITS: 13,
});

/** Arguments of `configure()`, and elements of its result. */
const SETTING = freeze({
  TERMINATION_GRACE: 0,
  TIMEOUT: 1,
  DEADLINE: 2,
  LOST_MEMORY_LIMIT: 3,
  /** 1 for the caller's thread, 0 for threads of their own. */
  SYNC_ON_CALLER: 4,
  /** 1 to cache compiled code. */
  CODE_CACHE: 5,
});

/** Elements of `meter()`. */
const METER = freeze({
  CPU: 0,
  HEAP_PEAK: 1,
  MEMORY: 2,
});

/** Elements of `limits()`. */
const LIMIT = freeze({
  LEFT: 0,
  TIMEOUT: 1,
});

/** The other elements of WIRE. Those that a surface receives have no third. */
const WIRE = freeze({
  BYTES: 1,
  TABLE: 2,
  IS_ALONE: 3, // whether nothing else uses the buffer of the bytes, so that it may be detached
});

/** The buffer for small outcomes of synchronous calls has room for a value of this many bytes, and for its length in two bytes after that. */
const MAX_OUTCOME = 2048;

/** Most bytes of a buffer that is sent among the bytes of a value rather than in its table. */
const MAX_INLINE = 2048;

/** Most elements of a list that is written and read without a serializer and a reader. */
const MAX_SHORT_LIST = 8;

/** Most copies (`ExternalCopy`) in each other. */
const MAX_COPIES = 64;

/**
 * How a number describes a call of a guest on the host's own thread: the sum of bits of TRANSFER and OP, and of these, some of them times a
 * number.
 */
const DIRECT_CALL = freeze({
  /** The receiver is not `undefined`. */
  RECEIVER: 2048,
  /** Times the number of arguments. */
  COUNT: 4096,
  /** Times the number of the slot. */
  SLOT: 65536,
});

/** Results of `wanted()`. */
const WANTED = freeze({
  /** It was dropped and must not be resumed. */
  NO: 0,
  YES: 1,
  /** It must fail: the host has disposed of its isolate. */
  DISPOSED: 2,
});

/**
 * A record in the form that the native side reads.
 * @template {Readonly<Record<string, number>>} Layout
 * @param {Layout} layout
 * @param {{ [Name in keyof Layout]: unknown }} fields carriers
 * @returns {unknown[]}
 */
function record(layout, fields) {
  const list = [];
  for (const name in layout) {
    list[/** @type {number} */ (layout[name])] = fields[name];
  }
  return list;
}

module.exports = freeze({ DIRECT_CALL, CONSOLE_METHOD, CONTEXT_GLOBALS, EXECUTION, FLAG, FORM, FORM_PART, LEVELS, LIMIT, MAIN_FILE, MAX_COPIES, MAX_INLINE, MAX_OUTCOME, MAX_SHORT_LIST, METER, MODULE_ROOT, PROCESS, RESULT, SETTING, STATISTIC, WANTED, WIRE, record });

'use strict';
// Snapshots: scripts run once, and isolates start from the heap that they leave.

const { apply, Error, freeze, isArray } = require('../core/primordials.js');
const { MODE, OP } = require('../core/protocol.js');
const { CODE, coded, invalid } = require('../core/error.js');
const {
  FILENAME, isObject, MIN_MEMORY, optionsArgument, readDeadline, readInt32, readNumber, readString, tooFew, wrongParameter,
} = require('../core/options.js');

/** Maximum megabytes of heap, and of buffers: V8 counts a snapshot's bytes in 31 bits. */
const MAX_MEMORY = 512;

const DEFAULT_DEADLINE = 30_000;

/** Options of `createContext` that scripts of a snapshot cannot have. */
const REFUSED = freeze(['timers', 'console']);

/** Parameters of `invoke` before the scripts: op to handle, memory limit, deadline twice, warmup script, web APIs. */
const HEAD = 9;
/** Code, filename, line, column. */
const PER_SCRIPT = 4;

/**
 * @param {any} options
 * @returns {number | undefined} in megabytes
 */
function readMemory(options) {
  const memory = readNumber(options, 'memoryLimit', undefined);
  if (memory === undefined) {
    return undefined;
  }
  // Also false for NaN.
  if (!(memory >= MIN_MEMORY && memory <= MAX_MEMORY)) {
    throw coded(Error, `\`memoryLimit\` must be at least ${MIN_MEMORY} and at most ${MAX_MEMORY}`, CODE.INVALID_ARG);
  }
  return memory | 0;
}

/**
 * Refuses what only contexts can have.
 * @param {any} options
 */
function refuseGlobals(options) {
  for (let index = 0; index < REFUSED.length; index += 1) {
    const name = REFUSED[index];
    const value = options[name];
    if (value !== undefined && value !== null && value !== false) {
      throw coded(Error, `\`${name}\`: a snapshot can hold neither timers nor functions of the host. Pass \`${name}\` to \`createContext\` of the isolates with this snapshot`, CODE.UNSUPPORTED);
    }
  }
}

/**
 * The web APIs that the scripts can use.
 * @param {any} web
 * @param {((web: unknown) => number) | undefined} webBits
 * @returns {number}
 */
function readWeb(web, webBits) {
  if (web === undefined || web === null || web === false) {
    return 0;
  }
  if (webBits === undefined) {
    throw coded(Error, '`web` is not available inside isolates', CODE.UNSUPPORTED);
  }
  return webBits(web);
}

/**
 * @param {import('../index.js').Binding} binding
 * @param {any} scripts
 * @param {any} warmup
 * @param {any} options
 * @param {Function} method the public one
 * @param {number} count of arguments
 */
function createSnapshot({ invoke, unpack, webBits }, scripts, warmup, options, method, count) {
  if (!isArray(scripts)) {
    throw count < 1 ? tooFew(1) : wrongParameter(1, 'an array');
  }
  if (warmup !== undefined && warmup !== null && typeof warmup !== 'string') {
    throw wrongParameter(2, 'a string');
  }
  options = optionsArgument(options, 3);
  if (options !== undefined) refuseGlobals(options);
  const memory = options === undefined ? undefined : readMemory(options);
  const web = options === undefined ? 0 : readWeb(options.web, webBits);
  // There is always a deadline: the isolate that makes a snapshot cannot be disposed.
  const asked = options === undefined ? 0 : readDeadline(options);
  const deadline = asked > 0 ? asked : DEFAULT_DEADLINE;
  const { length } = scripts;
  // Without a prototype, so that no setter on `Array.prototype` runs.
  /** @type {any} */
  const parameters = {
    __proto__: null, 0: OP.CREATE_SNAPSHOT, 1: MODE.SYNC, 2: 0, 3: 0, 4: memory, 5: 0, 6: deadline, 7: warmup ?? undefined, 8: web,
    length: HEAD + length * PER_SCRIPT,
  };
  for (let index = 0; index < length; index += 1) {
    const script = scripts[index];
    if (!isObject(script)) {
      throw wrongParameter(1, 'an object');
    }
    const start = HEAD + index * PER_SCRIPT;
    const { code } = /** @type {any} */ (script);
    if (typeof code !== 'string') {
      throw invalid('`code` property is required');
    }
    parameters[start] = code;
    parameters[start + 1] = readString(script, 'filename', FILENAME);
    parameters[start + 3] = readInt32(script, 'columnOffset');
    parameters[start + 2] = readInt32(script, 'lineOffset');
  }
  return unpack(apply(invoke, undefined, parameters), method);
}

module.exports = freeze({ createSnapshot });
